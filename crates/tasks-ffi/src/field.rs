//! Fields of tuples as C has them: a place for each kind of value.
//!
//! In a template a field may be open; in a put it may stand for what the statement has found. The
//! kind is a number and no enumeration, since C may write any into it.

use std::ptr;

use tidings_tasks_core::tuple::{Field, Pattern, Term, Type};

use crate::arguments::{all, text};
use crate::handles::TidingsTasksHandle;
use crate::status::Trouble;

/// A field is an integer.
pub const TIDINGS_TASKS_INT: u32 = 0;
/// A field is a floating-point number.
pub const TIDINGS_TASKS_FLOAT: u32 = 1;
/// A field is a text.
pub const TIDINGS_TASKS_TEXT: u32 = 2;
/// A field is bytes.
pub const TIDINGS_TASKS_BYTES: u32 = 3;
/// A field is true or false.
pub const TIDINGS_TASKS_BOOL: u32 = 4;
/// A field of a template is anything.
pub const TIDINGS_TASKS_WILDCARD: u32 = 5;
/// A field that is put is one that an in of the same statement has found.
pub const TIDINGS_TASKS_FOUND: u32 = 6;

/// A field is the handle of a blob: `bytes` points to a `TidingsTasksHandle`.
pub const TIDINGS_TASKS_HANDLE: u32 = 7;

/// A field of a tuple, or what a template says of one. Initialise it with `{0}`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsTasksField {
    /// `TIDINGS_TASKS_INT` to `TIDINGS_TASKS_HANDLE`.
    pub kind: u32,
    /// In a template: any value of this kind.
    pub is_open: bool,
    /// An integer; of a truth value 0 or 1; of a found field which in, from 0.
    pub integer: i64,
    /// A floating-point number.
    pub number: f64,
    /// A text, which ends with a zero byte, bytes, or a handle.
    pub bytes: *const u8,
    /// How many bytes; of a found field which one, from 0. Of a text it is not read, since
    /// that ends at its zero byte, nor of a handle.
    pub count: usize,
}

/// The type of the fields of a kind.
pub(crate) fn kind_of(kind: u32) -> Result<Type, Trouble> {
    Ok(match kind {
        TIDINGS_TASKS_INT => Type::Int,
        TIDINGS_TASKS_FLOAT => Type::Float,
        TIDINGS_TASKS_TEXT => Type::Text,
        TIDINGS_TASKS_BYTES => Type::Bytes,
        TIDINGS_TASKS_BOOL => Type::Bool,
        TIDINGS_TASKS_HANDLE => Type::Handle,
        other => return Err(Trouble::argument(format!("a field of kind {other} has no type"))),
    })
}

/// The values of fields.
///
/// # Safety
/// The bytes of each are as its kind says.
pub(crate) unsafe fn fields(all: &[TidingsTasksField]) -> Result<Vec<Field>, Trouble> {
    // SAFETY: as the caller promises.
    all.iter().map(|one| unsafe { one.field() }).collect()
}

/// What a field points to.
#[derive(Debug)]
pub(crate) enum Kept {
    /// With a zero byte behind them.
    Bytes(Box<[u8]>),
    Handle(Box<TidingsTasksHandle>),
}

impl Kept {
    /// Bytes, and a zero behind them.
    fn bytes(bytes: &[u8]) -> Self {
        Self::Bytes([bytes, &[0]].concat().into())
    }

    /// Where they are, and how many without that zero.
    fn place(&self) -> (*const u8, usize) {
        match self {
            Self::Bytes(bytes) => (bytes.as_ptr(), bytes.len() - 1),
            Self::Handle(handle) => {
                (ptr::from_ref(&**handle).cast(), size_of::<TidingsTasksHandle>())
            }
        }
    }
}

impl TidingsTasksField {
    /// The value of a field of this kind.
    ///
    /// # Safety
    /// `bytes` is null, or a text that ends with a zero byte, a handle, or has `count` bytes.
    unsafe fn field(&self) -> Result<Field, Trouble> {
        Ok(match self.kind {
            TIDINGS_TASKS_INT => Field::Int(self.integer),
            TIDINGS_TASKS_FLOAT => Field::Float(self.number),
            // SAFETY: as the caller promises.
            TIDINGS_TASKS_TEXT => unsafe { text("the text of a field", self.bytes.cast())? }.into(),
            TIDINGS_TASKS_BYTES => {
                // SAFETY: as the caller promises.
                unsafe { all("the bytes of a field", self.bytes, self.count)? }.to_vec().into()
            }
            TIDINGS_TASKS_BOOL => Field::Bool(self.integer != 0),
            TIDINGS_TASKS_HANDLE if self.bytes.is_null() => {
                return Err(Trouble::argument("the handle of a field is null"));
            }
            TIDINGS_TASKS_HANDLE => {
                #[expect(clippy::cast_ptr_alignment, reason = "it is read wherever it lies")]
                let handle = self.bytes.cast::<TidingsTasksHandle>();
                // SAFETY: it is not null, and points to a handle, as the caller promises.
                let handle = unsafe { handle.read_unaligned() };
                handle.blob()?.into()
            }
            other => return Err(Trouble::argument(format!("a field of kind {other}"))),
        })
    }

    /// # Safety
    /// As [`TidingsTasksField::field`].
    pub(crate) unsafe fn pattern(&self) -> Result<Pattern, Trouble> {
        match (self.kind, self.is_open) {
            (TIDINGS_TASKS_WILDCARD, _) => Ok(Pattern::Any),
            // SAFETY: as the caller promises.
            (_, false) => Ok(Pattern::Is(unsafe { self.field()? })),
            (kind, true) => Ok(Pattern::Of(kind_of(kind)?)),
        }
    }

    /// One of a kind, to be filled.
    pub(crate) fn empty(kind: u32) -> Self {
        Self { kind, is_open: false, integer: 0, number: 0.0, bytes: ptr::null(), count: 0 }
    }

    /// # Safety
    /// As [`TidingsTasksField::field`].
    pub(crate) unsafe fn term(&self) -> Result<Term, Trouble> {
        if self.kind != TIDINGS_TASKS_FOUND {
            // SAFETY: as the caller promises.
            return Ok(Term::Is(unsafe { self.field()? }));
        }
        match (u8::try_from(self.integer), u8::try_from(self.count)) {
            (Ok(one), Ok(field)) => Ok(Term::Found(one, field)),
            _ => Err(Trouble::argument("a found field of an in that no statement has")),
        }
    }

    /// What a program sees of a value, and what that points to.
    pub(crate) fn shown(field: &Field) -> (Self, Option<Kept>) {
        let (kind, integer, number, kept) = match field {
            Field::Int(integer) => (TIDINGS_TASKS_INT, *integer, 0.0, None),
            Field::Float(number) => (TIDINGS_TASKS_FLOAT, 0, *number, None),
            Field::Text(text) => (TIDINGS_TASKS_TEXT, 0, 0.0, Some(Kept::bytes(text.as_bytes()))),
            Field::Bytes(bytes) => (TIDINGS_TASKS_BYTES, 0, 0.0, Some(Kept::bytes(bytes))),
            Field::Bool(is_true) => (TIDINGS_TASKS_BOOL, i64::from(*is_true), 0.0, None),
            Field::Handle(blob) => {
                let handle = Box::new(TidingsTasksHandle::of(blob));
                (TIDINGS_TASKS_HANDLE, 0, 0.0, Some(Kept::Handle(handle)))
            }
        };
        let (bytes, count) = kept.as_ref().map_or((ptr::null(), 0), Kept::place);
        (Self { kind, is_open: false, integer, number, bytes, count }, kept)
    }
}
