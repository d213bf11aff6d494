//! What an entry takes in answers to pulls: rows are laid out by it, and windows chosen.
//!
//! Where entries are told as changes by bases, that depends on what nodes say. Each node sees it in
//! the answers that come, and all see about the same. It is told in halves of a whole entry, since
//! nodes that lay out rows alike have fresher entries; and a half is left only for what is well
//! within another one, so that nodes do not go to and fro.
//!
//! What records of other colonies take there is told the same way, as an average: all members of a
//! colony are charged for them.
//!
//! Invariant: without answers, and where entries are whole, it is a whole entry.

/// What is left of earlier answers after a look.
const KEPT: f64 = 0.5;
/// Entries in the answers that are looked at together, at least, and rounds in which they come: of
/// long payloads a few bases outweigh all else that comes in a round, and who lays out longer rows
/// for that pulls each less often, misses bases, and sees entries that take more for good.
const LOOKED_AT: (u64, u32) = (512, 8);
/// Halvings from the present one to another, at least: a half and some more.
const FAR: f64 = 0.75;
/// The least that an entry is taken for.
const LEAST_BYTES: usize = 4;

/// What entries took lately.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EntryCost {
    /// Bytes and entries that were counted at the last look.
    seen: (u64, u64),
    /// Rounds since.
    rounds: u32,
    /// What entries take on average, in halvings of a whole one, once anything came.
    average: Option<f64>,
    halvings: u32,
}

impl EntryCost {
    /// Takes in what was counted up to a round: bytes and entries, of which a whole one takes so
    /// many.
    pub(crate) fn look(&mut self, whole_bytes: usize, bytes: u64, entries: u64) {
        let (new_bytes, new_entries) = (bytes - self.seen.0, entries - self.seen.1);
        self.rounds = self.rounds.saturating_add(1);
        if new_entries < LOOKED_AT.0 || self.rounds < LOOKED_AT.1 {
            return;
        }
        (self.seen, self.rounds) = ((bytes, entries), 0);
        let an_entry = new_bytes as f64 / new_entries as f64;
        let now = (whole_bytes as f64 / an_entry.max(1.0)).log2().max(0.0);
        let average = self.average.map_or(now, |before| KEPT * before + (1.0 - KEPT) * now);
        self.average = Some(average);
        if (average - f64::from(self.halvings)).abs() > FAR {
            self.halvings = average.round() as u32;
        }
    }

    /// Bytes that one takes on average, where a whole one takes so many.
    fn average_bytes(&self, whole_bytes: usize) -> usize {
        (whole_bytes as f64 / self.average.unwrap_or(0.0).exp2()) as usize
    }

    /// Bytes that an entry takes, where a whole one takes so many.
    pub(crate) fn entry_bytes(&self, whole_bytes: usize) -> usize {
        (whole_bytes >> self.halvings).max(LEAST_BYTES.min(whole_bytes))
    }
}

/// What entries and records take lately.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    pub(crate) entry: EntryCost,
    record: EntryCost,
    /// Bytes of a record on average: whole, and as it is told.
    pub(crate) record_bytes: [usize; 2],
}

impl Costs {
    /// Nothing was seen yet; a record is taken to have so many bytes.
    pub(crate) fn new(record_bytes: usize) -> Self {
        let (entry, record) = (EntryCost::default(), EntryCost::default());
        Self { entry, record, record_bytes: [record_bytes; 2] }
    }

    /// Takes in what was counted of records so far, of which a whole one takes so many bytes.
    pub(crate) fn look_at_records(&mut self, whole_bytes: usize, bytes: u64, records: u64) {
        self.record.look(whole_bytes, bytes, records);
        self.record_bytes = [whole_bytes, self.record.average_bytes(whole_bytes)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What it says after answers with entries of so many bytes each.
    fn after(cost: &mut EntryCost, bytes: u64) -> usize {
        for _ in 0..20 * LOOKED_AT.1 {
            let (seen_bytes, seen) = cost.seen;
            cost.look(76, seen_bytes + 600 * bytes, seen + 600);
        }
        cost.entry_bytes(76)
    }

    #[test]
    fn it_follows_what_comes_in_halves_of_a_whole_entry() {
        let mut cost = EntryCost::default();
        cost.look(76, 100, 10);
        assert_eq!(cost.entry_bytes(76), 76, "too few to tell");
        assert_eq!(
            [76, 60, 40, 22, 9, 1].map(|bytes| after(&mut cost, bytes)),
            [76, 76, 38, 19, 9, 4]
        );
        assert_eq!(after(&mut cost, 80), 76);
    }

    #[test]
    fn a_round_of_dear_entries_changes_nothing() {
        let mut cost = EntryCost::default();
        assert_eq!(after(&mut cost, 9), 9);
        let (mut bytes, mut entries) = cost.seen;
        for round in 0..LOOKED_AT.1 {
            bytes += if round == 0 { 76 * 600 } else { 9 * 600 };
            entries += 600;
            cost.look(76, bytes, entries);
            assert_eq!(cost.entry_bytes(76), 9);
        }
    }

    #[test]
    fn what_lies_between_two_halves_stays_as_it_was() {
        let mut cost = EntryCost::default();
        assert_eq!(after(&mut cost, 20), 19);
        assert_eq!(after(&mut cost, 28), 19);
        assert_eq!(after(&mut cost, 38), 38);
        assert_eq!(after(&mut cost, 28), 38);
    }
}
