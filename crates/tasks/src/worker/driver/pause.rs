//! Pauses: a worker whose host has no room takes no tasks until there is some.
//!
//! Tries that found none are given back once the coordinator knows that, so that they do not come
//! again at once.

use std::pin::Pin;

use super::super::given::Key;
use super::super::room::Short;

/// While there is no room, and what found none.
#[derive(Default)]
pub(super) struct Pause {
    looking: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// Where there is none, and what to do about it.
    said: Option<String>,
    /// Tries that are to be given back, and why.
    held: Vec<(Key, String)>,
}

impl Pause {
    /// Whether there is no room, as far as is known.
    pub(super) fn is_on(&self) -> bool {
        self.looking.is_some()
    }

    /// Where there is none, and what to do about it.
    pub(super) fn said(&self) -> Option<String> {
        self.said.clone()
    }

    /// A try is to be given back.
    pub(super) fn hold(&mut self, key: Key, why: String) {
        self.held.push((key, why));
    }

    /// Those that are.
    pub(super) fn held(&mut self) -> Vec<(Key, String)> {
        std::mem::take(&mut self.held)
    }

    /// From now on there is no room.
    pub(super) fn begin(&mut self, short: Short) {
        self.said = Some(short.said());
        self.looking = Some(Box::pin(short.over()));
    }

    /// There is, or it does not matter any more.
    pub(super) fn end(&mut self) {
        (self.looking, self.said) = (None, None);
    }

    /// Waits until there is room; for ever if there is some. May be dropped at any time.
    pub(super) async fn over(&mut self) {
        match &mut self.looking {
            Some(looking) => looking.await,
            None => core::future::pending().await,
        }
    }
}
