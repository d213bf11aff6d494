//! Who ran where a probe would have, from the kernel's events.
//!
//! Of each core is known which thread is current and which interrupts are being served, innermost
//! last; the time between two events belongs to the innermost, else to the current thread. A probe
//! belongs to the core that it last ran on: time there that is not its own is a *segment* taken
//! from it. So it works for probes that stay and for such as the kernel moves.
//!
//! Events come in order of time. A segment is kept until the probe has passed it
//! ([`Seat::forget`]).

use std::collections::{BTreeMap, VecDeque};

use crate::source::{Kind, Names, SourceId};
use crate::trace::{Event, What};

/// The segments that are kept of a probe: beyond them the last one grows, without a name.
const MOST_SEGMENTS: usize = 1 << 20;
/// Interrupts nest a few deep; a chain of beginnings without ends is no nesting.
const DEEPEST: usize = 16;

/// Time taken from a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// From when.
    pub begin_ns: u64,
    /// Until when.
    pub end_ns: u64,
    /// By whom.
    pub source: SourceId,
}

/// A probe, and what was taken from it.
#[derive(Clone, Debug)]
pub struct Seat {
    thread: u32,
    core: Option<u32>,
    segments: VecDeque<Segment>,
    faults: VecDeque<u64>,
}

impl Seat {
    /// Segments, in order of time.
    pub fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter()
    }

    /// When it faulted on a page.
    pub fn faults(&self) -> impl Iterator<Item = u64> + '_ {
        self.faults.iter().copied()
    }

    /// Whether it was seen on a core, so that what happens there is known.
    pub fn is_placed(&self) -> bool {
        self.core.is_some()
    }

    /// Drops what was over before this time.
    pub fn forget(&mut self, before_ns: u64) {
        while self.segments.front().is_some_and(|segment| segment.end_ns <= before_ns) {
            self.segments.pop_front();
        }
        while self.faults.front().is_some_and(|at| *at <= before_ns) {
            self.faults.pop_front();
        }
    }

    fn take(&mut self, segment: Segment, unknown: SourceId) {
        if segment.end_ns <= segment.begin_ns {
            return;
        }
        let is_full = self.segments.len() >= MOST_SEGMENTS;
        match self.segments.back_mut() {
            Some(last) if last.end_ns == segment.begin_ns && last.source == segment.source => {
                last.end_ns = segment.end_ns;
            }
            Some(last) if is_full => {
                last.end_ns = segment.end_ns;
                last.source = unknown;
            }
            _ => self.segments.push_back(segment),
        }
    }

    /// Gives a source so much time up to `end_ns`, where nobody else has it. What interrupted the
    /// source is there already, and in between is what the source had.
    fn fill(&mut self, source: SourceId, mut end_ns: u64, length_ns: u64) {
        let (mut left_ns, mut at) = (length_ns, self.segments.len());
        while left_ns > 0 && self.segments.len() < MOST_SEGMENTS {
            let before = at.checked_sub(1).map(|place| self.segments[place]);
            let taken_ns = before.map_or(0, |before| before.end_ns);
            let begin_ns = end_ns.saturating_sub(left_ns).max(taken_ns);
            if begin_ns < end_ns {
                self.segments.insert(at, Segment { begin_ns, end_ns, source });
                left_ns -= end_ns - begin_ns;
            }
            let Some(before) = before else { return };
            end_ns = end_ns.min(before.begin_ns);
            at -= 1;
        }
    }
}

/// What is known of a core.
#[derive(Clone, Debug, Default)]
struct Core {
    current: Option<(u32, SourceId)>,
    served: Vec<SourceId>,
    since_ns: u64,
}

/// All probes and cores.
#[derive(Clone, Debug)]
pub struct Timeline {
    cores: BTreeMap<u32, Core>,
    seats: Vec<Seat>,
    /// What stands for a thread whose name was not seen.
    nameless: SourceId,
    unknown: SourceId,
}

impl Timeline {
    /// Of probes with these threads.
    pub fn new(threads: &[u32], names: &mut Names) -> Self {
        let seat = |&thread: &u32| Seat {
            thread,
            core: None,
            segments: VecDeque::new(),
            faults: VecDeque::new(),
        };
        Self {
            cores: BTreeMap::new(),
            seats: threads.iter().map(seat).collect(),
            nameless: names.id(Kind::Preemption, "a task that ran before"),
            unknown: names.id(Kind::Unknown, ""),
        }
    }

    /// A probe by its place.
    pub fn seat(&mut self, place: usize) -> &mut Seat {
        &mut self.seats[place]
    }

    /// Takes the next event.
    pub fn add(&mut self, event: Event) {
        let Event { at_ns, core, current, what } = event;
        self.close(core, at_ns);
        let nameless = self.nameless;
        let own = self.cores.entry(core).or_default();
        own.since_ns = own.since_ns.max(at_ns);
        if what == What::Missed {
            (own.current, own.served) = (None, Vec::new());
            return;
        }
        if let What::Net(..) | What::Ran(..) | What::Fault = what {
            // They say what was, not what is.
            self.settle(current, core, at_ns);
            self.mark(core, current, at_ns, what);
            return;
        }
        if own.current.is_none_or(|(thread, _)| thread != current) {
            own.current = Some((current, nameless));
        }
        match what {
            What::Enter(source) if own.served.len() < DEEPEST => own.served.push(source),
            What::Enter(_) => own.served.clear(),
            What::Leave => drop(own.served.pop()),
            What::Switch(next, source) => own.current = Some((next, source)),
            What::Served(..) | What::Net(..) | What::Ran(..) | What::Fault | What::Missed => {}
        }
        self.settle(current, core, at_ns);
        if let What::Switch(next, _) = what {
            self.settle(next, core, at_ns);
        }
        self.mark(core, current, at_ns, what);
    }

    /// Lets all cores stand at this time, so that segments reach up to it.
    pub fn close_all(&mut self, at_ns: u64) {
        let cores: Vec<u32> = self.cores.keys().copied().collect();
        for core in cores {
            self.close(core, at_ns);
            let own = self.cores.entry(core).or_default();
            own.since_ns = own.since_ns.max(at_ns);
        }
    }

    /// A probe that is current on a core sits there.
    fn settle(&mut self, thread: u32, core: u32, at_ns: u64) {
        let Some(place) = self.seats.iter().position(|seat| seat.thread == thread) else { return };
        match self.seats[place].core {
            Some(before) if before != core => {
                // Time on the core that it left counts up to now.
                self.close(before, at_ns);
                if let Some(own) = self.cores.get_mut(&before) {
                    own.since_ns = own.since_ns.max(at_ns);
                }
            }
            Some(_) => return,
            None => {}
        }
        self.seats[place].core = Some(core);
    }

    fn mark(&mut self, core: u32, current: u32, at_ns: u64, what: What) {
        let unknown = self.unknown;
        for seat in self.seats.iter_mut().filter(|seat| seat.core == Some(core)) {
            match what {
                What::Fault if seat.thread == current => seat.faults.push_back(at_ns),
                What::Served(source, length_ns) => {
                    let begin_ns = at_ns.saturating_sub(length_ns);
                    let after = seat.segments.back().map_or(begin_ns, |last| last.end_ns);
                    let begin_ns = begin_ns.max(after);
                    seat.take(Segment { begin_ns, end_ns: at_ns, source }, unknown);
                }
                What::Net(source, length_ns) => seat.fill(source, at_ns, length_ns),
                What::Ran(thread, source, length_ns) if thread != seat.thread => {
                    seat.fill(source, at_ns, length_ns);
                }
                _ => {}
            }
        }
    }

    /// Gives the time of a core up to now to those who sit there.
    fn close(&mut self, core: u32, at_ns: u64) {
        let Some(own) = self.cores.get(&core) else { return };
        let (served, current) = (own.served.last().copied(), own.current);
        let (begin_ns, unknown) = (own.since_ns, self.unknown);
        for seat in self.seats.iter_mut().filter(|seat| seat.core == Some(core)) {
            let source = match (served, current) {
                (Some(source), _) => source,
                (None, Some((thread, source))) if thread != seat.thread => source,
                _ => continue,
            };
            seat.take(Segment { begin_ns, end_ns: at_ns, source }, unknown);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROBE: u32 = 100;

    fn event(at_ns: u64, core: u32, current: u32, what: What) -> Event {
        Event { at_ns, core, current, what }
    }

    struct Sources {
        tick: SourceId,
        softirq: SourceId,
        hog: SourceId,
        probe: SourceId,
    }

    fn made() -> (Timeline, Sources, Names) {
        let mut names = Names::default();
        let sources = Sources {
            tick: names.id(Kind::Timer, ""),
            softirq: names.id(Kind::Softirq, "TIMER"),
            hog: names.id(Kind::Preemption, "hog"),
            probe: names.id(Kind::Preemption, "noise-probe-0"),
        };
        let timeline = Timeline::new(&[PROBE], &mut names);
        (timeline, sources, names)
    }

    fn told(timeline: &mut Timeline) -> Vec<(u64, u64, SourceId)> {
        timeline.seat(0).segments().map(|own| (own.begin_ns, own.end_ns, own.source)).collect()
    }

    #[test]
    fn the_innermost_of_nested_interrupts_has_the_time() {
        let (mut timeline, sources, _) = made();
        for (at_ns, what) in [
            (10, What::Enter(sources.tick)),
            (14, What::Leave),
            (15, What::Enter(sources.softirq)),
            (17, What::Enter(sources.tick)),
            (18, What::Leave),
            (20, What::Leave),
        ] {
            timeline.add(event(at_ns, 0, PROBE, what));
        }
        let wanted = [
            (10, 14, sources.tick),
            (15, 17, sources.softirq),
            (17, 18, sources.tick),
            (18, 20, sources.softirq),
        ];
        assert_eq!(told(&mut timeline), wanted);
        timeline.seat(0).forget(17);
        assert_eq!(told(&mut timeline), wanted[2..]);
    }

    #[test]
    fn another_task_has_the_time_until_the_probe_is_back_also_elsewhere() {
        let (mut timeline, sources, _) = made();
        timeline.add(event(5, 0, PROBE, What::Enter(sources.tick)));
        timeline.add(event(6, 0, PROBE, What::Leave));
        timeline.add(event(8, 0, PROBE, What::Switch(7, sources.hog)));
        timeline.add(event(10, 0, 7, What::Enter(sources.tick)));
        timeline.add(event(11, 0, 7, What::Leave));
        // Core 1 takes the probe while the hog goes on.
        timeline.add(event(30, 1, 0, What::Switch(PROBE, sources.probe)));
        timeline.add(event(40, 0, 7, What::Enter(sources.tick)));
        timeline.close_all(50);
        let wanted = [
            (5, 6, sources.tick),
            (8, 10, sources.hog),
            (10, 11, sources.tick),
            (11, 30, sources.hog),
        ];
        assert_eq!(told(&mut timeline), wanted);
    }

    #[test]
    fn net_durations_fill_what_others_left_and_a_probe_takes_nothing_from_itself() {
        let (mut timeline, sources, _) = made();
        timeline.add(event(50, 0, PROBE, What::Ran(PROBE, sources.probe, 40)));
        // The hog ran from 50 to 100, but for ticks from 60 to 62 and from 80 to 85.
        timeline.add(event(62, 0, 7, What::Net(sources.tick, 2)));
        timeline.add(event(85, 0, 7, What::Net(sources.tick, 5)));
        timeline.add(event(100, 0, 7, What::Ran(7, sources.hog, 43)));
        timeline.close_all(200);
        let wanted = [
            (50, 60, sources.hog),
            (60, 62, sources.tick),
            (62, 80, sources.hog),
            (80, 85, sources.tick),
            (85, 100, sources.hog),
        ];
        assert_eq!(told(&mut timeline), wanted);
        timeline.add(event(7, 0, PROBE, What::Net(sources.tick, 900)));
        assert_eq!(told(&mut timeline)[0], (0, 7, sources.tick), "no further than the beginning");
    }

    #[test]
    fn where_events_were_lost_nobody_is_blamed() {
        let (mut timeline, sources, _) = made();
        timeline.add(event(5, 0, PROBE, What::Switch(7, sources.hog)));
        timeline.add(event(9, 0, 0, What::Missed));
        timeline.add(event(20, 0, PROBE, What::Enter(sources.tick)));
        timeline.add(event(22, 0, PROBE, What::Leave));
        let wanted = [(5, 9, sources.hog), (20, 22, sources.tick)];
        assert_eq!(told(&mut timeline)[1..], wanted[1..]);
        timeline.add(event(30, 0, PROBE, What::Fault));
        assert_eq!(timeline.seat(0).faults().collect::<Vec<_>>(), [30]);
    }
}
