//! What ends a wait: a signal, a key, or the time.
//!
//! A thread receives the process's signals and forwards them through a channel, so the demo sleeps
//! until the next thing to do and still answers Ctrl-C at once.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use signal_hook::consts::SIGCHLD;
use signal_hook::iterator::{Handle, Signals};

use super::keys::Keys;
use crate::signals;

/// Signals that can be pending; with more of them the thread waits for room.
const BACKLOG: usize = 16;

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// The time is over.
    Time,
    /// Ctrl-C, SIGTERM or SIGHUP: end the demo.
    Stop,
    /// An agent has ended.
    Child,
    /// A key was pressed.
    Key(u8),
}

/// The process's signals and keys. While it lives, Ctrl-C does not end the process by itself.
#[derive(Debug)]
pub struct Wakes {
    signals: Handle,
    keys: Option<Keys>,
    received: Receiver<Wake>,
}

impl Wakes {
    /// Starts to handle the signals, and keys of the terminal if it is wanted and there is one.
    ///
    /// # Errors
    /// What the system says if a handler cannot be set.
    pub fn take(with_keys: bool) -> io::Result<Self> {
        let mut signals = Signals::new(signals::ending().into_iter().chain([SIGCHLD]))?;
        let handle = signals.handle();
        let (sender, received) = sync_channel(BACKLOG);
        let pressed = sender.clone();
        let take_key = move |key| pressed.send(Wake::Key(key)).is_ok();
        let keys = with_keys.then(|| Keys::take(take_key)).flatten();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in signals.forever() {
                let wake = if signal == SIGCHLD { Wake::Child } else { Wake::Stop };
                if sender.send(wake).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { signals: handle, keys, received })
    }

    /// Whether keys are taken.
    pub fn has_keys(&self) -> bool {
        self.keys.is_some()
    }

    /// Sleeps until a signal comes or `time` is over.
    pub fn wait(&self, time: Duration) -> Wake {
        match self.received.recv_timeout(time) {
            Ok(wake) => wake,
            Err(RecvTimeoutError::Timeout) => Wake::Time,
            // The thread ends only when `drop` requests it.
            Err(RecvTimeoutError::Disconnected) => Wake::Stop,
        }
    }
}

impl Drop for Wakes {
    fn drop(&mut self) {
        self.signals.close();
    }
}
