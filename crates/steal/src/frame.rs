//! Frames: tasks as data, so that any worker can run them and none has to keep a stack for them.
//!
//! A frame names a function, the step at which it goes on, and the bytes that it goes on with. What
//! a function is, only the world of the workers knows; a frame means the same on all of them. A
//! task that waits for its children, or lets its child run first, ends and leaves a frame with a
//! later step: its continuation.
//!
//! Invariant: the bytes are at most [`MAX_STATE_BYTES`], from construction on.

use core::fmt;

/// The most bytes that a frame may carry, whatever a configuration allows.
pub const MAX_STATE_BYTES: usize = 4096;

/// What fits without an allocation.
pub(crate) const INLINE_BYTES: usize = 22;

/// The bytes of a frame: short ones lie in it.
#[derive(Clone)]
pub struct State(Stored);

#[derive(Clone)]
enum Stored {
    /// The first `len` of these bytes; what is behind them means nothing.
    Inline {
        len: u8,
        bytes: [u8; INLINE_BYTES],
    },
    Apart(Box<[u8]>),
}

/// The bytes of a task exceed what a slot holds. Nothing was added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge {
    /// How many they are.
    pub bytes: usize,
    /// How many a slot holds.
    pub slot_bytes: usize,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, slot_bytes } = self;
        write!(
            f,
            "a task of {bytes} bytes, and a slot holds {slot_bytes}: keep what it needs in "
        )?;
        write!(f, "an array or a blob, and spawn a task that names it")
    }
}

impl core::error::Error for TooLarge {}

impl State {
    /// A copy of these bytes.
    ///
    /// # Errors
    /// If they exceed [`MAX_STATE_BYTES`].
    pub fn of(bytes: &[u8]) -> Result<Self, TooLarge> {
        if bytes.len() > MAX_STATE_BYTES {
            return Err(TooLarge { bytes: bytes.len(), slot_bytes: MAX_STATE_BYTES });
        }
        if bytes.len() > INLINE_BYTES {
            return Ok(Self(Stored::Apart(bytes.into())));
        }
        let mut inline = [0; INLINE_BYTES];
        inline[..bytes.len()].copy_from_slice(bytes);
        Ok(Self(Stored::Inline { len: bytes.len() as u8, bytes: inline }))
    }

    /// A copy of the first `len` of these bytes; `None` if there are fewer, or these exceed
    /// [`MAX_STATE_BYTES`]. A steal copies many: where it can, a number of bytes that is always the
    /// same.
    #[inline]
    pub(crate) fn of_first(len: usize, bytes: &[u8]) -> Option<Self> {
        match bytes.first_chunk() {
            Some(inline) if len <= INLINE_BYTES => {
                Some(Self(Stored::Inline { len: len as u8, bytes: *inline }))
            }
            _ => Self::of(bytes.get(..len)?).ok(),
        }
    }

    /// The bytes of a short one, with what lies behind them.
    #[inline]
    pub(crate) fn inline(&self) -> Option<&[u8; INLINE_BYTES]> {
        match &self.0 {
            Stored::Inline { bytes, .. } => Some(bytes),
            Stored::Apart(_) => None,
        }
    }

    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Stored::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Stored::Apart(bytes) => bytes,
        }
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for State {}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().fmt(f)
    }
}

/// Who waits for a frame: a finish, by the worker that has it and its number there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Scope {
    /// The worker that has the finish.
    pub home: u32,
    /// The number that it gave it.
    pub number: u32,
}

impl Scope {
    /// Nobody waits but the phase.
    pub const PHASE: Self = Self { home: u32::MAX, number: 0 };
    /// Nobody waits but the phase, with whose list the frame came.
    pub const LIST: Self = Self { home: u32::MAX, number: 1 };

    /// Whether a finish waits.
    pub fn is_finish(self) -> bool {
        self.home != u32::MAX
    }
}

/// A task, or what is left of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// What runs: a number that all workers know.
    pub function: u16,
    /// Where in it.
    pub step: u32,
    /// How long it is predicted to run, in nanoseconds.
    pub work_ns: u64,
    /// What it goes on with.
    pub state: State,
    /// Who waits for it. A worker sets it.
    pub scope: Scope,
}

impl Frame {
    /// The first step of a function.
    ///
    /// # Errors
    /// If the bytes exceed [`MAX_STATE_BYTES`].
    pub fn new(function: u16, work_ns: u64, state: &[u8]) -> Result<Self, TooLarge> {
        let (state, scope) = (State::of(state)?, Scope::PHASE);
        Ok(Self { function, step: 0, work_ns, state, scope })
    }

    /// The same at a later step.
    #[must_use]
    pub fn at_step(self, step: u32) -> Self {
        Self { step, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_whether_they_fit_or_not() {
        for len in [0, 1, INLINE_BYTES, INLINE_BYTES + 1, MAX_STATE_BYTES] {
            let bytes: Vec<u8> = (0..len).map(|at| at as u8).collect();
            assert_eq!(State::of(&bytes).unwrap().bytes(), bytes);
        }
    }

    #[test]
    fn what_lies_behind_the_bytes_means_nothing() {
        let many: Vec<u8> = (0..100).collect();
        for len in [0, 1, INLINE_BYTES, INLINE_BYTES + 1, 100] {
            assert_eq!(State::of_first(len, &many), State::of(&many[..len]).ok());
        }
        assert_ne!(State::of_first(3, &many), State::of_first(4, &many));
        assert_eq!(State::of_first(101, &many), None);
        let too_many = [0; MAX_STATE_BYTES + 1];
        assert_eq!(State::of_first(too_many.len(), &too_many), None);
    }

    #[test]
    fn what_no_slot_holds_is_refused_with_both_sizes() {
        let refused = Frame::new(1, 0, &[0; MAX_STATE_BYTES + 1]).unwrap_err();
        assert_eq!(refused, TooLarge { bytes: 4097, slot_bytes: 4096 });
        assert!(refused.to_string().contains("4097 bytes"));
    }

    #[test]
    fn a_frame_is_six_words() {
        assert_eq!(size_of::<Frame>(), 48);
    }
}
