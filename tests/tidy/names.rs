//! Names of files and types say what the thing is: a word that fits anything is refused.

use proc_macro2::TokenTree;

use crate::Finding;
use crate::tokens::{each_level, is_ident, lex};

/// Words that fit anything.
const VAGUE: [&str; 10] = [
    "common",
    "data",
    "helper",
    "helpers",
    "info",
    "manager",
    "misc",
    "util",
    "utils",
    "utilities",
];

/// Words that say when a thing was made.
const DATED: [&str; 3] = ["new", "v2", "v3"];

/// A file or folder with a vague or dated word in its name.
pub(crate) fn vague_file(file: &str) -> Vec<Finding> {
    let words = file.split(|c: char| !c.is_ascii_alphanumeric()).map(str::to_ascii_lowercase);
    words
        .filter(|word| VAGUE.contains(&word.as_str()) || DATED.contains(&word.as_str()))
        .map(|word| Finding::new(file, 1, format!("`{word}` in a file's name: name the concept")))
        .collect()
}

/// A type with a vague word in its name.
pub(crate) fn vague_types(file: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    each_level(&lex(file, text), &mut |level| {
        for pair in level.windows(2) {
            let TokenTree::Ident(name) = &pair[1] else { continue };
            let declares =
                ["struct", "enum", "trait", "type"].iter().any(|k| is_ident(&pair[0], k));
            let name = name.to_string();
            let word = words_of(&name).find(|word| VAGUE.contains(&word.as_str()));
            if let (true, Some(word)) = (declares, word) {
                let remedy = format!("`{word}` in the type `{name}`: name the concept");
                findings.push(Finding::new(file, pair[0].span().start().line, remedy));
            }
        }
    });
    findings
}

/// The words of a CamelCase name, in lower case.
fn words_of(name: &str) -> impl Iterator<Item = String> {
    let mut words: Vec<String> = Vec::new();
    for letter in name.chars() {
        if letter.is_uppercase() || words.is_empty() {
            words.push(String::new());
        }
        words.last_mut().expect("pushed above").extend(letter.to_lowercase());
    }
    words.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vague_file_is_found() {
        let bad = ["crates/a/src/util.rs", "src/new_merge.rs", "wire_v2.rs", "common/x.rs"];
        for file in bad {
            assert_eq!(vague_file(file).len(), 1, "{file}");
        }
        for file in ["src/renewal.rs", "src/database.rs", "docs/information.md"] {
            assert!(vague_file(file).is_empty(), "{file}");
        }
    }

    #[test]
    fn a_vague_type_is_found() {
        assert_eq!(vague_types("a.rs", "pub struct NodeInfo;\nenum Fine {}").len(), 1);
        assert_eq!(vague_types("a.rs", "mod m { trait DataSource {} }").len(), 1);
        assert!(vague_types("a.rs", "struct Datagram; struct Update; fn info() {}").is_empty());
    }
}
