//! Wall clocks that are set while agents run: by an hour, to and fro.
//!
//! libfaketime stands between an agent and the clock, for the wall clock alone: the monotonic one
//! goes on, as it does where somebody sets the date. Rounds of `grid` go by the wall clock, so the
//! agents whose clock was set send at other moments than the rest; ages must not notice.

use std::fs;
use std::path::{Path, PathBuf};

use tidings_control::{Change, NodeReport};
use tidings_experiment::agents::{Site, name};
use tidings_experiment::hosts::Hosts;

use super::{HOSTS, all};

/// Those whose clocks are set: one, then a third of all.
const ONE: [usize; 1] = [7];
const THIRD: [usize; 5] = [2, 5, 7, 11, 16];

/// An hour, and a part of a unit, so that the rounds do not fall together again.
const AHEAD: &str = "+3600.021";
const BACK: &str = "-3600.037";
const TRUE: &str = "+0";

/// Rounds after each change.
const ROUNDS: u64 = 40;
/// The age of news on average, while and after clocks are set, in units of 64 ms. Left alone, 16
/// nodes have 1.6 units.
const AGE_UNITS: f64 = 8.0;

#[test]
fn a_clock_that_is_set_by_an_hour_costs_nothing() {
    let library = library();
    let mut site = Site::dark(Hosts::new(HOSTS), &[]);
    for host in all() {
        if THIRD.contains(&host) {
            set(&site, host, TRUE);
            let words = words(&site, &library, host);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            site.start_with(host, &words, &[]);
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
            set(&site, host, clock);
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
    let library = library();
    let mut site = Site::new(Hosts::new(3), &[]);
    let mut watch = site.agent(3).client().watch().expect("there is room");
    let first = site.agent(1).node("h03").expect("known").incarnation;
    let words = words(&site, &library, 2);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(site.cluster.stop("h02"), Some(0));
    set(&site, 2, BACK);
    site.start_with(2, &words, &[]);
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

/// The file from which the clock of a host is read.
fn clock_of(site: &Site, host: usize) -> PathBuf {
    site.cluster.path().join(format!("clock-{host}"))
}

/// Sets the clock of a host, from now on: the file is replaced, never half written.
fn set(site: &Site, host: usize, clock: &str) {
    let path = clock_of(site, host);
    let beside = path.with_extension("next");
    fs::write(&beside, format!("{clock}\n")).expect("the test's own directory is writable");
    fs::rename(&beside, &path).expect("the test's own directory is writable");
}

/// The words before a command whose wall clock can be set.
fn words(site: &Site, library: &Path, host: usize) -> Vec<String> {
    let clock = clock_of(site, host);
    // What the library keeps in shared memory goes with the mounts of the host.
    let alone = r#"mount -t tmpfs none /dev/shm && exec "$@""#;
    vec![
        "sh".to_owned(),
        "-c".to_owned(),
        alone.to_owned(),
        "sh".to_owned(),
        "env".to_owned(),
        format!("LD_PRELOAD={}", library.display()),
        format!("FAKETIME_TIMESTAMP_FILE={}", clock.display()),
        "FAKETIME_NO_CACHE=1".to_owned(),
        "FAKETIME_DONT_FAKE_MONOTONIC=1".to_owned(),
        "DONT_FAKE_MONOTONIC=1".to_owned(),
    ]
}

/// libfaketime, for programs with threads.
fn library() -> PathBuf {
    let of = |folder: fs::DirEntry| folder.path().join("faketime/libfaketimeMT.so.1");
    let folders = fs::read_dir("/usr/lib").expect("every system has it").filter_map(Result::ok);
    let found = folders.map(of).find(|path| path.exists());
    found.expect("libfaketime is missing: install Debian's package faketime")
}
