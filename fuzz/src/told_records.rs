//! Records of colonies behind windows of version 3, and what a pull says of their bases: written
//! without the core's own encoder, but for the changes themselves.

use std::time::Duration;

use sha2::{Digest, Sha256};
use tidings_gossip::aggregate::{Aggregate, Contribution, MAX_BYTES};
use tidings_gossip::payload::NodeState;

use super::input::Input;

/// The mark of a window that has records.
const RECORDS: u8 = 8;
/// Records of a window, at most.
const MOST: u8 = 4;
/// Kinds: whole and a base, by a base that is held, and with its base.
const BASE: u8 = 1;
const CHANGE: u8 = 2;
const WITH_BASE: u8 = 3;

/// Up to three records of colonies near each other, which need not ascend: each of any kind, of an
/// aggregate, a base and an age of the input's choice, and with a byte that may be changed.
pub(crate) fn records(input: &mut Input<'_>, body: &mut Vec<u8>) {
    let (mut colony, mut names, mut digest_at) = (5u32, Sha256::new(), None);
    names.update("tidings aggregates 1 ");
    let marks_at = 1;
    body[marks_at] |= RECORDS;
    for _ in 0..input.byte() % MOST {
        let what = input.byte();
        colony += u32::from(what & 3);
        let kind = what >> 2 & 3;
        let (aggregate, base) = (aggregate(what >> 4), aggregate(input.byte()));
        let (is, was) = (encoded(&aggregate), encoded(&base));
        let mut change = [0; MAX_BYTES];
        let written = aggregate.encode_change(&base, &mut change).unwrap_or_default();
        let age = input.word().to_le_bytes();
        let told = match kind {
            CHANGE => change[..written].to_vec(),
            WITH_BASE => {
                let head = [[age[0], age[1]], (was.len() as u16).to_le_bytes()].concat();
                [&head, &was[..], &change[..written]].concat()
            }
            _ => is,
        };
        body.extend(colony.to_le_bytes());
        body.extend(age);
        body.extend((told.len() as u16 | u16::from(kind) << 14).to_le_bytes());
        body.push(0);
        if kind == CHANGE {
            if digest_at.is_none() {
                digest_at = Some(body.len());
                body.extend([0; 8]);
            }
            let name = Sha256::new().chain_update("tidings aggregate 1 ");
            let name = name.chain_update(colony.to_le_bytes()).chain_update(&was);
            names.update(&name.finalize()[..8]);
        }
        body.extend(told);
        let damage = input.byte();
        let last = body.last_mut().expect("it was extended");
        *last ^= if kind == BASE { 0 } else { damage };
    }
    if let Some(at) = digest_at {
        body[at..at + 8].copy_from_slice(&names.finalize()[..8]);
    }
}

/// All colonies, and what is said of the bases of some: any bytes.
pub(crate) fn inventory(input: &mut Input<'_>, pull: &mut Vec<u8>) {
    pull.extend([0; 4]);
    pull.extend([0xFF; 4]);
    let colonies = input.byte();
    pull.push(colonies);
    // Salt, roll and marks.
    let marks = if colonies == 0 { 0 } else { 5 + usize::from(colonies) };
    pull.extend(input.bytes(marks));
}

/// The aggregate of 40 nodes with loads of the input's choice.
fn aggregate(choice: u8) -> Aggregate {
    let mut aggregate = Aggregate::default();
    for node in 0..40u16 {
        let mut payload = [0; 64];
        let load1 = f64::from(node) + if node % 16 == u16::from(choice % 16) { 0.5 } else { 0.0 };
        let state = NodeState { load1: Some(load1), ..NodeState::default() };
        state.encode(&mut payload).expect("64 bytes hold a reading");
        let (age, payload) = (Duration::from_millis(u64::from(choice)), &payload[..]);
        aggregate.add(Contribution::Alive { age, payload }, Duration::from_secs(60));
    }
    aggregate
}

fn encoded(aggregate: &Aggregate) -> Vec<u8> {
    let mut bytes = [0; MAX_BYTES];
    let written = aggregate.encode(&mut bytes).expect("40 nodes fit");
    bytes[..written].to_vec()
}
