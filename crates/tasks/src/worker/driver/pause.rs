//! Pauses: a worker whose host has no room takes no tasks until there is some.
//!
//! Tries that found none are given back once the coordinator knows that, so that they do not come
//! again at once. That is no failure of them. But a task that finds none here a second time, or
//! whose disk is too small for it, counts as lost by this host: others are preferred for it then,
//! and where none has room it is not tried for ever.

use std::pin::Pin;

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::retry::Cause;

use super::super::given::Key;
use super::super::room::Short;
use super::super::verdict::Verdict;

/// Tasks that are known to have found no room; of more the first are forgotten.
const KNOWN: usize = 1_024;

/// While there is no room, and what found none.
#[derive(Default)]
pub(super) struct Pause {
    looking: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// Where there is none, and what to do about it.
    said: Option<String>,
    /// Tries that are to be given back, and why.
    held: Vec<(Key, Verdict)>,
    /// Tasks that found none.
    known: Vec<TaskId>,
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

    /// A try is to be given back. Returns what to wait for before others are taken, if it is to be
    /// waited for.
    pub(super) fn hold(&mut self, key: Key, short: Short) -> Option<Short> {
        let is_second = self.known.contains(&key.0);
        let is_lost = is_second || !short.may_fit();
        let cause = if is_lost { Cause::Lost } else { Cause::Returned };
        self.held.push((key, Verdict::failed(cause, short.text.clone())));
        if is_second {
            return Some(short.at_least());
        }
        if self.known.len() == KNOWN {
            self.known.remove(0);
        }
        self.known.push(key.0);
        (!is_lost).then_some(short)
    }

    /// Those that are.
    pub(super) fn held(&mut self) -> Vec<(Key, Verdict)> {
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

#[cfg(test)]
mod tests {
    use std::io;

    use tidings_tasks_core::id::Attempt;

    use super::*;

    #[test]
    fn who_finds_no_room_again_is_lost_by_this_host() {
        let folder = tempfile::tempdir().unwrap();
        let short = |bytes| {
            let full = io::Error::from_raw_os_error(libc::ENOSPC);
            Short::of_file(folder.path(), bytes, &full).unwrap()
        };
        let mut pause = Pause::default();
        let mut hold = |task: u64, attempt: u32, bytes: u64| {
            let key = (TaskId::of("task", task), Attempt(attempt));
            let awaited = pause.hold(key, short(bytes));
            let held = pause.held();
            let [(of, Verdict { failure: Some((cause, _)), .. })] = &*held else { panic!() };
            assert_eq!(*of, key);
            (*cause, awaited)
        };
        let many = 3 << 20;
        assert_eq!(hold(1, 1, many), (Cause::Returned, Some(short(many))));
        assert_eq!(hold(2, 1, many), (Cause::Returned, Some(short(many))));
        // It is not waited for as much again: others can do with less.
        assert_eq!(hold(1, 2, many), (Cause::Lost, Some(short(many).at_least())));
        // No waiting helps.
        assert_eq!(hold(3, 1, u64::MAX), (Cause::Lost, None));
        (10..10 + KNOWN as u64).for_each(|task| drop(hold(task, 1, 1)));
        assert_eq!(hold(2, 2, many).0, Cause::Returned);
    }
}
