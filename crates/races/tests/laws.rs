//! Random programs: a race is reported exactly where an exhaustive check finds one.
//!
//! The check knows no tree: it keeps, for each access, all accesses that are ordered before it, and
//! compares all pairs.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use tidings_fork_join::Pool;
use tidings_races::{Climb, Kind, Scope, Tracked, check_by, for_each, join, memory, scope};

/// How many places a program uses.
const PLACES: usize = 4;

/// A part of a task.
#[derive(Clone, Debug)]
enum Part {
    Access(Kind, usize),
    /// A task of the innermost finish.
    Async(Vec<Part>),
    /// Two of them, the first at once.
    First(Vec<Part>, Vec<Part>),
    Finish(Vec<Part>),
    Join(Vec<Part>, Vec<Part>),
    Loop(usize, Vec<Part>),
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let kind = prop_oneof![4 => Just(Kind::Read), 1 => Just(Kind::Update), 1 => Just(Kind::Write)];
    let access = (kind, 0..PLACES).prop_map(|(kind, place)| Part::Access(kind, place));
    let part = access.prop_recursive(5, 40, 4, |inner| {
        let some = || vec(inner.clone(), 0..4);
        prop_oneof![
            3 => some().prop_map(Part::Async),
            1 => (some(), some()).prop_map(|(job, rest)| Part::First(job, rest)),
            2 => some().prop_map(Part::Finish),
            1 => (some(), some()).prop_map(|(one, other)| Part::Join(one, other)),
            1 => (0..3_usize, some()).prop_map(|(times, body)| Part::Loop(times, body)),
        ]
    });
    vec(part, 0..6)
}

/// An access, and the numbers of all that are ordered before it.
struct Event {
    kind: Kind,
    place: usize,
    before: BTreeSet<usize>,
}

/// The exhaustive check.
#[derive(Default)]
struct Order(Vec<Event>);

impl Order {
    /// Goes through a task after all of `before`; what comes after its own end. All that it spawns
    /// is added to `spawned`.
    fn go(
        &mut self,
        parts: &[Part],
        mut before: BTreeSet<usize>,
        spawned: &mut BTreeSet<usize>,
    ) -> BTreeSet<usize> {
        for part in parts {
            match part {
                &Part::Access(kind, place) => {
                    let number = self.0.len();
                    self.0.push(Event { kind, place, before: before.clone() });
                    before.insert(number);
                }
                Part::Async(parts) => {
                    let after = self.go(parts, before.clone(), spawned);
                    spawned.extend(after);
                }
                Part::First(job, rest) => {
                    for parts in [job, rest] {
                        let after = self.go(parts, before.clone(), spawned);
                        spawned.extend(after);
                    }
                }
                Part::Finish(parts) => before = self.finish(parts, &before),
                Part::Join(one, other) => {
                    let ends = [one, other].map(|parts| self.finish(parts, &before));
                    before = ends.into_iter().flatten().collect();
                }
                Part::Loop(times, parts) => {
                    let ends: Vec<_> = (0..*times).map(|_| self.finish(parts, &before)).collect();
                    before.extend(ends.into_iter().flatten());
                }
            }
        }
        before
    }

    fn finish(&mut self, parts: &[Part], before: &BTreeSet<usize>) -> BTreeSet<usize> {
        let mut spawned = BTreeSet::new();
        let mut after = self.go(parts, before.clone(), &mut spawned);
        after.append(&mut spawned);
        after
    }

    /// The places with a race.
    fn raced(&self) -> BTreeSet<usize> {
        let pairs = self.0.iter().enumerate().flat_map(|(later, one)| {
            let earlier = self.0[..later].iter().enumerate();
            earlier.filter(|(number, other)| {
                let is_same = one.place == other.place;
                let commute = one.kind == other.kind && one.kind != Kind::Write;
                is_same && !commute && !one.before.contains(number)
            })
        });
        pairs.map(|(_, event)| event.place).collect()
    }
}

/// What programs share.
struct Shared {
    tracked: [Tracked<u64>; PLACES],
    declared: [u32; PLACES],
}

impl Shared {
    fn access(&self, kind: Kind, place: usize) {
        memory::declare(kind, &self.declared[place]);
        let tracked = &self.tracked[place];
        match kind {
            Kind::Read => drop(tracked.get()),
            Kind::Update => tracked.update(|value| *value += 1),
            Kind::Write => tracked.set(place as u64),
        }
    }

    fn go<'scope>(&'scope self, parts: &'scope [Part], spawn: Scope<'_, 'scope>) {
        for part in parts {
            match part {
                &Part::Access(kind, place) => self.access(kind, place),
                Part::Async(parts) => spawn.spawn(move |spawn| self.go(parts, spawn)),
                Part::First(job, rest) => spawn
                    .spawn_first(|spawn| self.go(job, spawn), move |spawn| self.go(rest, spawn)),
                Part::Finish(parts) => self.finish(parts),
                Part::Join(one, other) => {
                    join(|| self.finish(one), || self.finish(other));
                }
                Part::Loop(times, parts) => for_each(0..*times, |_| self.finish(parts)),
            }
        }
    }

    fn finish(&self, parts: &[Part]) {
        scope(|spawn| self.go(parts, spawn));
    }
}

/// How many places have a race as it is reported, each once tracked and once declared.
fn reported(pool: &Pool, climb: Climb, parts: &[Part]) -> u64 {
    let tracked = std::array::from_fn(|_| Tracked::new(0));
    let shared = Shared { tracked, declared: [0; PLACES] };
    let ((), report) = check_by(pool, climb, || shared.finish(parts));
    assert_eq!(report.counts.escaped, 0);
    report.counts.races
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// Each is run five times by threads of this machine.
    #[test]
    fn races_are_reported_where_they_are_and_nowhere_else(parts in parts()) {
        thread_local!(static POOL: Pool = Pool::new(3).expect("three threads"));
        let mut order = Order::default();
        order.finish(&parts, &BTreeSet::new());
        let raced = order.raced().len() as u64;
        for climb in Climb::ALL {
            let found = POOL.with(|pool| reported(pool, climb, &parts));
            prop_assert_eq!(found, 2 * raced, "{:?}", climb);
        }
    }
}
