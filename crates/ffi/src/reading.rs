//! What a node knows: entries, ages and counters.

use core::time::Duration;
use std::{ptr, slice};

use tidings_gossip::{EntryState, EntryView};

use crate::config::number;
use crate::node::{TidingsNode, with};
use crate::status::TidingsStatus;
use crate::transport::instant;

/// The age of an entry that was never heard of.
pub const TIDINGS_NO_AGE: u64 = u64::MAX;

/// How a node stands, as another one sees it.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TidingsState {
    /// Nothing was heard of it.
    Unheard = 0,
    /// It lives.
    Alive = 1,
    /// It is silent for longer than is usual.
    Suspected = 2,
    /// It was declared dead.
    Dead = 3,
    /// It said farewell.
    Left = 4,
}

/// What a node knows of another one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsEntry {
    /// How it stands.
    pub state: TidingsState,
    /// Which life of it this is; 0 if unheard.
    pub incarnation: u32,
    /// The number of the entry in that life; 0 if unheard.
    pub sequence: u32,
    /// How old the entry is, in microseconds; `TIDINGS_NO_AGE` if it is.
    pub age_us: u64,
    /// What it says of itself, until the next call with this node that is no reading; null if
    /// unheard.
    pub payload: *const u8,
    /// Bytes of that.
    pub payload_bytes: usize,
}

/// How complete and how fresh all entries but the own one are.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct TidingsAges {
    /// Nodes that were heard of.
    pub known: u32,
    /// Nodes that were not.
    pub unheard: u32,
    /// Mean age of the known, in microseconds; 0 if there are none.
    pub mean_us: u64,
    /// Age of the oldest, in microseconds.
    pub oldest_us: u64,
}

/// What a node did since it was made.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct TidingsCounters {
    /// Units of time it gossiped in.
    pub rounds: u64,
    /// Units passed over because it was not given a turn in time.
    pub rounds_skipped: u64,
    /// Messages that the transport took.
    pub messages_sent: u64,
    /// Messages that the transport refused.
    pub messages_refused: u64,
    /// Datagrams made; a message holds one or several.
    pub datagrams_sent: u64,
    /// Bytes of these.
    pub bytes_sent: u64,
    /// Entries sent.
    pub entries_sent: u64,
    /// Datagrams that arrived, dropped ones among them.
    pub datagrams_received: u64,
    /// Bytes of these.
    pub bytes_received: u64,
    /// Entries that arrived.
    pub entries_received: u64,
    /// Entries that were newer than the held ones.
    pub entries_news: u64,
}

fn micros(age: Duration) -> u64 {
    // An age is bounded by `forget_after`, a year at most.
    age.as_micros() as u64
}

impl TidingsEntry {
    fn of(view: &EntryView<'_>) -> Self {
        let state = match view.state {
            EntryState::Alive => TidingsState::Alive,
            EntryState::Suspected => TidingsState::Suspected,
            EntryState::Dead => TidingsState::Dead,
            EntryState::Left => TidingsState::Left,
            EntryState::Unheard => TidingsState::Unheard,
        };
        let heard = !view.payload.is_empty();
        Self {
            state,
            incarnation: view.incarnation,
            sequence: view.sequence.unwrap_or(0),
            age_us: view.age.map_or(TIDINGS_NO_AGE, micros),
            payload: if heard { view.payload.as_ptr() } else { ptr::null() },
            payload_bytes: view.payload.len(),
        }
    }
}

/// Writes what the node knows of the one called `number`, itself included, to `entry`.
///
/// # Safety
/// `node` as for `tidings_node_free`; `entry` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_node_entry(
    node: *mut TidingsNode,
    now_us: u64,
    number: u32,
    entry: *mut TidingsEntry,
) -> TidingsStatus {
    // SAFETY: it is null or valid, as the caller promises.
    let Some(entry) = (unsafe { entry.as_mut() }) else { return TidingsStatus::Null };
    let read = |node: &mut TidingsNode| {
        let id = node.ids.get(number as usize);
        match id.and_then(|id| node.node.entry_of(*id, instant(now_us))) {
            Some(view) => {
                *entry = TidingsEntry::of(&view);
                TidingsStatus::Ok
            }
            None => TidingsStatus::Number,
        }
    };
    // SAFETY: as the caller promises.
    unsafe { with(node, read) }
}

/// Writes the age of each node's entry in microseconds to `ages_us[number]`, its own as well;
/// `TIDINGS_NO_AGE` where there is none.
///
/// # Safety
/// `node` as for `tidings_node_free`; `ages_us` is null or has a place for each node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_node_all_ages(
    node: *mut TidingsNode,
    now_us: u64,
    ages_us: *mut u64,
) -> TidingsStatus {
    if ages_us.is_null() {
        return TidingsStatus::Null;
    }
    let read = |node: &mut TidingsNode| {
        // SAFETY: it is not null and has a place for each node, as the caller promises.
        let ages_us = unsafe { slice::from_raw_parts_mut(ages_us, node.ids.len()) };
        ages_us.fill(TIDINGS_NO_AGE);
        for view in node.node.entries(instant(now_us)) {
            let place = number(view.address).and_then(|number| ages_us.get_mut(number as usize));
            if let (Some(place), Some(age)) = (place, view.age) {
                *place = micros(age);
            }
        }
        TidingsStatus::Ok
    };
    // SAFETY: as the caller promises.
    unsafe { with(node, read) }
}

/// Writes how complete and how fresh the node's picture is to `ages`.
///
/// # Safety
/// `node` as for `tidings_node_free`; `ages` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_node_ages(
    node: *mut TidingsNode,
    now_us: u64,
    ages: *mut TidingsAges,
) -> TidingsStatus {
    // SAFETY: it is null or valid, as the caller promises.
    let Some(ages) = (unsafe { ages.as_mut() }) else { return TidingsStatus::Null };
    let read = |node: &mut TidingsNode| {
        let (mut total_us, mut seen) = (0, TidingsAges::default());
        let me = node.node.id();
        for view in node.node.entries(instant(now_us)).filter(|view| view.id != me) {
            if let Some(age) = view.age {
                (seen.known, total_us) = (seen.known + 1, total_us + micros(age));
                seen.oldest_us = seen.oldest_us.max(micros(age));
            }
        }
        seen.unheard = node.ids.len() as u32 - 1 - seen.known;
        seen.mean_us = total_us.checked_div(u64::from(seen.known)).unwrap_or(0);
        *ages = seen;
        TidingsStatus::Ok
    };
    // SAFETY: as the caller promises.
    unsafe { with(node, read) }
}

/// Writes what the node did since it was made to `counters`.
///
/// # Safety
/// `node` as for `tidings_node_free`; `counters` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_node_counters(
    node: *mut TidingsNode,
    counters: *mut TidingsCounters,
) -> TidingsStatus {
    // SAFETY: it is null or valid, as the caller promises.
    let Some(counters) = (unsafe { counters.as_mut() }) else { return TidingsStatus::Null };
    let read = |node: &mut TidingsNode| {
        let core = node.node.counters();
        *counters = TidingsCounters {
            rounds: core.rounds,
            rounds_skipped: core.rounds_skipped,
            messages_sent: node.messages.0,
            messages_refused: node.messages.1,
            datagrams_sent: core.datagrams_sent,
            bytes_sent: core.bytes_sent,
            entries_sent: core.entries_sent,
            datagrams_received: core.datagrams_received,
            bytes_received: core.bytes_received,
            entries_received: core.entries_received,
            entries_news: core.entries_news,
        };
        TidingsStatus::Ok
    };
    // SAFETY: as the caller promises.
    unsafe { with(node, read) }
}
