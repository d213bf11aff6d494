//! What is wrong with a campaign file, in words of TOML: the library that reads it has Rust's.

/// What a text is, whatever it says.
const A_TEXT: &str = "a text in quotes";

/// A complaint of the library about a value or a key, in words of TOML; `key` is what stands before
/// the value, if that is known.
pub(crate) fn of_toml(message: &str, key: Option<&str>) -> String {
    let message = message.replace('\n', ", ");
    let typed = ["invalid type: ", "invalid value: "];
    let rest = typed.iter().find_map(|start| message.strip_prefix(start));
    if let Some((given, wanted)) = rest.and_then(|rest| rest.split_once(", expected ")) {
        let of = key.map_or(String::new(), |key| format!("{key} cannot be "));
        return format!("{of}{}: write {}", thing(given), form(wanted));
    }
    if let Some(field) = message.strip_prefix("missing field ") {
        return format!("the key {field} is missing");
    }
    if let Some(rest) = message.strip_prefix("unknown field ") {
        return match rest.split_once(", expected ") {
            Some((field, keys)) => format!("unknown key {field}: write {keys}"),
            None => format!("unknown key {rest}"),
        };
    }
    match message.strip_prefix("unknown variant ").and_then(|rest| rest.split_once(", expected ")) {
        Some((given, names)) => format!("no {given}: write {names}"),
        None => message,
    }
}

/// What stands in the file.
fn thing(given: &str) -> String {
    let (kind, value) = given.split_once(' ').unwrap_or((given, ""));
    match kind {
        "integer" | "boolean" => value.trim_matches('`').to_owned(),
        "floating" => value.trim_start_matches("point ").trim_matches('`').to_owned(),
        "string" => format!("the text {value}"),
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        _ => given.to_owned(),
    }
}

/// What should.
fn form(wanted: &str) -> &str {
    match wanted {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0 on",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" | "a borrowed string" | "path string" | "string or map" => A_TEXT,
        "a boolean" => "true or false",
        "a sequence" => "a list in brackets",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        other if other.starts_with("enum ") => A_TEXT,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_type_of_rust_is_in_a_complaint() {
        for (message, wanted) in [
            (
                "invalid type: string \"x\", expected u32",
                "seed cannot be the text \"x\": write a whole number from 0 on",
            ),
            (
                "invalid type: floating point `1.5`, expected u64",
                "seed cannot be 1.5: write a whole",
            ),
            (
                "invalid value: integer `-1`, expected u64",
                "seed cannot be -1: write a whole number",
            ),
            ("invalid type: integer `1`, expected a string", "seed cannot be 1: write a text in"),
            (
                "invalid type: sequence, expected struct WorldText",
                "cannot be a list: write a table",
            ),
            ("missing field `name`", "the key `name` is missing"),
            ("unknown field `sead`, expected `seed` or `name`", "unknown key `sead`: write `seed`"),
            (
                "unknown variant `lam`, expected `openmpi` or `mpich`",
                "no `lam`: write `openmpi` or",
            ),
            ("newlines are\nno matter", "newlines are, no matter"),
        ] {
            let said = of_toml(message, Some("seed"));
            assert!(said.contains(wanted), "{message}: {said}");
        }
    }
}
