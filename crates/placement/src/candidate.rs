//! A candidate: what is known of a node that could get work, and what it has left.

/// After how many seconds an entry counts for half: load changes that much in about that time.
const HALF_LIFE_S: f64 = 10.0;

/// A node that could get work.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// The age of its entry, in seconds.
    pub age_s: f64,
    /// Its processors.
    pub cpus: f64,
    /// Those that are busy, those of earlier picks included.
    pub busy_cpus: f64,
    /// Memory in bytes.
    pub mem_bytes: u64,
    /// Memory that is free, less that of earlier picks, in bytes.
    pub mem_free_bytes: u64,
}

/// What a node must have left to get the work.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Need {
    /// Processors that are not busy.
    pub cpus: f64,
    /// Bytes of memory that are free.
    pub mem_bytes: u64,
}

impl Candidate {
    /// An idle node, with a new entry.
    pub fn idle(name: &str, cpus: f64, mem_bytes: u64) -> Self {
        let mem_free_bytes = mem_bytes;
        Self { name: name.to_owned(), age_s: 0.0, cpus, busy_cpus: 0.0, mem_bytes, mem_free_bytes }
    }

    /// The same node with `busy_cpus` processors busy.
    #[must_use]
    pub fn with_busy_cpus(self, busy_cpus: f64) -> Self {
        Self { busy_cpus, ..self }
    }

    /// Processors that are not busy, by its entry.
    pub fn free_cpus(&self) -> f64 {
        (self.cpus - self.busy_cpus).max(0.0)
    }

    /// Whether it has what is needed, by its entry.
    pub fn has(&self, need: Need) -> bool {
        self.free_cpus() >= need.cpus && self.mem_free_bytes >= need.mem_bytes
    }

    /// The share of its processors that is expected to be busy now, if nodes of which nothing is
    /// known are busy to the share `usual`: the entry counts for half after ten seconds.
    pub fn expected(&self, usual: f64) -> f64 {
        let reported = if self.cpus > 0.0 { self.busy_cpus / self.cpus } else { 1.0 };
        let weight = (-self.age_s.max(0.0) / HALF_LIFE_S).exp2();
        usual + (reported - usual) * weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_the_entry_the_nearer_to_the_average() {
        let mut idle = Candidate::idle("n1", 8.0, 1);
        assert!(idle.expected(0.6) < 1e-9);
        idle.age_s = 10.0;
        assert!((idle.expected(0.6) - 0.3).abs() < 1e-9);
        idle.age_s = 1e6;
        assert!((idle.expected(0.6) - 0.6).abs() < 1e-9);
    }

    #[test]
    fn a_node_has_what_is_left_of_it() {
        let node = Candidate::idle("n1", 8.0, 16).with_busy_cpus(5.5);
        assert!(node.has(Need { cpus: 2.5, mem_bytes: 16 }));
        assert!(!node.has(Need { cpus: 3.0, mem_bytes: 0 }));
        assert!(!node.has(Need { cpus: 0.0, mem_bytes: 17 }));
        assert!(node.with_busy_cpus(99.0).free_cpus().abs() < 1e-9);
    }
}
