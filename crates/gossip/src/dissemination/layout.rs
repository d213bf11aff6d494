//! The layout of strategy `grid`: how members are divided into rows, and what that costs and gives.
//!
//! Members stand in the order of their ids and are cut into *rows* of about equal length. A node
//! *pushes* its own entry to each member of its row once in `push_units`, and *pulls* every row
//! once in `pull_units`, from any member of it: one small request, answered by the entries of that
//! row. (The own row too: there may be a member whose pushes do not come through.) So every entry
//! takes two steps to everyone, nothing is sent that the receiver has, and waits are regular
//! instead of random.
//!
//! Where nodes have wall clocks, rounds begin at whole units of them and pulls a little later: then
//! what is pulled was pushed just before, and all nodes wake at the same few moments, which costs
//! an application less than waking at any time. Nothing depends on it: if clocks disagree, the
//! entries of a row are on average half of `push_units` old when they are pulled.
//!
//! Short rows make pushes cheap, long ones requests and headers. With the bytes of a push phase
//! C₁ and of a pull phase C₂, a budget B and waits R₁/2 + R₂/2 the best division of the budget is
//! Rᵢ ∝ √Cᵢ, and the wait (√C₁ + √C₂)²/2B; [`Layout::of`] tries every length of a row.
//!
//! Two steps by way of a row that every node can ask are the rendezvous of a grid quorum: Sontag
//! et al., "Scaling all-pairs overlay routing", CoNEXT 2009.

use core::ops::Range;

use crate::wire::{OVERHEAD_BYTES, inventory, pull, window};

/// Members of a row, at most: what one answer may hold.
pub const MAX_ROW: usize = 32;
/// Members of a row, at least, where there are so many: each can stand in for another.
const MIN_ROW: usize = 4;
/// The share of the bytes kept for asking again after a loss.
const RESERVE: f64 = 0.07;
/// The share of the bytes of a unit that calls and pushes of records are charged at most.
const CARRIED_SHARE: f64 = 0.75;
/// Every how many units one window goes to a random member, whatever the rows.
pub const STRAY_UNITS: u32 = 8;
/// When after its round a node looks which rows to pull, in sixteenths of the unit: late enough
/// for the pushes of a round that is common to all, whose clocks differ a little, and then for
/// repeats.
const LOOKS: [u8; 4] = [2, 6, 10, 14];
/// Pulls at one look, at most: their answers come at about one time.
pub const PULLS_AT_ONCE: usize = 48;
/// Bytes that a push has for its group and the name of its base, where an entry of an answer has
/// its place.
const PUSHED_NAME_BYTES: usize = 18;
/// Bytes that a push of a whole entry has for its group.
const WHOLE_HEAD_BYTES: usize = 2;
/// Bytes of the block in front of the body of version 3, and what it has more in a request.
const BLOCK_BYTES: usize = 1;
const RECEIVER_BYTES: usize = 9;
/// The shortest time between two looks: an answer should come in less.
const LOOK_MICROS: i64 = 10_000;

/// When after its round a node looks which rows to pull, in sixteenths of a unit of so many
/// microseconds.
pub fn looks_in(unit_micros: i64) -> &'static [u8] {
    let looks = LOOKS.len() as i64;
    if unit_micros >= LOOK_MICROS * looks { &LOOKS } else { &LOOKS[..1] }
}

/// The first of these looks that comes after `now` in the round that began at `round`.
pub fn next_look_micros(looks: &[u8], round: i64, unit_micros: i64, now: i64) -> Option<i64> {
    let mut times = looks.iter().map(|&part| round + unit_micros * i64::from(part) / 16);
    times.find(|&at| at > now)
}

/// The next round of a node whose wall clock shows `wall_micros`: whole units of it, which are
/// common to all nodes whose clocks agree. At least half a unit lies between two rounds.
pub fn next_round_micros(wall_micros: i64, unit_micros: i64) -> i64 {
    let unit = unit_micros.max(1);
    let last = wall_micros.saturating_add(unit / 2).div_euclid(unit);
    last.saturating_add(1).saturating_mul(unit)
}

/// What a node may send in a unit of time, and what things cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Bytes of an entry.
    pub entry_bytes: usize,
    /// Bytes of a datagram beside its entries.
    pub frame_bytes: usize,
    /// Entries in the largest datagram.
    pub datagram_entries: usize,
    /// Entries a window has.
    pub window_entries: usize,
    /// Where rows tell their entries as changes by bases: what one takes.
    pub changes: Option<Changes>,
}

/// Entries of rows that are told as changes by bases, in answers and pushes; all other windows
/// have whole ones, and the bytes of a unit are those of a window of whole ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Changes {
    /// Bytes of an entry on average, with its share of all that is beside.
    pub entry_bytes: usize,
    /// Such entries in the largest datagram.
    pub datagram_entries: usize,
}

impl Budget {
    /// The same bytes a unit, where entries take so many bytes as changes by bases, at most those
    /// of a whole one, and a datagram has room for so many bytes of them.
    #[must_use]
    pub fn with_changes(self, entry_bytes: usize, room_bytes: usize) -> Self {
        let entry_bytes = entry_bytes.clamp(1, self.entry_bytes);
        let datagram_entries = (room_bytes / entry_bytes).max(1);
        Self { changes: Some(Changes { entry_bytes, datagram_entries }), ..self }
    }

    /// Bytes of a row's answer with so many entries, and the datagrams that it takes.
    pub fn answer(&self, entries: usize) -> (usize, usize) {
        let (entry_bytes, fit) = self.in_rows();
        let datagrams = entries.div_ceil(fit);
        (entries * entry_bytes + datagrams * self.row_frame_bytes(), datagrams)
    }

    /// Bytes of a push of the own entry, which names its base.
    pub fn push_bytes(&self) -> usize {
        let entry_bytes = self.changes.map_or(self.entry_bytes, |changes| {
            (self.entry_bytes + WHOLE_HEAD_BYTES).min(changes.entry_bytes + PUSHED_NAME_BYTES)
        });
        self.row_frame_bytes() + entry_bytes
    }

    /// Bytes of a window of so many entries.
    pub fn window_bytes(&self, entries: usize) -> usize {
        let datagrams = entries.div_ceil(self.datagram_entries.max(1));
        entries * self.entry_bytes + datagrams * self.frame_bytes
    }

    /// Bytes a unit: those of one window.
    pub fn unit_bytes(&self) -> usize {
        self.window_bytes(self.window_entries)
    }

    /// Entries and records in one answer: the datagrams and the bytes that takes. Entries go
    /// first, records fill up behind the last.
    pub fn packed(
        &self,
        entries: usize,
        records: usize,
        record_traffic: &RecordTraffic,
    ) -> (usize, usize) {
        let (entry_bytes, fit) = self.in_rows();
        let (mut entries_left, mut records_left, mut datagrams) = (entries, records, 0);
        while entries_left + records_left > 0 {
            let some = entries_left.min(fit);
            let room = record_traffic.room_bytes.saturating_sub(some * entry_bytes);
            entries_left -= some;
            if entries_left == 0 {
                let fit = room / record_traffic.record_bytes.max(1);
                records_left -= records_left.min(fit.max(usize::from(some == 0)));
            }
            datagrams += 1;
        }
        let bytes = entries * entry_bytes + records * record_traffic.record_bytes;
        (datagrams, bytes + datagrams * self.row_frame_bytes())
    }

    /// Bytes of an entry in a row's answer, and how many of them a datagram has.
    fn in_rows(&self) -> (usize, usize) {
        let whole = (self.entry_bytes, self.datagram_entries.max(1));
        self.changes.map_or(whole, |changes| (changes.entry_bytes, changes.datagram_entries))
    }

    /// Bytes of a request for a row of so many members.
    pub fn pull_bytes(&self, members: usize) -> usize {
        let said = self.changes.map_or(0, |_| RECEIVER_BYTES + inventory::HEAD_BYTES + members);
        // A frame has a window's preamble; a request does not.
        self.row_frame_bytes() + pull::BYTES - window::PREAMBLE_BYTES + said
    }

    /// Bytes that a request for a row has besides where it asks for records of so many colonies.
    pub fn colonies_bytes(&self, colonies: usize) -> usize {
        let said = self.changes.map_or(0, |_| inventory::HEAD_BYTES + colonies);
        pull::COLONIES_BYTES + said
    }

    /// Bytes of a datagram of a row beside its entries.
    fn row_frame_bytes(&self) -> usize {
        self.changes.map_or(self.frame_bytes, |_| OVERHEAD_BYTES + BLOCK_BYTES)
    }
}

/// The records of other colonies that are sent within the rows of a colony.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordTraffic {
    /// Other colonies.
    pub colonies: usize,
    /// Bytes of a record, as rows are laid out for it.
    pub record_bytes: usize,
    /// Bytes of a record on average: whole, as in replies to calls, and as it is told in rows.
    pub average_bytes: [usize; 2],
    /// Bytes of entries and records that one datagram holds.
    pub room_bytes: usize,
}

impl RecordTraffic {
    /// The average age to expect of a record, in units, if nothing is lost; none if calls and
    /// pushes leave less than half of the budget to pulls.
    pub fn age_units(&self, layout: &Layout, budget: &Budget) -> Option<f64> {
        let carried = self.carried(layout.members, layout.rows, budget);
        let affordable = carried <= 0.5 * budget.unit_bytes() as f64;
        // A record is pushed when it is called for, once a unit.
        affordable.then_some(0.5 + layout.pull_units / 2.0)
    }

    /// Bytes a unit that each node is charged for what a colony of this layout carries.
    ///
    /// Few members represent other colonies, and would never pull if they paid for all that: one
    /// push of a record to a row may cost more than a node earns. So all pay alike, and the colony
    /// keeps to what its members may send together.
    pub fn charged(&self, layout: &Layout, budget: &Budget) -> usize {
        let average = self.average_bytes.map(|bytes| bytes + budget.frame_bytes);
        let carried = self.carried_of(layout.members, layout.rows, average);
        carried.min(CARRIED_SHARE * budget.unit_bytes() as f64) as usize
    }

    /// Bytes a unit of a node among so many members in so many rows, on average: for calls, their
    /// answers, and pushes of what they bring to its row.
    fn carried(&self, members: usize, rows: usize, budget: &Budget) -> f64 {
        self.carried_of(members, rows, [self.record_bytes + budget.frame_bytes; 2])
    }

    /// The same, where a reply and a push take so many bytes.
    fn carried_of(&self, members: usize, rows: usize, [reply, push]: [usize; 2]) -> f64 {
        let mates = members as f64 / rows as f64 - 1.0;
        // A call is padded to its reply, and its sender pays for both.
        let bytes = 2.0 * reply as f64 + mates * push as f64;
        self.colonies as f64 / members as f64 * bytes
    }
}

/// How a cluster is divided, and how often a node pushes and pulls.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Layout {
    members: usize,
    rows: usize,
    /// Units from one push of the own entry to a row's member to the next.
    pub push_units: f64,
    /// Units from one pull of a row to the next, if nothing is lost.
    pub pull_units: f64,
}

impl Layout {
    /// The layout that makes entries youngest on average.
    pub fn of(members: usize, budget: &Budget) -> Self {
        Self::shortest_age(members, budget, None)
    }

    /// The layout of a colony, whose rows carry the records of others along.
    pub fn of_colony(members: usize, budget: &Budget, record_traffic: &RecordTraffic) -> Self {
        Self::shortest_age(members, budget, Some(record_traffic))
    }

    fn shortest_age(
        members: usize,
        budget: &Budget,
        record_traffic: Option<&RecordTraffic>,
    ) -> Self {
        let members = members.max(2);
        let longest = members.min(MAX_ROW);
        let shortest = MIN_ROW.min(members);
        let layout = |rows| Self::with_rows(members, rows, budget, record_traffic);
        let youngest = |rows: &mut dyn Iterator<Item = usize>| {
            let layouts = rows.map(layout);
            layouts.min_by(|a, b| a.age_units().total_cmp(&b.age_units()))
        };
        let fewest = members.div_ceil(longest);
        let of_any_length = || youngest(&mut (shortest..=longest).map(|row| members.div_ceil(row)));
        // Nodes see what entries take, and may see it differently: rows are halves of rows.
        let halved = || {
            let doubled = core::iter::successors(Some(fewest), |rows| Some(2 * rows));
            doubled.take_while(|rows| rows * shortest <= members)
        };
        // Records may cost more than all that is earned: in short rows they are pushed to few.
        let affordable = |rows: &usize| {
            let carried = record_traffic.map(|own| own.carried(members, *rows, budget));
            carried.is_none_or(|bytes| bytes <= CARRIED_SHARE * budget.unit_bytes() as f64)
        };
        let found = match budget.changes {
            None => of_any_length(),
            Some(changes) => {
                let is_whole = changes.entry_bytes == budget.entry_bytes;
                let whole = is_whole.then(of_any_length).flatten();
                let whole = whole.filter(|layout| affordable(&layout.rows));
                let found = whole.or_else(|| youngest(&mut halved().filter(affordable)));
                found.or_else(|| halved().last().map(layout))
            }
        };
        found.unwrap_or_else(|| layout(fewest))
    }

    /// The layout of so many rows.
    fn with_rows(
        members: usize,
        rows: usize,
        budget: &Budget,
        record_traffic: Option<&RecordTraffic>,
    ) -> Self {
        let length = members as f64 / rows as f64;
        let stray = budget.window_bytes(budget.datagram_entries.min(budget.window_entries));
        let all = (1.0 - RESERVE) * budget.unit_bytes() as f64;
        let carried = record_traffic
            .map_or(0.0, |record_traffic| record_traffic.carried(members, rows, budget));
        let least = (1.0 - CARRIED_SHARE) * all;
        let income = (all - stray as f64 / f64::from(STRAY_UNITS) - carried).max(least);
        let push = (length - 1.0) * budget.push_bytes() as f64;
        let longest = length.ceil() as usize;
        let answer = budget.answer(longest).0 as f64 * length / length.ceil();
        let records = record_traffic
            .map_or(0.0, |record_traffic| records_bytes(length, rows, budget, record_traffic));
        let pull = rows as f64 * (budget.pull_bytes(longest) as f64 + answer + records);
        let roots = push.sqrt() + pull.sqrt();
        // An entry is made once a unit: pushing it more often brings nothing.
        let push_units = match rows {
            1 => push / (0.9 * income),
            _ => push.sqrt() * roots / income,
        };
        let push_units = push_units.max(1.0);
        let rest = income - push / push_units;
        // Nor does pulling a row more often.
        let pull_units = (pull / rest.max(1.0)).max(1.0);
        // What pulls leave is for pushes. Rows of whole entries are as earlier releases have them.
        let push_units = if budget.changes.is_some() && pull_units <= 1.0 {
            (push / (income - pull).max(1.0)).clamp(1.0, push_units)
        } else {
            push_units
        };
        Self { members, rows, push_units, pull_units }
    }

    /// The average age to expect, in units, if nothing is lost and all clocks agree. Where they do
    /// not, it is up to half a unit more.
    pub fn age_units(&self) -> f64 {
        let mates = (self.members / self.rows).saturating_sub(1) as f64;
        let near = mates / (self.members - 1) as f64;
        let first_look = f64::from(LOOKS[0]) / 16.0;
        let far = (self.push_units - 1.0) / 2.0 + first_look + self.pull_units / 2.0;
        near * self.push_units / 2.0 + (1.0 - near) * far
    }

    /// The age up to which an entry counts as fresh: its origin is believed to live.
    pub fn fresh_units(&self) -> f64 {
        2.0 * (self.push_units + self.pull_units) + 4.0
    }

    /// Members of the cluster.
    pub fn members(&self) -> usize {
        self.members
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The row of the member that is `index`-th in the order of ids.
    pub fn row_of(&self, index: usize) -> usize {
        ((index + 1) * self.rows - 1) / self.members
    }

    /// The members of a row.
    pub fn members_of(&self, row: usize) -> Range<usize> {
        let start = |row: usize| row * self.members / self.rows;
        start(row)..start(row + 1)
    }
}

/// Bytes that records add to the answer for one of `rows` rows of `length` members, and to the
/// request for it.
fn records_bytes(length: f64, rows: usize, budget: &Budget, record_traffic: &RecordTraffic) -> f64 {
    let records = record_traffic.colonies as f64 / rows as f64;
    let whole = |entries: f64, records: f64| {
        budget.packed(entries.ceil() as usize, records.ceil() as usize, record_traffic).0 as f64
    };
    let frames = whole(length, records) - whole(length, 0.0);
    let all = records * record_traffic.record_bytes as f64 + frames * budget.frame_bytes as f64;
    all + budget.colonies_bytes(records.ceil() as usize) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn budget(window_entries: usize, payload: usize) -> Budget {
        let (entry_bytes, frame_bytes) = (12 + payload, 50);
        let datagram_entries = ((1400 - frame_bytes) / entry_bytes).max(1);
        Budget { entry_bytes, frame_bytes, datagram_entries, window_entries, changes: None }
    }

    proptest! {
        #[test]
        fn every_member_is_in_one_row(members in 2usize..5000, window in 1usize..1000) {
            let layout = Layout::of(members, &budget(window, 64));
            let mut next = 0;
            for row in 0..layout.rows() {
                let range = layout.members_of(row);
                prop_assert_eq!(range.start, next);
                prop_assert!(!range.is_empty() && range.len() <= MAX_ROW);
                for index in range.clone() {
                    prop_assert_eq!(layout.row_of(index), row);
                }
                next = range.end;
            }
            prop_assert_eq!(next, members);
        }

        /// Pushes and pulls at the layout's pace cost no more than the budget, if that is enough
        /// to ask for a row now and then.
        #[test]
        fn the_budget_is_kept(
            members in 8usize..5000,
            percent in 5usize..=100,
            payload in 0usize..300,
        ) {
            let budget = budget((members * percent / 100).max(1), payload);
            let layout = Layout::of(members, &budget);
            let row = members as f64 / layout.rows() as f64;
            let push = (row - 1.0) * budget.window_bytes(1) as f64 / layout.push_units;
            let answer = budget.window_bytes(row.ceil() as usize) * layout.rows();
            let asks = (budget.pull_bytes(0) * layout.rows()) as f64;
            let pull = (answer as f64 * row / row.ceil() + asks) / layout.pull_units;
            prop_assert!(push + pull <= 1.01 * budget.unit_bytes() as f64, "{layout:?}");
        }
    }

    /// By hand: 16 members a row push 15 × 126 bytes a unit; 64 rows are pulled at 60 + 1,266 bytes
    /// from what remains of 16,104 less the reserve and the strays.
    #[test]
    fn a_layout_is_what_it_was_by_hand() {
        let layout = Layout::with_rows(1024, 64, &budget(204, 64), None);
        assert_eq!(layout.rows(), 64);
        assert!((layout.push_units - 1.0).abs() < 0.01, "{layout:?}");
        let income = 0.93 * 16_104.0 - (17.0 * 76.0 + 50.0) / 8.0;
        let pull = 64.0 * (60.0 + 1_266.0) / (income - 15.0 * 126.0);
        assert!((layout.pull_units - pull).abs() < 0.01, "{layout:?} {pull}");
        assert!(Layout::of(1024, &budget(204, 64)).age_units() < 3.5);
    }

    /// A colony of 32 among 32, at the bytes of 32 entries: in one row a representative would push
    /// 31 records of 298 bytes.
    #[test]
    fn records_that_cost_more_than_is_earned_are_pushed_to_short_rows() {
        let record_traffic = RecordTraffic {
            colonies: 31,
            record_bytes: 248,
            average_bytes: [248; 2],
            room_bytes: 1350,
        };
        let whole = budget(32, 64);
        let rows = |budget: &Budget| Layout::of_colony(32, budget, &record_traffic).rows();
        assert_eq!(rows(&whole), 1, "as earlier releases have them");
        for bytes in [76, 38, 9] {
            let changes = whole.with_changes(bytes, 1350);
            assert_eq!(rows(&changes), 8);
            let carried = record_traffic.carried(32, 8, &changes);
            assert!(carried <= CARRIED_SHARE * whole.unit_bytes() as f64, "{carried}");
            assert_eq!(rows(&budget(8, 64).with_changes(bytes, 1350)), 8, "nothing is enough");
        }
    }

    #[test]
    fn changes_make_rows_longer_and_pulls_sooner_and_rows_are_halves_of_rows() {
        let whole = budget(204, 64);
        let ages = [38, 19, 10].map(|bytes| {
            let layout = Layout::of(1024, &whole.with_changes(bytes, 1350));
            assert!([32, 64, 128].contains(&layout.rows()), "{layout:?}");
            layout.age_units()
        });
        assert!(ages.is_sorted_by(|one, next| one > next), "{ages:?}");
        assert!(ages[2] < 1.0 && ages[0] < Layout::of(1024, &whole).age_units());
        // What takes as much as a whole entry is one, in rows of any length; only what is asked for
        // costs a little more.
        let [as_whole, rows] =
            [whole.with_changes(76, 1350), whole].map(|budget| Layout::of(1024, &budget));
        assert!((as_whole.age_units() / rows.age_units() - 1.0).abs() < 0.04, "{as_whole:?}");
        let large = budget(14, 1024).with_changes(30, 1350);
        assert!(Layout::of(1024, &large).age_units() < 2.1);
    }
}
