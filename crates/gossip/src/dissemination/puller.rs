//! Which rows to pull, and when: one after the other, at the pace the bytes allow.
//!
//! The node earns bytes with time and spends them on requests and on the answers it expects, so
//! that the whole cluster, in which all earn and spend alike, sends no more than its budget.
//! A request that is not answered by the next look is made again to another member of the row: out
//! of the part of the earnings kept for that, then out of the rest. Of an answer that did not come
//! half is paid, since it is about as likely that the request was lost, and the answer never sent.
//!
//! An answer that comes after all tells that the node was impatient: asking again only added to the
//! work of nodes that are short of time already. It then waits for as many looks as that answer
//! took, and for fewer again once answers come sooner. Loss alone teaches no patience, since what
//! is lost never comes (the reasoning of Ludwig and Katz, "The Eifel algorithm: making TCP robust
//! against spurious retransmissions", 2000).
//!
//! Nobody needs to agree on any of it: each receiver sees to its own regularity.

/// An answer holds what may have come to be since the last one, and this much more: what was born
/// earlier may have reached the members of the row late.
pub const MARGIN_UNITS: i64 = 4;
/// Members looked at for one whose entry is fresh, at most.
const DRAWS: usize = 8;
/// One in so many requests goes to a member that seems silent: it may not be.
const TRUST: usize = 8;

/// Requests made again after the first, at most.
pub const MAX_REPEATS: u8 = 3;
/// Earnings that can be saved up, in units of time.
const SAVINGS_UNITS: i64 = 2;
/// The part of the earnings kept for repeats: one in so many.
const REPEATS_PART: i64 = 14;
/// Looks that an answer is waited for, at most: four units.
const MAX_PATIENCE: u8 = 16;
/// Answers that must come sooner, one after the other, before the node waits for one look less.
const TIMELY: u8 = 8;
/// Requests given up whose answers are known when they come after all, at most.
const MAX_GIVEN_UP: usize = 32;

/// A request to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pull {
    /// Which row.
    pub row: usize,
    /// How often it was asked for before without an answer.
    pub repeats: u8,
}

/// A request that was sent and is not answered.
#[derive(Clone, Copy, Debug)]
struct Open {
    row: usize,
    relay: u32,
    repeats: u8,
    /// How often the node has looked since.
    looks: u8,
}

/// For how many looks an answer is waited for.
#[derive(Clone, Copy, Debug)]
struct Patience {
    looks: u8,
    /// Answers in a row that came sooner.
    timely: u8,
}

impl Default for Patience {
    fn default() -> Self {
        Self { looks: 1, timely: 0 }
    }
}

impl Patience {
    /// An answer came in time, after so many looks.
    fn kept(&mut self, looks: u8) {
        if looks >= self.looks {
            self.timely = 0;
            return;
        }
        self.timely += 1;
        if self.timely == TIMELY {
            (self.looks, self.timely) = (self.looks - 1, 0);
        }
    }

    /// An answer came when it was no longer waited for, after so many looks.
    fn lost(&mut self, looks: u8) {
        (self.looks, self.timely) = (self.looks.max(looks + 1).min(MAX_PATIENCE), 0);
    }
}

/// One node's pulls.
#[derive(Clone, Debug, Default)]
pub struct Puller {
    next_row: usize,
    /// When each row was last answered, in microseconds or other ticks.
    answered: Vec<Option<i64>>,
    open: Vec<Open>,
    /// Those given up last, the oldest first.
    given_up: Vec<Open>,
    patience: Patience,
    /// Rows whose turn came since the last earnings.
    turns: usize,
    savings_bytes: i64,
    repeats_bytes: i64,
    /// Bytes of a request, and of a row's answer as last seen.
    costs: (i64, i64),
}

impl Puller {
    /// Begins again with so many rows, at a row that should be random.
    pub fn restart(&mut self, rows: usize, first: usize, costs: (usize, usize)) {
        self.answered.clear();
        self.answered.resize(rows, None);
        self.open.clear();
        self.given_up.clear();
        self.next_row = first % rows.max(1);
        self.costs = (costs.0 as i64, costs.1 as i64);
        self.savings_bytes = 0;
        self.repeats_bytes = 0;
    }

    /// Earns the bytes of a unit, in which each row has one turn at most.
    pub fn earn(&mut self, unit_bytes: usize) {
        let unit = unit_bytes as i64;
        let kept = unit / REPEATS_PART;
        self.repeats_bytes = (self.repeats_bytes + kept).min(unit / 2);
        self.savings_bytes = (self.savings_bytes + unit - kept).min(SAVINGS_UNITS * unit);
        self.turns = 0;
    }

    /// Spends bytes on something else.
    pub fn spend(&mut self, bytes: usize) {
        self.savings_bytes -= bytes as i64;
    }

    /// The next request to send at this look; `None` once there is none. Each is followed by
    /// [`Puller::asked`], or given up.
    pub fn next_pull(&mut self) -> Option<Pull> {
        self.give_up_late();
        let may_repeat = self.repeats_bytes.max(self.savings_bytes) >= 0;
        let patience = self.patience.looks;
        let late = self.open.iter().position(|open| open.looks >= patience);
        if let Some(at) = late.filter(|_| may_repeat) {
            let open = self.open.swap_remove(at);
            self.give_up(open);
            return Some(Pull { row: open.row, repeats: open.repeats + 1 });
        }
        if !self.has_turn() {
            return None;
        }
        let row = self.next_row;
        self.next_row = (row + 1) % self.answered.len();
        self.turns += 1;
        if self.open.iter().any(|open| open.row == row) {
            // It was asked in the last unit and is being asked again.
            return self.next_pull();
        }
        Some(Pull { row, repeats: 0 })
    }

    /// Gives up what was asked for often enough.
    fn give_up_late(&mut self) {
        let patience = self.patience.looks;
        let ends = |open: &Open| open.looks >= patience && open.repeats >= MAX_REPEATS;
        while let Some(at) = self.open.iter().position(ends) {
            let open = self.open.remove(at);
            self.give_up(open);
        }
    }

    /// Waits for an answer no longer, but will know it if it comes.
    fn give_up(&mut self, open: Open) {
        self.repeats_bytes += self.refund();
        if self.given_up.len() == MAX_GIVEN_UP {
            self.given_up.remove(0);
        }
        self.given_up.push(open);
    }

    /// What of an answer that did not come was not sent: a little less than half, since it can be
    /// lost only where the request was not.
    fn refund(&self) -> i64 {
        self.costs.1 * 15 / 32
    }

    /// Whether another row can have its turn now.
    fn has_turn(&self) -> bool {
        self.turns < self.answered.len() && self.savings_bytes >= 0
    }

    /// Whether there is anything to do at a look.
    pub fn wants_look(&self) -> bool {
        !self.open.is_empty() || self.has_turn()
    }

    /// A request was sent to `relay`.
    pub fn asked(&mut self, pull: Pull, relay: u32) {
        let cost = self.costs.0 + self.costs.1;
        if pull.repeats > 0 && self.repeats_bytes >= 0 {
            self.repeats_bytes -= cost;
        } else {
            self.savings_bytes -= cost;
        }
        self.open.push(Open { row: pull.row, relay, repeats: pull.repeats, looks: 0 });
    }

    /// Ends a look: what is open now is late at the next one, or at one after it where answers
    /// have taken longer lately.
    pub fn looked(&mut self) {
        for open in self.open.iter_mut().chain(&mut self.given_up) {
            open.looks = open.looks.saturating_add(1);
        }
        // What comes later than that teaches nothing more.
        self.given_up.retain(|open| open.looks <= MAX_PATIENCE);
    }

    /// An answer of `bytes` came from `relay`; returns its row if it was waited for.
    pub fn answered(&mut self, relay: u32, bytes: usize, now: i64) -> Option<usize> {
        let Some(at) = self.open.iter().position(|open| open.relay == relay) else {
            self.answered_late(relay, now);
            return None;
        };
        let Open { row, looks, .. } = self.open.swap_remove(at);
        self.patience.kept(looks);
        // What else comes from there now belongs to this answer.
        self.given_up.retain(|open| open.relay != relay);
        self.savings_bytes += self.costs.1 - bytes as i64;
        // Rows differ by one member at most, but members fall silent: follow what comes.
        self.costs.1 += (bytes as i64 - self.costs.1) / 8;
        self.answered[row] = Some(now);
        Some(row)
    }

    /// An answer came that was not waited for: of a request that was given up, or a further
    /// datagram of one.
    fn answered_late(&mut self, relay: u32, now: i64) {
        let of = self.given_up.iter().position(|open| open.relay == relay);
        if let Some(Open { row, looks, .. }) = of.map(|at| self.given_up.remove(at)) {
            self.patience.lost(looks);
            self.answered[row] = Some(now);
        }
    }

    /// The row whose turn is next.
    pub fn next_row(&self) -> usize {
        self.next_row
    }

    /// When a row was last answered.
    pub fn last_answer(&self, row: usize) -> Option<i64> {
        self.answered.get(row).copied().flatten()
    }
}

/// Picks whom to ask for a row, by its place in it: a random member whose entry is fresh, or
/// sometimes another. `below(n)` draws a number below n.
pub fn pick_relay(
    members: usize,
    is_fresh: impl Fn(usize) -> bool,
    mut below: impl FnMut(usize) -> usize,
) -> usize {
    let mut drawn = below(members);
    for _ in 1..DRAWS {
        if is_fresh(drawn) || below(TRUST) == 0 {
            break;
        }
        drawn = below(members);
    }
    drawn
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    fn puller(rows: usize) -> Puller {
        let mut puller = Puller::default();
        puller.restart(rows, rows / 2, (60, 940));
        puller
    }

    #[test]
    fn rows_are_pulled_in_turn_at_the_pace_of_the_earnings() {
        let mut puller = puller(4);
        let mut asked = [0i32; 4];
        for look in 0..1_000 {
            puller.earn(1_250);
            while let Some(pull) = puller.next_pull() {
                asked[pull.row] += 1;
                puller.asked(pull, pull.row as u32);
                puller.answered(pull.row as u32, 940, look).expect("it was asked");
            }
            puller.looked();
        }
        // 1,000 units earn 1,250 bytes each, 89 of them for repeats; a pull costs 1,000.
        assert!(asked.iter().sum::<i32>().abs_diff(1_161) <= 1, "{asked:?}");
        assert!(asked.iter().all(|&count| count.abs_diff(290) <= 1), "{asked:?}");
    }

    #[test]
    fn what_is_not_answered_is_asked_for_again_and_then_left() {
        // So many rows that the first one's turn does not come again.
        let mut puller = puller(9_000);
        puller.earn(1_000);
        let first = puller.next_pull().expect("there are savings");
        puller.asked(first, 7);
        let mut repeats = 0;
        for _ in 0..10 {
            puller.looked();
            puller.earn(20_000);
            while let Some(pull) = puller.next_pull() {
                let again = pull.row == first.row && pull.repeats > 0;
                repeats += u32::from(again);
                puller.asked(pull, if again { 7 } else { 100 + pull.row as u32 });
            }
        }
        assert_eq!(repeats, u32::from(MAX_REPEATS));
        assert_eq!(puller.answered(8, 10, 0), None);
    }

    /// Simulates looks, four a unit, in which each answer takes so many; when a request was made
    /// again for the last time.
    fn played(puller: &mut Puller, looks: u32, answer_looks: u32) -> Option<u32> {
        let (mut under_way, mut last, mut relay) = (VecDeque::new(), None, 0);
        for look in 0..looks {
            if look % 4 == 0 {
                puller.earn(5_000);
            }
            while under_way.front().is_some_and(|(at, _)| *at <= look) {
                let Some((_, relay)) = under_way.pop_front() else { break };
                if puller.answered(relay, 940, i64::from(look)).is_none() {
                    puller.spend(940);
                }
            }
            while let Some(pull) = puller.next_pull() {
                last = if pull.repeats > 0 { Some(look) } else { last };
                relay += 1;
                puller.asked(pull, relay);
                under_way.push_back((look + answer_looks, relay));
            }
            puller.looked();
        }
        last
    }

    /// Agents that got 5 % of a processor asked for each row up to four times, and so kept each
    /// other from answering.
    #[test]
    fn who_is_answered_late_waits_longer_and_asks_once() {
        let mut puller = puller(40);
        let last = played(&mut puller, 200, 5);
        assert_eq!(puller.patience.looks, 5);
        assert!(last.is_some_and(|look| look < 10), "it learns from the first: {last:?}");
        played(&mut puller, 200, 0);
        assert_eq!(puller.patience.looks, 1, "and forgets when answers come soon");
    }

    #[test]
    fn loss_teaches_no_patience() {
        let mut puller = puller(40);
        for look in 0..400 {
            puller.earn(2_000);
            while let Some(pull) = puller.next_pull() {
                puller.asked(pull, look);
            }
            puller.looked();
        }
        assert_eq!(puller.patience.looks, 1);
        assert!(puller.given_up.len() <= MAX_GIVEN_UP);
    }

    #[test]
    fn nothing_is_asked_for_without_savings_or_rows() {
        let mut poor = puller(4);
        poor.spend(1);
        assert_eq!(poor.next_pull(), None);
        let mut alone = puller(0);
        alone.earn(10_000);
        assert_eq!(alone.next_pull(), None);
    }
}
