//! The target `config`: the text of a configuration file.

use std::path::Path;

use tidings_agent::config::{ConfigErrors, Settings, Surroundings};

const FILE: &str = "agent.toml";

/// Any text is a configuration that the core accepts, or errors that name places in that text; a
/// comment above it changes neither, and moves the places down by a line.
pub fn config(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let below = format!("# a comment\n{text}");
    match (read(&text), read(&below)) {
        (Ok(settings), Ok(again)) => {
            settings.core().validate().expect("settings that exist are in range");
            assert_eq!(settings.table().lines().count(), again.table().lines().count());
        }
        (Err(errors), Err(again)) => {
            let (places, moved) = (places(&errors, &text), places(&again, &below));
            let expected: Vec<_> =
                places.iter().map(|(line, column)| (line + 1, *column)).collect();
            assert_eq!(moved, expected, "{errors}\n{again}");
        }
        (read, _) => panic!("a comment makes a difference: {read:?}"),
    }
}

/// Whether a text is a configuration.
#[allow(dead_code, reason = "libFuzzer does not use it")]
pub fn is_right(text: &str) -> bool {
    read(text).is_ok()
}

fn read(text: &str) -> Result<Settings, ConfigErrors> {
    let surroundings = Surroundings {
        variable: &|_| None,
        host_name: "n1".to_owned(),
        runtime_dir: "/run/tidings".into(),
    };
    Settings::from_text(Path::new(FILE), text, &surroundings)
}

/// The places that errors name, each of which is in the text.
fn places(errors: &ConfigErrors, text: &str) -> Vec<(usize, usize)> {
    assert!(!errors.0.is_empty());
    let place = |error: String| {
        let mut words = error.strip_prefix(FILE)?.split(':').skip(1);
        let (line, column) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        // After the last line break there is another line, perhaps empty.
        let lines = text.matches('\n').count() + 1;
        assert!((1..=lines).contains(&line), "{error}");
        let width = text.split('\n').nth(line - 1).map_or(0, |line| line.chars().count());
        assert!((1..=width + 1).contains(&column), "{error}");
        Some((line, column))
    };
    errors.0.iter().filter_map(|error| place(error.to_string())).collect()
}
