//! The queue of a worker: the owner works at its newest end, thieves get from its oldest.
//!
//! The newest tasks are small and near to what the owner has just done; the oldest stand for the
//! most work, where tasks spawn. What a thief gets is half: of the predicted work, or of the number
//! of tasks. Half of the number is often nothing, where most tasks are empty.
//!
//! The queue has two parts. The *private* part are the newest tasks, as many as take no longer than
//! `keep_ns` together: a thief would need longer to fetch them than the owner to run them. The rest
//! is *shared*. As the owner itself answers thieves, the border is where it has to be whenever it
//! is asked, and no lock can be left behind by a thief that dies.
//!
//! A thief may want less: what is beyond the mean of all, and no more than that ([`Want`]).
//!
//! A task counts with its predicted work and what it takes to run an empty one. Half of the work is
//! taken from tasks that are worth a message, as long as there are any; so the empty ones stay.
//! Before these come those that make up a good part of what is given: a few tasks move.
//!
//! Source: Dinan, Larkins, Sadayappan, Krishnamoorthy, Nieplocha, "Scalable work stealing", SC 2009
//! (split queues, half of the number).

use core::ops::Range;
use std::collections::VecDeque;

use crate::frame::Frame;

/// What a thief gets half of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Half {
    /// The predicted work.
    Work,
    /// The number of tasks.
    Count,
}

/// What a thief wants of a queue at most, in nanoseconds of predicted work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Want {
    /// This much.
    pub most_ns: u64,
    /// And what is beyond this.
    pub beyond_ns: u64,
}

impl Want {
    /// All that a victim gives.
    pub const HALF: Self = Self { most_ns: u64::MAX, beyond_ns: 0 };

    /// The nearest for which there are codes: to less than one part in 250.
    #[must_use]
    pub fn rounded(self) -> Self {
        let (most, beyond) = self.codes();
        Self { most_ns: value(most), beyond_ns: value(beyond) }
    }

    /// Two numbers below 2^14 that stand for it in traces, rounded.
    pub(crate) fn codes(self) -> (u16, u16) {
        (code(self.most_ns), code(self.beyond_ns))
    }

    /// What two codes stand for; `None` if they stand for nothing.
    pub(crate) fn of_codes((most, beyond): (u16, u16)) -> Option<Self> {
        let is_one = |code: u16| code == code_of_all() || code <= code_of_most();
        (is_one(most) && is_one(beyond))
            .then(|| Self { most_ns: value(most), beyond_ns: value(beyond) })
    }
}

/// Bits of a number that its code keeps, below the first.
const KEPT_BITS: u32 = 8;

/// The code of a number: small ones as they are, others as a power of two and the bits after it.
fn code(number: u64) -> u16 {
    if number == u64::MAX {
        return code_of_all();
    }
    let Some(power) = number.checked_ilog2().filter(|&power| power >= KEPT_BITS) else {
        return number as u16;
    };
    let kept = (number >> (power - KEPT_BITS)) as u16 & ((1 << KEPT_BITS) - 1);
    (((power - KEPT_BITS + 1) as u16) << KEPT_BITS) | kept
}

fn code_of_most() -> u16 {
    code(u64::MAX - 1)
}

fn code_of_all() -> u16 {
    (1 << 14) - 1
}

/// The least number of a code.
fn value(code: u16) -> u64 {
    if code == code_of_all() {
        return u64::MAX;
    }
    let (power, kept) = (u32::from(code >> KEPT_BITS), u64::from(code & ((1 << KEPT_BITS) - 1)));
    if power == 0 { kept } else { ((1 << KEPT_BITS) | kept) << (power - 1) }
}

/// How queues are divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sharing {
    /// What a thief gets half of.
    pub half: Half,
    /// Predicted work up to which the newest tasks are private, in nanoseconds.
    pub keep_ns: u64,
    /// What each task takes beside its predicted work, in nanoseconds.
    pub overhead_ns: u64,
    /// The most tasks that a thief gets at a time.
    pub most_tasks: usize,
    /// The most bytes that their states have together, beyond the first task's.
    pub most_bytes: usize,
}

/// A steal moves about so many tasks at most, where there are larger ones.
const FEW: u64 = 128;

/// What is given.
#[derive(Default)]
struct Given {
    frames: Vec<Frame>,
    sum: u64,
    bytes: usize,
}

/// Tasks that wait to be run.
#[derive(Debug)]
pub struct Queue {
    tasks: VecDeque<Frame>,
    work_ns: u64,
    overhead_ns: u64,
    /// Whether they are in the order of [`Queue::order`].
    is_ordered: bool,
    /// How many of them are worth a message.
    worthy: usize,
}

/// Tasks that are not worth a message and are passed over to find those that are, at most: each
/// costs the owner some nanoseconds.
const MOST_PASSED: usize = 4096;

impl Queue {
    /// No tasks, each of which will take this much beside its work.
    pub fn new(overhead_ns: u64) -> Self {
        Self { tasks: VecDeque::new(), work_ns: 0, overhead_ns, is_ordered: false, worthy: 0 }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// What they take together, in nanoseconds.
    pub fn work_ns(&self) -> u64 {
        self.work_ns
    }

    fn weight(&self, frame: &Frame) -> u64 {
        frame.work_ns.saturating_add(self.overhead_ns)
    }

    /// What a task takes, at least, that is worth a message.
    fn worth(&self) -> u64 {
        self.overhead_ns.saturating_mul(4)
    }

    fn is_worthy(&self, frame: &Frame) -> bool {
        self.weight(frame) >= self.worth()
    }

    /// Adds a task as the newest.
    pub fn push(&mut self, frame: Frame) {
        self.is_ordered = false;
        self.worthy += usize::from(self.is_worthy(&frame));
        self.work_ns = self.work_ns.saturating_add(self.weight(&frame));
        self.tasks.push_back(frame);
    }

    /// Adds tasks, of which the last is the newest.
    pub fn extend(&mut self, frames: Vec<Frame>) {
        self.is_ordered &= frames.is_empty();
        self.worthy += frames.iter().filter(|frame| self.is_worthy(frame)).count();
        let sum = |sum: u64, frame| sum.saturating_add(self.weight(frame));
        self.work_ns = frames.iter().fold(self.work_ns, sum);
        self.tasks.extend(frames);
    }

    /// Takes the newest.
    pub fn pop(&mut self) -> Option<Frame> {
        let frame = self.tasks.pop_back()?;
        self.worthy -= usize::from(self.is_worthy(&frame));
        self.work_ns = self.work_ns.saturating_sub(self.weight(&frame));
        Some(frame)
    }

    /// Has the expensive ones run first: they become the newest. Those that take about as long,
    /// to a factor of two, stay in their order.
    ///
    /// Returns whether they were not so already.
    pub fn order(&mut self) -> bool {
        if core::mem::replace(&mut self.is_ordered, true) {
            return false;
        }
        let class = |frame: &Frame| u64::BITS - frame.work_ns.leading_zeros();
        self.tasks.make_contiguous().sort_by_key(class);
        true
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.tasks.clear();
        (self.work_ns, self.worthy) = (0, 0);
    }

    /// Whether a thief would get anything; `busy` is whether the owner runs a task.
    pub fn can_give(&self, sharing: &Sharing, busy: bool) -> bool {
        let last = usize::from(!busy);
        self.tasks.len() > last && self.work_ns > sharing.keep_ns
    }

    /// What a thief gets: half of all, of the shared part, oldest first. An owner that is not busy
    /// keeps at least one task.
    pub fn give(&mut self, sharing: &Sharing, busy: bool, want: Want) -> Vec<Frame> {
        if !self.can_give(sharing, busy) || self.work_ns <= want.beyond_ns {
            return Vec::new();
        }
        let most = (self.tasks.len() - usize::from(!busy)).min(sharing.most_tasks);
        let target = match sharing.half {
            Half::Count => return self.oldest(self.tasks.len().div_ceil(2).min(most), sharing),
            Half::Work => (self.work_ns / 2)
                .min(self.work_ns - sharing.keep_ns.max(want.beyond_ns))
                .min(want.most_ns)
                .max(1),
        };
        let mut given = Given::default();
        for worth in [self.worth().max(target / FEW), self.worth(), 0] {
            if given.frames.is_empty() || (worth > 0 && 2 * given.sum < target) {
                self.select(&mut given, target, most, worth, sharing.most_bytes);
            }
        }
        given.frames
    }

    /// The `count` oldest, if their bytes allow.
    fn oldest(&mut self, count: usize, sharing: &Sharing) -> Vec<Frame> {
        let mut bytes = 0;
        let mut fits = |at: usize, frame: &Frame| {
            bytes += frame.state.bytes().len();
            at == 0 || bytes <= sharing.most_bytes
        };
        let mut oldest = self.tasks.iter().take(count).enumerate();
        let fitting = oldest.position(|(at, frame)| !fits(at, frame)).unwrap_or(count);
        let given: Vec<Frame> = self.tasks.drain(..fitting).collect();
        self.took(&given);
        given
    }

    /// The oldest tasks that take at least `worth` each and `target` together, or come closest to
    /// it, before too many are passed over. The others stay where they are.
    fn select(&mut self, given: &mut Given, target: u64, most: usize, worth: u64, bytes: usize) {
        // None is as large as that: most queues of small tasks are not looked through for it.
        if worth >= self.worth() && self.worthy == 0 {
            return;
        }
        let runs = self.choose(given, target, most, worth, bytes);
        self.take_runs(&runs, &mut given.frames);
    }

    /// Where these are: runs of tasks that follow each other, none of which has moved yet. They are
    /// counted as given from here on.
    fn choose(
        &mut self,
        given: &mut Given,
        target: u64,
        most: usize,
        worth: u64,
        most_bytes: usize,
    ) -> Vec<Range<usize>> {
        let (mut runs, mut run) = (Vec::new(), 0..0);
        let (mut count, mut passed, mut worthy) = (given.frames.len(), 0, 0);
        let before = given.sum;
        for (at, frame) in self.tasks.iter().enumerate() {
            if given.sum >= target || count == most || passed == MOST_PASSED {
                break;
            }
            let (weight, bytes) = (self.weight(frame), frame.state.bytes().len());
            let beyond = given.sum.saturating_add(weight).saturating_sub(target);
            if weight < worth || (count > 0 && beyond > target - given.sum) {
                passed += 1;
                continue;
            }
            if count > 0 && given.bytes + bytes > most_bytes {
                break;
            }
            given.bytes += bytes;
            given.sum = given.sum.saturating_add(weight);
            (count, worthy) = (count + 1, worthy + usize::from(weight >= self.worth()));
            if run.end != at {
                runs.push(core::mem::replace(&mut run, at..at));
            }
            run.end = at + 1;
        }
        runs.push(run);
        self.work_ns = self.work_ns.saturating_sub(given.sum - before);
        self.worthy -= worthy;
        runs
    }

    /// Moves these to the end of `to`. What is before the last run moves, and nothing else; but if
    /// about half goes, the two halves are copied as they lie.
    fn take_runs(&mut self, runs: &[Range<usize>], to: &mut Vec<Frame>) {
        let (count, end) = (runs.iter().map(ExactSizeIterator::len).sum(), runs.last());
        if to.is_empty() && end == Some(&(0..count)) && self.tasks.len() <= 3 * count {
            let rest = self.tasks.split_off(count);
            *to = core::mem::replace(&mut self.tasks, rest).into();
            return;
        }
        to.reserve(count);
        let (mut kept, mut at) = (Vec::new(), 0);
        for run in runs {
            kept.extend(self.tasks.drain(..run.start - at));
            to.extend(self.tasks.drain(..run.len()));
            at = run.end;
        }
        for frame in kept.into_iter().rev() {
            self.tasks.push_front(frame);
        }
    }

    fn took(&mut self, given: &[Frame]) {
        let work: u64 = given.iter().map(|frame| self.weight(frame)).sum();
        self.work_ns = self.work_ns.saturating_sub(work);
        self.worthy -= given.iter().filter(|frame| self.is_worthy(frame)).count();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: Sharing = Sharing {
        half: Half::Work,
        keep_ns: 0,
        overhead_ns: 1000,
        most_tasks: 1000,
        most_bytes: 1 << 20,
    };

    fn queue(works: &[u64]) -> Queue {
        let mut queue = Queue::new(ALL.overhead_ns);
        for (at, work) in works.iter().enumerate() {
            queue.push(Frame::new(0, *work, &(at as u32).to_le_bytes()).unwrap());
        }
        queue
    }

    fn work(frames: &[Frame]) -> u64 {
        frames.iter().map(|frame| frame.work_ns + ALL.overhead_ns).sum()
    }

    /// SCF of atoms in a line has 69 % empty tasks, in runs. A thief that was given half of the
    /// number got five hundred of them and was back at once.
    #[test]
    fn half_by_work_is_half_where_most_tasks_are_empty() {
        let works: Vec<u64> =
            (0..1000).map(|at| if at < 690 { 0 } else { 2_000_000 + 1000 * at }).collect();
        let by_work = queue(&works).give(&ALL, true, Want::HALF);
        let total = queue(&works).work_ns();
        assert!((work(&by_work) as f64 / total as f64 - 0.5).abs() < 0.01);
        assert_eq!(by_work.iter().filter(|frame| frame.work_ns == 0).count(), 0);
        let by_count = queue(&works).give(&Sharing { half: Half::Count, ..ALL }, true, Want::HALF);
        assert_eq!(by_count.len(), 500);
        assert_eq!(work(&by_count), 500 * 1000);
    }

    #[test]
    fn what_is_wanted_is_rounded_to_less_than_one_part_in_250() {
        for number in (0..64).flat_map(|power| [(1u64 << power) - 1, 1 << power, 3 << power]) {
            let want = Want { most_ns: number, beyond_ns: number }.rounded();
            assert!(want.most_ns <= number && number - want.most_ns <= number / 250, "{number}");
            assert_eq!(Want::of_codes(want.codes()), Some(want));
        }
        assert_eq!(Want::HALF.rounded(), Want::HALF);
        assert_eq!(Want::of_codes((1 << 14, 0)), None);
    }

    #[test]
    fn the_oldest_go_first_and_the_newest_runs() {
        let mut queue = queue(&[10_000; 4]);
        let number = |frame: &Frame| frame.state.bytes()[0];
        assert_eq!(
            queue.give(&ALL, true, Want::HALF).iter().map(number).collect::<Vec<_>>(),
            [0, 1]
        );
        assert_eq!(number(&queue.pop().unwrap()), 3);
    }

    #[test]
    fn a_thief_gets_what_is_beyond_and_no_more_than_it_wants() {
        let want = |most_ns, beyond_ns| Want { most_ns, beyond_ns };
        let given = |want| queue(&[9_000; 100]).give(&ALL, true, want).len();
        assert_eq!(given(Want::HALF), 50);
        assert_eq!(given(want(200_000, 0)), 20);
        assert_eq!(given(want(u64::MAX, 900_000)), 10);
        assert_eq!(given(want(u64::MAX, 1_000_000)), 0);
    }

    #[test]
    fn a_few_large_ones_go_rather_than_many_small_ones() {
        let works: Vec<u64> =
            (0..1000).map(|at| if at % 10 == 9 { 1 << 20 } else { 8000 }).collect();
        let given = queue(&works).give(&ALL, true, Want::HALF);
        assert!(given.iter().all(|frame| frame.work_ns == 1 << 20));
        let share = work(&given) as f64 / queue(&works).work_ns() as f64;
        assert!((share - 0.5).abs() < 0.01, "{share}");
    }

    #[test]
    fn in_order_the_expensive_run_first_and_like_ones_as_they_came() {
        let mut queue = queue(&[700, 40_000, 800, 90_000, 60_000, 33_000]);
        queue.order();
        let ran: Vec<u64> =
            core::iter::from_fn(|| queue.pop()).map(|frame| frame.work_ns).collect();
        assert_eq!(ran, [90_000, 33_000, 60_000, 40_000, 800, 700][..].to_vec());
    }

    #[test]
    fn what_takes_no_longer_than_to_fetch_it_is_private() {
        let keep = Sharing { keep_ns: 22_000, ..ALL };
        assert!(queue(&[10_000; 2]).give(&keep, true, Want::HALF).is_empty());
        assert_eq!(queue(&[10_000; 3]).give(&keep, true, Want::HALF).len(), 1);
    }

    #[test]
    fn the_last_task_goes_only_if_the_owner_runs_another() {
        assert_eq!(queue(&[5]).give(&ALL, true, Want::HALF).len(), 1);
        assert!(queue(&[5]).give(&ALL, false, Want::HALF).is_empty());
    }

    #[test]
    fn bytes_are_bounded() {
        let few = Sharing { most_bytes: 9, half: Half::Count, ..ALL };
        assert_eq!(queue(&[10_000; 100]).give(&few, true, Want::HALF).len(), 2);
        assert_eq!(
            queue(&[10_000; 100])
                .give(&Sharing { half: Half::Work, ..few }, true, Want::HALF)
                .len(),
            2
        );
    }

    proptest! {
        #[test]
        fn each_task_is_in_one_place_and_the_sum_is_right(
            works in prop::collection::vec(prop_oneof![Just(0), 0u64..1_000_000], 0..60),
            busy: bool,
            by_count: bool,
            keep_ns in 0u64..100_000,
            most_ns: u64,
            beyond_ns in 0u64..10_000_000,
        ) {
            let half = if by_count { Half::Count } else { Half::Work };
            let mut queue = queue(&works);
            let (before, want) = (queue.work_ns(), Want { most_ns, beyond_ns });
            let mut all = queue.give(&Sharing { half, keep_ns, ..ALL }, busy, want);
            prop_assert_eq!(queue.work_ns() + work(&all), before);
            prop_assert!(busy || all.is_empty() || !queue.is_empty());
            all.extend(core::iter::from_fn(|| queue.pop()));
            let mut numbers: Vec<u8> = all.iter().map(|frame| frame.state.bytes()[0]).collect();
            numbers.sort_unstable();
            prop_assert!(numbers.into_iter().map(usize::from).eq(0..works.len()));
            prop_assert_eq!(queue.work_ns(), 0);
        }
    }
}
