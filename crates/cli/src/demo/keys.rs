//! Single keys of the terminal that shows a demo.
//!
//! The terminal gives each key at once and does not show it; Ctrl-C stays a signal, and the output
//! is what it was. Dropping this restores the terminal, also after an error or a panic. A demo in
//! the background takes no keys: changing the terminal from there would stop it.

use std::io::{self, IsTerminal, Read};
use std::thread;

use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// The terminal while it gives single keys.
#[derive(Debug)]
pub struct Keys {
    before: Termios,
}

impl Keys {
    /// Begins to hand every key to `take`, until that is `false`; `None` where standard input is no
    /// terminal, or that of others now.
    pub fn take(take: impl Fn(u8) -> bool + Send + 'static) -> Option<Self> {
        let stdin = io::stdin();
        if !stdin.is_terminal() || tcgetpgrp(&stdin).ok()? != getpgrp() {
            return None;
        }
        let before = tcgetattr(&stdin).ok()?;
        let mut single = before.clone();
        single.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(&stdin, OptionalActions::Now, &single).ok()?;
        let keys = Self { before };
        // It ends with the process: nothing else ends the read of a terminal.
        let read = move || {
            let mut key = [0];
            while matches!(io::stdin().lock().read(&mut key), Ok(1)) && take(key[0]) {}
        };
        thread::Builder::new().name("keys".to_owned()).spawn(read).ok()?;
        Some(keys)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before); // it may be gone
    }
}
