//! Items: tasks that carry data for programs that claim them, and no work for workers.
//!
//! Items need a resource that only those offer who claim, so workers leave them alone.

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::Request;
use tidings_tasks_core::resources::{Amount, Need, NeedError};

/// What those offer who claim, and what an item needs.
pub const CLAIM: &str = "claim";

/// A whole one, in thousandths.
const ONE: u64 = 1_000;

/// What an item needs.
///
/// # Panics
/// Never: one short name is no list that is too long.
pub fn need() -> Need {
    Need::new([(CLAIM.to_owned(), ONE)]).expect("one short name is no list that is too long")
}

/// What an item needs that takes these resources of the one that claims it.
///
/// # Errors
/// They are too many, or one of them is that of items.
pub fn need_of(others: &[(String, Amount)]) -> Result<Need, NeedError> {
    Need::new(core::iter::once((CLAIM.to_owned(), ONE)).chain(others.iter().cloned()))
}

/// Whether a task with this need is an item.
pub fn is_item(need: &Need) -> bool {
    need.iter().any(|(name, _)| name == CLAIM)
}

/// What a session offers that claims so many items of a queue at a time.
pub fn offer(queue: &str, slots: u32) -> Request {
    offer_with(queue, slots, &[])
}

/// As [`offer`], by one that has these resources as well, for items that need more.
pub fn offer_with(queue: &str, slots: u32, others: &[(String, Amount)]) -> Request {
    let own = (CLAIM.to_owned(), ONE * u64::from(slots));
    let resources = core::iter::once(own).chain(others.iter().cloned()).collect();
    Request::Offer { queues: vec![queue.to_owned()], slots, resources, ahead: 0, full: None }
}

/// The id of the item of a queue that is known by a key: put again, nothing is added.
pub fn id(queue: &str, key: &str) -> TaskId {
    TaskId::of(&format!("queue\0{queue}\0{key}"), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_a_claim_is_an_item() {
        let more = need_of(&[("gpu".to_owned(), ONE)]).unwrap();
        assert!(is_item(&need()) && is_item(&more) && !is_item(&Need::default()));
    }

    #[test]
    fn those_who_claim_have_what_items_need() {
        let Request::Offer { queues, slots, resources, .. } = offer("q", 3) else { unreachable!() };
        assert_eq!((queues, slots), (vec!["q".to_owned()], 3));
        assert!(need().fits(&resources));
    }
}
