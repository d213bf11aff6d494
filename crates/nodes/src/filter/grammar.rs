//! The grammar of conditions, by parser combinators: text in, a tree of words out.
//!
//! ```text
//! expression = term { "or" term }
//! term       = factor { "and" factor }
//! factor     = { "not" } ( "(" expression ")" | comparison )
//! comparison = column operator literal
//! column     = letter { letter | digit | "_" } [ "." key ]
//! operator   = "==" | "!=" | "<" | "<=" | ">" | ">=" | "=~"
//! literal    = "'" … "'" | '"' … '"' | word
//! word       = one or more characters other than white space, ( ) < > = ! ' "
//! ```
//! Which words are numbers is not decided here but by the column they are compared with, so that a
//! node named `7` can be asked for. [`Expression`] prints as text that reads back as itself.

use std::fmt;
use std::ops::Range;

use winnow::ascii::multispace0;
use winnow::combinator::{alt, cut_err, delimited, fail, opt, preceded, repeat, terminated};
use winnow::error::{ContextError, ErrMode, StrContext, StrContextValue};
use winnow::prelude::*;
use winnow::stream::LocatingSlice;
use winnow::token::{one_of, take_while};

use super::error::FilterError;

/// The longest condition that is read, in bytes.
pub const MAX_BYTES: usize = 4096;

/// The deepest nesting of parentheses that is read.
pub const MAX_DEPTH: usize = 64;

type Input<'a> = LocatingSlice<&'a str>;
type Parsed<T> = Result<T, ErrMode<ContextError>>;

/// A condition as written. Equality ignores the places.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// Either side holds. Left associative.
    Or(Box<Expression>, Box<Expression>),
    /// Both sides hold. Left associative.
    And(Box<Expression>, Box<Expression>),
    /// The inner condition does not hold.
    Not(Box<Expression>),
    /// A column compared with a literal.
    Comparison(Comparison),
}

/// `column operator literal`, as written.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The column's name.
    pub column: Word,
    /// The relation.
    pub operator: Operator,
    /// What the column is compared with, unquoted.
    pub literal: Word,
    /// Whether the literal was quoted, and so is text even where it reads as a number.
    pub quoted: bool,
}

/// A word and its position.
#[derive(Debug, Clone)]
pub struct Word {
    /// The word itself.
    pub text: String,
    /// Its bytes in the condition.
    pub place: Range<usize>,
}

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// A relation between a column and a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `=~`: contains the text, or matches it as a pattern with `*` and `?`.
    Matches,
}

/// Every operator with its spelling; a longer spelling is before its prefix.
const OPERATORS: [(&str, Operator); 7] = [
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("=~", Operator::Matches),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

/// Words that cannot be columns, and literals only in quotes.
const KEYWORDS: [&str; 3] = ["and", "or", "not"];

/// Reads a condition.
///
/// # Errors
/// [`FilterError`] at the first position that matches no rule; never panics, whatever the text.
pub fn parse(text: &str) -> Result<Expression, FilterError> {
    bounded(text)?;
    terminated(expression, multispace0).parse(Input::new(text)).map_err(|error| {
        let start = error.offset().min(text.len());
        let rest = text.get(start..).unwrap_or("");
        let blank = rest.len() - rest.trim_start().len();
        let start = start + blank;
        let length = text[start..].find(char::is_whitespace).unwrap_or(text.len() - start);
        let expected = expectation(error.inner());
        let message = match &text[start..start + length] {
            "" => format!("the condition ends where {expected} is expected"),
            "=" => "`=` is not a comparison; write `==`".to_owned(),
            found => format!("expected {expected}, found `{found}`"),
        };
        FilterError::new(text, start..start + length, message)
    })
}

/// Bounds what the recursive rules may recurse into.
fn bounded(text: &str) -> Result<(), FilterError> {
    if text.len() > MAX_BYTES {
        let message = format!("a condition may have {MAX_BYTES} bytes, not {}", text.len());
        return Err(FilterError::new(text, 0..0, message));
    }
    let mut depth = 0_usize;
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            let message = format!("parentheses may be nested {MAX_DEPTH} deep");
            let end = place + 1;
            return Err(FilterError::new(text, place..end, message));
        }
    }
    Ok(())
}

fn expectation(error: &ContextError) -> String {
    let expected = error.context().find_map(|context| match context {
        StrContext::Expected(StrContextValue::Description(text)) => Some(*text),
        _ => None,
    });
    expected.unwrap_or("`and`, `or` or the end").to_owned()
}

fn expecting(what: &'static str) -> StrContext {
    StrContext::Expected(StrContextValue::Description(what))
}

fn expression(input: &mut Input<'_>) -> Parsed<Expression> {
    chain(input, "or", term, Expression::Or)
}

fn term(input: &mut Input<'_>) -> Parsed<Expression> {
    chain(input, "and", factor, Expression::And)
}

/// `link { keyword link }`, joined from the left.
fn chain(
    input: &mut Input<'_>,
    joint: &'static str,
    link: fn(&mut Input<'_>) -> Parsed<Expression>,
    join: fn(Box<Expression>, Box<Expression>) -> Expression,
) -> Parsed<Expression> {
    let mut joined = link(input)?;
    while opt(keyword(joint)).parse_next(input)?.is_some() {
        let right = cut_err(link).parse_next(input)?;
        joined = join(Box::new(joined), Box::new(right));
    }
    Ok(joined)
}

fn factor(input: &mut Input<'_>) -> Parsed<Expression> {
    let negations: Vec<()> = repeat(0.., keyword("not")).parse_next(input)?;
    let parenthesised = delimited(
        symbol("("),
        cut_err(expression),
        cut_err(symbol(")")).context(expecting("`and`, `or` or `)`")),
    );
    let inner = alt((parenthesised, comparison.map(Expression::Comparison), fail))
        .context(expecting("a column, `not` or `(`"))
        .parse_next(input)?;
    Ok(negations.iter().fold(inner, |inner, ()| Expression::Not(Box::new(inner))))
}

fn comparison(input: &mut Input<'_>) -> Parsed<Comparison> {
    let column = preceded(multispace0, column).parse_next(input)?;
    let operator = cut_err(preceded(multispace0, operator))
        .context(expecting("one of == != < <= > >= =~"))
        .parse_next(input)?;
    let (literal, quoted) = cut_err(preceded(multispace0, literal))
        .context(expecting("a number, a word or a quoted text"))
        .parse_next(input)?;
    Ok(Comparison { column, operator, literal, quoted })
}

fn column(input: &mut Input<'_>) -> Parsed<Word> {
    let letters = one_of(|c: char| c.is_ascii_alphabetic() || c == '_');
    (letters, take_while(0.., is_column))
        .take()
        .verify(|word: &str| !KEYWORDS.contains(&word))
        .with_span()
        .map(|(text, place): (&str, Range<usize>)| Word { text: text.to_owned(), place })
        .parse_next(input)
}

fn operator(input: &mut Input<'_>) -> Parsed<Operator> {
    for (spelling, operator) in OPERATORS {
        if opt(spelling).parse_next(input)?.is_some() {
            return Ok(operator);
        }
    }
    fail(input)
}

fn literal(input: &mut Input<'_>) -> Parsed<(Word, bool)> {
    let bare = take_while(1.., is_word)
        .verify(|word: &str| !KEYWORDS.contains(&word))
        .map(|text: &str| (text, false));
    alt((quoted('"'), quoted('\''), bare))
        .with_span()
        .map(|((text, quoted), place)| (Word { text: text.to_owned(), place }, quoted))
        .parse_next(input)
}

/// Text between two equal quotes; nothing inside has a special meaning.
fn quoted<'a>(quote: char) -> impl Parser<Input<'a>, (&'a str, bool), ErrMode<ContextError>> {
    delimited(quote, take_while(0.., move |c| c != quote), quote).map(|text| (text, true))
}

/// A keyword as a whole word: `order` does not begin with `or`.
fn keyword<'a>(word: &'static str) -> impl Parser<Input<'a>, (), ErrMode<ContextError>> {
    preceded(multispace0, take_while(1.., is_word).verify(move |found: &str| found == word)).void()
}

fn symbol<'a>(text: &'static str) -> impl Parser<Input<'a>, &'a str, ErrMode<ContextError>> {
    preceded(multispace0, text)
}

/// Column names, with the dot and the keys of `user.KEY`.
fn is_column(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')
}

fn is_word(c: char) -> bool {
    !c.is_whitespace() && !matches!(c, '(' | ')' | '<' | '>' | '=' | '!' | '\'' | '"')
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = OPERATORS.iter().find(|(_, operator)| operator == self);
        f.write_str(found.map_or("", |(spelling, _)| spelling))
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Or(left, right) => write!(f, "({left} or {right})"),
            Self::And(left, right) => write!(f, "({left} and {right})"),
            Self::Not(inner) => write!(f, "not {inner}"),
            Self::Comparison(Comparison { column, operator, literal, quoted }) => {
                let quote = match (quoted, literal.text.contains('"')) {
                    (false, _) => "",
                    (true, false) => "\"",
                    (true, true) => "'",
                };
                write!(f, "{} {operator} {quote}{}{quote}", column.text, literal.text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn printed(text: &str) -> String {
        parse(text).unwrap_or_else(|error| panic!("{error}")).to_string()
    }

    #[test]
    fn and_binds_closer_than_or_and_not_closest() {
        assert_eq!(
            printed("load1<2 or cores>=4 and not state == left"),
            "(load1 < 2 or (cores >= 4 and not state == left))"
        );
        assert_eq!(printed("(a<1 or b<2)and c<3"), "((a < 1 or b < 2) and c < 3)");
        assert_eq!(printed("a<1 and b<2 and c<3"), "((a < 1 and b < 2) and c < 3)");
    }

    #[test]
    fn literals_are_words_or_quoted() {
        assert_eq!(printed("address =~ 10.0.*"), "address =~ 10.0.*");
        assert_eq!(printed("name=='or'"), "name == \"or\"");
        assert_eq!(printed("mem > 8GiB"), "mem > 8GiB");
        assert_eq!(printed("user.job-id == 'say \"a\"'"), "user.job-id == 'say \"a\"'");
        assert_eq!(printed("order < 3 or android == not-yet"), "(order < 3 or android == not-yet)");
    }

    #[test]
    fn errors_say_what_is_expected_and_where() {
        for (text, start, message) in [
            ("", 0, "the condition ends where a column, `not` or `(` is expected"),
            ("load1", 5, "the condition ends where one of == != < <= > >= =~ is expected"),
            ("load1 = 2", 6, "`=` is not a comparison; write `==`"),
            ("load1 < ", 8, "the condition ends where a number, a word or a quoted text"),
            ("load1 < 2 cores > 3", 10, "expected `and`, `or` or the end, found `cores`"),
            ("(load1 < 2", 10, "the condition ends where `and`, `or` or `)` is expected"),
            ("load1 < 2 and", 13, "the condition ends where a column"),
            ("load1 < 2)", 9, "expected `and`, `or` or the end, found `)`"),
            ("name == 'x", 8, "expected a number, a word or a quoted text, found `'x`"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.message.starts_with(message), "{text}: {}", error.message);
            assert_eq!(error.place.start, start, "{text}: {}", error.message);
        }
    }

    #[test]
    fn nesting_and_length_are_bounded() {
        let deep = format!("{}a<1{}", "(".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH));
        assert_eq!(printed(&deep), "a < 1");
        assert!(parse(&format!("({deep})")).is_err());
        assert!(parse(&"not ".repeat(MAX_BYTES)).is_err());
        assert!(parse(&format!("{}a<1", "not ".repeat(1000))).is_ok());
    }

    fn comparison() -> impl Strategy<Value = Expression> {
        let place = || 0..0;
        let column = prop_oneof!["[a-z_][a-z0-9_]{0,12}", "user\\.[a-z0-9_.-]{1,8}"];
        let bare = "[^\\s()<>=!'\"]{1,10}".prop_map(|text| (text, false));
        let quoted = prop_oneof!["[^\"]{0,10}", "[^']{0,10}"].prop_map(|text| (text, true));
        let operator = proptest::sample::select(OPERATORS.map(|(_, operator)| operator).to_vec());
        (column, operator, prop_oneof![bare, quoted])
            .prop_filter("keywords are neither columns nor bare words", |(column, _, (text, q))| {
                let keyword = |word: &String| KEYWORDS.contains(&word.as_str());
                !keyword(column) && (*q || !keyword(text))
            })
            .prop_map(move |(column, operator, (text, quoted))| {
                let column = Word { text: column, place: place() };
                let literal = Word { text, place: place() };
                Expression::Comparison(Comparison { column, operator, literal, quoted })
            })
    }

    fn any_expression() -> impl Strategy<Value = Expression> {
        comparison().prop_recursive(5, 32, 2, |inner| {
            let pair = (inner.clone().prop_map(Box::new), inner.clone().prop_map(Box::new));
            let other = (inner.clone().prop_map(Box::new), inner.clone().prop_map(Box::new));
            prop_oneof![
                pair.prop_map(|(a, b)| Expression::Or(a, b)),
                other.prop_map(|(a, b)| Expression::And(a, b)),
                inner.prop_map(|a| Expression::Not(Box::new(a))),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back_as_itself(expression in any_expression()) {
            let text = expression.to_string();
            prop_assert_eq!(parse(&text).map_err(|error| error.to_string()), Ok(expression));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,200}") {
            let _ = parse(&text).map_err(|error| error.to_string());
        }

        #[test]
        fn no_near_miss_makes_the_parser_panic(
            words in proptest::collection::vec(
                prop_oneof!["load1|and|or|not|<|<=|=|==|=~|\\(|\\)|8GiB|'|\"|é|user\\.", ".{0,3}"],
                0..40,
            )
        ) {
            for text in [words.join(" "), words.concat()] {
                let _ = crate::filter::Filter::parse(&text).map_err(|error| error.to_string());
            }
        }
    }
}
