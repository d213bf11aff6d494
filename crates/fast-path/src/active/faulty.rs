//! A way that loses, doubles and delays what it carries, for tests of what makes that good.

use std::collections::VecDeque;
use std::io;

use super::message::Reply;
use super::path::Path;

/// How many messages, and how many answers, are held back at most.
const MOST_HELD: usize = 32;

/// How often what happens, of a thousand messages and of a thousand answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Lost.
    pub lost: u64,
    /// Carried now, and a copy later.
    pub doubled: u64,
    /// Carried later, behind others.
    pub delayed: u64,
}

/// What was done, of messages and answers together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Lost.
    pub lost: u64,
    /// Carried twice.
    pub doubled: u64,
    /// Carried later.
    pub delayed: u64,
}

/// Another way, with faults.
#[derive(Debug)]
pub struct Faulty<P, R> {
    path: P,
    faults: Faults,
    random: R,
    messages: VecDeque<Vec<u8>>,
    replies: VecDeque<Reply>,
    done: Done,
}

enum Fault {
    None,
    Lost,
    Doubled,
    Delayed,
}

impl<P: Path, R: FnMut() -> u64> Faulty<P, R> {
    /// A way with these faults, by a source of random numbers.
    pub fn new(path: P, faults: Faults, random: R) -> Self {
        let (messages, replies) = (VecDeque::new(), VecDeque::new());
        Self { path, faults, random, messages, replies, done: Done::default() }
    }

    /// What was done.
    pub fn done(&self) -> Done {
        self.done
    }

    fn fault(&mut self) -> Fault {
        let Faults { lost, doubled, delayed } = self.faults;
        let drawn = (self.random)() % 1000;
        let (fault, count) = if drawn < lost {
            (Fault::Lost, &mut self.done.lost)
        } else if drawn < lost + doubled {
            (Fault::Doubled, &mut self.done.doubled)
        } else if drawn < lost + doubled + delayed {
            (Fault::Delayed, &mut self.done.delayed)
        } else {
            return Fault::None;
        };
        *count += 1;
        fault
    }

    /// Which of what is held comes now, if any: any of them, and surely one where it is full.
    fn turn(&mut self, held: usize) -> Option<usize> {
        let drawn = (self.random)();
        (held > 0 && (held >= MOST_HELD || drawn % 4 == 0)).then(|| (drawn >> 8) as usize % held)
    }
}

impl<P: Path, R: FnMut() -> u64> Path for Faulty<P, R> {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        match self.fault() {
            Fault::Lost => {}
            Fault::None => self.path.send(message)?,
            Fault::Doubled => {
                self.path.send(message)?;
                self.messages.push_back(message.to_vec());
            }
            Fault::Delayed => self.messages.push_back(message.to_vec()),
        }
        if let Some(which) = self.turn(self.messages.len()) {
            let held = self.messages.swap_remove_back(which);
            self.path.send(&held.unwrap_or_default())?;
        }
        Ok(())
    }

    fn receive(&mut self) -> io::Result<Option<Reply>> {
        while let Some(reply) = self.path.receive()? {
            match self.fault() {
                Fault::Lost => {}
                Fault::None => return Ok(Some(reply)),
                Fault::Doubled => {
                    self.replies.push_back(reply);
                    return Ok(Some(reply));
                }
                Fault::Delayed => self.replies.push_back(reply),
            }
        }
        let which = self.turn(self.replies.len());
        Ok(which.and_then(|which| self.replies.swap_remove_back(which)))
    }

    fn sleeps(&self) -> bool {
        self.path.sleeps()
    }
}
