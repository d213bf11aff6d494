//! Lines of memory that cores pass to each other, in virtual time.
//!
//! A core changes a line only while it alone has it. Who does not have it asks the line's
//! directory, which serves one request after the other: it tells the owner, the owner sends the
//! line, and the next request is served when it has arrived. All of this is a *transfer*. For a
//! part of it, until it is told, the owner goes on.
//!
//! So a line that many cores change moves all the time, however many they are; a line that one
//! core changes moves only when somebody reads it, as who wants the sum of all lines does.
//!
//! It is a model. All transfers take equally long, whatever is between two cores; a read takes a
//! line as a change does; caches have room for all; cores do nothing but count.
//!
//! Invariants: a line has one owner or is on its way to one; a change that has begun ends before
//! the line leaves.
//!
//! Source: D. E. Lenoski et al., The directory-based cache coherence protocol for the DASH
//! multiprocessor, ISCA 1990.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What things take, in picoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// To add to a line that the core has.
    pub add: u64,
    /// To get a line that another core has.
    pub transfer: u64,
    /// The part of a transfer in which the owner goes on.
    pub keeps: u64,
}

/// Who counts where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// All at one line.
    Together,
    /// Each core at a line of its own, of which somebody makes a sum at these intervals
    /// (picoseconds), if at all.
    Apart(Option<u64>),
}

/// What a time came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Came {
    /// What was added.
    pub adds: u64,
    /// How many sums were made.
    pub sums: u64,
}

/// Lets cores count for so long.
pub fn count(costs: Costs, cores: usize, counted: Counted, picoseconds: u64) -> Came {
    let lines = if counted == Counted::Together { 1 } else { cores };
    let mut machine = Machine {
        costs,
        cores,
        lines: (0..lines).map(|_| Line::default()).collect(),
        events: BinaryHeap::new(),
        caused: 0,
        interval: 0,
        came: Came { adds: 0, sums: 0 },
    };
    for core in 0..cores {
        machine.cause(0, Event::Wants { core, line: core % lines });
    }
    if let Counted::Apart(Some(interval)) = counted {
        machine.interval = interval;
        machine.cause(interval, Event::Wants { core: cores, line: 0 });
    }
    machine.run(picoseconds)
}

/// What happens at a moment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A core comes to a change, or the one that makes sums to a read.
    Wants { core: usize, line: usize },
    /// It has the line.
    Has { core: usize, line: usize },
}

#[derive(Default)]
struct Line {
    /// The core that has it, or had it last, and since when.
    owner: Option<(usize, u64)>,
    is_moving: bool,
    /// Who has asked for it, the first one first.
    asked: VecDeque<usize>,
}

/// Cores, and one more that makes sums.
struct Machine {
    costs: Costs,
    cores: usize,
    lines: Vec<Line>,
    /// What will happen, the earliest first, in the order in which it was caused.
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    caused: u64,
    interval: u64,
    came: Came,
}

impl Machine {
    fn cause(&mut self, at: u64, event: Event) {
        self.caused += 1;
        self.events.push(Reverse((at, self.caused, event)));
    }

    fn run(mut self, end: u64) -> Came {
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            if at >= end {
                break;
            }
            match event {
                Event::Wants { core, line } => self.lines[line].asked.push_back(core),
                Event::Has { core, line } => self.has(at, core, line),
            }
            let (Event::Wants { line, .. } | Event::Has { line, .. }) = event;
            self.serve(at, line);
        }
        for line in &self.lines {
            let counts = line.owner.filter(|(core, _)| *core < self.cores && !line.is_moving);
            let since = counts.map_or(end, |(_, since)| since);
            self.came.adds += end.saturating_sub(since) / self.costs.add;
        }
        self.came
    }

    /// A core has a line from now on.
    fn has(&mut self, at: u64, core: usize, line: usize) {
        self.lines[line].is_moving = false;
        self.lines[line].owner = Some((core, at));
        if core < self.cores {
            return;
        }
        let next = at + self.costs.add;
        if line + 1 < self.lines.len() {
            self.cause(next, Event::Wants { core, line: line + 1 });
        } else {
            self.came.sums += 1;
            let due = (self.came.sums + 1) * self.interval;
            self.cause(due.max(next), Event::Wants { core, line: 0 });
        }
    }

    /// The directory serves the next request for a line, if it does not serve one already.
    fn serve(&mut self, at: u64, line: usize) {
        if self.lines[line].is_moving {
            return;
        }
        let Some(core) = self.lines[line].asked.pop_front() else { return };
        self.lines[line].is_moving = true;
        let mut arrives = at + self.costs.transfer;
        if let Some((owner, since)) = self.lines[line].owner.filter(|(core, _)| *core < self.cores)
        {
            let adds = (at + self.costs.keeps - since).div_ceil(self.costs.add).max(1);
            self.came.adds += adds;
            let next = since + adds * self.costs.add;
            self.cause(next, Event::Wants { core: owner, line });
            arrives = arrives.max(next);
        }
        self.cause(arrives, Event::Has { core, line });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs { add: 1_000, transfer: 50_000, keeps: 0 };
    const MILLISECOND: u64 = 1_000_000_000;

    fn adds(costs: Costs, cores: usize, counted: Counted) -> u64 {
        count(costs, cores, counted, MILLISECOND).adds
    }

    #[test]
    fn a_core_alone_adds_at_its_own_speed() {
        for counted in [Counted::Together, Counted::Apart(None)] {
            assert_eq!(adds(COSTS, 1, counted), (MILLISECOND - 50_000) / 1_000);
        }
    }

    #[test]
    fn a_line_of_all_moves_for_each_add_whatever_their_number() {
        for cores in 2..=64 {
            // None goes on while its line is asked for.
            let adds = adds(COSTS, cores, Counted::Together);
            assert!(adds.abs_diff(MILLISECOND / 50_000) <= 1, "{cores}: {adds}");
        }
    }

    #[test]
    fn an_owner_that_goes_on_adds_more() {
        let costs = Costs { keeps: 20_000, ..COSTS };
        let adds = adds(costs, 8, Counted::Together);
        assert!(adds.abs_diff(20 * MILLISECOND / 50_000) <= 20, "{adds}");
    }

    #[test]
    fn lines_of_cores_grow_with_the_cores() {
        let one = adds(COSTS, 1, Counted::Apart(None));
        assert_eq!(adds(COSTS, 64, Counted::Apart(None)), 64 * one);
    }

    /// A sum takes each line once, and its core has to get it again.
    #[test]
    fn sums_cost_a_transfer_to_and_fro_for_each_line() {
        let quiet = count(COSTS, 16, Counted::Apart(None), MILLISECOND);
        let asked = count(COSTS, 16, Counted::Apart(Some(MILLISECOND / 10)), MILLISECOND);
        assert_eq!((quiet.sums, asked.sums), (0, 9));
        let lost = quiet.adds - asked.adds;
        let expected = asked.sums * 16 * 2 * 50;
        assert!(lost.abs_diff(expected) <= expected / 20, "{lost} instead of {expected}");
    }

    #[test]
    fn nothing_is_by_chance() {
        let run = || count(COSTS, 7, Counted::Apart(Some(77_777)), MILLISECOND / 10);
        assert_eq!(run(), run());
    }
}
