//! Links of hosts made on this machine: what was asked beside what they do, as a table and in a
//! line for people.

use std::fmt::Write as _;

use tidings_experiment::hosts::{Gauged, TOLERANCE};

use crate::words::quoted;

/// The columns of `links.csv`.
pub const COLUMNS: &str = "machine,from,to,card,asked_mbit,mbit,asked_round_us,round_us,\
sent_bytes,counted_from,counted_to,lost,carried_bytes,as_asked";

/// A link, and what it carried in all runs.
pub type Carried<'a> = (&'a Gauged, u64);

/// The lines of a machine.
pub fn lines<'a>(machine: &str, links: impl Iterator<Item = Carried<'a>>) -> String {
    let mut text = String::new();
    for (own, carried_bytes) in links {
        let asked = own.asked_mbit.map_or(String::new(), |mbit| mbit.to_string());
        let [near, far] = own.counted_bytes;
        let _ = writeln!(
            text,
            "{},{},{},{},{asked},{:.3},{},{:.1},{},{near},{far},{},{carried_bytes},{}",
            quoted(machine),
            own.from,
            own.to,
            own.card,
            own.mbit,
            own.asked_round_us,
            own.round_us,
            own.sent_bytes,
            own.lost,
            own.is_as_asked()
        );
    }
    text
}

/// What the links of a machine do, in a line.
pub fn said(links: &[Gauged]) -> String {
    let most = |off: fn(&Gauged) -> Option<f64>| {
        links.iter().filter_map(off).map(f64::abs).max_by(f64::total_cmp)
    };
    let part = |what: &str, off: Option<f64>| match off {
        Some(off) => format!("{what} at most {:.1} % from what was asked", 100.0 * off),
        None => format!("{what} as it comes"),
    };
    let counted = links.iter().filter(|own| own.is_counted()).count();
    format!(
        "{} directions of links: {}; {}; of {counted} both ends counted what was sent",
        links.len(),
        part("bandwidth", most(Gauged::rate_off)),
        part("round trip", most(Gauged::round_off)),
    )
}

/// A complaint about links that are not what was asked; `None` if all are.
pub fn complaint(links: &[Gauged]) -> Option<String> {
    let off: Vec<&Gauged> = links.iter().filter(|own| !own.is_as_asked()).collect();
    let worst = off.first()?;
    Some(format!(
        "{} of {} directions of links are not within {:.0} % of what was asked, as h{} to h{}: \
         {:.2} Mbit/s, {:.0} µs: measure when the machine is quiet, or ask for less",
        off.len(),
        links.len(),
        100.0 * TOLERANCE,
        worst.from,
        worst.to,
        worst.mbit,
        worst.round_us
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(mbit: f64) -> Gauged {
        Gauged {
            from: 0,
            to: 1,
            card: "x-up".to_owned(),
            asked_mbit: Some(20.0),
            mbit,
            asked_round_us: 0.0,
            round_us: 12.0,
            sent_bytes: 1_514,
            counted_bytes: [1_514; 2],
            lost: 0,
        }
    }

    #[test]
    fn a_link_that_is_not_as_asked_is_named() {
        let links = [link(20.1), link(18.0)];
        let text = lines("torus", links.iter().map(|own| (own, 7)));
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(rows[0], "\"torus\",0,1,x-up,20,20.100,0,12.0,1514,1514,1514,0,7,true");
        assert!(rows[1].ends_with(",7,false"), "{text}");
        assert_eq!(rows[0].matches(',').count(), COLUMNS.matches(',').count());
        assert!(said(&links).contains("bandwidth at most 10.0 % from what was asked"));
        assert!(said(&links).contains("round trip as it comes"));
        assert!(complaint(&links).expect("one is slow").starts_with("1 of 2 directions"));
        assert_eq!(complaint(&links[..1]), None);
    }
}
