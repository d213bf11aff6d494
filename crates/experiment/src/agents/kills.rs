//! Kills, and when each of the others knew: reported by the agents as it happens, by one clock.
//!
//! A [`Vigil`] listens to the event streams of all agents of a site at once. An agent stamps what
//! it notices with the machine's wall clock, which all of them share with the killer, so neither
//! the stream nor the listener is part of a time. A death of somebody who was not killed is false,
//! and counted.

#![expect(clippy::missing_panics_doc, reason = "a measurement without agents is none")]

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tidings_control::{Change, Notice};

use super::site::{Site, name};

/// Long enough for a loaded machine; who waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);
/// Notices that may wait; each listener waits for room.
const ROOM: usize = 4_096;

/// A kill that all others know of.
#[derive(Clone, Debug, PartialEq)]
pub struct Kill {
    /// The host whose agent was killed.
    pub host: usize,
    /// The times from the kill until each of the others knew, ascending, in milliseconds.
    pub known_ms: Vec<f64>,
}

impl Kill {
    /// The time until half of the others knew, in milliseconds.
    pub fn half_ms(&self) -> f64 {
        self.known_ms[self.known_ms.len().div_ceil(2) - 1]
    }

    /// The time until all of them knew, in milliseconds.
    pub fn all_ms(&self) -> f64 {
        self.known_ms[self.known_ms.len() - 1]
    }
}

/// Somebody who listens to all agents of a site.
#[derive(Debug)]
pub struct Vigil {
    notices: Receiver<(usize, Notice)>,
    end: SyncSender<(usize, Notice)>,
    /// Deaths of agents that lived: which agent reported which.
    pub mistaken: Vec<(usize, String)>,
}

impl Vigil {
    /// Listens to these hosts.
    pub fn over(site: &Site, hosts: &[usize]) -> Self {
        let (end, notices) = sync_channel(ROOM);
        let vigil = Self { notices, end, mistaken: Vec::new() };
        for &host in hosts {
            vigil.listen_to(site, host);
        }
        vigil
    }

    /// Listens to the agent of a host, for as long as it lives.
    pub fn listen_to(&self, site: &Site, host: usize) {
        let mut watch = site.agent(host).client().watch().expect("there is room for one");
        let end = self.end.clone();
        thread::spawn(move || {
            while let Ok(notice) = watch.next_notice() {
                assert_ne!(notice.event, Change::Missed, "the vigil reads as fast as it can");
                if end.send((host, notice)).is_err() {
                    return; // the vigil is over
                }
            }
        });
    }

    /// Kills the agent of a host, and waits until each of `others` holds it dead.
    pub fn kill(&mut self, site: &mut Site, host: usize, others: &[usize]) -> Kill {
        self.killed(site, host, others, wall_ms())
    }

    /// The same as if its host had no power any more: nothing is refused there, nothing answers.
    pub fn cut_power(&mut self, site: &mut Site, host: usize, others: &[usize]) -> Kill {
        let cut_ms = wall_ms();
        site.hosts.unplug(host);
        self.killed(site, host, others, cut_ms)
    }

    fn killed(&mut self, site: &mut Site, host: usize, others: &[usize], killed_ms: f64) -> Kill {
        site.kill(host);
        let reported = self.until_reported(others, host, Change::Dead);
        let mut known_ms: Vec<f64> =
            reported.into_values().map(|reported_ms| reported_ms - killed_ms).collect();
        known_ms.sort_unstable_by(f64::total_cmp);
        Kill { host, known_ms }
    }

    /// Starts the agent of a host again, which has power, and waits until each of `others` holds
    /// it alive.
    pub fn revive(&mut self, site: &mut Site, host: usize, others: &[usize]) {
        site.hosts.plug(host);
        site.start(host);
        self.listen_to(site, host);
        self.until_reported(others, host, Change::Back);
    }

    /// Notes false deaths that were reported until now, while nobody is dead.
    pub fn look_back(&mut self) -> usize {
        while let Ok((reporter, notice)) = self.notices.try_recv() {
            self.check(reporter, &notice, None);
        }
        self.mistaken.len()
    }

    /// When each of `observers` reported this of a host, by the wall clock.
    fn until_reported(
        &mut self,
        observers: &[usize],
        about: usize,
        change: Change,
    ) -> BTreeMap<usize, f64> {
        let (about, mut times_ms) = (name(about), BTreeMap::new());
        while times_ms.len() < observers.len() {
            let (host, notice) = self.notices.recv_timeout(PATIENCE).unwrap_or_else(|_| {
                let missing = observers.iter().filter(|host| !times_ms.contains_key(*host));
                panic!("waited in vain until {missing:?} report that {about} is {change:?}")
            });
            self.check(host, &notice, Some(&about));
            let is_it = notice.event == change && notice.name.as_ref() == Some(&about);
            if is_it && observers.contains(&host) {
                times_ms.entry(host).or_insert(notice.time_ms as f64);
            }
        }
        times_ms
    }

    fn check(&mut self, reporter: usize, notice: &Notice, killed: Option<&String>) {
        if notice.event == Change::Dead && notice.name.as_ref() != killed {
            self.mistaken.push((reporter, notice.name.clone().unwrap_or_default()));
        }
    }
}

/// What the machine's wall clock shows, in milliseconds since 1970.
fn wall_ms() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    since.as_secs_f64() * 1e3
}

/// The median of some values; of an even number, the upper of the two in the middle.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_an_odd_number_is_the_one_in_the_middle() {
        let kill = |others: u32| Kill { host: 1, known_ms: (1..=others).map(f64::from).collect() };
        assert_eq!((kill(47).half_ms(), kill(47).all_ms()), (24.0, 47.0));
        assert_eq!((kill(4).half_ms(), kill(1).half_ms()), (2.0, 1.0));
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()) as i64, 2);
    }
}
