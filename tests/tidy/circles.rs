//! Circles: files of one package that need each other, directly or by way of others.
//!
//! Where there is a circle no file of it can be understood, tested or moved without all the rest.
//! What an arrow is, [`crate::rust_modules`] and [`crate::python_modules`] say; here stands only
//! what follows from the arrows.

use std::collections::{BTreeMap, BTreeSet};

use crate::Finding;
use crate::ratchet::Breach;

/// Which files each file needs. Every file that is named has an entry of its own.
pub(crate) type Arrows = BTreeMap<String, BTreeSet<String>>;

/// The circles among the files of the package in `folder`, as breaches of the rule.
pub(crate) fn circles_in(folder: &str, arrows: &Arrows) -> Vec<Breach> {
    let short = |file: &str| {
        let inside = file.strip_prefix(folder).unwrap_or(file).trim_start_matches('/');
        inside.rsplit_once('.').map_or(inside, |(name, _)| name).to_owned()
    };
    circles(arrows)
        .iter()
        .map(|circle| {
            let names: Vec<String> = circle.iter().map(|file| short(file)).collect();
            let what = format!("{folder}: {}", names.join(" "));
            let held: Vec<String> = circle
                .iter()
                .map(|file| {
                    let needed = arrows[file].intersection(circle).map(|file| short(file));
                    format!("{} → {}", short(file), needed.collect::<Vec<_>>().join(", "))
                })
                .collect();
            let remedy = format!(
                "{} files need each other; let arrows point one way:\n    {}\n  or list `{what}`",
                circle.len(),
                held.join("\n    "),
            );
            Breach { what, amount: circle.len(), finding: Finding::new(folder, 1, remedy) }
        })
        .collect()
}

/// The sets of two or more files in which each can be reached from each.
fn circles(arrows: &Arrows) -> BTreeSet<BTreeSet<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        arrows.keys().map(|file| (file.as_str(), reached_from(file, arrows))).collect();
    arrows
        .keys()
        .map(|file| {
            let mutual = reached[file.as_str()].iter().filter(|to| reached[**to].contains(&**file));
            mutual.map(|file| (*file).to_owned()).collect::<BTreeSet<_>>()
        })
        .filter(|circle| circle.len() > 1)
        .collect()
}

fn reached_from<'a>(file: &'a str, arrows: &'a Arrows) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![file];
    while let Some(next) = open.pop() {
        for needed in &arrows[next] {
            if reached.insert(needed.as_str()) {
                open.push(needed);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrows(pairs: &[(&str, &str)]) -> Arrows {
        let mut arrows = Arrows::new();
        for (from, to) in pairs {
            arrows.entry((*to).to_owned()).or_default();
            arrows.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        arrows
    }

    fn found(pairs: &[(&str, &str)]) -> Vec<(String, usize)> {
        let breaches = circles_in("p", &arrows(pairs));
        breaches.into_iter().map(|breach| (breach.what, breach.amount)).collect()
    }

    #[test]
    fn a_circle_is_found_however_long() {
        assert_eq!(found(&[("p/a.rs", "p/b.rs"), ("p/b.rs", "p/a.rs")]), [("p: a b".into(), 2)]);
        let long = [("p/a.rs", "p/b.rs"), ("p/b.rs", "p/c/d.rs"), ("p/c/d.rs", "p/a.rs")];
        assert_eq!(found(&long), [("p: a b c/d".into(), 3)]);
    }

    #[test]
    fn two_circles_are_two_and_what_leads_to_one_is_outside() {
        let pairs =
            [("p/a", "p/b"), ("p/b", "p/a"), ("p/b", "p/c"), ("p/c", "p/d"), ("p/d", "p/c")];
        assert_eq!(found(&pairs), [("p: a b".into(), 2), ("p: c d".into(), 2)]);
    }

    #[test]
    fn arrows_that_point_one_way_pass() {
        assert_eq!(found(&[("p/a", "p/b"), ("p/a", "p/c"), ("p/b", "p/c")]), []);
    }
}
