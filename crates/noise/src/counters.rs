//! What the kernel counts for anybody: the second-best account of who took a core.
//!
//! /proc/interrupts and /proc/softirqs count, but say not how long; a thread's `schedstat` says how
//! long it waited while another ran, but not which; /proc/stat has the hypervisor's steal, in
//! hundredths of a second. Two readings make a difference, [`Counters::since`].

use std::collections::BTreeMap;
use std::fs;

/// Hundredths of a second, in which /proc/stat counts (`USER_HZ`, the same on all of Linux).
const TICK_NS: u64 = 10_000_000;

/// A count by what it is of: `LOC`, `36 virtio1-req.0`.
pub type Counts = BTreeMap<String, u64>;

/// One reading, or the difference of two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Interrupts of each core.
    pub interrupts: BTreeMap<u32, Counts>,
    /// Soft interrupts of each core.
    pub softirqs: BTreeMap<u32, Counts>,
    /// The hypervisor's steal of each core.
    pub steal_ns: BTreeMap<u32, u64>,
}

/// What the kernel says of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// How long it waited for a core while it could have run.
    pub waited_ns: u64,
    /// How often another took its core.
    pub preemptions: u64,
    /// Page faults without a disk.
    pub faults: u64,
}

impl Counters {
    /// What the kernel says now; what it does not say is empty.
    pub fn now() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Self {
            interrupts: table(&text("/proc/interrupts")),
            softirqs: table(&text("/proc/softirqs")),
            steal_ns: steal(&text("/proc/stat")),
        }
    }

    /// What was counted from `before` on.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let counts = |now: &Counts, before: Option<&Counts>| {
            let old = |name: &String| before.and_then(|before| before.get(name)).copied();
            let grown = now
                .iter()
                .map(|(name, count)| (name.clone(), count.saturating_sub(old(name).unwrap_or(0))));
            grown.filter(|(_, count)| *count > 0).collect()
        };
        let tables = |now: &BTreeMap<u32, Counts>, before: &BTreeMap<u32, Counts>| {
            now.iter().map(|(core, own)| (*core, counts(own, before.get(core)))).collect()
        };
        let steal = self.steal_ns.iter().map(|(core, now)| {
            (*core, now.saturating_sub(before.steal_ns.get(core).copied().unwrap_or(*now)))
        });
        Self {
            interrupts: tables(&self.interrupts, &before.interrupts),
            softirqs: tables(&self.softirqs, &before.softirqs),
            steal_ns: steal.collect(),
        }
    }
}

impl Thread {
    /// What the kernel says now of a thread of this process.
    pub fn now(thread: u32) -> Self {
        let text = |file: &str| {
            fs::read_to_string(format!("/proc/self/task/{thread}/{file}")).unwrap_or_default()
        };
        Self::parse(&text("schedstat"), &text("status"), &text("stat"))
    }

    fn parse(schedstat: &str, status: &str, stat: &str) -> Self {
        let number = |text: Option<&str>| text.and_then(|text| text.trim().parse().ok());
        let switches =
            status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
        // The name in brackets may hold spaces; ten fields lie between it and the count.
        let after = stat.rsplit(')').next().unwrap_or_default();
        Self {
            waited_ns: number(schedstat.split_whitespace().nth(1)).unwrap_or(0),
            preemptions: number(switches).unwrap_or(0),
            faults: number(after.split_whitespace().nth(7)).unwrap_or(0),
        }
    }

    /// What was counted from `before` on.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            waited_ns: self.waited_ns.saturating_sub(before.waited_ns),
            preemptions: self.preemptions.saturating_sub(before.preemptions),
            faults: self.faults.saturating_sub(before.faults),
        }
    }
}

/// A table with a column for each core: what each row counts, by core.
fn table(text: &str) -> BTreeMap<u32, Counts> {
    let mut lines = text.lines();
    let heading = lines.next().unwrap_or_default().split_whitespace();
    let cores: Vec<u32> =
        heading.filter_map(|word| word.strip_prefix("CPU")?.parse().ok()).collect();
    let mut all: BTreeMap<u32, Counts> = cores.iter().map(|&core| (core, Counts::new())).collect();
    for line in lines {
        let Some((row, rest)) = line.split_once(':') else { continue };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let counts = words.iter().map_while(|word| word.parse::<u64>().ok());
        let counts: Vec<u64> = counts.take(cores.len()).collect();
        if counts.len() < cores.len() {
            continue; // a row of the whole machine, such as ERR
        }
        let row = row.trim();
        let is_device = row.bytes().all(|byte| byte.is_ascii_digit());
        let device = words.last().filter(|_| is_device).map(|name| format!("{row} {name}"));
        let name = device.unwrap_or_else(|| row.to_owned());
        for (core, count) in cores.iter().zip(counts) {
            all.entry(*core).or_default().insert(name.clone(), count);
        }
    }
    all
}

/// The eighth number of each `cpuN` of /proc/stat.
fn steal(text: &str) -> BTreeMap<u32, u64> {
    let of_core = |line: &str| {
        let mut words = line.split_whitespace();
        let core = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        let ticks: u64 = words.nth(7)?.parse().ok()?;
        Some((core, ticks.saturating_mul(TICK_NS)))
    };
    text.lines().filter_map(of_core).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERRUPTS: &str = "           CPU0       CPU1       \n \
        36:          0    3266504 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n\
        LOC:    9342130    8876763   Local timer interrupts\n\
        ERR:          0\n";

    #[test]
    fn interrupts_are_counted_by_core_and_name() {
        let table = table(INTERRUPTS);
        assert_eq!(table[&1]["36 virtio1-req.0"], 3_266_504);
        assert_eq!((table[&0]["LOC"], table[&0].contains_key("ERR")), (9_342_130, false));
        let softirqs = super::table("       CPU0  CPU1\n  HI:  0  1\n NET_RX:  4  5\n");
        assert_eq!((softirqs[&1]["NET_RX"], softirqs[&0]["HI"]), (5, 0));
        assert!(super::table("").is_empty());
    }

    #[test]
    fn what_has_grown_between_two_readings() {
        let before = Counters { interrupts: table(INTERRUPTS), ..Counters::default() };
        let grown = INTERRUPTS.replace("8876763", "8876770");
        let after = Counters { interrupts: table(&grown), ..Counters::default() };
        let between = after.since(&before);
        assert_eq!(between.interrupts[&1], Counts::from([("LOC".to_owned(), 7)]));
        assert!(between.interrupts[&0].is_empty());
    }

    #[test]
    fn steal_and_what_a_thread_waited() {
        let stat = "cpu  1 2 3 4 5 6 7 8 0 0\ncpu1 1 2 3 4 5 6 7 992 0 0\nintr 5\n";
        assert_eq!(steal(stat), BTreeMap::from([(1, 9_920_000_000)]));
        let status = "Name:\tx\nnonvoluntary_ctxt_switches:\t12\n";
        let stat = "9 (a ) b) R 1 2 3 4 5 6 77 8 9";
        let thread = Thread::parse("174890 7851176 2\n", status, stat);
        assert_eq!(thread, Thread { waited_ns: 7_851_176, preemptions: 12, faults: 77 });
        assert_eq!(Thread::parse("", "", ""), Thread::default());
    }
}
