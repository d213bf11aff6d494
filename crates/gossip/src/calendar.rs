//! The age order of a vector: a calendar queue that a merge updates in constant time.
//!
//! The window takes the newest entries, and every merge makes some entries newer, so the order by
//! age changes all the time. Sorting would cost O(n log n) a unit; a heap O(log n) an entry. Here
//! births (the instants at which entries were made, on the local clock) are binned into *days*
//! of a power of two of microseconds, between 1/64 and 1/32 of the unit of time. A day holds its
//! entries in no order, in small chunks of slot numbers; a bit per day says which days have any.
//! Moving an entry to another day takes a constant number of steps, and reading the newest w visits
//! the latest days, chunk by chunk, and orders nothing but the one day that the window cuts.
//!
//! The calendar spans [`DAYS`] days, between 64 and 128 units of time. Entries born earlier lie in
//! one *attic*, latest day first as days slide into it; only there is the order by age approximate.
//!
//! Invariants: every slot is in at most one day; a chunk is never empty, so chunks never outnumber
//! slots and the pool needs no more than one a slot; nothing is allocated after construction.
//!
//! Source: R. Brown, "Calendar queues", CACM 31(10), 1988; days here are unordered, since only
//! the boundary of the window needs an order.

use tidings_primitives::time::Instant;

/// Days in the calendar; a power of two.
const DAYS: usize = 4096;
/// The attic is one more list behind the days.
const ATTIC: usize = DAYS;
/// Slot numbers in a chunk: with its header a chunk is one cache line.
const CHUNK_SLOTS: usize = 13;
/// No chunk.
const NONE: u32 = u32::MAX;

/// A run of slots of one day.
#[repr(C)]
struct Chunk {
    len: u32,
    previous: u32,
    next: u32,
    slots: [u32; CHUNK_SLOTS],
}

/// Bytes of a calendar that each slot may take: a chunk of its own.
pub(crate) const SLOT_BYTES: usize = core::mem::size_of::<Chunk>();
/// Bytes of a calendar beside its slots.
pub(crate) const FIXED_BYTES: usize = (DAYS + 1) * 4;

/// Slots ordered by birth, to the day.
pub(crate) struct Calendar {
    /// A day is 2^shift µs.
    shift: u32,
    /// The latest day seen so far, counted from the epoch.
    today: i64,
    /// First chunk of each day (day number modulo DAYS) and of the attic.
    first: Vec<u32>,
    /// Last chunk of the attic: the oldest entries.
    attic_last: u32,
    /// Which days have entries.
    occupied: [u64; DAYS / 64],
    chunks: Vec<Chunk>,
    /// Head of the list of free chunks, linked by `next`.
    free: u32,
}

impl Calendar {
    /// An empty calendar for `slots` slots, with days fitted to the unit of time.
    pub(crate) fn new(slots: usize, unit_micros: u64, now: Instant) -> Self {
        let shift = (unit_micros / 32).max(1).ilog2();
        Self {
            shift,
            today: now.as_micros() >> shift,
            first: vec![NONE; DAYS + 1],
            attic_last: NONE,
            occupied: [0; DAYS / 64],
            chunks: Vec::with_capacity(slots),
            free: NONE,
        }
    }

    /// Lets time pass: days older than the calendar's span slide into the attic.
    pub(crate) fn advance(&mut self, now: Instant) {
        let day = now.as_micros() >> self.shift;
        let passed = day.saturating_sub(self.today).clamp(0, DAYS as i64);
        for step in 1..=passed {
            self.retire(index_of(self.today + step));
        }
        self.today = self.today.max(day);
    }

    /// Puts `slot` into the day of `birth`; it must not be in the calendar.
    ///
    /// Returns its place, which the caller keeps with the slot: chunk × 16 + position.
    #[inline]
    pub(crate) fn insert(&mut self, slot: u32, birth: Instant) -> u32 {
        let list = self.list_of(birth);
        let head = self.first[list];
        match self.chunks.get_mut(head as usize) {
            Some(open) if (open.len as usize) < CHUNK_SLOTS => {
                let place = head * 16 + open.len;
                open.slots[open.len as usize] = slot;
                open.len += 1;
                place
            }
            _ => self.open_chunk(list, slot) * 16,
        }
    }

    /// Takes out the slot at `place`, inserted with `birth`.
    ///
    /// Returns the slot that now has this place: another of its day, or itself if it was the last.
    #[inline]
    pub(crate) fn remove(&mut self, place: u32, birth: Instant) -> u32 {
        let (at, position) = (place / 16, (place % 16) as usize);
        let chunk = &mut self.chunks[at as usize];
        chunk.len -= 1;
        let last = chunk.slots[chunk.len as usize];
        chunk.slots[position] = last;
        if chunk.len == 0 {
            self.close_chunk(at, birth);
        }
        last
    }

    /// Whether both births fall on one day: then a slot need not be moved.
    #[inline]
    pub(crate) fn same_day(&self, one: Instant, other: Instant) -> bool {
        one.as_micros() >> self.shift == other.as_micros() >> self.shift
    }

    /// Appends the `count` newest slots to `out` (fewer if there are fewer), newest days first.
    ///
    /// Exact within the calendar's span: only the day that `count` cuts is ordered, by `birth`.
    pub(crate) fn newest(&self, count: usize, out: &mut Vec<u32>, birth: impl Fn(u32) -> Instant) {
        let full = out.len() + count;
        for list in self.days_newest_first().chain([ATTIC]) {
            let start = out.len();
            if start >= full {
                return;
            }
            self.read_list(list, out, full);
            if out.len() > full {
                if list != ATTIC {
                    let day = &mut out[start..];
                    day.select_nth_unstable_by_key(full - start, |&s| core::cmp::Reverse(birth(s)));
                }
                out.truncate(full);
            }
        }
    }

    /// The oldest slot, exact within the calendar's span; `None` if there is none.
    pub(crate) fn oldest(&self, birth: impl Fn(u32) -> Instant) -> Option<u32> {
        // Of the attic only the last chunk is read: there may be many, and their order is rough.
        let first = match self.attic_last {
            NONE => self.first[self.oldest_day()?],
            last => last,
        };
        let mut oldest = self.chunks[first as usize].slots[0];
        let mut at = first;
        while let Some(chunk) = self.chunks.get(at as usize) {
            for &slot in &chunk.slots[..chunk.len as usize] {
                if birth(slot) < birth(oldest) {
                    oldest = slot;
                }
            }
            at = chunk.next;
        }
        Some(oldest)
    }

    /// Moves the day at `index`, about to be reused, to the front of the attic.
    fn retire(&mut self, index: usize) {
        let head = self.first[index];
        if head == NONE {
            return;
        }
        let mut tail = head;
        while self.chunks[tail as usize].next != NONE {
            tail = self.chunks[tail as usize].next;
        }
        let attic = self.first[ATTIC];
        self.chunks[tail as usize].next = attic;
        match self.chunks.get_mut(attic as usize) {
            Some(chunk) => chunk.previous = tail,
            None => self.attic_last = tail,
        }
        self.first[ATTIC] = head;
        self.first[index] = NONE;
        self.occupied[index / 64] &= !(1 << (index % 64));
    }

    /// The list for entries born at `birth`, which is not later than the last `advance`.
    #[inline]
    fn list_of(&self, birth: Instant) -> usize {
        let day = birth.as_micros() >> self.shift;
        debug_assert!(day <= self.today, "nothing is born in the future");
        if self.today - day < DAYS as i64 { index_of(day) } else { ATTIC }
    }

    /// Puts a free chunk that holds `slot` in front of `list` and returns it.
    #[inline(never)]
    fn open_chunk(&mut self, list: usize, slot: u32) -> u32 {
        let next = self.first[list];
        let mut chunk = Chunk { len: 1, previous: NONE, next, slots: [0; CHUNK_SLOTS] };
        chunk.slots[0] = slot;
        let at = if self.free == NONE {
            self.chunks.push(chunk);
            self.chunks.len() as u32 - 1
        } else {
            let at = self.free;
            self.free = self.chunks[at as usize].next;
            self.chunks[at as usize] = chunk;
            at
        };
        if next != NONE {
            self.chunks[next as usize].previous = at;
        } else if list == ATTIC {
            self.attic_last = at;
        }
        self.first[list] = at;
        if list != ATTIC {
            self.occupied[list / 64] |= 1 << (list % 64);
        }
        at
    }

    /// Unlinks the empty chunk `at`, whose last slot was born at `birth`, and frees it.
    #[inline(never)]
    fn close_chunk(&mut self, at: u32, birth: Instant) {
        let Chunk { previous, next, .. } = self.chunks[at as usize];
        if next != NONE {
            self.chunks[next as usize].previous = previous;
        }
        if at == self.attic_last {
            self.attic_last = previous;
        }
        if previous == NONE {
            let list = self.list_of(birth);
            self.first[list] = next;
            if next == NONE && list != ATTIC {
                self.occupied[list / 64] &= !(1 << (list % 64));
            }
        } else {
            self.chunks[previous as usize].next = next;
        }
        self.chunks[at as usize].next = self.free;
        self.free = at;
    }

    /// Appends the slots of one list; the attic no further than `full`, which bounds the work.
    #[inline]
    fn read_list(&self, list: usize, out: &mut Vec<u32>, full: usize) {
        let mut at = self.first[list];
        while let Some(chunk) = self.chunks.get(at as usize) {
            out.extend_from_slice(&chunk.slots[..chunk.len as usize]);
            if list == ATTIC && out.len() >= full {
                return;
            }
            at = chunk.next;
        }
    }

    /// Indices of the days that have entries, from today backwards.
    fn days_newest_first(&self) -> impl Iterator<Item = usize> {
        let start = index_of(self.today);
        let low = !0 >> (63 - start % 64);
        // The word of today is visited twice: first for today and before, last for the far end.
        (0..=DAYS / 64).flat_map(move |step| {
            let word = (start / 64 + DAYS / 64 - step) % (DAYS / 64);
            let mask = match step {
                0 => low,
                _ if step == DAYS / 64 => !low,
                _ => !0,
            };
            BitsDown(self.occupied[word] & mask).map(move |bit| word * 64 + bit)
        })
    }

    /// Index of the oldest day that has entries.
    fn oldest_day(&self) -> Option<usize> {
        let start = index_of(self.today + 1);
        let high = !0 << (start % 64);
        (0..=DAYS / 64).find_map(|step| {
            let word = (start / 64 + step) % (DAYS / 64);
            let mask = match step {
                0 => high,
                _ if step == DAYS / 64 => !high,
                _ => !0,
            };
            let bits = self.occupied[word] & mask;
            (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
        })
    }
}

/// Where a day lies in the ring.
#[inline]
fn index_of(day: i64) -> usize {
    (day as usize) & (DAYS - 1)
}

/// The set bits of a word, highest first.
struct BitsDown(u64);

impl Iterator for BitsDown {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let bit = 63u32.checked_sub(self.0.leading_zeros())?;
        self.0 &= !(1 << bit);
        Some(bit as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UNIT: u64 = 256_000;

    /// A calendar with a reference beside it: the birth of every slot that is in.
    struct Pair {
        calendar: Calendar,
        births: Vec<Option<Instant>>,
        places: Vec<u32>,
        now: Instant,
    }

    impl Pair {
        fn new(slots: usize) -> Self {
            let now = Instant::EPOCH;
            let calendar = Calendar::new(slots, UNIT, now);
            Self { calendar, births: vec![None; slots], places: vec![0; slots], now }
        }

        fn set(&mut self, slot: usize, birth: Option<Instant>) {
            if let Some(old) = core::mem::replace(&mut self.births[slot], birth) {
                let place = self.places[slot];
                let moved = self.calendar.remove(place, old);
                self.places[moved as usize] = place;
            }
            if let Some(birth) = birth {
                self.places[slot] = self.calendar.insert(slot as u32, birth);
            }
        }

        fn birth(&self, slot: u32) -> Instant {
            self.births[slot as usize].expect("the calendar returns only slots that are in")
        }

        /// Births of the newest, sorted: what the calendar says beside what a sort says.
        fn newest(&self, count: usize) -> (Vec<Instant>, Vec<Instant>) {
            let mut out = Vec::new();
            self.calendar.newest(count, &mut out, |slot| self.birth(slot));
            let mut said: Vec<_> = out.iter().map(|&slot| self.birth(slot)).collect();
            said.sort();
            let mut all: Vec<_> = self.births.iter().flatten().copied().collect();
            all.sort();
            let skip = all.len().saturating_sub(count);
            (said, all.split_off(skip))
        }
    }

    proptest! {
        /// Within the span, the newest w are exactly those a sort finds, and so is the oldest.
        #[test]
        fn the_newest_are_those_a_sort_finds(
            steps in prop::collection::vec(
                (0usize..60, 0u64..20 * UNIT, 0u64..UNIT, any::<bool>()),
                1..400,
            ),
            count in 1usize..70,
        ) {
            let mut pair = Pair::new(60);
            for (slot, age, passed, there) in steps {
                // 40 units in all at most: everything stays within the span of 64.
                pair.now = Instant::from_micros(pair.now.as_micros() + (passed / 20) as i64);
                pair.calendar.advance(pair.now);
                pair.set(slot, there.then(|| pair.now.before(age)));
            }
            let (said, sorted) = pair.newest(count);
            prop_assert_eq!(said, sorted);
            let oldest = pair.calendar.oldest(|slot| pair.birth(slot)).map(|slot| pair.birth(slot));
            prop_assert_eq!(oldest, pair.births.iter().flatten().min().copied());
        }

        /// However far time jumps and however old births are: no slot is lost or doubled.
        #[test]
        fn no_slot_is_lost_or_doubled(
            steps in prop::collection::vec(
                (0usize..40, 0u64..400 * UNIT, 0u64..100 * UNIT, 0u8..4),
                1..200,
            ),
        ) {
            let mut pair = Pair::new(40);
            for (slot, age, passed, what) in steps {
                pair.now = Instant::from_micros(pair.now.as_micros() + passed as i64);
                pair.calendar.advance(pair.now);
                pair.set(slot, (what > 0).then(|| pair.now.before(age)));
                let mut out = Vec::new();
                pair.calendar.newest(40, &mut out, |slot| pair.birth(slot));
                out.sort_unstable();
                let there: Vec<u32> =
                    (0..40).filter(|&s| pair.births[s as usize].is_some()).collect();
                prop_assert_eq!(out, there);
            }
        }
    }

    #[test]
    fn the_attic_keeps_the_order_of_days() {
        let mut pair = Pair::new(3);
        for slot in 0..3 {
            pair.now = Instant::from_micros(pair.now.as_micros() + UNIT as i64);
            pair.calendar.advance(pair.now);
            pair.set(slot, Some(pair.now));
        }
        pair.calendar.advance(pair.now + core::time::Duration::from_secs(3600));
        let mut out = Vec::new();
        pair.calendar.newest(2, &mut out, |slot| pair.birth(slot));
        assert_eq!(out, [2, 1]);
        assert_eq!(pair.calendar.oldest(|slot| pair.birth(slot)), Some(0));
    }
}
