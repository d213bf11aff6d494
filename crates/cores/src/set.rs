//! Cores, as the kernel writes them: lists such as `0,2-3`, and masks such as `0000000d`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The most cores that a set of the kernel's can name.
pub const CORES_MOST: u32 = 1024;

/// Cores by number, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CoreSet(BTreeSet<u32>);

impl CoreSet {
    /// The cores, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether this core is among them.
    pub fn has(&self, core: u32) -> bool {
        self.0.contains(&core)
    }

    /// The one with the greatest number.
    pub fn last(&self) -> Option<u32> {
        self.0.last().copied()
    }

    /// Those that are not in the other set.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }

    /// Those that are in both.
    #[must_use]
    pub fn both(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }

    /// Those that are in either.
    #[must_use]
    pub fn either(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).copied().collect())
    }

    /// Whether none is in both.
    pub fn is_apart(&self, other: &Self) -> bool {
        self.0.is_disjoint(&other.0)
    }

    /// Reads a mask: groups of hexadecimal digits, 32 bits each, separated by commas.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn of_mask(text: &str) -> Result<Self, String> {
        let groups: Vec<&str> = text.trim().split(',').collect();
        if groups.len() > CORES_MOST as usize / 32 {
            return Err(format!("a mask of more than {CORES_MOST} cores"));
        }
        let mut cores = BTreeSet::new();
        for (at, group) in groups.iter().rev().enumerate() {
            let bits = u32::from_str_radix(group, 16).map_err(|_| format!("{group} is no mask"))?;
            cores
                .extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| at as u32 * 32 + bit));
        }
        Ok(Self(cores))
    }

    /// The set as a mask.
    pub fn mask(&self) -> String {
        let groups = self.last().unwrap_or(0) / 32;
        let bits = |group: u32| {
            let here = self.iter().filter(|core| core / 32 == group);
            here.fold(0u32, |bits, core| bits | 1 << (core % 32))
        };
        let groups = (0..=groups).rev().map(|group| format!("{:08x}", bits(group)));
        groups.collect::<Vec<_>>().join(",")
    }
}

impl FromIterator<u32> for CoreSet {
    fn from_iter<T: IntoIterator<Item = u32>>(cores: T) -> Self {
        Self(cores.into_iter().collect())
    }
}

impl FromStr for CoreSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut cores = BTreeSet::new();
        for part in text.trim().split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!("{part} runs backwards"));
            }
            cores.extend(first..=last);
        }
        Ok(Self(cores))
    }
}

fn number(text: &str) -> Result<u32, String> {
    match text.trim().parse::<u32>() {
        Ok(core) if core < CORES_MOST => Ok(core),
        Ok(core) => Err(format!("{core} is out of range")),
        Err(_) => Err("neither core numbers nor a known word".to_owned()),
    }
}

impl fmt::Display for CoreSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for core in self.iter() {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == core => *last = core,
                _ => runs.push((core, core)),
            }
        }
        let run = |(first, last): &(u32, u32)| {
            if first == last { first.to_string() } else { format!("{first}-{last}") }
        };
        formatter.write_str(&runs.iter().map(run).collect::<Vec<_>>().join(","))
    }
}

impl TryFrom<String> for CoreSet {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.is_empty() { Ok(Self::default()) } else { text.parse() }
    }
}

impl From<CoreSet> for String {
    fn from(set: CoreSet) -> Self {
        set.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_masks_are_read_as_they_are_written() {
        let set: CoreSet = "0,2-4,33".parse().expect("a list");
        assert_eq!(set.to_string(), "0,2-4,33");
        assert_eq!(set.mask(), "00000002,0000001d");
        assert_eq!(CoreSet::of_mask("2,0000001d"), Ok(set));
        assert_eq!(CoreSet::default().mask(), "00000000");
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for bad in ["", "a", "3-1", "1024", "0-99999999999", "1,,2"] {
            assert!(bad.parse::<CoreSet>().is_err(), "{bad}");
        }
        assert!(CoreSet::of_mask("xyz").is_err());
        assert!(CoreSet::of_mask(&"0,".repeat(64)).is_err());
    }
}
