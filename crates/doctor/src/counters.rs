//! What the machine and the kernel count: events, energy, temperatures, tracers.

use std::fs;
use std::hint::black_box;
use std::io;
use std::path::PathBuf;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::finding::Outcome;
use crate::system::{Attributes, perf_event};

/// Kinds of events.
const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const TRACEPOINT: u32 = 2;

/// Events of these kinds.
const CYCLES: u64 = 0;
const TASK_CLOCK: u64 = 1;

/// The attributes' length, and that neither the kernel nor a hypervisor is counted.
const ATTRIBUTE_BYTES: u32 = 112;
const USER_ONLY: u64 = 1 << 5 | 1 << 6;

/// Where the kernel's tracers are.
const TRACING: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

const PERF_REMEDY: &str = "sysctl kernel.perf_event_paranoid=1, or give CAP_PERFMON; allow \
    perf_event_open where this runs (a container's profile)";

/// Cycles of this process.
pub(crate) fn perf() -> Outcome {
    match (counted(HARDWARE, CYCLES), counted(SOFTWARE, TASK_CLOCK)) {
        (Ok(count), _) if count > 0 => Outcome::works(format!("{count} cycles were counted")),
        (hardware, Ok(count)) if count > 0 => {
            let why = hardware.map_or_else(|error| error.to_string(), |_| "none".to_owned());
            Outcome::degraded(
                format!("cycles: {why}; only events of the kernel are counted"),
                "give the machine counters: of a virtual one its host decides (a virtual PMU)",
            )
        }
        (_, Err(error)) => Outcome::not(format!("perf_event_open: {error}"), PERF_REMEDY),
        (_, Ok(_)) => Outcome::not("a clock of this process counted nothing", PERF_REMEDY),
    }
}

/// Switches of this process.
pub(crate) fn tracepoint() -> Outcome {
    let id = tracing_file("events/sched/sched_switch/id");
    let number = id.and_then(|text| text.trim().parse::<u64>().map_err(io::Error::other));
    match number.and_then(|number| counted(TRACEPOINT, number)) {
        Ok(_) => Outcome::works("sched_switch was counted for this process"),
        Err(error) => Outcome::not(
            format!("sched_switch: {error}"),
            "run as root, or mount tracefs at /sys/kernel/tracing for this user, and give \
             CAP_PERFMON",
        ),
    }
}

/// The kernel's tracer of noise. It is not started: it would run a thread on each core.
pub(crate) fn osnoise() -> Outcome {
    match tracing_file("available_tracers") {
        Ok(names) if names.split_whitespace().any(|name| name == "osnoise") => {
            Outcome::works("the kernel offers the tracer to this user")
        }
        Ok(_) => Outcome::degraded(
            "the kernel has no such tracer; raw tracepoints name lost intervals where they work",
            "run a kernel with CONFIG_OSNOISE_TRACER",
        ),
        Err(error) => Outcome::not(
            format!("the kernel's tracers: {error}"),
            "run as root, or mount tracefs at /sys/kernel/tracing for this user",
        ),
    }
}

/// Energy of a processor.
pub(crate) fn rapl() -> Outcome {
    readable(
        "/sys/class/powercap",
        |name| name == "energy_uj",
        "let the group of the agent read energy_uj, as the packaged unit does (docs/guides/debian.md)",
    )
}

/// Temperatures.
pub(crate) fn hwmon() -> Outcome {
    readable(
        "/sys/class/hwmon",
        |name| name.starts_with("temp") && name.ends_with("_input"),
        "load the sensors' module; a virtual machine has none",
    )
}

/// Reads a counter below a class of devices.
fn readable(class: &str, is_counter: fn(&str) -> bool, remedy: &str) -> Outcome {
    let mut why = format!("no counter below {class}");
    for path in counters(class, is_counter) {
        match fs::read_to_string(&path).map(|text| text.trim().parse::<i64>()) {
            Ok(Ok(_)) => return Outcome::works(format!("{} was read", path.display())),
            Ok(Err(_)) => why = format!("{} has no number", path.display()),
            Err(error) => why = format!("{}: {error}", path.display()),
        }
    }
    Outcome::not(why, remedy)
}

fn counters(class: &str, is_counter: fn(&str) -> bool) -> Vec<PathBuf> {
    let list = |path: PathBuf| fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    let devices = list(class.into()).map(|device| device.path());
    let files = devices.flat_map(|device| list(device).map(|file| file.path()));
    let name = |path: &PathBuf| path.file_name()?.to_str().map(is_counter);
    let mut found: Vec<PathBuf> = files.filter(|path| name(path) == Some(true)).collect();
    found.sort();
    found
}

/// A file of the kernel's tracing; where that is mounted nowhere, it is for this process.
fn tracing_file(name: &str) -> io::Result<String> {
    let read = |folder: &str| fs::read_to_string(format!("{folder}/{name}"));
    let mounted = read(TRACING[0]).or_else(|error| read(TRACING[1]).map_err(|_| error));
    mounted.or_else(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            mount_for_this_process()?;
        }
        read(TRACING[0])
    })
}

/// Mounts the kernel's tracing in a namespace that ends with this process.
fn mount_for_this_process() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    Ok(mount(Some("tracefs"), TRACING[0], Some("tracefs"), MsFlags::empty(), none)?)
}

/// What an event counts of this process while it computes.
fn counted(kind: u32, event: u64) -> io::Result<u64> {
    let attributes = Attributes::new().with_u32(0, kind).with_u32(4, ATTRIBUTE_BYTES);
    let fd = perf_event(&attributes.with_u64(8, event).with_u64(40, USER_ONLY))?;
    black_box((0..100_000u64).fold(0u64, |sum, n| black_box(sum ^ n)));
    let mut count = [0; 8];
    rustix::io::read(&fd, &mut count)?;
    Ok(u64::from_ne_bytes(count))
}
