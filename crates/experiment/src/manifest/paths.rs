//! Paths of a machine in a text: what a manifest may not name, since they mean nothing elsewhere.

/// What stands before a path: the beginning of a word or of a part of one.
const MARKS: &str = "\"'`=,;:(<>|~";

/// Whether a text names a path of a machine.
pub(super) fn names_a_path(text: &str) -> bool {
    text.contains("///") || path_in(text, 0).is_some()
}

/// Where the first absolute path at or behind a place begins.
pub(super) fn path_in(text: &str, from: usize) -> Option<usize> {
    let slashes = text[from..].match_indices('/').map(|(at, _)| from + at);
    let begins = |&at: &usize| {
        let mut before = text[..at].chars().rev();
        let is_named = text[at + 1..].starts_with(|c: char| !c.is_whitespace() && c != '/');
        let is_mark = |c: char| c.is_whitespace() || MARKS.contains(c);
        is_named
            && match before.next() {
                None => true,
                Some(letter) if letter.is_ascii_alphabetic() => {
                    before.next() == Some('-') && before.next().is_none_or(char::is_whitespace)
                }
                Some(c) => is_mark(c),
            }
    };
    let mut found = slashes.filter(begins);
    found.next()
}
