//! Keys: the fields that name an instance, as they are checked, shown and compared.

use core::fmt::Write as _;

use tidings_tasks_core::record::encode;
use tidings_tasks_core::tuple::{Field, MAX_TUPLE_BYTES, Type};

/// What is wrong with fields that are to be of some types; nothing if they are.
pub(super) fn check(fields: &[Field], kinds: &[Type]) -> Result<(), String> {
    if !fields.iter().map(Field::kind).eq(kinds.iter().copied()) {
        let given = fields.iter().map(Field::kind).collect::<Vec<_>>();
        return Err(format!("declared with {}, not {}", types(kinds), types(&given)));
    }
    let bytes: usize = fields.iter().map(Field::bytes).sum();
    if bytes > MAX_TUPLE_BYTES {
        return Err(format!(
            "given {bytes} bytes of fields; at most {MAX_TUPLE_BYTES} are possible: put what is \
             larger as an instance"
        ));
    }
    Ok(())
}

/// How types are shown to people.
fn types(kinds: &[Type]) -> String {
    let kinds: Vec<String> = kinds.iter().map(Type::to_string).collect();
    format!("({})", kinds.join(", "))
}

/// How an instance is named for people.
pub(super) fn shown(dependency: &str, key: &[Field]) -> String {
    let mut text = format!("{dependency}(");
    for (at, field) in key.iter().enumerate() {
        if at > 0 {
            text.push_str(", ");
        }
        // To memory nothing fails.
        let _ = match field {
            Field::Int(value) => write!(text, "{value}"),
            Field::Float(value) => write!(text, "{value:?}"),
            Field::Text(value) => write!(text, "{value:?}"),
            Field::Bool(value) => write!(text, "{value}"),
            Field::Bytes(bytes) => write!(text, "{} bytes", bytes.len()),
            Field::Handle(blob) => write!(text, "a handle of {} bytes", blob.bytes),
        };
    }
    text.push(')');
    text
}

/// Bytes that two keys have in common if they are equal, and only then.
pub(super) fn name(key: &[Field]) -> Vec<u8> {
    let plain = key.iter().map(|field| match field {
        // Both zeros are one, and so is all that is no number.
        Field::Float(value) if *value == 0.0 => Field::Float(0.0),
        Field::Float(value) if value.is_nan() => Field::Float(f64::NAN),
        field => field.clone(),
    });
    encode(&plain.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_equal_have_one_name_and_others_have_others() {
        let of = |field: Field| name(&[field]);
        assert_eq!(of(Field::Float(0.0)), of(Field::Float(-0.0)));
        assert_eq!(of(Field::Float(f64::NAN)), of(Field::Float(-f64::NAN)));
        assert_ne!(of(Field::Float(1.0)), of(Field::Int(1)));
        assert_ne!(of("a".into()), of(b"a".to_vec().into()));
        assert_ne!(name(&["ab".into(), "c".into()]), name(&["a".into(), "bc".into()]));
    }

    #[test]
    fn a_key_is_shown_as_it_would_be_written() {
        let key = ["a\"".into(), 3.into(), 0.5.into(), true.into(), vec![0_u8; 2].into()];
        assert_eq!(shown("it", &key), "it(\"a\\\"\", 3, 0.5, true, 2 bytes)");
        assert_eq!(shown("total", &[]), "total()");
    }

    #[test]
    fn fields_of_other_types_or_too_many_bytes_are_refused() {
        let kinds = [Type::Int, Type::Text];
        assert_eq!(check(&[1.into(), "a".into()], &kinds), Ok(()));
        let error = check(&["a".into()], &kinds).unwrap_err();
        assert_eq!(error, "declared with (int, text), not (text)");
        let error = check(&[1.into(), "a".repeat(20_000).into()], &kinds).unwrap_err();
        assert!(error.contains("at most 16384"), "{error}");
    }
}
