//! `tolerances`: how near the readings that a node says have to be to those that were read.

use std::fmt::Write as _;
use std::str::FromStr;

use tidings_gossip::payload::{Reading, Tolerance, Tolerances};

/// One of the values of the setting; later ones have the last word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ToleranceRule {
    /// All readings have the documented ones.
    Usual,
    /// All readings are said as they were read.
    Exact,
    /// One reading has this one.
    Of(Reading, Tolerance),
}

impl FromStr for ToleranceRule {
    type Err = String;

    /// `usual`, `exact`, or `READING=` and `exact`, a distance, or a distance `/` a share in per
    /// cent.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "usual" => return Ok(Self::Usual),
            "exact" => return Ok(Self::Exact),
            _ => {}
        }
        let (name, near) = text.split_once('=').ok_or("neither usual, exact nor READING=…")?;
        let reading = Reading::ALL.into_iter().find(|reading| reading.name() == name.trim());
        let reading = reading.ok_or_else(|| format!("no reading is called {:?}", name.trim()))?;
        if near.trim() == "exact" {
            return Ok(Self::Of(reading, Tolerance::Exact));
        }
        if Tolerance::usual(reading) == Tolerance::Exact {
            return Err(format!("{} is always exact", reading.name()));
        }
        let (distance, share) = near.split_once('/').unwrap_or((near, "0%"));
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| "no number".to_owned());
        let share = share.trim().strip_suffix('%').ok_or("a share without a % behind it")?;
        let tolerance = Tolerance::within(number(distance)?, number(share)? / 100.0);
        tolerance.map(|near| Self::Of(reading, near)).map_err(|error| error.to_string())
    }
}

/// The tolerances by these rules; without any the documented ones where `by_changes`, so that
/// entries travel as changes, and none elsewhere.
pub(crate) fn by(rules: &[ToleranceRule], by_changes: bool) -> Tolerances {
    let first = if by_changes { ToleranceRule::Usual } else { ToleranceRule::Exact };
    let mut tolerances = Tolerances::exact();
    for rule in std::iter::once(&first).chain(rules) {
        match *rule {
            ToleranceRule::Usual => tolerances = Tolerances::default(),
            ToleranceRule::Exact => tolerances = Tolerances::exact(),
            ToleranceRule::Of(reading, tolerance) => tolerances.set(reading, tolerance),
        }
    }
    tolerances
}

/// What `--check` says of them.
pub(crate) fn described(tolerances: &Tolerances) -> String {
    let mut text = String::new();
    for reading in Reading::ALL {
        let Tolerance::Within { absolute, share } = tolerances.of(reading) else { continue };
        let _ = write!(
            text,
            "{}{}={absolute}",
            if text.is_empty() { "" } else { ", " },
            reading.name()
        );
        if share > 0.0 {
            // As it is written: a share that is no whole number of per mille has its digits.
            let _ = write!(text, "/{}%", (share * 1e12).round() / 1e10);
        }
    }
    if text.is_empty() {
        "readings are said as they were read".to_owned()
    } else {
        format!("readings are said within {text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str]) -> Vec<ToleranceRule> {
        texts.iter().map(|text| text.parse().expect("a rule")).collect()
    }

    #[test]
    fn later_rules_have_the_last_word() {
        assert_eq!(by(&[], true), Tolerances::default());
        assert_eq!(by(&[], false), Tolerances::exact());
        assert_eq!(by(&rules(&["usual"]), false), Tolerances::default());
        let some = by(&rules(&["load1=0.5/10%", "load5=exact", "power_w = 3"]), true);
        assert_eq!(some.of(Reading::Load1), Tolerance::Within { absolute: 0.5, share: 0.1 });
        assert_eq!(some.of(Reading::Load5), Tolerance::Exact);
        assert_eq!(some.of(Reading::Power), Tolerance::Within { absolute: 3.0, share: 0.0 });
        assert_eq!(some.of(Reading::Load15), Tolerance::usual(Reading::Load15));
        assert_eq!(by(&rules(&["load1=0.5", "exact"]), true), Tolerances::exact());
    }

    #[test]
    fn what_is_no_rule_says_why() {
        for (text, why) in [
            ("near", "neither usual, exact nor"),
            ("load=1", "no reading is called \"load\""),
            ("load1=", "no number"),
            ("load1=1/2", "a share without a %"),
            ("load1=0", "the first must be a number above 0"),
            ("load1=nan", "the first must be a number above 0"),
            ("load1=1/200%", "the second between 0 and 1"),
            ("cores=2", "cores is always exact"),
        ] {
            let error = text.parse::<ToleranceRule>().expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_described_is_read_back() {
        let text = described(&Tolerances::default());
        let list = text.strip_prefix("readings are said within ").expect("it begins so");
        let rules: Vec<_> = list.split(", ").collect();
        assert!(
            rules.contains(&"load1=0.05/2%") && rules.contains(&"cpu_busy_percent=1"),
            "{text}"
        );
        assert_eq!(by(&self::rules(&rules), false), Tolerances::default());
        assert_eq!(described(&Tolerances::exact()), "readings are said as they were read");
    }
}
