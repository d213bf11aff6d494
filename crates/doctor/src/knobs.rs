//! Knobs by which a core is kept free. None is turned: a file is opened for writing, and an
//! interrupt is given a mask that cannot be read, which the kernel refuses in one way if the
//! interrupt may move and in another if it may not.

use std::fs::{self, File};
use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

use crate::finding::Outcome;

const REMEDY: &str = "run as root, with /proc and /sys mounted for writing";

/// For how long the ticks of a core are counted.
const COUNTED: Duration = Duration::from_millis(200);

/// Which interrupts can be moved.
pub(crate) fn interrupts() -> Outcome {
    let numbers = fs::read_dir("/proc/irq").into_iter().flatten().filter_map(Result::ok);
    let (mut movable, mut bound) = (0, Vec::new());
    for entry in numbers {
        let Ok(number) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let answer = fs::write(entry.path().join("smp_affinity_list"), "x");
        match answer.map_err(|error| error.raw_os_error()) {
            Err(Some(libc::EINVAL | libc::ERANGE)) => movable += 1,
            Err(Some(libc::EACCES | libc::EROFS)) => {
                return Outcome::not(format!("interrupt {number} may not be written"), REMEDY);
            }
            _ => bound.push(number.to_string()),
        }
    }
    match (movable, bound.as_slice()) {
        (0, []) => Outcome::not("no interrupt is shown in /proc/irq", REMEDY),
        (_, []) => Outcome::works(format!("all {movable} interrupts can be moved")),
        (0, _) => Outcome::not("no interrupt can be moved", REMEDY),
        (_, bound) => Outcome::degraded(
            format!(
                "{movable} of {} interrupts can be moved; not {}, which the kernel manages",
                movable + bound.len(),
                bound.join(", ")
            ),
            "choose application cores without those: tidings cores plan",
        ),
    }
}

/// The cores of kernel work that is bound to none.
pub(crate) fn workqueues() -> Outcome {
    writable("/sys/devices/virtual/workqueue/cpumask")
}

/// How often statistics of memory are brought together.
pub(crate) fn statistics() -> Outcome {
    writable("/proc/sys/vm/stat_interval")
}

/// Whether some cores are without the tick.
pub(crate) fn tick() -> Outcome {
    let cores = fs::read_to_string("/sys/devices/system/cpu/nohz_full").unwrap_or_default();
    let cores = cores.trim();
    let ticks = ticks_per_second();
    if cores.starts_with(|first: char| first.is_ascii_digit()) {
        return Outcome::works(format!("cores {cores} lose the tick while one task runs there"));
    }
    let rate = ticks.map_or_else(
        |_| "not counted here".to_owned(),
        |rate| format!("{rate} a second while this process computed"),
    );
    Outcome::degraded(
        format!("every core keeps its tick: {rate}"),
        "start a kernel with CONFIG_NO_HZ_FULL by the line that tidings cores plan prints",
    )
}

/// Opens a file for writing, and writes nothing.
fn writable(path: &str) -> Outcome {
    match File::options().write(true).open(path) {
        Ok(_) => Outcome::works(format!("{path} can be written")),
        Err(error) => Outcome::not(format!("{path}: {error}"), REMEDY),
    }
}

/// The timer interrupts of all cores in a second, the share of one that computes.
fn ticks_per_second() -> io::Result<u64> {
    let (core, begin) = (rustix::thread::sched_getcpu(), Instant::now());
    let before = timer_interrupts(core)?;
    while begin.elapsed() < COUNTED {
        black_box(());
    }
    let count = timer_interrupts(core)?.saturating_sub(before);
    Ok(count * 1000 / begin.elapsed().as_millis().max(1) as u64)
}

/// The timer interrupts that a core has had.
fn timer_interrupts(core: usize) -> io::Result<u64> {
    let text = fs::read_to_string("/proc/interrupts")?;
    let heading = text.lines().next().unwrap_or_default();
    let name = format!("CPU{core}");
    let column = heading.split_whitespace().position(|word| word == name);
    let row = text.lines().map(str::split_whitespace).find_map(|mut words| {
        let first = words.next()?;
        ["LOC:", "arch_timer"].contains(&first).then_some(words)
    });
    let count = column.zip(row).and_then(|(column, mut row)| row.nth(column)?.parse().ok());
    count.ok_or_else(|| io::Error::other("no count of timer interrupts"))
}
