//! The grammar of one line of a roster, from text to patterns.
//!
//! Written with winnow: its located input gives each fault the place where the parser stood, and
//! `context` lets the rule that knows what it expected say so. See docs/reference/roster.md.

use core::net::Ipv6Addr;

use winnow::ascii::{digit1, space0};
use winnow::combinator::{alt, cut_err, delimited, opt, peek, preceded, repeat, separated};
use winnow::error::{AddContext, ErrMode, FromExternalError, ParserError};
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Location, Stream};
use winnow::token::{one_of, take_while};

use super::hostlist::{Item, Part, Range, number};
use super::problem::Problem;

/// The most bytes the host part of an address may have: a full domain name.
const MAX_HOST_BYTES: usize = 253;

type Input<'t> = LocatingSlice<&'t str>;
type Parsed<T> = winnow::Result<T, ErrMode<Fault>>;

/// What the grammar reports; the place is where the parser stands.
#[derive(Debug)]
struct Fault(Problem);

impl ParserError<Input<'_>> for Fault {
    type Inner = Self;

    fn from_input(_: &Input<'_>) -> Self {
        Self(Problem::Unexpected)
    }

    fn into_inner(self) -> Result<Self, Self> {
        Ok(self)
    }
}

impl FromExternalError<Input<'_>, Problem> for Fault {
    fn from_external_error(_: &Input<'_>, problem: Problem) -> Self {
        Self(problem)
    }
}

impl<'t> AddContext<Input<'t>, Problem> for Fault {
    /// The innermost rule that knows what it expected has the word.
    fn add_context(
        self,
        _: &Input<'t>,
        _: &<Input<'t> as Stream>::Checkpoint,
        problem: Problem,
    ) -> Self {
        if self.0 == Problem::Unexpected { Self(problem) } else { self }
    }
}

/// The items of a line, or where in it what is wrong.
pub(super) fn items_of(raw: &str) -> Result<Vec<Item<'_>>, (usize, Problem)> {
    let line = raw.split('#').next().unwrap_or_default().trim_end();
    if line.is_empty() {
        return Ok(Vec::new());
    }
    let comma = (space0, ',', space0);
    preceded(space0, separated(1.., cut_err(item), comma))
        .parse(LocatingSlice::new(line))
        .map_err(|error| (error.offset(), error.into_inner().0))
}

fn item<'t>(input: &mut Input<'t>) -> Parsed<Item<'t>> {
    let offset = input.current_token_start();
    peek(one_of(|c: char| c.is_ascii_alphanumeric() || c == '['))
        .context(Problem::NameExpected)
        .parse_next(input)?;
    let parts: Vec<_> = repeat(1.., alt((text, numbers))).parse_next(input)?;
    let plain = matches!(parts[..], [Part::Text(_)]);
    let address =
        opt(preceded((space0, '=', space0), cut_err(address(plain)))).parse_next(input)?;
    Ok(Item { offset, parts, address })
}

fn text<'t>(input: &mut Input<'t>) -> Parsed<Part<'t>> {
    take_while(1.., is_name_char).map(Part::Text).parse_next(input)
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

fn numbers<'t>(input: &mut Input<'t>) -> Parsed<Part<'t>> {
    let close = cut_err(']').context(Problem::BracketUnclosed);
    delimited('[', separated(1.., cut_err(range), ','), close).map(Part::Numbers).parse_next(input)
}

fn range(input: &mut Input<'_>) -> Parsed<Range> {
    let number = || digit1.context(Problem::NumberExpected);
    (number(), opt(preceded('-', cut_err(number()))))
        .try_map(|(first, last)| range_between(first, last.unwrap_or(first)))
        .parse_next(input)
}

fn range_between(first: &str, last: &str) -> Result<Range, Problem> {
    let range = Range { first: number(first)?, last: number(last)?, width: first.len() };
    let written = || (first.to_owned(), last.to_owned());
    if range.last < range.first {
        let (first, last) = written();
        return Err(Problem::RangeReversed { first, last });
    }
    if last.len() != range.bytes() {
        let (first, last) = written();
        return Err(Problem::PaddingUneven { first, last });
    }
    Ok(range)
}

fn address<'t>(plain: bool) -> impl FnMut(&mut Input<'t>) -> Parsed<&'t str> {
    move |input| {
        take_while(0.., |c: char| !c.is_whitespace() && c != ',')
            .try_map(|address: &'t str| match (plain, is_address(address)) {
                (false, _) => Err(Problem::AddressOfMany),
                (true, false) => Err(Problem::AddressMalformed),
                (true, true) => Ok(address),
            })
            .parse_next(input)
    }
}

/// Whether the text is `host:port`, `IPv4:port` or `[IPv6]:port` with a port above 0.
fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else {
        return false;
    };
    let is_port = port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().unwrap_or(0) > 0;
    let is_host = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(ip) => ip.parse::<Ipv6Addr>().is_ok(),
        None => (1..=MAX_HOST_BYTES).contains(&host.len()) && host.chars().all(is_name_char),
    };
    is_port && is_host
}
