//! Rust source as tokens, so that rules see code inside macros and never text inside strings.
//!
//! A whole parser would not see the functions inside `proptest! { … }`; the lexer of proc-macro2
//! does, and gives each token its exact line.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// A path such as `std::fs::read` with the line of its first segment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub text: String,
    pub line: usize,
}

/// The tokens of a file.
pub(crate) fn lex(file: &str, text: &str) -> TokenStream {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    body.parse().unwrap_or_else(|error| panic!("{file}: not Rust: {error}"))
}

/// Calls `visit` on each run of sibling tokens: the file's, then each group's.
pub(crate) fn each_level(tokens: &TokenStream, visit: &mut impl FnMut(&[TokenTree])) {
    let level: Vec<TokenTree> = tokens.clone().into_iter().collect();
    visit(&level);
    for token in &level {
        if let TokenTree::Group(group) = token {
            each_level(&group.stream(), visit);
        }
    }
}

/// Each path of the file, with `use` trees spelled out: `std::{fs, net::*}` is two paths.
pub(crate) fn paths(tokens: &TokenStream) -> Vec<Path> {
    let mut found = Vec::new();
    collect_paths(&tokens.clone().into_iter().collect::<Vec<_>>(), "", &mut found);
    found
}

/// The group, if the token is one with this delimiter.
pub(crate) fn group(token: &TokenTree, delimiter: Delimiter) -> Option<&Group> {
    match token {
        TokenTree::Group(group) if group.delimiter() == delimiter => Some(group),
        _ => None,
    }
}

/// Whether the token is this identifier.
pub(crate) fn is_ident(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == name)
}

/// Whether the token is this punctuation mark.
pub(crate) fn is_punct(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn collect_paths(level: &[TokenTree], prefix: &str, found: &mut Vec<Path>) {
    let mut at = 0;
    while at < level.len() {
        let (path, next) = path_at(level, at, prefix);
        found.extend(path);
        let Some(TokenTree::Group(inner)) = level.get(next) else {
            at = next.max(at + 1);
            continue;
        };
        let opens_tree = next >= at + 3 && is_separator(level, next - 2);
        let inner_prefix = if opens_tree { join(prefix, level, at, next) } else { String::new() };
        let tokens: Vec<TokenTree> = inner.stream().into_iter().collect();
        collect_paths(&tokens, &inner_prefix, found);
        at = next + 1;
    }
}

/// The path that starts at `at`, if one does and it does not open a `use` tree; and where it ends.
fn path_at(level: &[TokenTree], at: usize, prefix: &str) -> (Option<Path>, usize) {
    let is_segment = |i: usize| {
        level.get(i).is_some_and(|t| matches!(t, TokenTree::Ident(_)) || is_punct(t, '*'))
    };
    if !is_segment(at) {
        return (None, at);
    }
    let mut end = at + 1;
    while is_separator(level, end) && touches(level, end) && is_segment(end + 2) {
        end += 3;
    }
    let tree = level.get(end + 2).is_some_and(|t| group(t, Delimiter::Brace).is_some());
    if is_separator(level, end) && tree {
        return (None, end + 2);
    }
    let line = level[at].span().start().line;
    (Some(Path { text: join(prefix, level, at, end), line }), end)
}

fn is_separator(level: &[TokenTree], at: usize) -> bool {
    let colon = |i: usize| level.get(i).is_some_and(|token| is_punct(token, ':'));
    colon(at) && colon(at + 1)
}

/// Whether no space lies before the token: `use ::std` is two words, `std::fs` is one path.
fn touches(level: &[TokenTree], at: usize) -> bool {
    level[at - 1].span().end() == level[at].span().start()
}

fn join(prefix: &str, level: &[TokenTree], from: usize, to: usize) -> String {
    let own: Vec<String> = level[from..to]
        .iter()
        .filter(|token| !is_punct(token, ':'))
        .map(ToString::to_string)
        .collect();
    let own = own.join("::");
    if prefix.is_empty() { own } else { format!("{prefix}::{own}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        paths(&lex("sample.rs", source)).into_iter().map(|path| path.text).collect()
    }

    #[test]
    fn a_use_tree_is_spelled_out() {
        let found = texts("use std::{fs, net::{UdpSocket, *}, time as t};");
        for path in ["std::fs", "std::net::UdpSocket", "std::net::*", "std::time"] {
            assert!(found.iter().any(|text| text == path), "{path} is missing in {found:?}");
        }
    }

    #[test]
    fn a_path_in_a_macro_is_seen_and_one_in_a_string_is_not() {
        let found = texts("fn f() { m!(g(std::thread::yield_now(), \"std::fs::read\")); }");
        assert!(found.iter().any(|text| text == "std::thread::yield_now"));
        assert!(!found.iter().any(|text| text.contains("std::fs")));
    }

    #[test]
    fn a_generic_call_keeps_its_path() {
        assert!(texts("let x = std::fs::read::<P>(p);").iter().any(|t| t == "std::fs::read"));
    }

    #[test]
    fn a_path_knows_its_line() {
        let found = paths(&lex("sample.rs", "fn f() {\n    std::fs::read(p)\n}"));
        assert!(found.contains(&Path { text: "std::fs::read".into(), line: 2 }));
    }
}
