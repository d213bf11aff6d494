//! The configuration file: flat TOML, one key per setting.
//!
//! The file is read into a tree that knows the byte range of each key and value, so that every
//! message carries line and column. All errors of a file are reported at once.

use std::ops::Range;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::error::ConfigError;
use super::layers::{Layer, Written};
use super::origin::{Origin, Place};
use super::setting::{self, Form, Setting};

/// Parses the file's `text`; `path` is for messages.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Layer, Vec<ConfigError>> {
    let place = |span: Range<usize>| locate(path, text, span.start);
    let table = DeTable::parse(text).map_err(|error| {
        let place = place(error.span().unwrap_or(0..0));
        vec![ConfigError::Syntax { place, reason: error.message().to_owned() }]
    })?;
    let mut layer = Layer::new();
    let mut errors = Vec::new();
    for (key, value) in table.get_ref() {
        let read = known(key.get_ref(), place(key.span())).and_then(|setting| {
            let place = place(value.span());
            Ok((setting.key, written(setting, value.get_ref(), place)?))
        });
        match read {
            Ok((key, written)) => drop(layer.insert(key, written)),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(layer) } else { Err(errors) }
}

fn known(key: &str, place: Place) -> Result<&'static Setting, ConfigError> {
    setting::find(key).ok_or_else(|| ConfigError::UnknownKey {
        place,
        key: key.to_owned(),
        nearest: setting::nearest(key),
    })
}

fn written(
    setting: &'static Setting,
    value: &DeValue<'_>,
    place: Place,
) -> Result<Written, ConfigError> {
    match texts(setting.form, value) {
        Some(texts) => Ok(Written { texts, origin: Origin::File(place) }),
        None => Err(ConfigError::WrongType {
            place,
            key: setting.key,
            expected: setting.form.describe(),
            found: describe(value),
            allowed: setting.allowed,
        }),
    }
}

/// The value as text, if `form` allows its type.
fn texts(form: Form, value: &DeValue<'_>) -> Option<Vec<String>> {
    match (form, value) {
        (Form::Text | Form::TextOrCount | Form::List, DeValue::String(text)) => {
            Some(vec![text.clone().into_owned()])
        }
        (Form::Count | Form::TextOrCount, DeValue::Integer(integer)) => {
            let value = i128::from_str_radix(integer.as_str(), integer.radix()).ok()?;
            Some(vec![value.to_string()])
        }
        (Form::Switch, DeValue::Boolean(value)) => Some(vec![value.to_string()]),
        (Form::List, DeValue::Array(items)) => {
            items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect()
        }
        _ => None,
    }
}

fn describe(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

/// Line and column of the byte `offset` in `text`.
fn locate(path: &Path, text: &str, offset: usize) -> Place {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Place {
        path: path.to_owned(),
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(text: &str) -> Vec<String> {
        let errors = parse(Path::new("agent.toml"), text).expect_err(text);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_form_is_read_as_text() {
        let text = "name = \"n1\"\nwindow = 204\ncapacity = \"full\"\ncatch_up = false\n\
                    seed = [\"a:1\", \"b:2\"]\nid_salt = 0x_ff\n";
        let layer =
            parse(Path::new("agent.toml"), text.replace("0x_ff", "0xff").as_str()).expect("valid");
        let texts = |key: &str| layer[key].texts.clone();
        assert_eq!(texts("name"), ["n1"]);
        assert_eq!(texts("window"), ["204"]);
        assert_eq!(texts("capacity"), ["full"]);
        assert_eq!(texts("catch_up"), ["false"]);
        assert_eq!(texts("seed"), ["a:1", "b:2"]);
        assert_eq!(texts("id_salt"), ["255"]);
        let place = Place { path: "agent.toml".into(), line: 2, column: 10 };
        assert_eq!(layer["window"].origin, Origin::File(place));
    }

    #[test]
    fn all_errors_are_reported_with_place_and_remedy() {
        assert_eq!(
            errors(
                "name = \"n1\"\nintervall = \"1s\"\n\n  frobnicate = 1\npayload_bytes = \"64\"\n"
            ),
            [
                "agent.toml:4:3: unknown key `frobnicate`: `tidings-agent --help` lists the keys, \
                 as flags",
                "agent.toml:2:1: unknown key `intervall`: did you mean `interval`?",
                "agent.toml:5:17: `payload_bytes` takes an integer, not a string; allowed is an \
                 integer from 0 to 1024",
            ]
        );
        let [error] = errors("[agent]\nname = \"x\"\n").try_into().expect("one error");
        assert!(error.starts_with("agent.toml:1:2: unknown key `agent`"), "{error}");
        let [error] = errors("seed = [\"a:1\", 2]").try_into().expect("one error");
        assert!(error.contains("`seed` takes a string or an array of strings, not an array"));
    }

    #[test]
    fn text_that_is_not_toml_is_reported_at_its_position() {
        let [error] = errors("name = \"n1\"\ninterval = 256ms\n").try_into().expect("one error");
        assert!(error.starts_with("agent.toml:2:1"), "{error}");
        assert!(error.contains("not valid TOML"), "{error}");
    }
}
