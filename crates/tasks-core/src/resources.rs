//! Resources: what a task needs while it runs, and what a session has to offer.
//!
//! A resource has a name and an amount in its smallest unit: `mem` in bytes, `cpus` and all others
//! in thousandths, so half a GPU is 500. The names are those that workers offer; nothing here knows
//! what a GPU is. A task goes to a session only if all that it needs is left there.
//!
//! As text: `cpus=4,mem=8GiB,gpu=0.5`. Where `cpus` is not named, a task needs one.

use core::fmt;
use core::str::FromStr;
use std::collections::BTreeMap;

use minicbor::{Decode, Decoder, Encode, Encoder};

/// An amount of a resource: bytes of `mem`, thousandths of all others.
pub type Amount = u64;

/// The resources of one task, or of one session.
pub const MAX_RESOURCES: usize = 16;

/// The bytes of the name of a resource.
pub const MAX_RESOURCE_BYTES: usize = 64;

/// The resource that is counted in bytes.
pub const MEM: &str = "mem";

/// The resource of which a task needs one unless it says otherwise.
pub const CPUS: &str = "cpus";

/// One unit of a resource that is counted in thousandths.
pub const UNIT: Amount = 1_000;

const SUFFIXES: [(&str, u64); 5] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// What a task needs, sorted by name. What is not named is not needed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Need(Vec<(String, Amount)>);

/// Why something is not a list of resources.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NeedError {
    /// There are too many.
    #[error("{0} resources; at most {MAX_RESOURCES} are possible")]
    TooMany(usize),
    /// This is no name of a resource.
    #[error(
        "`{0}` names no resource: a name has 1 to {MAX_RESOURCE_BYTES} visible ASCII characters, \
         none of them `=` or `,`"
    )]
    Name(String),
    /// A resource is named twice.
    #[error("`{0}` is named twice; leave one out")]
    Twice(String),
    /// This has no amount, or none that can be counted.
    #[error(
        "`{0}` is no amount of a resource: write NAME=NUMBER with at most three decimals, \
         and mem as bytes or with KiB, MiB, GiB or TiB"
    )]
    Amount(String),
}

impl Need {
    /// A need of these resources, in any order. Nothing of a resource is the same as not naming it.
    ///
    /// # Errors
    /// There are more than [`MAX_RESOURCES`], one is named twice, or a name is not one.
    pub fn new(entries: impl IntoIterator<Item = (String, Amount)>) -> Result<Self, NeedError> {
        let mut entries = check(entries.into_iter().collect())?;
        entries.retain(|(_, amount)| *amount > 0);
        Ok(Self(entries))
    }

    /// All that is needed, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Amount)> {
        self.0.iter().map(|(name, amount)| (name.as_str(), *amount))
    }

    /// How much is needed of a resource.
    pub fn of(&self, name: &str) -> Amount {
        amount_of(&self.0, name)
    }

    /// Whether all that is needed is among these resources, which are sorted by name.
    pub fn fits(&self, left: &[(String, Amount)]) -> bool {
        self.0.iter().all(|(name, amount)| amount_of(left, name) >= *amount)
    }

    /// The bytes that it takes in memory beside its own size.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.0.iter().map(|(name, _)| size_of::<(String, Amount)>() + name.len()).sum()
    }
}

/// What of the resources of a session is in use.
#[derive(Debug, Default)]
pub(crate) struct Used(BTreeMap<String, u128>);

impl Used {
    /// A task takes what it needs.
    pub(crate) fn add(&mut self, need: &Need) {
        for (name, amount) in need.iter() {
            match self.0.get_mut(name) {
                Some(used) => *used += u128::from(amount),
                None => drop(self.0.insert(name.to_owned(), amount.into())),
            }
        }
    }

    /// A task gives back what it has taken.
    pub(crate) fn remove(&mut self, need: &Need) {
        for (name, amount) in need.iter() {
            let used = self.0.get_mut(name).expect("a task gives back only what it has taken");
            *used -= u128::from(amount);
            if *used == 0 {
                self.0.remove(name);
            }
        }
    }

    /// Whether another task fits beside those that are there.
    pub(crate) fn leaves(&self, need: &Need, offered: &[(String, Amount)]) -> bool {
        need.iter().all(|(name, amount)| {
            let used = self.0.get(name).copied().unwrap_or(0);
            used + u128::from(amount) <= u128::from(amount_of(offered, name))
        })
    }
}

/// How much there is of a resource among some that are sorted by name.
pub fn amount_of(resources: &[(String, Amount)], name: &str) -> Amount {
    let at = resources.binary_search_by(|(own, _)| own.as_str().cmp(name));
    at.map_or(0, |at| resources[at].1)
}

/// Resources as a session offers them, sorted by name.
///
/// # Errors
/// There are more than [`MAX_RESOURCES`], one is named twice, or a name is not one.
pub fn check(mut entries: Vec<(String, Amount)>) -> Result<Vec<(String, Amount)>, NeedError> {
    if entries.len() > MAX_RESOURCES {
        return Err(NeedError::TooMany(entries.len()));
    }
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'=' && byte != b',';
    for (name, _) in &entries {
        if name.is_empty() || name.len() > MAX_RESOURCE_BYTES || !name.bytes().all(is_plain) {
            return Err(NeedError::Name(name.chars().take(MAX_RESOURCE_BYTES).collect()));
        }
    }
    entries.sort_unstable();
    match entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(NeedError::Twice(pair[0].0.clone())),
        None => Ok(entries),
    }
}

/// Resources as text, such as `cpus=4,mem=8GiB`, sorted by name.
///
/// # Errors
/// See [`NeedError`].
pub fn parse(text: &str) -> Result<Vec<(String, Amount)>, NeedError> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let entries: Result<Vec<_>, _> = parts.map(parse_one).collect();
    check(entries?)
}

fn parse_one(part: &str) -> Result<(String, Amount), NeedError> {
    let error = || NeedError::Amount(part.chars().take(100).collect());
    let (name, number) = part.split_once('=').ok_or_else(error)?;
    let (name, number) = (name.trim(), number.trim());
    let (number, unit) = if name == MEM { split_unit(number) } else { (number, UNIT) };
    Ok((name.to_owned(), times(number, unit).ok_or_else(error)?))
}

/// A number of bytes without its unit, and the bytes of that.
fn split_unit(number: &str) -> (&str, u64) {
    let known = SUFFIXES.into_iter();
    let mut split = known.filter_map(|(name, bytes)| Some((number.strip_suffix(name)?, bytes)));
    split.next().map_or((number, 1), |(number, bytes)| (number.trim_end(), bytes))
}

/// A decimal number, with three decimals at most, times a unit.
fn times(number: &str, unit: u64) -> Option<Amount> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !are_digits(whole) || !are_digits(decimals) || decimals.len() > 3 {
        return None;
    }
    let decimals: u64 = format!("{decimals:0<3}").parse().ok()?;
    let part = u128::from(decimals) * u128::from(unit) / 1_000;
    let whole = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    whole.checked_add(u64::try_from(part).ok()?)
}

/// Writes resources as text.
///
/// # Errors
/// The formatter does not take it.
pub fn write(formatter: &mut fmt::Formatter<'_>, resources: &[(String, Amount)]) -> fmt::Result {
    for (at, (name, amount)) in resources.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        write!(formatter, "{comma}{name}={}", Text(name, *amount))?;
    }
    Ok(())
}

/// An amount of a named resource, as text.
struct Text<'n>(&'n str, Amount);

impl fmt::Display for Text<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(name, amount) = *self;
        if name == MEM {
            let fits = |bytes: u64| amount >= bytes && amount % bytes == 0;
            let (suffix, bytes) =
                SUFFIXES.into_iter().find(|(_, bytes)| fits(*bytes)).unwrap_or(("B", 1));
            return write!(formatter, "{}{suffix}", amount / bytes);
        }
        let decimals = format!("{:03}", amount % UNIT);
        match decimals.trim_end_matches('0') {
            "" => write!(formatter, "{}", amount / UNIT),
            decimals => write!(formatter, "{}.{decimals}", amount / UNIT),
        }
    }
}

impl Default for Need {
    fn default() -> Self {
        Self(vec![(CPUS.to_owned(), UNIT)])
    }
}

impl fmt::Display for Need {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.of(CPUS) == 0 {
            let comma = if self.0.is_empty() { "" } else { "," };
            write!(formatter, "{CPUS}=0{comma}")?;
        }
        write(formatter, &self.0)
    }
}

impl FromStr for Need {
    type Err = NeedError;

    fn from_str(text: &str) -> Result<Self, NeedError> {
        let mut entries = parse(text)?;
        if entries.iter().all(|(name, _)| name != CPUS) {
            entries.push((CPUS.to_owned(), UNIT));
        }
        Self::new(entries)
    }
}

impl<C> Encode<C> for Need {
    fn encode<W: minicbor::encode::Write>(
        &self,
        encoder: &mut Encoder<W>,
        context: &mut C,
    ) -> Result<(), minicbor::encode::Error<W::Error>> {
        self.0.encode(encoder, context)
    }
}

impl<'b, C> Decode<'b, C> for Need {
    fn decode(decoder: &mut Decoder<'b>, context: &mut C) -> Result<Self, minicbor::decode::Error> {
        let entries: Vec<(String, Amount)> = Decode::decode(decoder, context)?;
        Self::new(entries).map_err(|error| minicbor::decode::Error::message(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn need(text: &str) -> Need {
        text.parse().unwrap()
    }

    #[test]
    fn a_need_is_read_as_it_is_meant() {
        let read = need("mem=8GiB, cpus=4,gpu=0.5");
        let all: Vec<_> = read.iter().collect();
        assert_eq!(all, [("cpus", 4_000), ("gpu", 500), ("mem", 8 << 30)]);
        assert_eq!(need("").of("cpus"), 1_000);
        assert_eq!(need("gpu=1").of("cpus"), 1_000, "a task takes a CPU unless it says otherwise");
        assert_eq!(need("gpu=1,cpus=0").of("cpus"), 0);
        assert_eq!(need("mem=1.5KiB").of("mem"), 1_536);
        assert_eq!(need("mem=100").of("mem"), 100);
        assert_eq!(need(""), Need::default());
    }

    #[test]
    fn what_is_no_need_is_refused_with_its_name() {
        let error = |text: &str| text.parse::<Need>().unwrap_err();
        assert_eq!(error("cpus=1,cpus=2"), NeedError::Twice("cpus".to_owned()));
        assert!(matches!(error("=1"), NeedError::Name(_)));
        assert!(matches!(error("a b=1"), NeedError::Name(_)));
        for text in
            ["cpus", "cpus=", "cpus=x", "cpus=-1", "cpus=0.0001", "cpus=99999999999999999999"]
        {
            assert!(matches!(error(text), NeedError::Amount(_)), "{text}");
        }
        let many: Vec<String> = (0..17).map(|number| format!("r{number}=1")).collect();
        assert!(matches!(error(&many.join(",")), NeedError::TooMany(17)));
        assert!(error("mem=8GB").to_string().contains("GiB"));
    }

    #[test]
    fn it_fits_where_all_is_left() {
        let left = parse("cpus=2,mem=1GiB").unwrap();
        assert!(need("cpus=2,mem=1GiB").fits(&left));
        assert!(!need("cpus=2.001").fits(&left));
        assert!(!need("gpu=1").fits(&left));
        assert!(Need::new([]).unwrap().fits(&[]));
    }

    proptest! {
        #[test]
        fn text_and_records_give_back_what_was_written(
            amounts in vec((prop::sample::select(vec!["cpus", "mem", "gpu", "x"]), any::<u64>()), 0..6)
        ) {
            let entries = amounts.into_iter().map(|(name, amount)| (name.to_owned(), amount));
            let Ok(need) = Need::new(entries) else { return Ok(()) };
            prop_assert_eq!(&need.to_string().parse::<Need>().unwrap(), &need);
            let bytes = minicbor::to_vec(&need).unwrap();
            prop_assert_eq!(&minicbor::decode::<Need>(&bytes).unwrap(), &need);
        }

        #[test]
        fn any_text_is_a_need_or_an_error(text in ".{0,60}") {
            drop(text.parse::<Need>());
        }
    }
}
