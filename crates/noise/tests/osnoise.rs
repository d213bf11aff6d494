//! The example of the kernel's documentation of osnoise (Documentation/trace/osnoise-tracer.rst),
//! as the kernel writes it into its buffer, with the fields of include/trace/events/osnoise.h.
//!
//! The kernel on which this was written does not have that tracer: what is tested is that its
//! records are understood, down to the name of each nanosecond of the gap that is told there.

use std::collections::BTreeMap;

use tidings_noise::naming::{Named, name};
use tidings_noise::samples::Gap;
use tidings_noise::source::{Kind, Names};
use tidings_noise::timeline::Timeline;
use tidings_noise::trace::decode::Decoder;
use tidings_noise::trace::format::Format;
use tidings_noise::trace::page::{Layout, read};

const CORE: u32 = 8;
/// The thread that is disturbed.
const PROBE: u32 = 961;

/// A second of the example, which all of its times have.
const SECOND_NS: u64 = 5_789_000_000_000;

const HEADER: &str = "\
\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
";

const COMMON: &str = "\
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
";

const IRQ: (u16, &str) = (
    366,
    "\tfield:u64 start;\toffset:8;\tsize:8;\tsigned:0;
\tfield:u64 duration;\toffset:16;\tsize:8;\tsigned:0;
\tfield:__data_loc char[] desc;\toffset:24;\tsize:4;\tsigned:0;
\tfield:int vector;\toffset:28;\tsize:4;\tsigned:1;
",
);
const SOFTIRQ: (u16, &str) = (
    367,
    "\tfield:u64 start;\toffset:8;\tsize:8;\tsigned:0;
\tfield:u64 duration;\toffset:16;\tsize:8;\tsigned:0;
\tfield:int vector;\toffset:24;\tsize:4;\tsigned:1;
",
);
const THREAD: (u16, &str) = (
    368,
    "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:u64 start;\toffset:24;\tsize:8;\tsigned:0;
\tfield:u64 duration;\toffset:32;\tsize:8;\tsigned:0;
\tfield:pid_t pid;\toffset:40;\tsize:4;\tsigned:1;
",
);

/// A record: when it was written, and its bytes.
type Record = (u64, Vec<u8>);

fn head(id: u16, current: u32) -> Vec<u8> {
    [&id.to_le_bytes()[..], &[0, 0], &current.to_le_bytes()].concat()
}

fn irq(current: u32, desc: &str, vector: u32, start_ns: u64, duration_ns: u64) -> Record {
    let mut bytes = head(IRQ.0, current);
    bytes.extend(start_ns.to_le_bytes());
    bytes.extend(duration_ns.to_le_bytes());
    bytes.extend(((desc.len() as u32 + 1) << 16 | 32).to_le_bytes());
    bytes.extend(vector.to_le_bytes());
    bytes.extend(desc.bytes());
    bytes.resize(bytes.len().next_multiple_of(4) + 4, 0);
    (start_ns + duration_ns, bytes)
}

fn softirq(current: u32, vector: u32, start_ns: u64, duration_ns: u64) -> Record {
    let mut bytes = head(SOFTIRQ.0, current);
    bytes.extend(start_ns.to_le_bytes());
    bytes.extend(duration_ns.to_le_bytes());
    bytes.extend(vector.to_le_bytes());
    (start_ns + duration_ns, bytes)
}

fn thread(comm: &str, pid: u32, start_ns: u64, duration_ns: u64) -> Record {
    let mut bytes = head(THREAD.0, pid);
    bytes.extend(comm.bytes());
    bytes.resize(24, 0);
    bytes.extend(start_ns.to_le_bytes());
    bytes.extend(duration_ns.to_le_bytes());
    bytes.extend(pid.to_le_bytes());
    (start_ns + duration_ns, bytes)
}

/// A page of the kernel's buffer.
fn page(records: &[Record]) -> Vec<u8> {
    let begin_ns = records[0].0;
    let (mut data, mut last_ns) = (Vec::new(), begin_ns);
    for (at_ns, bytes) in records {
        let words = bytes.len() as u32 / 4;
        data.extend((words | ((at_ns - last_ns) as u32) << 5).to_le_bytes());
        data.extend(bytes);
        last_ns = *at_ns;
    }
    let mut page = begin_ns.to_le_bytes().to_vec();
    page.extend((data.len() as u64).to_le_bytes());
    page.extend(data);
    page
}

fn decoder() -> Decoder {
    let mut decoder = Decoder::default();
    for (event, (id, fields)) in
        [("irq_noise", IRQ), ("softirq_noise", SOFTIRQ), ("thread_noise", THREAD)]
    {
        let text = format!("name: {event}\nID: {id}\nformat:\n{COMMON}\n{fields}");
        decoder.learn("osnoise", event, Format::parse(&text).expect("a format"));
    }
    decoder
}

/// What is said of a gap by a page of the buffer.
fn named(records: &[Record], gap: &Gap) -> (Named, BTreeMap<(Kind, String), u64>) {
    let mut names = Names::default();
    let fault = names.id(Kind::PageFault, "");
    let mut timeline = Timeline::new(&[PROBE], &mut names);
    let bytes = page(records);
    let layout = Layout::parse(HEADER).expect("a layout");
    let decoder = decoder();
    for (at_ns, record) in read(layout, &bytes).expect("a page").records {
        timeline.add(decoder.event(at_ns, CORE, record, &mut names).expect("all were learnt"));
    }
    timeline.close_all(gap.end_ns());
    let seat = timeline.seat(0);
    let found = name(gap, seat.segments(), seat.faults(), fault);
    let source = |id| (names.source(id).kind, names.source(id).name.clone());
    let parts = found.parts.iter().map(|part| (source(part.source), part.length_ns)).collect();
    (found, parts)
}

#[test]
fn the_gap_of_the_documentation_is_named_to_the_nanosecond() {
    let records = [
        irq(PROBE, "local_timer", 236, SECOND_NS + 857_529_929, 1_845),
        irq(PROBE, "local_timer", 236, SECOND_NS + 858_404_871, 2_848),
        thread("migration/8", 54, SECOND_NS + 858_409_300, 3_068),
    ];
    let gap = Gap { begin_ns: SECOND_NS + 858_404_555, step_ns: 8_812, lost_ns: 8_812 };
    let (named, parts) = named(&records, &gap);
    // What lies between them are ways into the kernel and out of it, as the documentation says.
    let ways = 8_812 - 2_848 - 3_068;
    let wanted = BTreeMap::from([
        ((Kind::Timer, String::new()), 2_848 + ways / 2),
        ((Kind::Preemption, "migration/8".to_owned()), 3_068 + ways / 2),
    ]);
    assert_eq!((parts, named.unknown_ns, named.edges_ns), (wanted, 0, ways));
}

#[test]
fn a_task_that_is_interrupted_has_the_time_around_its_interrupts() {
    // A task from 10 to 110 us, interrupted by a device from 40 to 50 us, whose soft interrupt
    // takes 5 us more; the kernel takes these 15 us off the task's 100.
    let at = |us: u64| SECOND_NS + us * 1_000;
    let records = [
        irq(PROBE, "local_timer", 236, at(5), 2_000),
        irq(7, "eth0", 36, at(40), 10_000),
        softirq(7, 3, at(50), 5_000),
        (at(110), thread("hog", 7, at(10), 85_000).1),
        // The probe itself is a task for the kernel, too, but takes nothing from itself.
        (at(300), thread("noise-probe-8", PROBE, at(110), 190_000).1),
    ];
    let gap = Gap { begin_ns: at(10), step_ns: 100_000, lost_ns: 100_000 };
    let (named, parts) = named(&records, &gap);
    let wanted = BTreeMap::from([
        ((Kind::Preemption, "hog".to_owned()), 85_000),
        ((Kind::Interrupt, "36 eth0".to_owned()), 10_000),
        ((Kind::Softirq, "NET_RX".to_owned()), 5_000),
    ]);
    assert_eq!((parts, named.unknown_ns), (wanted, 0));
}

#[test]
fn a_record_that_is_cut_off_is_no_event() {
    let (decoder, mut names) = (decoder(), Names::default());
    for record in [
        irq(PROBE, "local_timer", 236, SECOND_NS, 1_000).1,
        softirq(PROBE, 1, SECOND_NS, 1_000).1,
        thread("hog", 7, SECOND_NS, 1_000).1,
    ] {
        assert!(decoder.event(0, CORE, &record, &mut names).is_some());
        for length in 0..28 {
            assert_eq!(decoder.event(0, CORE, &record[..length], &mut names), None, "{length}");
        }
    }
}
