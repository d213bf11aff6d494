//! Fields as values of Rust: a tuple of values is a key, or the arguments of a task.
//!
//! Who knows the number of fields only while it runs has them as a `Vec<Field>`.

use tidings_tasks_core::tuple::{Field, Type};

/// What becomes the fields of a key or the arguments of a task: tuples of integers (`i64`),
/// floating-point numbers, truth values, texts, bytes and handles, of up to six fields.
pub trait IntoFields {
    /// The fields, in their order.
    fn into_fields(self) -> Vec<Field>;
}

/// What the arguments of a task are read as: tuples of owned values, of up to six fields.
pub trait FromFields: Sized {
    /// Whether fields of these types can be read as this.
    fn is_of(kinds: &[Type]) -> bool;

    /// Reads fields; none if they are of other types.
    fn from_fields(fields: &[Field]) -> Option<Self>;
}

/// A value that is read from one field.
pub trait FromField: Sized {
    /// The type of the field.
    const KIND: Type;

    /// Reads a field; none if it is of another type.
    fn from_field(field: &Field) -> Option<Self>;
}

impl IntoFields for Vec<Field> {
    fn into_fields(self) -> Vec<Field> {
        self
    }
}

impl FromFields for Vec<Field> {
    fn is_of(_: &[Type]) -> bool {
        true
    }

    fn from_fields(fields: &[Field]) -> Option<Self> {
        Some(fields.to_vec())
    }
}

/// A value of Rust is read from fields of one type.
macro_rules! from_field {
    ($type:ty, $kind:ident, $field:ident => $value:expr) => {
        impl FromField for $type {
            const KIND: Type = Type::$kind;

            fn from_field(field: &Field) -> Option<Self> {
                match field {
                    Field::$kind($field) => Some($value),
                    _ => None,
                }
            }
        }
    };
}

from_field!(i64, Int, value => *value);
from_field!(f64, Float, value => *value);
from_field!(bool, Bool, value => *value);
from_field!(String, Text, value => value.clone());
from_field!(Vec<u8>, Bytes, value => value.to_vec());

/// A tuple of these values is fields.
macro_rules! tuple {
    ($($type:ident $value:ident),*) => {
        impl<$($type: Into<Field>),*> IntoFields for ($($type,)*) {
            fn into_fields(self) -> Vec<Field> {
                let ($($value,)*) = self;
                vec![$($value.into()),*]
            }
        }

        impl<$($type: FromField),*> FromFields for ($($type,)*) {
            fn is_of(kinds: &[Type]) -> bool {
                let own: &[Type] = &[$($type::KIND),*];
                kinds == own
            }

            fn from_fields(fields: &[Field]) -> Option<Self> {
                let [$($value),*] = fields else { return None };
                Some(($($type::from_field($value)?,)*))
            }
        }
    };
}

tuple!();
tuple!(A a);
tuple!(A a, B b);
tuple!(A a, B b, C c);
tuple!(A a, B b, C c, D d);
tuple!(A a, B b, C c, D d, E e);
tuple!(A a, B b, C c, D d, E e, F f);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tuple_comes_back_as_it_was_given() {
        type Owned = (String, i64, f64, bool, Vec<u8>);
        let fields = ("a", 1, 0.5, true, b"x".to_vec()).into_fields();
        let kinds: Vec<Type> = fields.iter().map(Field::kind).collect();
        assert!(Owned::is_of(&kinds) && !Owned::is_of(&kinds[1..]) && <()>::is_of(&[]));
        let owned = Owned::from_fields(&fields);
        assert_eq!(owned, Some(("a".to_owned(), 1, 0.5, true, b"x".to_vec())));
        assert_eq!(<(i64,)>::from_fields(&fields), None);
        assert_eq!(<(i64,)>::from_fields(&fields[..1]), None, "a text is no integer");
        assert_eq!(<()>::from_fields(&[]), Some(()));
        assert_eq!(Vec::from_fields(&fields), Some(fields));
    }
}
