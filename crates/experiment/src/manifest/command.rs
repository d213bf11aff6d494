//! The command that makes a table again, without the paths of the machine that made it.

use std::path::Path;

use super::paths::path_in;
use super::sources::root_of;

/// The folder in a study's where tables lie until all of them are whole (studies/prelude.sh).
const FRESH: &str = "/.fresh";
/// What ends a path.
const ENDS: &str = "\"'`,;:)<>|";

/// The folders that a command's paths are seen from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places<'a> {
    /// The repository.
    pub(super) root: Option<&'a Path>,
    /// Where the table is written.
    pub(super) output: &'a Path,
    /// The folder of the table's study, from the root.
    pub(super) study: Option<&'a str>,
}

impl Places<'_> {
    /// A path in the repository from its root, one in the output folder as if that were the
    /// study's, and of any other the last name.
    fn place(&self, path: &str) -> String {
        let below = |folder: &Path| {
            let rest = Path::new(path).strip_prefix(folder).ok()?;
            Some(rest.to_string_lossy().into_owned())
        };
        if let Some(rest) = self.root.and_then(below) {
            return if rest.is_empty() { ".".to_owned() } else { rest };
        }
        if let Some((study, rest)) = self.study.zip(below(self.output)) {
            return if rest.is_empty() { study.to_owned() } else { format!("{study}/{rest}") };
        }
        path.rsplit('/').next().unwrap_or_default().to_owned()
    }
}

/// A command without the paths of a machine.
pub(super) fn normalised(command: &str, places: &Places<'_>) -> String {
    let (mut done, mut rest) = (String::new(), command);
    while let Some(begin) = path_in(command, command.len() - rest.len()) {
        let before = command.len() - rest.len();
        let path = &command[begin..];
        let is_end = |c: char| c.is_whitespace() || ENDS.contains(c);
        let path = &path[..path.find(is_end).unwrap_or(path.len())];
        let kept = &command[before..begin];
        done += kept.strip_suffix('~').unwrap_or(kept);
        done += &places.place(path.trim_end_matches('/'));
        rest = &command[begin + path.len()..];
    }
    (done + rest).replace(FRESH, "")
}

/// The command line of this process, with `program` for its path. From a folder below the root of
/// the repository it begins with the way there.
pub fn command_line(program: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let root = root_of(&here);
    let way = root.as_deref().and_then(|root| here.strip_prefix(root).ok());
    let way = way.filter(|way| !way.as_os_str().is_empty());
    let way = way.map_or(String::new(), |way| format!("cd {} && ", way.display()));
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| quoted(&word.to_string_lossy()));
    let words = std::iter::once(program.to_owned()).chain(words).collect::<Vec<_>>();
    way + &words.join(" ")
}

/// A word as a shell would read it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=%:,+@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::paths::names_a_path;
    use super::*;

    #[test]
    fn commands_lose_the_paths_of_a_machine_as_the_vectors_say() {
        let vectors = include_str!("../../../../tests/manifests/vectors.json");
        let vectors: Value = serde_json::from_str(vectors).expect("the vectors are JSON");
        let cases = vectors["commands"].as_array().expect("a list of cases");
        assert!(cases.len() > 5);
        for case in cases {
            let text = |name: &str| case[name].as_str();
            let output = Path::new(text("output").expect("a folder"));
            let places = Places { root: text("root").map(Path::new), output, study: text("study") };
            let found = normalised(text("given").expect("a command"), &places);
            assert_eq!(Some(&*found), text("command"), "{}", case["what"]);
            assert!(!names_a_path(&found), "{found}");
        }
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        assert_eq!(quoted("--window=20%"), "--window=20%");
        assert_eq!(quoted("my results"), "'my results'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
        assert!(command_line("tidings").contains("tidings"));
    }
}
