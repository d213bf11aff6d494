//! Templates of commands: `./sim {1} --out {1/.}.txt` and a row of arguments make one command.
//!
//! | in a template | stands for |
//! |---|---|
//! | `{}` | the row's arguments, with a space between |
//! | `{2}` | its second argument |
//! | `{.}` `{2.}` | without its extension |
//! | `{/}` `{2/}` | its last component |
//! | `{//}` `{2//}` | its folder |
//! | `{/.}` `{2/.}` | its last component without extension |
//! | `{#}` | the row's number, from 1 |
//!
//! A template without any of them gets the row at its end. Source: GNU parallel.

/// Commands to be made of rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Template {
    words: Vec<Vec<Piece>>,
    /// Whether the words are one line for a shell.
    shell: bool,
}

/// A part of a word.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    Text(String),
    /// The row's number.
    Number,
    /// The argument of this place, from 0; the whole row without one.
    Argument(Option<usize>, Form),
}

/// What of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Whole,
    WithoutExtension,
    Name,
    Folder,
    Stem,
}

/// The end of what stands in braces, and what of an argument it means.
const FORMS: [(&str, Form); 5] = [
    ("//", Form::Folder),
    ("/.", Form::Stem),
    ("/", Form::Name),
    (".", Form::WithoutExtension),
    ("", Form::Whole),
];

/// A template names an argument that rows do not have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{{{wanted}}} is the argument of source {wanted}, but there are {sources}: give `:::` once for \
     each source"
)]
pub struct TemplateError {
    wanted: usize,
    sources: usize,
}

impl TemplateError {
    /// The place of the argument, from 1.
    pub(super) fn wanted(&self) -> usize {
        self.wanted
    }
}

impl Template {
    /// The template of these words, for rows of so many arguments. With `shell` the words are a
    /// line for a shell, in which arguments are quoted.
    pub(super) fn new(
        words: &[String],
        sources: usize,
        shell: bool,
    ) -> Result<Self, TemplateError> {
        let mut words: Vec<Vec<Piece>> = words.iter().map(|word| pieces(word)).collect();
        let pieces = || words.iter().flatten();
        let wanted = pieces().filter_map(|piece| match piece {
            Piece::Argument(Some(place), _) => Some(place + 1),
            _ => None,
        });
        if let Some(wanted) = wanted.max().filter(|wanted| *wanted > sources) {
            return Err(TemplateError { wanted, sources });
        }
        if sources > 0 && pieces().all(|piece| matches!(piece, Piece::Text(_))) {
            words.extend((0..sources).map(|at| vec![Piece::Argument(Some(at), Form::Whole)]));
        }
        Ok(Self { words, shell })
    }

    /// The command of a row, whose number is counted from 1.
    pub(super) fn command(&self, row: &[String], number: usize) -> Vec<String> {
        let word = |pieces: &Vec<Piece>| -> String {
            pieces.iter().map(|piece| self.text(piece, row, number)).collect()
        };
        let words = self.words.iter().map(word);
        if self.shell {
            let line = words.collect::<Vec<_>>().join(" ");
            return vec!["/bin/sh".to_owned(), "-c".to_owned(), line];
        }
        words.collect()
    }

    /// The command of a row as a line that a shell would take.
    pub(super) fn line(&self, row: &[String], number: usize) -> String {
        let words = self.command(row, number);
        words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
    }

    fn text(&self, piece: &Piece, row: &[String], number: usize) -> String {
        let quoted = |text: &str| if self.shell { quote(text) } else { text.to_owned() };
        match piece {
            Piece::Text(text) => text.clone(),
            Piece::Number => number.to_string(),
            Piece::Argument(Some(place), form) => {
                quoted(form.of(row.get(*place).map_or("", String::as_str)))
            }
            Piece::Argument(None, form) => {
                let each: Vec<String> = row.iter().map(|text| quoted(form.of(text))).collect();
                each.join(" ")
            }
        }
    }
}

impl Form {
    fn of(self, text: &str) -> &str {
        let (folder, name) = match text.rsplit_once('/') {
            Some(("", name)) => ("/", name),
            Some((folder, name)) => (folder, name),
            None => (".", text),
        };
        let without = |path: &'_ str| match name.rfind('.') {
            // The dot of a hidden file begins no extension.
            Some(dot) if dot > 0 => path.len() - (name.len() - dot),
            _ => path.len(),
        };
        match self {
            Self::Whole => text,
            Self::WithoutExtension => &text[..without(text)],
            Self::Name => name,
            Self::Folder => folder,
            Self::Stem => &name[..without(name)],
        }
    }
}

/// Whether the words of a command have a place for arguments.
pub(super) fn wants_arguments(words: &[String]) -> bool {
    let mut pieces = words.iter().flat_map(|word| pieces(word));
    pieces.any(|piece| matches!(piece, Piece::Argument(..)))
}

/// The pieces of a word. Braces that hold nothing known are text.
fn pieces(word: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut text, mut rest) = (String::new(), word);
    while let Some(open) = rest.find('{') {
        let place = rest[open + 1..].find('}').map(|close| open + 1 + close);
        let known = place.and_then(|close| Some((close, place_holder(&rest[open + 1..close])?)));
        let Some((close, piece)) = known else {
            text.push_str(&rest[..=open]);
            rest = &rest[open + 1..];
            continue;
        };
        text.push_str(&rest[..open]);
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        pieces.push(piece);
        rest = &rest[close + 1..];
    }
    text.push_str(rest);
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    pieces
}

/// What stands in braces.
fn place_holder(inside: &str) -> Option<Piece> {
    if inside == "#" {
        return Some(Piece::Number);
    }
    let digits = inside.bytes().take_while(u8::is_ascii_digit).count();
    let (number, end) = inside.split_at(digits);
    let (_, form) = FORMS.iter().find(|(known, _)| *known == end)?;
    let place = match number {
        "" => None,
        _ => Some(number.parse::<usize>().ok()?.checked_sub(1)?),
    };
    Some(Piece::Argument(place, *form))
}

/// A text as one word of a shell's line.
fn quote(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(words: &[&str], row: &[&str]) -> Vec<String> {
        let owned =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let template = Template::new(&owned(words), row.len(), false).unwrap();
        template.command(&owned(row), 7)
    }

    #[test]
    fn braces_stand_for_parts_of_arguments() {
        let row = ["in/a.b.txt", "x"];
        for (word, text) in [
            ("{1}", "in/a.b.txt"),
            ("{1.}", "in/a.b"),
            ("{1/}", "a.b.txt"),
            ("{1//}", "in"),
            ("{1/.}", "a.b"),
            ("{2//}", "."),
            ("-o{2}.{#}", "-ox.7"),
            ("{}", "in/a.b.txt x"),
            ("{/}", "a.b.txt x"),
            ("{3x} {1}", "{3x} in/a.b.txt"),
            ("${HOME} {1}", "${HOME} in/a.b.txt"),
            ("{{1}", "{in/a.b.txt"),
        ] {
            assert_eq!(command(&[word], &row), [text], "{word}");
        }
    }

    #[test]
    fn extensions_are_of_the_last_component_only() {
        for (path, without) in
            [("a.d/b", "a.d/b"), (".hidden", ".hidden"), ("/x.y", "/x"), ("a.", "a"), ("", "")]
        {
            assert_eq!(command(&["{.}"], &[path]), [without], "{path}");
        }
        assert_eq!(command(&["{//}"], &["/x"]), ["/"]);
    }

    #[test]
    fn a_template_without_braces_gets_the_row_at_its_end() {
        assert_eq!(command(&["gzip", "-9"], &["a b", "c"]), ["gzip", "-9", "a b", "c"]);
        assert_eq!(command(&["true"], &[]), ["true"]);
        assert_eq!(command(&["echo", "{#}"], &["a"]), ["echo", "7"]);
    }

    #[test]
    fn a_shell_gets_one_line_with_quoted_arguments() {
        let words = ["wc -l {} | tee {/.}.n".to_owned()];
        let template = Template::new(&words, 1, true).unwrap();
        let line = template.command(&["it's; rm -rf.txt".to_owned()], 1).pop().unwrap();
        assert_eq!(line, r"wc -l 'it'\''s; rm -rf.txt' | tee 'it'\''s; rm -rf'.n");
    }

    #[test]
    fn an_argument_that_no_source_gives_is_refused() {
        let error = Template::new(&["{3}".to_owned()], 2, false).unwrap_err();
        assert_eq!(error, TemplateError { wanted: 3, sources: 2 });
        assert!(Template::new(&["{0}".to_owned()], 0, false).is_ok());
    }
}
