//! Seats: how the processes that share a store share its parts.
//!
//! A process that coordinates a part leaves a vacant one to others for a while, the longer the more
//! it has. So of several that stand by the one that has fewest takes it, without a word between
//! them; and a process that is alone soon has all. One that comes later asks for a part of whoever
//! has most, if that has two more at least, and is given it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tidings_tasks_core::id::Part;
use tokio::sync::watch;
use tokio::time::Instant;

/// For how long a vacant part is left to others, for each part that this process has.
const EACH: Duration = Duration::from_millis(100);

/// The parts that this process has, or is about to take, and who has the others. Its clones are the
/// same.
#[derive(Clone, Debug)]
pub struct Seats(Arc<watch::Sender<Taken>>);

#[derive(Debug, Default)]
struct Taken {
    mine: u32,
    /// Who has each of the other parts.
    others: BTreeMap<Part, String>,
}

impl Default for Seats {
    fn default() -> Self {
        Self(Arc::new(watch::channel(Taken::default()).0))
    }
}

/// One of the parts that this process has. Dropped, it has one less.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Seats,
    is_ceded: bool,
}

impl Seats {
    /// Takes a seat once a part was vacant for so long that others could have taken it.
    pub(super) async fn sit(&self) -> Seat {
        let (since, mut taken) = (Instant::now(), self.0.subscribe());
        loop {
            let mine = taken.borrow_and_update().mine;
            if since.elapsed() >= EACH * mine && self.change(mine, mine + 1) {
                return Seat { seats: self.clone(), is_ceded: false };
            }
            tokio::select! {
                () = tokio::time::sleep_until(since + EACH * mine) => {}
                // It does not end before this.
                _ = taken.changed() => {}
            }
        }
    }

    /// Has so many seats if it has so many.
    fn change(&self, from: u32, to: u32) -> bool {
        self.0.send_if_modified(|taken| {
            let as_seen = taken.mine == from;
            taken.mine = if as_seen { to } else { taken.mine };
            as_seen
        })
    }

    /// Another process has a part; or none.
    pub(super) fn is_of(&self, part: Part, coordinator: Option<&str>) {
        self.0.send_if_modified(|taken| match coordinator {
            Some(name) => taken.others.insert(part, name.to_owned()).as_deref() != Some(name),
            None => taken.others.remove(&part).is_some(),
        });
    }

    /// Returns when this process should ask for a part, with how many it has.
    pub(super) async fn wish(&self, part: Part) -> u32 {
        let mut taken = self.0.subscribe();
        let wishes = |taken: &Taken| taken.wishes_for(part);
        let mine = taken.wait_for(wishes).await.map(|taken| taken.mine);
        match mine {
            Ok(mine) => mine,
            Err(_) => core::future::pending().await,
        }
    }
}

impl Taken {
    /// Whether a part is the first of the process that has most, and that has two more than this
    /// one.
    fn wishes_for(&self, part: Part) -> bool {
        let mut counts: BTreeMap<&str, (u32, Part)> = BTreeMap::new();
        for (part, name) in &self.others {
            counts.entry(name).or_insert((0, *part)).0 += 1;
        }
        let most =
            counts.values().max_by_key(|(count, first)| (*count, core::cmp::Reverse(*first)));
        most.is_some_and(|(count, first)| *first == part && *count >= self.mine + 2)
    }
}

impl Seat {
    /// Gives the seat up for a process that has so many, if it has two less than this one.
    pub(super) fn cede(&mut self, to: u32) -> bool {
        self.is_ceded = self.is_ceded
            || self.seats.0.send_if_modified(|taken| {
                let has_more = taken.mine >= to.saturating_add(2);
                taken.mine -= u32::from(has_more);
                has_more
            });
        self.is_ceded
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if !self.is_ceded {
            self.seats.0.send_modify(|taken| taken.mine -= 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_has_more_leaves_a_part_to_others_for_longer() {
        let (seats, began) = (Seats::default(), Instant::now());
        let first = seats.sit().await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        let second = seats.sit().await;
        assert_eq!(began.elapsed(), EACH);
        let (others, waiting) = (seats.clone(), Instant::now());
        let third = crate::spawn::spawn(async move { others.sit().await });
        tokio::task::yield_now().await;
        // One that has less in the meantime waits for less.
        drop((first, second));
        third.await.unwrap();
        assert_eq!(waiting.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_is_asked_of_who_has_two_more_and_given() {
        let (here, there) = (Seats::default(), Seats::default());
        for part in (0..3).map(Part) {
            there.is_of(part, Some("here"));
        }
        assert_eq!(there.wish(Part(0)).await, 0);
        let mut all = [here.sit().await, here.sit().await, here.sit().await];
        assert!(all[0].cede(0) && all[0].cede(0), "it is given once");
        assert!(!all[1].cede(1), "two and one are as even as three can be");
        drop(all);
        assert_eq!(here.0.borrow().mine, 0);
        let _seat = there.sit().await;
        there.is_of(Part(0), None);
        assert!(!there.0.borrow().wishes_for(Part(1)));
    }
}
