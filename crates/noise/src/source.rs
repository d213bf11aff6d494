//! Who takes time from a core, by kind and by name.
//!
//! Names come from the kernel (interrupts, tasks) and there may be many: a [`Names`] numbers them,
//! and beyond a bound calls the rest of a kind `others`, so that an hour of short-lived tasks
//! cannot fill the memory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How many names are kept.
const MOST_NAMES: usize = 4_096;
/// What a name beyond them is called.
const OTHERS: &str = "others";

/// The kinds of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The timer's interrupt: the tick, and timers that expire in it.
    Timer,
    /// Another interrupt.
    Interrupt,
    /// A non-maskable interrupt.
    Nmi,
    /// A soft interrupt.
    Softirq,
    /// Another task ran.
    Preemption,
    /// The probe's own page fault.
    PageFault,
    /// The hypervisor ran something else, by its own account.
    Steal,
    /// Nobody is known.
    Unknown,
}

impl Kind {
    /// The word for it in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Timer => "timer",
            Self::Interrupt => "interrupt",
            Self::Nmi => "nmi",
            Self::Softirq => "softirq",
            Self::Preemption => "preemption",
            Self::PageFault => "page fault",
            Self::Steal => "steal",
            Self::Unknown => "unknown",
        }
    }
}

/// A source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Source {
    /// Of which kind.
    pub kind: Kind,
    /// Which one: an interrupt's number and name, a task's name; empty where there is one.
    pub name: String,
}

/// A source by its number in [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceId(pub u32);

/// The sources met so far.
#[derive(Clone, Debug, Default)]
pub struct Names {
    numbers: BTreeMap<Source, SourceId>,
    sources: Vec<Source>,
}

impl Names {
    /// The number of a source.
    pub fn id(&mut self, kind: Kind, name: &str) -> SourceId {
        let source = Source { kind, name: name.to_owned() };
        if let Some(&id) = self.numbers.get(&source) {
            return id;
        }
        if self.sources.len() >= MOST_NAMES && name != OTHERS {
            return self.id(kind, OTHERS);
        }
        let id = SourceId(self.sources.len() as u32);
        self.numbers.insert(source.clone(), id);
        self.sources.push(source);
        id
    }

    /// The source with a number that [`Self::id`] gave.
    pub fn source(&self, id: SourceId) -> &Source {
        &self.sources[id.0 as usize]
    }

    /// All, in the order of their numbers.
    pub fn all(&self) -> &[Source] {
        &self.sources
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_numbers_and_are_bounded() {
        let mut names = Names::default();
        let tick = names.id(Kind::Timer, "");
        assert_eq!(names.id(Kind::Timer, ""), tick);
        for task in 0..2 * MOST_NAMES {
            names.id(Kind::Preemption, &format!("task-{task}"));
        }
        let late = names.id(Kind::Preemption, "late");
        assert_eq!(names.source(late).name, OTHERS);
        assert!(names.all().len() <= MOST_NAMES + 8);
        assert_eq!(names.source(tick).kind, Kind::Timer);
    }
}
