//! The protocol of a runtime process: one that calls functions of a language for a worker.
//!
//! The process inherits one end of a Unix stream socket pair, whose descriptor's number is in
//! [`DESCRIPTOR`]. On it go frames: the length, four bytes little endian, and that many bytes of
//! CBOR, at most [`MAX_FRAME_BYTES`]. Each is `[KIND, [FIELD, ...]]`, with the kinds and the order
//! of fields as numbered here; what is absent is `null`, and fields at the end that a reader does
//! not know are skipped.
//!
//! The process says [`FromRuntime::Ready`] first. Then it makes one call at a time, and says once
//! how each has ended, and before that, if it can, what it took ([`FromRuntime::Spent`]). What it
//! writes to its standard output and error meanwhile is the log of the task. When the socket
//! closes, it ends.
//!
//! A process can have the next calls *ahead*, so that it need not wait for its worker between two:
//! it says in `Ready` how many. Such a call may be taken back as long as it has not begun, also
//! while the process is busy with another. So there is a pipe, whose reading end the process
//! inherits ([`AHEAD`]), with a byte for each call that was sent ahead. The process takes one
//! before it begins such a call. The worker takes as many as there are, and that many calls, the
//! last ones, are its own again; it says which ([`ToRuntime::Withdraw`]). The kernel gives each
//! byte to one of both. No byte is added before the process has heard that: it would begin the
//! wrong call.
//!
//! A process may say in `Ready` that it *can wait*. Then the worker has one more of them than slots
//! after a while, to which it says which slot it has ([`ToRuntime::Slot`]) when one needs it,
//! before the first call.
//!
//! All output of a call has to be read before the next one begins, or it would be of both. A
//! process with calls ahead that finds its pipes not empty (FIONREAD) at the end of a call says so
//! in `Spent`, and begins none before [`ToRuntime::Go`].

use minicbor::{Decode, Encode};
use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::{Effect, Put, Submission};
use tidings_tasks_core::name::Name;

/// The variable that tells a runtime process the number of its descriptor.
pub const DESCRIPTOR: &str = "TIDINGS_RUNTIME_FD";

/// The variable that tells a runtime process the number of the descriptor from which it takes a
/// byte for each call that it begins and had ahead. Reading it does not block.
pub const AHEAD: &str = "TIDINGS_RUNTIME_AHEAD";

/// The variable that has the slot of a process, from 0. One that waits for a slot has none until it
/// is told ([`ToRuntime::Slot`]).
pub const SLOT: &str = "TIDINGS_SLOT";

/// The longest frame, in bytes.
pub const MAX_FRAME_BYTES: u32 = 64 << 20;

/// What a worker says.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum ToRuntime {
    /// Call this.
    #[n(0)]
    Run {
        /// Which task: 16 bytes.
        #[n(0)]
        task: TaskId,
        /// Which try, from 1.
        #[n(1)]
        attempt: Attempt,
        /// Its queue.
        #[n(2)]
        queue: Name,
        /// The function's code, if this process has not had it yet.
        #[cbor(n(3), with = "minicbor::bytes")]
        code: Option<Vec<u8>>,
        /// SHA-256 of the code, which the process keeps under this name; none if the body is all.
        #[cbor(n(4), with = "minicbor::bytes")]
        code_hash: Option<[u8; 32]>,
        /// What to make of it, with the arguments.
        #[cbor(n(5), with = "minicbor::bytes")]
        body: Vec<u8>,
        /// What the calls have returned that it waited for, and reads.
        #[cbor(n(6), default)]
        inputs: Vec<Given>,
        /// Whether it is ahead: it begins with a byte of the pipe, or not at all.
        #[cbor(n(7), default)]
        is_ahead: bool,
    },
    /// Nobody wants the result any more, or time is up: end the call soon. A process that is still
    /// in it after the grace is killed.
    #[n(1)]
    Cancel {
        /// Which task.
        #[n(0)]
        task: TaskId,
        /// Which try.
        #[n(1)]
        attempt: Attempt,
    },
    /// This call, which was ahead, is not to be made: its byte was taken.
    #[n(2)]
    Withdraw {
        /// Which task.
        #[n(0)]
        task: TaskId,
        /// Which try.
        #[n(1)]
        attempt: Attempt,
    },
    /// What the last call has written was read: the next one may begin.
    #[n(3)]
    Go {},
    /// The process, which has waited, has this slot from now on. Said to those only that can wait.
    #[n(4)]
    Slot {
        /// From 0.
        #[n(0)]
        slot: u32,
    },
}

/// What a call before this one has returned.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub struct Given {
    /// Which call.
    #[n(0)]
    pub task: TaskId,
    /// Its value.
    #[n(1)]
    pub value: Value,
}

impl Given {
    /// About how many bytes it takes of a frame.
    pub(crate) fn frame_bytes(&self) -> usize {
        match &self.value {
            Value::Here(bytes) => 32 + bytes.len(),
            Value::File { path, .. } => 64 + path.len(),
        }
    }
}

/// What a call has returned, as a process is given it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Value {
    /// These bytes.
    #[n(0)]
    Here(#[cbor(n(0), with = "minicbor::bytes")] Vec<u8>),
    /// A part of a file of this host, which nobody changes.
    #[n(1)]
    File {
        /// The file.
        #[n(0)]
        path: String,
        /// Where the value begins in it, in bytes.
        #[n(1)]
        from: u64,
        /// How long it is, in bytes.
        #[n(2)]
        bytes: u64,
    },
}

/// What a runtime process says.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum FromRuntime {
    /// It takes calls.
    #[n(0)]
    Ready {
        /// Its version, for people.
        #[n(0)]
        runtime_version: String,
        /// How many calls it may have ahead; none if it does not say so.
        #[cbor(n(1), default)]
        ahead: u32,
        /// Whether it may be started before there is a slot for it, and waits then: a spare one,
        /// for the next that is lost.
        #[cbor(n(2), default)]
        can_wait: bool,
    },
    /// The call has returned.
    #[n(1)]
    Done {
        /// Which task.
        #[n(0)]
        task: TaskId,
        /// Which try.
        #[n(1)]
        attempt: Attempt,
        /// What it has returned.
        #[cbor(n(2), with = "minicbor::bytes")]
        value: Vec<u8>,
        /// New tasks, in the same commit.
        #[n(3)]
        children: Vec<Submission>,
        /// Keys that are written in the same commit.
        #[n(4)]
        effects: Vec<Effect>,
        /// Tuples that are put in the same commit.
        #[cbor(n(5), default)]
        puts: Vec<Put>,
    },
    /// The call has failed: an exception, or it was cancelled.
    #[n(2)]
    Failed {
        /// Which task.
        #[n(0)]
        task: TaskId,
        /// Which try.
        #[n(1)]
        attempt: Attempt,
        /// In words, for people.
        #[n(2)]
        text: String,
        /// What a program reads of it, such as the exception itself: it is kept if it has at most
        /// [`MAX_DETAIL_BYTES`](tidings_tasks_core::record::MAX_DETAIL_BYTES).
        #[cbor(n(3), with = "minicbor::bytes", default)]
        detail: Vec<u8>,
        /// Whether the host is at fault, which had no room for it: others are to make the call.
        #[cbor(n(4), default)]
        is_of_host: bool,
    },
    /// How far the call is.
    #[n(3)]
    Progress {
        /// Which task.
        #[n(0)]
        task: TaskId,
        /// Which try.
        #[n(1)]
        attempt: Attempt,
        /// How much of it is done, in thousandths.
        #[n(2)]
        thousandths: u16,
        /// At what it is, in words.
        #[n(3)]
        text: String,
    },
    /// What the call has taken that is about to end. A process that says this once is no longer
    /// measured by its worker, which takes longer than a short call.
    #[n(4)]
    Spent {
        /// Which task.
        #[n(0)]
        task: TaskId,
        /// Which try.
        #[n(1)]
        attempt: Attempt,
        /// Microseconds of processors, of the process and the children that it has waited for.
        #[n(2)]
        cpu_us: u64,
        /// The most memory that the process had at a time during the call, in bytes.
        #[n(3)]
        peak_bytes: u64,
        /// Microseconds from begin to end; 0 if it does not say.
        #[cbor(n(4), default)]
        wall_us: u64,
        /// Whether it waits for [`ToRuntime::Go`], since what it has written was not read.
        #[cbor(n(5), default)]
        is_held: bool,
    },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use tidings_tasks_core::tuple::Tuple;

    use super::*;

    fn read<T: for<'b> Decode<'b, ()> + Encode<()> + PartialEq + core::fmt::Debug>(said: &T) {
        let bytes = minicbor::to_vec(said).unwrap();
        assert_eq!(&minicbor::decode::<T>(&bytes).unwrap(), said);
    }

    proptest! {
        #[test]
        fn what_is_said_is_read(
            id: [u8; 16], attempt: u32, text: String, body: Vec<u8>, code: Option<Vec<u8>>,
            code_hash: Option<[u8; 32]>, thousandths: u16,
        ) {
            let (task, attempt) = (TaskId::from_bytes(id), Attempt(attempt));
            let (queue, path) = (text.as_str().into(), text.clone());
            let values = [Value::Here(body.clone()), Value::File { path, from: 1, bytes: 2 }];
            let inputs = values.map(|value| Given { task, value }).into();
            let (body, is_ahead) = (body.clone(), attempt.0 % 2 == 1);
            read(&ToRuntime::Run { task, attempt, queue, code, code_hash, body, inputs, is_ahead });
            read(&ToRuntime::Cancel { task, attempt });
            read(&ToRuntime::Withdraw { task, attempt });
            read(&ToRuntime::Go {});
            read(&ToRuntime::Slot { slot: attempt.0 });
            let value = text.clone().into_bytes();
            let effects = vec![Effect { key: value.clone(), value: None, expect: Some(1) }];
            let (space, tuple) = (text.clone(), Tuple::new(vec![text.as_str().into()]));
            let (children, puts) = (Vec::new(), vec![Put { space, tuple }]);
            read(&FromRuntime::Done { task, attempt, value, children, effects, puts });
            let (runtime_version, ahead) = (text.clone(), attempt.0);
            read(&FromRuntime::Ready { runtime_version, ahead, can_wait: is_ahead });
            let detail = text.clone().into_bytes();
            let (failed, is_of_host) = (text.clone(), is_ahead);
            read(&FromRuntime::Failed { task, attempt, text: failed, detail, is_of_host });
            let (cpu_us, peak_bytes) = (u64::from(attempt.0), u64::MAX);
            let (wall_us, is_held) = (cpu_us, is_ahead);
            read(&FromRuntime::Spent { task, attempt, cpu_us, peak_bytes, wall_us, is_held });
            read(&FromRuntime::Progress { task, attempt, thousandths, text });
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = minicbor::decode::<ToRuntime>(&bytes);
            let _ = minicbor::decode::<FromRuntime>(&bytes);
        }
    }

    /// What another language writes: `[1, [h'00..', 1, h'6f6b', [], [], []]]`; the last
    /// list may be left out, as those do that know of no tuples.
    #[test]
    fn the_form_is_the_one_that_is_described() {
        let id = [&[0x50][..], &[0; 16]].concat();
        let done = |fields: u8| {
            let rest = &[1, 0x42, b'o', b'k', 0x80, 0x80, 0x80][..=usize::from(fields)];
            [&[0x82, 1, 0x80 + fields][..], &id, rest].concat()
        };
        let task = TaskId::from_bytes([0; 16]);
        let (children, effects) = (Vec::new(), Vec::new());
        let said = FromRuntime::Done {
            task,
            attempt: Attempt(1),
            value: b"ok".into(),
            children,
            effects,
            puts: Vec::new(),
        };
        assert_eq!(minicbor::to_vec(&said).unwrap(), done(6));
        assert_eq!(minicbor::decode::<FromRuntime>(&done(5)).unwrap(), said);
        let run = [&[0x82, 0, 0x87][..], &id, &[1, 0x61, b'q', 0xf6, 0xf6, 0x40, 0x80]].concat();
        let expected = ToRuntime::Run {
            task,
            attempt: Attempt(1),
            queue: "q".into(),
            code: None,
            code_hash: None,
            body: Vec::new(),
            inputs: Vec::new(),
            is_ahead: false,
        };
        assert_eq!(minicbor::decode::<ToRuntime>(&run).unwrap(), expected);
    }
}
