//! Gossip beside the programs of a series: hidden ranks of the shim, once asleep and once
//! gossiping.
//!
//! Each run of such a program is two, one after the other, which differ in nothing but what the
//! hidden ranks do. Which of them comes first alternates, so that a machine that warms up or slows
//! down favours neither. The setting `beside` of a run says which it is.

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::hidden::{Hidden, REPORT};
use super::kinds::{Cell, Machine};
use crate::ExperimentError;
use crate::backend::Backend;
use crate::text::Source;

/// The setting that says what hidden ranks do.
pub const SETTING: &str = "beside";
/// Hidden ranks that sleep.
pub const ASLEEP: &str = "asleep";
/// Hidden ranks that gossip.
pub const GOSSIP: &str = "gossip";

/// One hidden rank alone has nobody to gossip with.
const LEAST_HIDDEN: u32 = 2;

/// As a series' file has it.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BesideText {
    every: Spanned<u32>,
    #[serde(default)]
    options: String,
}

/// Each cell twice: with hidden ranks that sleep, and with such that gossip. Which of them comes
/// first alternates, from the cell that `first` counts on.
pub(super) fn doubled(
    place: &Source<'_>,
    text: &BesideText,
    machines: &[Machine],
    (cells, first): (Vec<Cell>, usize),
) -> Result<Vec<Cell>, ExperimentError> {
    let every = place.within("every", &text.every, 2, 4_096)?;
    let mut all = Vec::with_capacity(2 * cells.len());
    for (at, cell) in cells.into_iter().enumerate() {
        let machine = &machines[cell.machine];
        must_hide(place, text, machine, cell.nodes)?;
        let with = |gossip: Option<&String>| {
            let mut own = cell.clone();
            let word = if gossip.is_some() { GOSSIP } else { ASLEEP };
            own.settings.insert(SETTING.to_owned(), Value::from(word));
            if gossip.is_some() {
                own.report.get_or_insert_with(|| REPORT.to_owned());
            }
            own.hidden = Some(Hidden { every, gossip: gossip.cloned() });
            own
        };
        let mut pair = [with(None), with(Some(&text.options))];
        if (first + at) % 2 == 1 {
            pair.reverse();
        }
        all.extend(pair);
    }
    Ok(all)
}

/// Refuses a machine without a shim, and ranks of which none can be hidden evenly.
fn must_hide(
    place: &Source<'_>,
    text: &BesideText,
    machine: &Machine,
    nodes: u32,
) -> Result<(), ExperimentError> {
    let refused = |reason: String| Err(place.refuse(&text.every, reason));
    if machine.backend.mpi().is_none_or(|mpi| mpi.shim.is_none()) {
        return refused(format!(
            "gossip beside a program is that of the shim, and machine `{}` has none: write `shim` \
             into its backend, of kind local, hosts or slurm",
            machine.name
        ));
    }
    let (every, ranks) = (*text.every.get_ref(), nodes * machine.ranks_per_node);
    // On this machine all nodes are one.
    let nodes = if matches!(machine.backend, Backend::Local(_)) { 1 } else { nodes };
    let hidden = ranks / (every - 1);
    if ranks % (every - 1) != 0 || hidden < LEAST_HIDDEN || (ranks + hidden) % nodes != 0 {
        return refused(format!(
            "every = {every} hides {hidden} ranks beside {ranks} on {nodes} nodes: choose it so that \
             every - 1 divides the ranks, {LEAST_HIDDEN} are hidden at least, and nodes have as many"
        ));
    }
    Ok(())
}
