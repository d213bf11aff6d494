//! Templates: what tuples are wanted.
//!
//! A template matches the tuples with as many fields as it has patterns, each of which fits. A
//! wildcard may stand in any place.

use minicbor::{Decode, Encode};

use super::field::{Field, Tuple, Type, check_shape};

/// What a field is to be.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Pattern {
    /// This value.
    #[n(0)]
    Is(#[n(0)] Field),
    /// Any value of this type.
    #[n(1)]
    Of(#[n(0)] Type),
    /// Any value.
    #[n(2)]
    Any,
}

/// A pattern for each field.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(transparent)]
pub struct Template(#[n(0)] pub Vec<Pattern>);

impl Pattern {
    /// Whether it fits a field.
    pub fn fits(&self, field: &Field) -> bool {
        match self {
            Self::Is(value) => value == field,
            Self::Of(kind) => *kind == field.kind(),
            Self::Any => true,
        }
    }
}

impl<F: Into<Field>> From<F> for Pattern {
    fn from(value: F) -> Self {
        Self::Is(value.into())
    }
}

impl From<Type> for Pattern {
    fn from(kind: Type) -> Self {
        Self::Of(kind)
    }
}

impl Template {
    /// Whether it matches a tuple.
    pub fn matches(&self, tuple: &Tuple) -> bool {
        self.0.len() == tuple.fields().len()
            && self.0.iter().zip(tuple.fields()).all(|(pattern, field)| pattern.fits(field))
    }

    /// Why no tuple could match it, in words.
    ///
    /// # Errors
    /// No tuple has so many fields, or so many bytes.
    pub fn check(&self) -> Result<(), String> {
        let least = |pattern: &Pattern| match pattern {
            Pattern::Is(field) => field.bytes(),
            Pattern::Of(Type::Int | Type::Float) => 8,
            Pattern::Of(Type::Bool) => 1,
            Pattern::Of(Type::Text | Type::Bytes | Type::Handle) | Pattern::Any => 0,
        };
        check_shape("template", self.0.len(), self.0.iter().map(least).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_may_stand_anywhere() {
        let tuple = Tuple::new(vec!["block".into(), 3.into(), 0.5.into()]);
        let matches = |patterns: Vec<Pattern>| Template(patterns).matches(&tuple);
        assert!(matches(vec!["block".into(), 3.into(), 0.5.into()]));
        assert!(matches(vec![Pattern::Any, 3.into(), Type::Float.into()]));
        assert!(matches(vec![Type::Text.into(), Pattern::Any, Pattern::Any]));
        assert!(!matches(vec![Type::Int.into(), Pattern::Any, Pattern::Any]));
        assert!(!matches(vec![Pattern::Any, Pattern::Any]));
        assert!(!matches(vec!["block".into(), 3.0.into(), Pattern::Any]));
    }

    #[test]
    fn a_template_that_nothing_can_match_is_refused() {
        assert!(Template(vec![Pattern::Any; 17]).check().is_err());
        assert!(Template(Vec::new()).check().is_err());
        assert!(Template(vec!["x".repeat(16_385).into()]).check().is_err());
        assert!(Template(vec!["x".repeat(16_380).into(), Type::Int.into()]).check().is_err());
        assert!(Template(vec!["x".repeat(16_376).into(), Type::Int.into()]).check().is_ok());
    }
}
