//! What the cards of a host count: the kernel's own numbers, from `/proc/net/dev` of its network.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use crate::switch::within;

/// What a card has counted since it is there, whole frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Bytes that arrived.
    pub received_bytes: u64,
    /// Bytes that left.
    pub sent_bytes: u64,
}

/// The columns of bytes in a line of `/proc/net/dev`.
const RECEIVED: usize = 0;
const SENT: usize = 8;

/// The counts of all cards in a network namespace, by their names.
///
/// # Errors
/// What the system says, if there is no such namespace or this is not root.
pub(super) fn counts(namespace: &str) -> io::Result<BTreeMap<String, Count>> {
    within(namespace, || fs::read_to_string("/proc/thread-self/net/dev").map(|text| parsed(&text)))
}

fn parsed(text: &str) -> BTreeMap<String, Count> {
    let card = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        let numbers: Vec<u64> = rest.split_whitespace().map_while(|own| own.parse().ok()).collect();
        let count =
            Count { received_bytes: *numbers.get(RECEIVED)?, sent_bytes: *numbers.get(SENT)? };
        Some((name.trim().to_owned(), count))
    };
    text.lines().filter_map(card).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_by_their_columns_and_headings_are_no_cards() {
        let text = "Inter-|   Receive     |  Transmit\n face |bytes packets |bytes packets\n    \
                    lo:  10 1 0 0 0 0 0 0 10 1 0 0 0 0 0 0\n  x-up: 4542 3 0 0 0 0 0 0 \
                    1514 1 0 0 0 0 0 0\n torn: 1 2\n";
        let cards = parsed(text);
        assert_eq!(cards.len(), 2, "{cards:?}");
        assert_eq!(cards["x-up"], Count { received_bytes: 4542, sent_bytes: 1514 });
    }
}
