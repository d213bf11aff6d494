//! Where the functions of a source file begin and end.
//!
//! Rust is read as tokens. The other languages are read by the form that their formatters give:
//! in C the braces of a function stand alone in the first column, in Go and JavaScript its closing
//! brace stands below the line that opens it, in Python its lines are indented deeper.

use proc_macro2::{Delimiter, TokenTree};

use crate::tokens::{each_level, group, is_ident, is_punct, lex};

/// What looks like the call of a method that is defined, and is not.
const STATEMENTS: [&str; 5] = ["if", "for", "while", "switch", "catch"];

/// A function of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub name: String,
    /// The line of its signature, from 1.
    pub line: usize,
    /// From the signature to the end of the body.
    pub lines: usize,
}

/// The language of a file as its name ends, or as its first line says if it is a program without an
/// ending; empty for others.
pub(crate) fn language<'f>(file: &'f str, text: &str) -> &'f str {
    let name = file.rsplit('/').next().unwrap_or_default();
    let first = text.lines().next().filter(|line| line.starts_with("#!")).unwrap_or_default();
    match name.rsplit_once('.') {
        Some((_, language)) => language,
        None if first.contains("python") => "py",
        None if first.contains("sh") => "sh",
        None => "",
    }
}

/// The functions of a file; none in a language that is not known.
pub(crate) fn functions(file: &str, text: &str) -> Vec<Function> {
    let lines: Vec<&str> = text.lines().collect();
    match language(file, text) {
        "rs" => of_rust(file, text),
        "c" | "h" => of_c(&lines),
        "py" => of_python(&lines),
        "js" => of_braces(&lines, opened_in_javascript),
        "go" => of_braces(&lines, |line| line.strip_prefix("func ").map(first_word)),
        "sh" => of_braces(&lines, |line| line.strip_suffix("() {").map(first_word)),
        "f90" => of_fortran(&lines),
        _ => Vec::new(),
    }
}

fn of_rust(file: &str, text: &str) -> Vec<Function> {
    let mut found = Vec::new();
    each_level(&lex(file, text), &mut |level| {
        for (at, pair) in level.windows(2).enumerate() {
            let TokenTree::Ident(name) = &pair[1] else { continue };
            if !is_ident(&pair[0], "fn") {
                continue;
            }
            let Some(last_line) = body_end(&level[at + 2..]) else { continue };
            let line = pair[0].span().start().line;
            found.push(Function { name: name.to_string(), line, lines: last_line - line + 1 });
        }
    });
    found
}

/// The last line of a function's body; `None` for a declaration without one.
fn body_end(after_name: &[TokenTree]) -> Option<usize> {
    for token in after_name {
        if is_punct(token, ';') {
            return None;
        }
        if let Some(body) = group(token, Delimiter::Brace) {
            return Some(body.span_close().end().line);
        }
    }
    None
}

fn of_c(lines: &[&str]) -> Vec<Function> {
    let opening = lines.iter().enumerate().filter(|(_, line)| **line == "{");
    opening
        .filter_map(|(open, _)| {
            let ends_other = |line: &&str| {
                line.is_empty() || line.starts_with(['}', '#']) || line.ends_with([';', '/'])
            };
            let start = lines[..open].iter().rposition(ends_other).map_or(0, |at| at + 1);
            let end = open + lines[open..].iter().position(|line| line.starts_with('}'))?;
            let signature = lines[start..open].join(" ");
            let name = signature.split('(').next()?.rsplit([' ', '*']).find(|s| !s.is_empty())?;
            Some(Function { name: name.to_owned(), line: start + 1, lines: end - start + 1 })
        })
        .collect()
}

fn of_python(lines: &[&str]) -> Vec<Function> {
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let words = line.trim_start().trim_start_matches("async ");
        let Some(rest) = words.strip_prefix("def ") else { continue };
        let depth = indent(line);
        let mut end = start;
        let mut in_text = false;
        for (at, line) in lines.iter().enumerate().skip(start + 1) {
            let closes_signature = line.trim_start().starts_with([')', ']']);
            let inside = in_text || indent(line) > depth || closes_signature;
            if !line.trim().is_empty() && !inside {
                break;
            }
            if !line.trim().is_empty() {
                end = at;
            }
            in_text ^= line.matches("\"\"\"").count() % 2 == 1;
        }
        let name = first_word(rest);
        found.push(Function { name, line: start + 1, lines: end - start + 1 });
    }
    found
}

/// Functions whose closing brace stands below the beginning of the line that opens them.
fn of_braces(lines: &[&str], opened: impl Fn(&str) -> Option<String>) -> Vec<Function> {
    let starts = lines.iter().enumerate().filter_map(|(at, line)| Some((at, opened(line)?)));
    starts
        .filter(|(start, _)| lines[*start].ends_with(['{', '(', ',']))
        .filter_map(|(start, name)| {
            let depth = indent(lines[start]);
            let closes = |line: &&str| indent(line) == depth && line.trim_start().starts_with('}');
            let after = lines[start + 1..].iter().position(closes)?;
            Some(Function { name, line: start + 1, lines: after + 2 })
        })
        .collect()
}

/// Functions and subroutines up to the line that ends them by name.
fn of_fortran(lines: &[&str]) -> Vec<Function> {
    let opened = |line: &str| {
        let words = line.trim_start();
        let is_end = words.starts_with("end ") || words.starts_with('!');
        let named = ["subroutine ", "function "].iter().find_map(|kind| {
            let (before, named) = words.split_once(kind)?;
            (before.is_empty() || before.ends_with(' ')).then(|| first_word(named))
        });
        named.filter(|_| !is_end)
    };
    let starts = lines.iter().enumerate().filter_map(|(at, line)| Some((at, opened(line)?)));
    starts
        .filter_map(|(start, name)| {
            let ends = |line: &&str| {
                let line = line.trim();
                line.starts_with("end ") && line.split(' ').next_back() == Some(&name)
            };
            let after = lines[start + 1..].iter().position(ends)?;
            Some(Function { name, line: start + 1, lines: after + 2 })
        })
        .collect()
}

/// The name of the function that a line of JavaScript opens.
fn opened_in_javascript(line: &str) -> Option<String> {
    let words = line.trim_start();
    if let Some((_, named)) = words.split_once("function ") {
        return Some(first_word(named));
    }
    let first = first_word(words.trim_start_matches("async ").trim_start_matches("static "));
    let is_method = words.ends_with(") {") && words.starts_with(&format!("{first}("));
    if is_method && !first.is_empty() && !STATEMENTS.contains(&first.as_str()) {
        return Some(first);
    }
    let named = words.trim_start_matches("export ").strip_prefix("const ").map(first_word);
    words.ends_with("=> {").then(|| named.unwrap_or_else(|| "=>".to_owned()))
}

fn first_word(text: &str) -> String {
    let is_part = |c: &char| c.is_alphanumeric() || *c == '_';
    text.chars().skip_while(|c| !is_part(c)).take_while(is_part).collect()
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, text: &str) -> Vec<(String, usize, usize)> {
        functions(file, text).into_iter().map(|f| (f.name, f.line, f.lines)).collect()
    }

    fn one(name: &str, line: usize, lines: usize) -> Vec<(String, usize, usize)> {
        vec![(name.to_owned(), line, lines)]
    }

    #[test]
    fn rust_is_read_in_an_impl_and_in_a_macro() {
        let in_impl = "impl A {\nfn short(&self);\nfn f<T>(&self) -> [u8; 2] {\ng();\n}\n}";
        assert_eq!(found("a.rs", in_impl), one("f", 3, 3));
        let in_macro = "proptest! {\n#[test]\nfn f(x in 0..9) {\ng();\n}\n}";
        assert_eq!(found("a.rs", in_macro), one("f", 3, 3));
        assert_eq!(found("a.rs", "struct A { f: fn(u8) -> u8 }"), []);
    }

    #[test]
    fn programs_without_an_ending_are_read_as_their_first_line_says() {
        let shell = "#!/usr/bin/env bash\nmeasure() {\n    make x\n}\n\nmeasure\n";
        assert_eq!(found("studies/ages/run", shell), one("measure", 2, 3));
        assert_eq!(found("studies/prelude.sh", &shell[20..]), one("measure", 1, 3));
        let python = "#!/usr/bin/env python3\ndef f():\n    pass\n";
        assert_eq!(found(".ci/limit", python), one("f", 2, 2));
        assert_eq!(found("LICENSE", "measure() {\n}\n"), []);
    }

    #[test]
    fn fortran_is_read_to_the_end_of_its_name() {
        let text = "! A function f\ninteger function f(x) result(y)\n  integer :: x\n\
                    end function f\nsubroutine g()\nend subroutine g\n";
        let both = vec![("f".to_owned(), 2, 3), ("g".to_owned(), 5, 2)];
        assert_eq!(found("a.f90", text), both);
    }

    #[test]
    fn c_is_read_from_the_first_line_of_the_signature() {
        let text = "static int k;\n/* Why. */\nstatic char *f(int a,\n    int b)\n{\n    g();\n}\n\n\
                    struct s {\n    int x;\n};\n";
        assert_eq!(found("a.c", text), one("f", 3, 5));
        assert_eq!(found("a.h", "#define A 1\nint g(void)\n{\n}\n"), one("g", 2, 3));
    }

    #[test]
    fn python_is_read_by_its_indentation() {
        let text = "class A:\n    def f(\n        self,\n    ) -> int:\n        \"\"\"Text\nflush.\n\
                    \"\"\"\n\n        return 1\n\n    x = 1\n";
        assert_eq!(found("a.py", text), one("f", 2, 8));
        let nested = "def f():\n    def g():\n        pass\n    return g\n\n\nx = 1\n";
        assert_eq!(found("a.py", nested), [one("f", 1, 4), one("g", 2, 2)].concat());
    }

    #[test]
    fn javascript_is_read_in_each_form() {
        for (text, name) in [
            ("export function f(a) {\n  g();\n}\n", "f"),
            ("const f = (a) => {\n  g();\n};\n", "f"),
            ("on(\"x\", () => {\n  g();\n});\n", "=>"),
            ("  f(a, b) {\n    g();\n  }\n", "f"),
        ] {
            assert_eq!(found("a.js", text), one(name, 1, 3), "{text}");
        }
        assert_eq!(found("a.js", "if (a) {\n  g();\n}\nconst f = (a) => a;\n"), []);
    }

    #[test]
    fn go_is_read_with_and_without_a_receiver() {
        assert_eq!(found("a.go", "func f(a int) int {\n\treturn 1\n}\n"), one("f", 1, 3));
        assert_eq!(functions("a.go", "func (n *node) f() {\n\tg()\n}\n")[0].lines, 3);
    }
}
