//! `tolerances`: how near the readings that a node says have to be to those that were read.
//!
//! User metrics are exact unless a rule names them. They are texts: one that is a number and within
//! its tolerance of what was said last is said again as it was, unless that is longer.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::str::FromStr;

use tidings_gossip::payload::{Reading, Tolerance, Tolerances};

use crate::user_metrics::is_key;

/// One of the values of the setting; later ones have the last word.
#[derive(Clone, Debug, PartialEq)]
pub enum ToleranceRule {
    /// All readings have the documented ones.
    Usual,
    /// All readings are said as they were read.
    Exact,
    /// One reading has this one.
    Of(Reading, Tolerance),
    /// The user metric of this key has it, or all whose keys begin so if a `*` follows.
    User(String, Tolerance),
}

/// What the keys of user metrics begin with in a rule.
const USER: &str = "user.";

impl FromStr for ToleranceRule {
    type Err = String;

    /// `usual`, `exact`, or `READING=` or `user.KEY=` and `exact`, a distance, or a distance `/` a
    /// share in per cent.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "usual" => return Ok(Self::Usual),
            "exact" => return Ok(Self::Exact),
            _ => {}
        }
        let (name, near) = text.split_once('=').ok_or("neither usual, exact nor READING=…")?;
        let name = name.trim();
        if let Some(key) = name.strip_prefix(USER) {
            if key != "*" && !is_key(key.strip_suffix('*').unwrap_or(key)) {
                return Err(format!("no user metric has the key {key:?}"));
            }
            return Ok(Self::User(key.to_owned(), tolerance_of(near)?));
        }
        let reading = Reading::ALL.into_iter().find(|reading| reading.name() == name);
        let reading = reading.ok_or_else(|| format!("no reading is called {name:?}"))?;
        let tolerance = tolerance_of(near)?;
        if tolerance != Tolerance::Exact && Tolerance::usual(reading) == Tolerance::Exact {
            return Err(format!("{} is always exact", reading.name()));
        }
        Ok(Self::Of(reading, tolerance))
    }
}

/// `exact`, a distance, or a distance `/` a share in per cent.
fn tolerance_of(near: &str) -> Result<Tolerance, String> {
    if near.trim() == "exact" {
        return Ok(Tolerance::Exact);
    }
    let (distance, share) = near.split_once('/').unwrap_or((near, "0%"));
    let number = |text: &str| text.trim().parse::<f64>().map_err(|_| "no number".to_owned());
    let share = share.trim().strip_suffix('%').ok_or("a share without a % behind it")?;
    let tolerance = Tolerance::within(number(distance)?, number(share)? / 100.0);
    tolerance.map_err(|error| error.to_string())
}

/// That of a user metric.
fn of_user(rules: &[ToleranceRule], key: &str) -> Tolerance {
    let mut tolerance = Tolerance::Exact;
    for rule in rules {
        match rule {
            ToleranceRule::Usual | ToleranceRule::Exact => tolerance = Tolerance::Exact,
            ToleranceRule::User(named, near) => {
                let is_named = named
                    .strip_suffix('*')
                    .map_or(named == key, |beginning| key.starts_with(beginning));
                tolerance = if is_named { *near } else { tolerance };
            }
            ToleranceRule::Of(..) => {}
        }
    }
    tolerance
}

/// What a node said last of its user metrics that have tolerances.
#[derive(Debug, Default)]
pub(crate) struct SettledUser(BTreeMap<String, String>);

impl SettledUser {
    /// Puts what was said last in the place of what is as near to it as these rules say.
    pub(crate) fn settle(
        &mut self,
        rules: &[ToleranceRule],
        metrics: &mut BTreeMap<String, String>,
    ) {
        self.0.retain(|key, _| metrics.contains_key(key));
        for (key, now) in metrics.iter_mut() {
            let Tolerance::Within { absolute, share } = of_user(rules, key) else {
                self.0.remove(key);
                continue;
            };
            match self.0.get(key) {
                // A longer one may not fit into the payload, which was checked for this one.
                Some(said) if said.len() <= now.len() && is_near(said, now, absolute, share) => {
                    now.clone_from(said);
                }
                _ => drop(self.0.insert(key.clone(), now.clone())),
            }
        }
    }
}

/// Whether both are numbers, and what was said may stand for what is.
fn is_near(said: &str, now: &str, absolute: f64, share: f64) -> bool {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    number(said)
        .zip(number(now))
        .is_some_and(|(said, now)| (now - said).abs() <= absolute.max(share * now.abs()))
}

/// The tolerances by these rules; without any the documented ones where `by_changes`, so that
/// entries travel as changes, and none elsewhere.
pub(crate) fn by(rules: &[ToleranceRule], by_changes: bool) -> Tolerances {
    let first = if by_changes { ToleranceRule::Usual } else { ToleranceRule::Exact };
    let mut tolerances = Tolerances::exact();
    for rule in std::iter::once(&first).chain(rules) {
        match rule {
            ToleranceRule::Usual => tolerances = Tolerances::default(),
            ToleranceRule::Exact => tolerances = Tolerances::exact(),
            ToleranceRule::Of(reading, tolerance) => tolerances.set(*reading, *tolerance),
            ToleranceRule::User(..) => {}
        }
    }
    tolerances
}

/// What `--check` says of them, and of those that rules give user metrics.
pub(crate) fn described(tolerances: &Tolerances, rules: &[ToleranceRule]) -> String {
    let mut text = String::new();
    for reading in Reading::ALL {
        add(&mut text, reading.name(), tolerances.of(reading));
    }
    let is_first =
        |rule: &ToleranceRule| matches!(rule, ToleranceRule::Usual | ToleranceRule::Exact);
    let begin = rules.iter().rposition(is_first).map_or(0, |at| at + 1);
    for rule in &rules[begin..] {
        if let ToleranceRule::User(key, tolerance) = rule {
            add(&mut text, &format!("{USER}{key}"), *tolerance);
        }
    }
    if text.is_empty() {
        "readings are said as they were read".to_owned()
    } else {
        format!("readings are said within {text}")
    }
}

/// Adds one to the list, as it is written in a rule, unless it is exact.
fn add(text: &mut String, name: &str, tolerance: Tolerance) {
    let Tolerance::Within { absolute, share } = tolerance else { return };
    let _ = write!(text, "{}{name}={absolute}", if text.is_empty() { "" } else { ", " });
    if share > 0.0 {
        // As it is written: a share that is no whole number of per mille has its digits.
        let _ = write!(text, "/{}%", (share * 1e12).round() / 1e10);
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
            ("user.=2", "no user metric has the key \"\""),
            ("user.-a=2", "no user metric has the key \"-a\""),
            ("user.a*b=2", "no user metric has the key \"a*b\""),
            ("user.a=-2", "the first must be a number above 0"),
        ] {
            let error = text.parse::<ToleranceRule>().expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_described_is_read_back() {
        let text = described(&Tolerances::default(), &[]);
        let list = text.strip_prefix("readings are said within ").expect("it begins so");
        let rules: Vec<_> = list.split(", ").collect();
        assert!(
            rules.contains(&"load1=0.05/2%") && rules.contains(&"cpu_busy_percent=1"),
            "{text}"
        );
        assert_eq!(by(&self::rules(&rules), false), Tolerances::default());
        assert_eq!(described(&Tolerances::exact(), &[]), "readings are said as they were read");
        let users = self::rules(&["user.a=1", "exact", "user.gpu.*=2/5%", "user.b=exact"]);
        let text = described(&by(&users, true), &users);
        assert_eq!(text, "readings are said within user.gpu.*=2/5%");
    }

    /// What is said of a user metric when it is given these values, one after the other.
    fn said(texts: &[&str], key: &str, values: &[&str]) -> Vec<String> {
        let (rules, mut settled) = (rules(texts), SettledUser::default());
        let say = |value: &&str| {
            let mut metrics = BTreeMap::from([(key.to_owned(), (*value).to_owned())]);
            settled.settle(&rules, &mut metrics);
            metrics.remove(key).expect("it stays")
        };
        values.iter().map(say).collect()
    }

    #[test]
    fn user_metrics_are_exact_unless_a_rule_names_them() {
        let values = ["40", "41", "42", "43.5", "-", "41"];
        assert_eq!(said(&[], "gpu.temp", &values), values);
        assert_eq!(said(&["usual", "user.gpu=9"], "gpu.temp", &values), values);
        assert_eq!(said(&["user.gpu.temp=9", "exact"], "gpu.temp", &values), values);
        for rule in ["user.gpu.temp=1", "user.gpu.*=1", "user.*=0.1/2.5%"] {
            let expected = ["40", "40", "42", "43.5", "-", "41"];
            assert_eq!(said(&[rule], "gpu.temp", &values), expected, "{rule}");
        }
        let other = ["user.gpu.*=1", "user.gpu.temp=exact"];
        assert_eq!(said(&other, "gpu.temp", &values), values, "later rules have the last word");
    }

    #[test]
    fn what_was_said_never_takes_more_room_than_what_is_given() {
        let values = ["100", "99.5", "99", "100", "100.5", "104"];
        assert_eq!(said(&["user.n=2"], "n", &values), ["100", "100", "99", "99", "99", "104"]);
        assert_eq!(
            said(&["user.n=2"], "n", &["nan", "nan", "inf", "1"]),
            ["nan", "nan", "inf", "1"]
        );
    }
}
