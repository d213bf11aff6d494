//! Names: of queues, groups, workers and hosts.
//!
//! A few names stand in the records of all tasks, and a record is copied some times in the life of
//! its task. So the clones of a name are one text.

use core::borrow::Borrow;
use core::fmt;
use core::ops::Deref;
use std::sync::{Arc, LazyLock};

use minicbor::decode::{Decoder, Error as DecodeError};
use minicbor::encode::{Encoder, Error as EncodeError, Write as Sink};
use minicbor::{Decode, Encode};

/// A text whose clones are the same text. In CBOR it is a text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The one that is empty: most tasks are of no group.
static EMPTY: LazyLock<Name> = LazyLock::new(|| Name("".into()));

impl Default for Name {
    fn default() -> Self {
        EMPTY.clone()
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<Arc<str>> for Name {
    fn from(text: Arc<str>) -> Self {
        Self(text)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.to_string()
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, text: &str) -> bool {
        **self == *text
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, text: &&str) -> bool {
        **self == **text
    }
}

impl PartialEq<String> for Name {
    fn eq(&self, text: &String) -> bool {
        **self == **text
    }
}

impl PartialEq<Name> for String {
    fn eq(&self, name: &Name) -> bool {
        **self == **name
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl<C> Encode<C> for Name {
    fn encode<W: Sink>(
        &self,
        encoder: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        encoder.str(self)?.ok()
    }
}

impl<'b, C> Decode<'b, C> for Name {
    fn decode(decoder: &mut Decoder<'b>, _: &mut C) -> Result<Self, DecodeError> {
        let text = decoder.str()?;
        Ok(if text.is_empty() { Self::default() } else { text.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_text_in_records_and_its_clones_are_one() {
        let name = Name::from("render");
        let bytes = minicbor::to_vec(&name).unwrap();
        assert_eq!(bytes, minicbor::to_vec("render").unwrap());
        assert_eq!(minicbor::decode::<Name>(&bytes).unwrap(), name);
        assert!(Arc::ptr_eq(&name.0, &name.clone().0));
        assert_eq!((format!("{name:>8}"), name == "render"), ("  render".to_owned(), true));
    }
}
