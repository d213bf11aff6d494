//! Joining: how processes that know one address come to have a connection with each other.
//!
//! All call worker 0. When it knows where each listens, it tells all; then each calls those with
//! lower numbers and is called by the others. Who calls waits, who is called takes in guests as
//! they come, so a stranger that says nothing holds nobody up.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::net::{TcpListener, TcpStream};

use crate::calling::{Own, call};
use crate::direction::{Opening, Sealing};
use crate::error::{JoinError, Refusal};
use crate::greeting::{Greeting, Role};
use crate::guests::{Arrived, Guests};
use crate::letter::Letter;
use crate::line::Line;
use crate::post::{News, Post};
use crate::rules::{Job, MAX_WORKERS, Place, Rules};

/// What a process has when it has joined.
pub(crate) struct Joined {
    pub(crate) post: Post,
    /// Who called and was none of the workers.
    pub(crate) refused: u64,
}

struct Joining<'a> {
    place: Place,
    rules: &'a Rules,
    own: Own,
    post: Post,
    guests: Guests,
    /// Who was let in as a guest, and was none of the workers.
    refused: u64,
    /// Where each listens, as far as is known.
    addresses: Vec<Option<SocketAddr>>,
    until: Instant,
}

/// Joins, and returns when there is a connection with each other worker.
pub(crate) fn join(
    place: Place,
    listener: std::net::TcpListener,
    job: &Job,
    rules: &Rules,
) -> Result<Joined, JoinError> {
    let Place { number, workers, .. } = place;
    if !rules.are_sound(workers) || number >= workers {
        return Err(JoinError::Rules { number, workers });
    }
    listener.set_nonblocking(true)?;
    let own = Own::new(&place, job, rules, listener.local_addr()?);
    let post = Post::new(workers)?;
    let listener = TcpListener::from_std(listener);
    let guests = Guests::new(listener, own.clone(), post.registry(), MAX_WORKERS as usize)?;
    let until = Instant::now() + rules.patience;
    let addresses = vec![None; workers as usize];
    let mut joining = Joining { place, rules, own, post, guests, refused: 0, addresses, until };
    if number == 0 {
        joining.gather()?;
    } else {
        joining.meet()?;
    }
    Ok(Joined { post: joining.post, refused: joining.refused + joining.guests.refused() })
}

impl Joining<'_> {
    /// Worker 0 is called by all, and tells all where the others are.
    fn gather(&mut self) -> Result<(), JoinError> {
        self.addresses[0] = Some(self.own.listens);
        self.take_guests(1)?;
        let addresses: Vec<SocketAddr> = self.addresses.iter().copied().flatten().collect();
        self.post.say_all(&Letter::Roster(addresses));
        self.post.flush();
        Ok(())
    }

    /// Another one calls worker 0, and is told where the others are.
    fn meet(&mut self) -> Result<(), JoinError> {
        let number = self.place.number;
        self.call(0, self.place.meeting)?;
        let addresses = self.roster()?;
        for other in 1..number {
            self.call(other, addresses[other as usize])?;
        }
        self.take_guests(number + 1)
    }

    fn call(&mut self, other: u32, at: SocketAddr) -> Result<(), JoinError> {
        let called = call(other, at, &self.own, Role::Calls, self.until)?;
        called.stream.set_nonblocking(true)?;
        let stream = TcpStream::from_std(called.stream);
        let line = Line::new(stream, Sealing::new(&called.keys.calls));
        // The other one lets in who has sent a record.
        line.say(&Letter::Beat);
        line.flush();
        Ok(self.post.add(other, line, Opening::new(&called.keys.answers), false)?)
    }

    /// Waits for worker 0 to say where all are.
    fn roster(&mut self) -> Result<Vec<SocketAddr>, JoinError> {
        loop {
            self.turn()?;
            while let Some((from, news)) = self.post.next() {
                match news {
                    News::Letter(Letter::Roster(addresses))
                        if addresses.len() == self.place.workers as usize =>
                    {
                        return Ok(addresses);
                    }
                    News::Letter(_) => {}
                    News::End => return Err(JoinError::Ended { number: from }),
                }
            }
            self.check(&[0])?;
        }
    }

    /// Waits until all from this number on have called.
    fn take_guests(&mut self, first: u32) -> Result<(), JoinError> {
        loop {
            let is_missing = |other: &u32| !self.post.has(*other);
            let missing: Vec<u32> = (first..self.place.workers).filter(is_missing).collect();
            if missing.is_empty() {
                return Ok(());
            }
            self.turn()?;
            self.check(&missing)?;
        }
    }

    /// Is it too late?
    fn check(&self, missing: &[u32]) -> Result<(), JoinError> {
        if Instant::now() < self.until {
            return Ok(());
        }
        Err(JoinError::Alone { missing: missing.to_vec(), patience: self.rules.patience })
    }

    /// Waits for something to come, and lets in who has called.
    fn turn(&mut self) -> Result<(), JoinError> {
        let left = self.until.saturating_duration_since(Instant::now());
        // Guests that say nothing are turned away meanwhile.
        let tokens = self.post.wait(Some(left.min(Duration::from_secs(1))))?;
        self.guests.turn_away_late(Instant::now());
        for token in tokens {
            let (post, own) = (&self.post, self.place.number);
            let admit = |greeting: &Greeting| admits(post, own, greeting);
            if let Some(arrived) = self.guests.ready(token, post.registry(), admit) {
                self.let_in(arrived)?;
            }
        }
        Ok(())
    }

    fn let_in(&mut self, arrived: Arrived) -> Result<(), JoinError> {
        let Arrived { stream, greeting, sealing, opening, records } = arrived;
        let number = greeting.number;
        if self.post.has(number) {
            // Two have called with one number, and the other one was faster.
            self.refused += 1;
            return Ok(());
        }
        self.addresses[number as usize] = Some(greeting.listens);
        self.post.add(number, Line::new(stream, sealing), opening, true)?;
        for record in records {
            let post = &mut self.post;
            // What makes no sense is found again when the next record does not.
            let _ = Letter::all(&record, |letter| post.came(number, letter));
        }
        Ok(())
    }
}

/// Whether a guest may come in: it has a higher number, which nobody has taken.
fn admits(post: &Post, own: u32, greeting: &Greeting) -> Result<(), Refusal> {
    let is_new = greeting.number > own && !post.has(greeting.number);
    if greeting.role == Role::Calls && is_new { Ok(()) } else { Err(Refusal::Taken) }
}
