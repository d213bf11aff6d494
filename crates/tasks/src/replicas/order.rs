//! The order of nodes for a blob: by their numbers mixed with its hash.

use std::collections::BTreeSet;

use tidings_primitives::chance::mix;
use tidings_tasks_core::output::Reached;

use crate::blobs::Handle;

/// The nodes for a blob, of different hosts, those first that are to have it.
pub(super) fn order<'a>(nodes: &'a [Reached], blob: &Handle) -> Vec<&'a Reached> {
    let seed = blob.hash.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let mut all: Vec<(u64, &Reached)> =
        nodes.iter().map(|node| (mix(seed ^ mix(node.depot.id)), node)).collect();
    all.sort_unstable_by_key(|(mixed, node)| (core::cmp::Reverse(*mixed), node.depot.id));
    let mut hosts = BTreeSet::new();
    let all = all.into_iter().map(|(_, node)| node);
    all.filter(|node| hosts.insert(node.depot.host.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use tidings_tasks_core::output::Depot;

    use super::super::COPIES;
    use super::*;

    fn nodes(count: u64) -> Vec<Reached> {
        let node = |id: u64| Reached {
            depot: Depot { id, host: format!("n{id}") },
            address: format!("n{id}:1"),
            folder: None,
        };
        (1..=count).map(node).collect()
    }

    fn first(nodes: &[Reached], blob: u64) -> BTreeSet<u64> {
        let blob = Handle::of(&blob.to_le_bytes());
        order(nodes, &blob).iter().take(COPIES).map(|node| node.depot.id).collect()
    }

    #[test]
    fn no_host_has_a_blob_twice() {
        let mut nodes = nodes(4);
        let host = nodes[0].depot.host.clone();
        nodes[1].depot.host = host;
        for blob in 0..100_u64 {
            let order = order(&nodes, &Handle::of(&blob.to_le_bytes()));
            let hosts: BTreeSet<&str> = order.iter().map(|node| &*node.depot.host).collect();
            assert_eq!((order.len(), hosts.len()), (3, 3));
        }
    }

    #[test]
    fn all_nodes_have_as_many_and_one_that_comes_takes_its_share_alone() {
        let (few, many) = (nodes(20), nodes(21));
        let mut had = [0; 22];
        for blob in 0..4_000 {
            let (before, after) = (first(&few, blob), first(&many, blob));
            for id in &after {
                had[*id as usize] += 1;
            }
            assert!(after.difference(&before).all(|id| *id == 21), "nothing else moves");
        }
        // 4,000 blobs three times on 21 nodes: 571 each, with a deviation of 22.
        assert!(had[1..].iter().all(|count| (450..=700).contains(count)), "{had:?}");
    }
}
