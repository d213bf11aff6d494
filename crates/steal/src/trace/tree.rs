//! The tree of steals: what each worker ran from one steal to the next, and whom it had it from.
//!
//! A *working phase* begins when tasks come to a worker that has none, or with what it was given at
//! the begin of the phase, and ends when nothing is left. Its parent is the working phase in which
//! the victim had the tasks. More tasks may come meanwhile; they are of the same working phase.

use core::fmt;
use std::collections::BTreeMap;

use super::{Event, Stamped};
use crate::queue::Want;

/// A working phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Phase {
    /// Whose it is.
    pub worker: u32,
    /// From which it was stolen, by number; `None` of what the worker was given.
    pub parent: Option<usize>,
    /// How many steals lie between it and what a worker was given.
    pub depth: u32,
    /// When it began and ended, in microseconds of the worker's clock.
    pub time_us: (u64, u64),
    /// The steps that the worker went in it, about two for each task and one for each spawn.
    pub steps: u64,
    /// How often others took tasks of it.
    pub gifts: u32,
}

/// All working phases of all workers, those of a worker in their order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tree {
    /// They.
    pub phases: Vec<Phase>,
    /// What there is of traces.
    pub statistics: Statistics,
}

/// What traces of all workers come to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Statistics {
    /// Workers.
    pub workers: u32,
    /// Times that tasks went from one to another.
    pub steals: u64,
    /// Working phases.
    pub phases: u64,
    /// The deepest.
    pub depth: u32,
    /// Steps of all.
    pub steps: u64,
}

/// Traces of several workers do not go together: they are not of one phase, or it was not complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inconsistent {
    /// Whose trace says so.
    pub worker: u32,
    /// What it says.
    pub event: Event,
}

impl fmt::Display for Inconsistent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { worker, event } = self;
        match event {
            Event::Gave { to, .. } => {
                write!(f, "worker {worker} gave tasks to {to}, who did not get them")
            }
            Event::Got { from, number } => {
                write!(f, "worker {worker} got gift {number} of {from}, who did not give it")
            }
            _ => write!(f, "worker {worker} began with nothing, and did something"),
        }?;
        f.write_str(": these traces are not all of one phase that was complete")
    }
}

impl core::error::Error for Inconsistent {}

/// The gifts of each worker to each other: the giver's working phase, and whether it has arrived.
type Gifts = BTreeMap<(u32, u32), Vec<(usize, bool)>>;

impl Tree {
    /// The tree of the events of all workers.
    ///
    /// # Errors
    /// If they do not go together.
    pub fn of(events: &[Vec<Stamped>]) -> Result<Self, Inconsistent> {
        let (mut phases, mut gifts, mut arrivals) = (Vec::new(), Gifts::new(), Vec::new());
        for (worker, its) in events.iter().enumerate() {
            walk(worker as u32, its, (&mut phases, &mut gifts, &mut arrivals));
        }
        let steals = arrivals.len() as u64;
        for (worker, begins, event) in arrivals {
            let parent = taken(&mut gifts, worker, event)?;
            if let Some(phase) = begins {
                phases[phase].parent = Some(parent);
            }
        }
        let left = gifts.iter().find_map(|(&(worker, to), its)| {
            let is_left = its.iter().any(|(_, is_taken)| !is_taken);
            let event = Event::Gave { to, want: Want::HALF };
            is_left.then_some(Inconsistent { worker, event })
        });
        left.map_or(Ok(()), Err)?;
        set_depths(&mut phases);
        let statistics = Statistics {
            workers: events.len() as u32,
            steals,
            phases: phases.len() as u64,
            depth: phases.iter().map(|phase| phase.depth).max().unwrap_or(0),
            steps: phases.iter().map(|phase| phase.steps).sum(),
        };
        Ok(Self { phases, statistics })
    }
}

/// Arrivals: at whom, the working phase that begins with it, if one does, and the event.
type Arrivals = Vec<(u32, Option<usize>, Event)>;

/// Goes through what a worker did: adds its working phases, gifts and arrivals.
fn walk(
    worker: u32,
    events: &[Stamped],
    (phases, gifts, arrivals): (&mut Vec<Phase>, &mut Gifts, &mut Arrivals),
) {
    let begin = |at_us, step| {
        let time_us = (at_us, at_us);
        (Phase { worker, parent: None, depth: 0, time_us, steps: 0, gifts: 0 }, step)
    };
    let mut open = Some(begin(0, 0));
    for &Stamped { step, at_us, event } in events {
        let number = phases.len();
        match event {
            Event::Got { .. } => {
                arrivals.push((worker, open.is_none().then_some(number), event));
                open.get_or_insert_with(|| begin(at_us, step));
            }
            Event::Gave { to, .. } => {
                if let Some((phase, _)) = &mut open {
                    phase.gifts += 1;
                }
                gifts.entry((worker, to)).or_default().push((number, false));
            }
            Event::Idle => phases.extend(open.take().map(|(phase, since)| Phase {
                time_us: (phase.time_us.0, at_us),
                steps: step - since,
                ..phase
            })),
            // What follows a finish is work of its own, though nobody sent it.
            Event::Joined { .. } => {
                open.get_or_insert_with(|| begin(at_us, step));
            }
            Event::Ordered => {}
        }
    }
    phases.extend(open.map(|(phase, _)| phase));
}

/// In which working phase the victim had what arrived.
fn taken(gifts: &mut Gifts, worker: u32, event: Event) -> Result<usize, Inconsistent> {
    let Event::Got { from, number } = event else { return Err(Inconsistent { worker, event }) };
    let gift = gifts.get_mut(&(from, worker)).and_then(|gifts| gifts.get_mut(number as usize));
    let (phase, is_taken) = gift.filter(|gift| !gift.1).ok_or(Inconsistent { worker, event })?;
    *is_taken = true;
    Ok(*phase)
}

/// Depths from parents. A circle, which no run makes, is cut where it was entered.
fn set_depths(phases: &mut [Phase]) {
    let mut known = vec![false; phases.len()];
    for start in 0..phases.len() {
        let mut path = Vec::new();
        let mut at = Some(start);
        while let Some(phase) = at.filter(|&phase| !known[phase]) {
            known[phase] = true;
            path.push(phase);
            at = phases[phase].parent;
        }
        for phase in path.into_iter().rev() {
            phases[phase].depth = phases[phase].parent.map_or(0, |parent| phases[parent].depth + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gave(to: u32) -> Event {
        Event::Gave { to, want: Want::HALF }
    }

    fn at(step: u64, at_us: u64, event: Event) -> Stamped {
        Stamped { step, at_us, event }
    }

    #[test]
    fn a_phase_is_below_that_from_which_it_was_stolen() {
        let got = |from, number| Event::Got { from, number };
        let events = [
            vec![at(4, 0, gave(1)), at(9, 50, Event::Idle)],
            vec![
                at(0, 1, Event::Idle),
                at(0, 10, got(0, 0)),
                at(2, 10, gave(2)),
                at(6, 30, Event::Idle),
            ],
            vec![at(0, 1, Event::Idle), at(0, 20, got(1, 0)), at(5, 40, Event::Idle)],
        ];
        let tree = Tree::of(&events).unwrap();
        let shape: Vec<_> =
            tree.phases.iter().map(|phase| (phase.worker, phase.parent, phase.depth)).collect();
        assert_eq!(
            shape,
            [(0, None, 0), (1, None, 0), (1, Some(0), 1), (2, None, 0), (2, Some(2), 2)]
        );
        assert_eq!((tree.phases[2].time_us, tree.phases[2].steps), ((10, 30), 6));
        let Statistics { steals, depth, steps, .. } = tree.statistics;
        assert_eq!((steals, depth, steps), (2, 2, 20));
    }

    #[test]
    fn traces_of_two_runs_do_not_go_together() {
        let got = Event::Got { from: 0, number: 0 };
        let alone = [vec![], vec![at(0, 1, got)]];
        assert_eq!(Tree::of(&alone), Err(Inconsistent { worker: 1, event: got }));
        let twice = [vec![at(0, 0, gave(1))], vec![at(0, 1, got), at(1, 2, got)]];
        assert_eq!(Tree::of(&twice), Err(Inconsistent { worker: 1, event: got }));
        let lost = [vec![at(0, 0, gave(1))], vec![]];
        let error = Tree::of(&lost).unwrap_err();
        assert_eq!(error.worker, 0);
        assert!(error.to_string().contains("did not get them"));
    }
}
