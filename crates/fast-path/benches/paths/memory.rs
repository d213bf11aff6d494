//! What memory costs: a space attached and read, and words on small and large pages.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Instant;

use tidings_fast_path::pages::{Fill, LargeWords};
use tidings_fast_path::space::{Access, Address, Space};
use tidings_fast_path::{Service, Shipper};

use crate::clock::{Rows, timed};

const AT: &str = "TIDINGS_PATHS_AT";
const CELL_WORDS: usize = 8;
const SPACE_BYTES: usize = 1 << 20;

/// A process that attaches, says how long that took, and writes the cell without a pause for as
/// long as its parent lives. Whether this is one.
pub(crate) fn is_a_process_of_the_group() -> bool {
    let Ok(at) = std::env::var(AT) else { return false };
    let began = Instant::now();
    let space = Space::inherited(Access::Write).expect("the parent shares it");
    let took = began.elapsed().as_nanos();
    let mut out = std::io::stdout();
    writeln!(out, "{took}").and_then(|()| out.flush()).expect("the parent listens");
    let at = Address(at.parse().expect("an address"));
    let cell = space.write_cell(at, CELL_WORDS).expect("the parent has made one");
    let parent = std::os::unix::process::parent_id();
    for value in 1u64.. {
        cell.write(&[value; CELL_WORDS]);
        if value % 65_536 == 0 && std::os::unix::process::parent_id() != parent {
            break;
        }
    }
    true
}

/// A writer that has attached, and how long that took it.
fn writer(space: &Space, at: Address) -> (Child, BufReader<ChildStdout>, u64) {
    let mut program = Command::new(std::env::current_exe().expect("this program"));
    program.env(AT, at.0.to_string()).stdout(Stdio::piped());
    space.share(&mut program);
    let mut child = program.spawn().expect("it can be started");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    out.read_line(&mut line).expect("it says how long it took");
    (child, out, line.trim().parse().expect("nanoseconds"))
}

pub(crate) fn spaces(count: usize, rows: &mut Rows) {
    let space = Space::create("tidings-paths", SPACE_BYTES).expect("there is memory");
    let at = space.make_cell(CELL_WORDS).expect("room");
    let anywhere = timed(20, || {
        drop(LargeWords::on_small_pages(SPACE_BYTES / 8, Fill::Later).expect("there is memory"));
    });
    rows.add("space: memory mapped anywhere", &anywhere, None);
    let words = space.allocate(CELL_WORDS).expect("room");
    let words = space.words(words, CELL_WORDS).expect("just given");
    let mut seen = [0; CELL_WORDS];
    let plain = timed(count, || {
        for (to, from) in seen.iter_mut().zip(words) {
            *to = from.load(Ordering::Relaxed);
        }
        std::hint::black_box(&seen);
    });
    rows.add("space: 64 bytes, plain", &plain, None);
    let mut read = || {
        space.read_cell(at, &mut seen).expect("a cell");
        assert!(seen.iter().all(|&word| word == seen[0]), "torn: {seen:?}");
    };
    let idle = timed(count, &mut read);
    rows.add("space: a cell, nobody writes", &idle, Some("space: 64 bytes, plain"));
    let (mut child, out, took) = writer(&space, at);
    let busy = timed(count, &mut read);
    rows.add("space: a cell, written without a pause", &busy, Some("space: 64 bytes, plain"));
    let _ = child.kill();
    let _ = child.wait();
    drop(out);
    let dead = timed(count, &mut read);
    rows.add("space: a cell, its writer killed", &dead, Some("space: 64 bytes, plain"));
    rows.add("space: attached in a fresh process", &[took], Some("space: memory mapped anywhere"));
}

pub(crate) fn pages(service: &Service, bytes: usize, rows: &mut Rows) {
    let mut shipper = service.shipper().expect("a lane");
    let words = bytes / 8;
    let mut small = filled(words, &mut shipper, false, ["pages: filled, small", ""], rows);
    let names = ["pages: filled by the service, large", "pages: filled, small"];
    let mut large = filled(words, &mut shipper, true, names, rows);
    let report = large.report().expect("there is /proc");
    println!("of {} KiB {} KiB are on large pages", report.resident_kib, report.large_kib);
    rows.add("pages: additions, small", &additions(&mut small), None);
    rows.add("pages: additions, large", &additions(&mut large), Some("pages: additions, small"));
}

/// Words, and how long it took to have them filled.
fn filled(
    words: usize,
    shipper: &mut Shipper,
    large: bool,
    [name, beside]: [&'static str; 2],
    rows: &mut Rows,
) -> LargeWords {
    let began = Instant::now();
    let made = if large {
        LargeWords::new(words, Fill::ByService(shipper))
    } else {
        LargeWords::on_small_pages(words, Fill::Here)
    };
    let took = began.elapsed().as_nanos() as u64;
    rows.add(name, &[took], (!beside.is_empty()).then_some(beside));
    made.expect("there is memory")
}

/// The time of a thousand additions, a thousand times.
fn additions(words: &mut [u64]) -> Vec<u64> {
    let (mut at, mask) = (1u64, words.len().next_power_of_two() as u64 / 2 - 1);
    timed(1_000, || {
        for _ in 0..1_000 {
            at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            words[((at >> 20) & mask) as usize] += 1;
        }
    })
}
