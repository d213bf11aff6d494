//! From records to events: which tracepoints are used, and what each says.
//!
//! Interrupts of the processor itself are pairs `X_entry` and `X_exit` in `irq_vectors` (x86);
//! elsewhere the timer is a device with an interrupt of its own. What a kernel has not is left out.

use std::collections::BTreeMap;

use super::event::{Event, What};
use super::format::Format;
use crate::source::{Kind, Names, SourceId};

/// The tracepoints that must be there: without them little is named.
pub const NEEDED: [(&str, &str); 5] = [
    ("irq", "irq_handler_entry"),
    ("irq", "irq_handler_exit"),
    ("irq", "softirq_entry"),
    ("irq", "softirq_exit"),
    ("sched", "sched_switch"),
];
/// Those that are used where they are.
pub const WELCOME: [(&str, &str); 5] = [
    ("exceptions", "page_fault_user"),
    ("nmi", "nmi_handler"),
    ("ipi", "ipi_entry"),
    ("ipi", "ipi_exit"),
    ("irq_vectors", "*"),
];
/// Those of the tracer osnoise, each with a net duration, that must be there.
pub const NET: [(&str, &str); 4] = [
    ("osnoise", "irq_noise"),
    ("osnoise", "softirq_noise"),
    ("osnoise", "nmi_noise"),
    ("osnoise", "thread_noise"),
];
/// What is used beside them where it is.
pub const BESIDE_NET: [(&str, &str); 1] = [("exceptions", "page_fault_user")];
/// Of `irq_vectors`, the ends of names that say that an interrupt is served.
pub const VECTOR_ENDS: [&str; 2] = ["_entry", "_exit"];

/// The soft interrupts by number (`include/linux/interrupt.h`).
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// What records of one kind mean.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Meaning {
    Irq,
    Vector(String),
    Softirq,
    End,
    Switch,
    Fault,
    Nmi,
    NetIrq,
    NetSoftirq,
    NetNmi,
    NetThread,
}

/// The decoder of all records of a buffer.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    kinds: BTreeMap<u16, (Meaning, Format)>,
}

impl Decoder {
    /// Learns a tracepoint by its format; what it does not use is left aside.
    pub fn learn(&mut self, group: &str, name: &str, format: Format) {
        let meaning = match (group, name) {
            ("irq", "irq_handler_entry") => Meaning::Irq,
            ("irq", "softirq_entry") => Meaning::Softirq,
            ("irq", "irq_handler_exit" | "softirq_exit") | ("ipi", "ipi_exit") => Meaning::End,
            ("sched", "sched_switch") => Meaning::Switch,
            ("exceptions", "page_fault_user") => Meaning::Fault,
            ("nmi", "nmi_handler") => Meaning::Nmi,
            ("ipi", "ipi_entry") => Meaning::Vector("between processors".to_owned()),
            ("osnoise", "irq_noise") => Meaning::NetIrq,
            ("osnoise", "softirq_noise") => Meaning::NetSoftirq,
            ("osnoise", "nmi_noise") => Meaning::NetNmi,
            ("osnoise", "thread_noise") => Meaning::NetThread,
            ("irq_vectors", name) => {
                let [entry, exit] = VECTOR_ENDS;
                match (name.strip_suffix(entry), name.strip_suffix(exit)) {
                    (Some(vector), _) => Meaning::Vector(vector.replace('_', " ")),
                    (_, Some(_)) => Meaning::End,
                    _ => return,
                }
            }
            _ => return,
        };
        self.kinds.insert(format.id, (meaning, format));
    }

    /// The event of a record; `None` of one that was not learnt or is damaged.
    pub fn event(&self, at_ns: u64, core: u32, record: &[u8], names: &mut Names) -> Option<Event> {
        let id = u16::from_le_bytes(record.get(..2)?.try_into().ok()?);
        let (meaning, format) = self.kinds.get(&id)?;
        let current = format.number(record, "common_pid")? as u32;
        let number = |field: &str| format.number(record, field);
        let what = match meaning {
            Meaning::Irq => {
                What::Enter(interrupt(number("irq")?, &format.text(record, "name")?, names))
            }
            Meaning::Vector(vector) if vector == "local timer" => {
                What::Enter(names.id(Kind::Timer, ""))
            }
            Meaning::Vector(vector) => What::Enter(names.id(Kind::Interrupt, vector)),
            Meaning::Softirq => What::Enter(softirq(number("vec")?, names)),
            Meaning::End => What::Leave,
            Meaning::Switch => {
                let next = number("next_pid")? as u32;
                What::Switch(next, task(next, &format.text(record, "next_comm")?, names))
            }
            Meaning::Fault => What::Fault,
            Meaning::Nmi => {
                let served_ns = number("delta_ns")?;
                What::Served(names.id(Kind::Nmi, ""), served_ns)
            }
            Meaning::NetIrq => {
                let source = interrupt(number("vector")?, &format.text(record, "desc")?, names);
                What::Net(source, number("duration")?)
            }
            Meaning::NetSoftirq => {
                What::Net(softirq(number("vector")?, names), number("duration")?)
            }
            Meaning::NetNmi => What::Net(names.id(Kind::Nmi, ""), number("duration")?),
            Meaning::NetThread => {
                let thread = number("pid")? as u32;
                let source = task(thread, &format.text(record, "comm")?, names);
                What::Ran(thread, source, number("duration")?)
            }
        };
        Some(Event { at_ns, core, current, what })
    }
}

/// An interrupt of a device by its number and name; timers by their kind alone.
fn interrupt(number: u64, name: &str, names: &mut Names) -> SourceId {
    if name.contains("timer") {
        names.id(Kind::Timer, "")
    } else {
        names.id(Kind::Interrupt, &format!("{number} {name}"))
    }
}

fn softirq(number: u64, names: &mut Names) -> SourceId {
    names.id(Kind::Softirq, SOFTIRQS.get(number as usize).unwrap_or(&"unnamed"))
}

fn task(thread: u32, name: &str, names: &mut Names) -> SourceId {
    let name = if thread == 0 { "idle: nothing was allowed to run" } else { name };
    names.id(Kind::Preemption, name)
}

#[cfg(test)]
mod tests {
    use super::super::format::tests::{IRQ_ENTRY, irq_record};
    use super::*;
    use crate::source::Source;

    const TICK: &str = "name: local_timer_entry\nID: 165\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
        \tfield:int vector;\toffset:8;\tsize:4;\tsigned:1;\n";
    const SWITCH: &str = "name: sched_switch\nID: 372\nformat:\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
        \tfield:char next_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t next_pid;\toffset:24;\tsize:4;\tsigned:1;\n";

    fn decoder() -> Decoder {
        let mut decoder = Decoder::default();
        for (group, name, format) in [
            ("irq", "irq_handler_entry", IRQ_ENTRY),
            ("irq_vectors", "local_timer_entry", TICK),
            ("sched", "sched_switch", SWITCH),
        ] {
            decoder.learn(group, name, Format::parse(format).expect("a format"));
        }
        decoder
    }

    #[test]
    fn an_interrupt_has_its_number_and_its_name() {
        let mut names = Names::default();
        let event = decoder().event(5, 1, &irq_record(), &mut names).expect("an event");
        let What::Enter(id) = event.what else { panic!("{event:?}") };
        let wanted = Source { kind: Kind::Interrupt, name: "36 eth0".to_owned() };
        assert_eq!((names.source(id), event.current, event.core), (&wanted, 77, 1));
    }

    #[test]
    fn the_tick_and_a_switch_are_named() {
        let mut names = Names::default();
        let tick = [165, 0, 0, 0, 9, 0, 0, 0, 236, 0, 0, 0];
        let event = decoder().event(5, 0, &tick, &mut names).expect("an event");
        let What::Enter(id) = event.what else { panic!("{event:?}") };
        assert_eq!(names.source(id).kind, Kind::Timer);
        let mut switch = vec![116, 1, 0, 0, 9, 0, 0, 0];
        switch.extend(b"kworker/1:0\0\0\0\0\0");
        switch.extend([42, 0, 0, 0]);
        let event = decoder().event(5, 0, &switch, &mut names).expect("an event");
        let What::Switch(42, id) = event.what else { panic!("{event:?}") };
        assert_eq!(names.source(id).name, "kworker/1:0");
        assert_eq!(decoder().event(5, 0, &switch[..20], &mut names), None, "cut off");
        assert_eq!(decoder().event(5, 0, &[1, 0, 0, 0], &mut names), None, "never learnt");
    }
}
