//! Fields: the values of a tuple, and their types.
//!
//! Fields are equal if type and value are: the integer 3 is not the number 3.0. Floating-point
//! numbers are compared as IEEE 754 does, but NaN is itself, so that each tuple can be named.

use core::fmt;
use std::sync::Arc;

use minicbor::bytes::ByteVec;
use minicbor::{Decode, Decoder, Encode, Encoder, decode, encode};

use crate::output::SharedBlob;

/// The fields of a tuple, at most.
pub const MAX_FIELDS: usize = 16;

/// The bytes of a tuple, at most: 8 a number, 1 a truth value, those of texts and bytes, and of a
/// handle 48 and the name of its host.
pub const MAX_TUPLE_BYTES: usize = 16 * 1024;

/// The bytes that a handle counts for, beside the name of its host.
const HANDLE_BYTES: usize = 48;

/// A value.
#[derive(Clone, Debug, Encode, Decode)]
pub enum Field {
    /// An integer.
    #[n(0)]
    Int(#[n(0)] i64),
    /// A floating-point number.
    #[n(1)]
    Float(#[n(0)] f64),
    /// A text.
    #[n(2)]
    Text(#[n(0)] String),
    /// Bytes.
    #[n(3)]
    Bytes(#[n(0)] ByteVec),
    /// True or false.
    #[n(4)]
    Bool(#[n(0)] bool),
    /// The handle of a shared blob.
    #[n(5)]
    Handle(#[n(0)] Box<SharedBlob>),
}

/// What kind of value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Encode, Decode)]
#[cbor(index_only)]
pub enum Type {
    /// [`Field::Int`].
    #[n(0)]
    Int,
    /// [`Field::Float`].
    #[n(1)]
    Float,
    /// [`Field::Text`].
    #[n(2)]
    Text,
    /// [`Field::Bytes`].
    #[n(3)]
    Bytes,
    /// [`Field::Bool`].
    #[n(4)]
    Bool,
    /// [`Field::Handle`].
    #[n(5)]
    Handle,
}

/// Fields in their order. Its clones share them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tuple(Arc<[Field]>);

impl Field {
    /// Its type.
    pub fn kind(&self) -> Type {
        match self {
            Self::Int(_) => Type::Int,
            Self::Float(_) => Type::Float,
            Self::Text(_) => Type::Text,
            Self::Bytes(_) => Type::Bytes,
            Self::Bool(_) => Type::Bool,
            Self::Handle(_) => Type::Handle,
        }
    }

    /// The bytes it counts for.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Int(_) | Self::Float(_) => 8,
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Bool(_) => 1,
            Self::Handle(blob) => HANDLE_BYTES + blob.depot.host.len(),
        }
    }

    /// The shared blob that it names.
    pub fn blob(&self) -> Option<&SharedBlob> {
        match self {
            Self::Handle(blob) => Some(blob),
            _ => None,
        }
    }
}

impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Int(one), Self::Int(other)) => one == other,
            (Self::Float(one), Self::Float(other)) => {
                one == other || (one.is_nan() && other.is_nan())
            }
            (Self::Text(one), Self::Text(other)) => one == other,
            (Self::Bytes(one), Self::Bytes(other)) => one == other,
            (Self::Bool(one), Self::Bool(other)) => one == other,
            (Self::Handle(one), Self::Handle(other)) => one == other,
            _ => false,
        }
    }
}

impl Eq for Field {}

impl From<i64> for Field {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Field {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Field {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Field {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<Vec<u8>> for Field {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value.into())
    }
}

impl From<SharedBlob> for Field {
    fn from(value: SharedBlob) -> Self {
        Self::Handle(Box::new(value))
    }
}

impl From<bool> for Field {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Int => "int",
            Self::Float => "float",
            Self::Text => "text",
            Self::Bytes => "bytes",
            Self::Bool => "bool",
            Self::Handle => "handle",
        })
    }
}

impl<C> Encode<C> for Tuple {
    fn encode<W: encode::Write>(
        &self,
        encoder: &mut Encoder<W>,
        context: &mut C,
    ) -> Result<(), encode::Error<W::Error>> {
        self.0.encode(encoder, context)
    }
}

impl<'b, C> Decode<'b, C> for Tuple {
    fn decode(decoder: &mut Decoder<'b>, context: &mut C) -> Result<Self, decode::Error> {
        Vec::decode(decoder, context).map(Self::new)
    }
}

impl Tuple {
    /// One with these fields.
    pub fn new(fields: impl Into<Arc<[Field]>>) -> Self {
        Self(fields.into())
    }

    /// Its fields.
    pub fn fields(&self) -> &[Field] {
        &self.0
    }

    /// The shared blobs that it names.
    pub fn blobs(&self) -> impl Iterator<Item = &SharedBlob> {
        self.0.iter().filter_map(Field::blob)
    }

    /// The bytes it counts for.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(Field::bytes).sum()
    }

    /// Why it can be put into no space, in words.
    ///
    /// # Errors
    /// It has no field or more than [`MAX_FIELDS`], more than [`MAX_TUPLE_BYTES`], or a handle that
    /// names no blob.
    pub fn check(&self) -> Result<(), String> {
        self.blobs().try_for_each(SharedBlob::check)?;
        check_shape("tuple", self.0.len(), self.bytes())
    }
}

/// Whether there can be a tuple of so many fields and bytes.
pub(super) fn check_shape(what: &str, fields: usize, bytes: usize) -> Result<(), String> {
    if fields == 0 || fields > MAX_FIELDS {
        return Err(format!("a {what} has 1 to {MAX_FIELDS} fields, this has {fields}"));
    }
    if bytes > MAX_TUPLE_BYTES {
        return Err(format!(
            "a {what} of {bytes} bytes; at most {MAX_TUPLE_BYTES} are possible: share what is \
             larger, and put its handle into the tuple"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{Depot, MAX_HOST_BYTES, MAX_SHARED_BYTES};

    #[test]
    fn a_type_is_part_of_a_value() {
        assert_ne!(Field::Int(3), Field::Float(3.0));
        assert_ne!(Field::Int(1), Field::Bool(true));
        assert_ne!(Field::from("a"), Field::from(b"a".to_vec()));
    }

    #[test]
    fn floating_point_numbers_are_compared_as_numbers_and_nan_is_itself() {
        assert_eq!(Field::Float(0.0), Field::Float(-0.0));
        assert_eq!(Field::Float(f64::NAN), Field::Float(-f64::NAN));
        assert_ne!(Field::Float(1.0), Field::Float(f64::NAN));
    }

    #[test]
    fn a_handle_that_names_no_blob_is_said_to_be_wrong() {
        let depot = |host: usize| Depot { id: 1, host: "h".repeat(host) };
        let of = |bytes, host| SharedBlob { hash: [7; 32], bytes, depot: depot(host) };
        let check = |blob: SharedBlob| Tuple::new(vec![blob.into()]).check();
        assert_eq!(check(of(MAX_SHARED_BYTES, MAX_HOST_BYTES)), Ok(()));
        assert!(check(of(MAX_SHARED_BYTES + 1, 1)).unwrap_err().contains("at most 1099511627776"));
        assert!(check(of(1, MAX_HOST_BYTES + 1)).unwrap_err().contains("a name of 256 bytes"));
        assert_eq!(Field::from(of(1, 10)).bytes(), 58);
        assert_ne!(Field::from(of(1, 1)), Field::from(of(2, 1)));
    }

    /// Tuples of before there were handles are read, and a handle is read as it was written.
    #[test]
    fn handles_are_one_more_kind_of_field() {
        let before = [0x83, 0x82, 0, 0x81, 7, 0x82, 2, 0x81, 0x61, b'a', 0x82, 4, 0x81, 0xf5];
        let known = Tuple::new(vec![7.into(), "a".into(), true.into()]);
        assert_eq!(minicbor::decode::<Tuple>(&before).unwrap(), known);
        let depot = Depot { id: 3, host: "node1".into() };
        let tuple = Tuple::new(vec![SharedBlob { hash: [9; 32], bytes: 64, depot }.into()]);
        let bytes = minicbor::to_vec(&tuple).unwrap();
        assert_eq!(minicbor::decode::<Tuple>(&bytes).unwrap(), tuple);
    }

    #[test]
    fn what_is_too_large_is_said_to_be() {
        assert!(Tuple::new(Vec::new()).check().unwrap_err().contains("1 to 16 fields, this has 0"));
        assert!(Tuple::new(vec![Field::Int(1); 17]).check().unwrap_err().contains("this has 17"));
        let text = Tuple::new(vec![Field::Int(1), "x".repeat(16_377).into()]);
        assert!(text.check().unwrap_err().contains("16385 bytes; at most 16384"));
    }
}
