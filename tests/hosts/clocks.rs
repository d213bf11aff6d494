//! Wall clocks that are set while agents run: by an hour, to and fro.
//!
//! Rounds of `grid` go by the wall clock, so the agents whose clock was set send at other moments
//! than the rest; ages must not notice.

use std::collections::BTreeMap;

use tidings_control::{Change, NodeReport};
use tidings_experiment::agents::{Site, name};
use tidings_experiment::hosts::Hosts;
use tidings_tests::clock::{Clock, TRUE};

use super::{HOSTS, all};

/// Those whose clocks are set: one, then a third of all.
const ONE: [usize; 1] = [7];
const THIRD: [usize; 5] = [2, 5, 7, 11, 16];

/// An hour, and a part of a unit, so that the rounds do not fall together again.
const AHEAD: &str = "+3600.021";
const BACK: &str = "-3600.037";

/// Rounds after each change.
const ROUNDS: u64 = 40;
/// The age of news on average, while and after clocks are set, in units of 64 ms. Left alone, 16
/// nodes have 1.6 units.
const AGE_UNITS: f64 = 8.0;

#[test]
fn a_clock_that_is_set_by_an_hour_costs_nothing() {
    let mut site = Site::dark(Hosts::new(HOSTS), &[]);
    let clocks = THIRD.map(|host| (host, clock_of(&site, host)));
    let clocks = BTreeMap::from(clocks);
    for host in all() {
        if let Some(clock) = clocks.get(&host) {
            start_by(&mut site, host, clock);
        } else {
            site.start(host);
        }
    }
    site.until_all_know(&all());
    let lives = lives(&site);
    for (hosts, clock) in
        [(&ONE[..], AHEAD), (&THIRD[..], AHEAD), (&THIRD[..], BACK), (&THIRD[..], TRUE)]
    {
        for &host in hosts {
            clocks[&host].set(clock);
        }
        site.pass_rounds(1, ROUNDS);
        site.until_all_know(&all());
        for host in all() {
            let status = site.agent(host).status();
            assert!(status.age_avg_units < AGE_UNITS, "{host} after {clock}: {status:?}");
        }
    }
    site.assert_nobody_died(&all());
    assert_eq!(self::lives(&site), lives, "nobody began another life");
}

/// The clock is also what makes lives grow: one that starts an hour in the past must not be older
/// than its last life. And the test itself: a clock that is set is set indeed.
#[test]
fn an_agent_that_starts_an_hour_in_the_past_is_later_than_its_last_life() {
    let mut site = Site::new(Hosts::new(3), &[]);
    let mut watch = site.agent(3).client().watch().expect("there is room");
    let first = site.agent(1).node("h03").expect("known").incarnation;
    assert_eq!(site.cluster.stop("h02"), Some(0));
    let clock = clock_of(&site, 2);
    clock.set(BACK);
    start_by(&mut site, 2, &clock);
    site.until_all_know(&[1, 2, 3]);
    let mut watch_of_past = site.agent(2).client().watch().expect("there is room");
    assert_eq!(site.cluster.stop("h01"), Some(0));
    let left_ms = |watch: &mut tidings_control::Watch| loop {
        let notice = watch.next_notice().expect("the agent goes on");
        if notice.event == Change::Left && notice.name.as_deref() == Some("h01") {
            break notice.time_ms;
        }
    };
    let behind_ms = left_ms(&mut watch) - left_ms(&mut watch_of_past);
    assert!((3_500_000..3_700_000).contains(&behind_ms), "{behind_ms}");
    assert!(first > 0);
}

/// Which life of each host the first one knows.
fn lives(site: &Site) -> Vec<u32> {
    let life =
        |host| site.agent(1).node(&name(host)).map_or(0, |node: NodeReport| node.incarnation);
    all().into_iter().map(life).collect()
}

/// A clock for the agent of a host.
fn clock_of(site: &Site, host: usize) -> Clock {
    Clock::at(site.cluster.path().join(format!("clock-{host}")))
}

/// Starts the agent of a host, which goes by this clock.
fn start_by(site: &mut Site, host: usize, clock: &Clock) {
    let words = clock.words();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    site.start_with(host, &words, &[]);
}
