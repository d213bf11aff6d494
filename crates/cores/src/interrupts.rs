//! Interrupts of devices: where each may arrive, where it does, whether it can be moved, how often.

use std::collections::BTreeMap;

use crate::machine::Machine;
use crate::set::CoreSet;

/// The interrupt of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// Its number.
    pub number: u32,
    /// Whose it is.
    pub name: String,
    /// Where it may arrive.
    pub affinity: CoreSet,
    /// Where it does.
    pub effective: CoreSet,
    /// Whether it can be moved; nothing if that cannot be found out without root.
    pub movable: Option<bool>,
}

impl Interrupt {
    /// Whether it stays on this core and serves others too.
    ///
    /// The kernel gives a device with many queues one for each core, which arrives there for what
    /// that core itself has asked for: such a one is no disturbance from outside.
    pub fn disturbs(&self, core: u32, siblings: &CoreSet) -> bool {
        let serves_others = !self.affinity.without(siblings).is_empty();
        self.movable == Some(false) && self.effective.has(core) && serves_others
    }
}

/// The interrupts of a machine, by number.
pub fn read(machine: &dyn Machine) -> Vec<Interrupt> {
    let numbers = machine.list("/proc/irq");
    let mut numbers: Vec<u32> = numbers.iter().filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    let list = |path: &str| machine.read(path).ok().and_then(|text| text.parse().ok());
    let one = |number: u32| {
        let affinity: CoreSet = list(&path(number))?;
        let effective = list(&format!("/proc/irq/{number}/effective_affinity_list"));
        let (name, movable) = (name(machine, number), machine.may_move(number));
        let effective = effective.unwrap_or_else(|| affinity.clone());
        Some(Interrupt { number, name, affinity, effective, movable })
    };
    numbers.into_iter().filter_map(one).collect()
}

/// The knob of an interrupt.
pub(crate) fn path(number: u32) -> String {
    format!("/proc/irq/{number}/smp_affinity_list")
}

/// Whose an interrupt is; empty if nobody asks for it.
pub(crate) fn name(machine: &dyn Machine, number: u32) -> String {
    let name = machine.read(&format!("/sys/kernel/irq/{number}/actions"));
    name.map(|name| name.trim().to_owned()).unwrap_or_default()
}

/// How often each source has interrupted each core, as /proc/interrupts says.
pub fn counts(machine: &dyn Machine) -> BTreeMap<(String, u32), u64> {
    let text = machine.read("/proc/interrupts").unwrap_or_default();
    let mut lines = text.lines();
    let heading = lines.next().unwrap_or_default().split_whitespace();
    let cores: Vec<u32> =
        heading.filter_map(|word| word.strip_prefix("CPU")?.parse().ok()).collect();
    let mut counts = BTreeMap::new();
    for line in lines {
        let Some((source, rest)) = line.split_once(':') else { continue };
        for (&core, count) in cores.iter().zip(rest.split_whitespace()) {
            if let Ok(count) = count.parse() {
                counts.insert((source.trim().to_owned(), core), count);
            }
        }
    }
    counts
}
