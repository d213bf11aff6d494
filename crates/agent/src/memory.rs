//! The agent's memory bound, known before it allocates any, and the machine's memory.
//!
//! Each part is bounded by the configuration: the node (`Config::memory_bound_bytes`), the board,
//! the few reports of all nodes that readers may be receiving at a time, connections, and buffers.
//! docs/reference/memory.md gives the sum as a formula and the measurements. A configuration that
//! could need more than the machine or the control group has is rejected at the start: it is better
//! not to start than to be killed in an emergency of the cluster.

use std::fs;
use std::path::{Path, PathBuf};

use tidings_board::layout::Shape;
use tidings_control::{NodeReport, REQUEST_BYTES_MAX};
use tidings_gossip::signed::IDENTITY_BYTES;
use tidings_web::serving;

use crate::config::{BoardPlace, Settings};
use crate::control;
use crate::notices;
use crate::question::PICTURES_MOST;
use crate::socket;

/// Bytes of the program, its stacks, its runtime and all that does not grow with the configuration.
const PROGRAM_BYTES: u64 = 16 << 20;
/// Bytes that a connection of HTTP may use for its request, as the library bounds it, and the
/// control connection's line, which may have grown to twice what it holds.
const HTTP_BYTES: u64 = 420_000;
const CONTROL_BYTES: u64 = 2 * REQUEST_BYTES_MAX as u64 + 16_384;
/// Bytes of a stored notice.
const NOTICE_BYTES: u64 = notices::LINE_BYTES as u64;
/// Bytes of remembered picks.
const RESERVATIONS_BYTES: u64 = 8 << 20;
/// Bytes of a node's report in addition to its own: name, address, kernel, user metrics.
const REPORT_TEXT_BYTES: u64 = 512;
/// Bytes of a node's report as JSON, without its user metrics.
const JSON_NODE_BYTES: u64 = 1_280;
/// Bytes of JSON that one byte of a user metric may become.
const ESCAPED_BYTES: u64 = 6;
/// Bytes of a line of the roster, as it is read, and of a seat of the board.
const ROSTER_LINE_BYTES: u64 = 256;
const SEAT_BYTES: u64 = 16;
/// Bytes of a colony in a picture of all colonies.
const COLONY_BYTES: u64 = 4_096;

/// The most bytes of the JSON about `nodes` nodes.
pub(crate) fn json_bytes(nodes: u64, payload_bytes: u16) -> u64 {
    1_024 + nodes * (JSON_NODE_BYTES + ESCAPED_BYTES * u64::from(payload_bytes))
}

/// The most bytes of the metrics of `nodes` nodes: what is said of each family of series, and no
/// more of each node than of its report.
pub(crate) fn metrics_bytes(nodes: u64) -> u64 {
    16_384 + nodes * JSON_NODE_BYTES
}

/// The most memory that an agent with these settings uses.
pub(crate) fn bound_bytes(settings: &Settings) -> u64 {
    let (nodes, payload) = (u64::from(settings.max_nodes), settings.payload_room());
    let board = match settings.board {
        BoardPlace::Off => 0,
        BoardPlace::On | BoardPlace::At(_) => board_bytes(settings) + nodes * SEAT_BYTES,
    };
    let report = size_of::<NodeReport>() as u64 + REPORT_TEXT_BYTES;
    let colonies = settings.colony.map_or(0, |_| u64::from(settings.max_colonies) * COLONY_BYTES);
    let text = json_bytes(nodes, payload).max(metrics_bytes(nodes));
    let picture = nodes * report + text + colonies;
    let events = notices::RECENT_MOST as u64 * NOTICE_BYTES;
    let scrapes = settings.scrape.map_or(0, |_| serving::CONNECTIONS_MOST as u64 * HTTP_BYTES);
    let connections = serving::CONNECTIONS_MOST as u64 * (HTTP_BYTES + events)
        + scrapes
        + 2 * control::CONNECTIONS_MOST as u64 * CONTROL_BYTES
        + notices::LINES_KEPT as u64 * NOTICE_BYTES
        + events;
    // By name and by id, and a list that is read again beside the one in use.
    let identities = settings
        .identities
        .as_ref()
        .map_or(0, |_| nodes * 2 * (IDENTITY_BYTES + ROSTER_LINE_BYTES));
    PROGRAM_BYTES
        + identities
        + socket::BUFFERS_BYTES
        + RESERVATIONS_BYTES
        + settings.core().memory_bound_bytes()
        + nodes * ROSTER_LINE_BYTES
        + board
        + PICTURES_MOST as u64 * picture
        + connections
}

/// Bytes of the largest board, and of the one before it, which is half as large.
fn board_bytes(settings: &Settings) -> u64 {
    let shape = Shape::new(settings.max_nodes as usize, usize::from(settings.payload_room()));
    shape.map_or(0, |shape| shape.file_bytes() as u64 * 3 / 2)
}

/// How much memory there is, and which file states it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Available {
    pub(crate) bytes: u64,
    pub(crate) says: PathBuf,
}

/// The agent may need more memory than there is.
#[derive(Debug, thiserror::Error)]
#[error(
    "with these settings the agent may use {bound_mib} MiB of memory, and {says} allows \
     {available_mib} MiB: lower max_nodes, which is {max_nodes}, or raise that limit"
)]
pub struct MemoryError {
    bound_mib: u64,
    available_mib: u64,
    says: String,
    max_nodes: u32,
}

/// Checks that the bound of these settings is no more than there is.
///
/// # Errors
/// With both figures.
pub(crate) fn check(settings: &Settings) -> Result<u64, MemoryError> {
    check_in(settings, Path::new("/"))
}

fn check_in(settings: &Settings, root: &Path) -> Result<u64, MemoryError> {
    let bound = bound_bytes(settings);
    match available_in(root) {
        Some(Available { bytes, says }) if bytes < bound => Err(MemoryError {
            bound_mib: bound.div_ceil(1 << 20),
            available_mib: bytes >> 20,
            says: says.display().to_string(),
            max_nodes: settings.max_nodes,
        }),
        _ => Ok(bound),
    }
}

/// The least of what the machine has and the control groups of this process allow, as the files
/// below `root` say; `None` if none of them can be read.
fn available_in(root: &Path) -> Option<Available> {
    let meminfo = root.join("proc/meminfo");
    let text = fs::read_to_string(&meminfo).unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")).and_then(|rest| {
        let kib: u64 = rest.trim().trim_end_matches("kB").trim().parse().ok()?;
        Some(Available { bytes: kib * 1024, says: meminfo.clone() })
    });
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let limits = groups.lines().filter_map(|line| limit_files(root, line)).flatten();
    let limits = limits.filter_map(|says| {
        let bytes = fs::read_to_string(&says).ok()?.trim().parse().ok()?; // "max" is not a number
        Some(Available { bytes, says })
    });
    limits.chain(total).min_by_key(|available| available.bytes)
}

/// The files that limit the group which a line of /proc/self/cgroup names, and those around it.
fn limit_files(root: &Path, line: &str) -> Option<Vec<PathBuf>> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, group) = (fields.next()?, fields.next()?.trim_start_matches('/'));
    let (mount, file) = match controllers {
        "" => ("sys/fs/cgroup", "memory.max"),
        names if names.split(',').any(|name| name == "memory") => {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return None,
    };
    let mount = root.join(mount);
    let inner = mount.join(group);
    let around = inner.ancestors().take_while(|path| path.starts_with(&mount));
    Some(around.map(|path| path.join(file)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::settings_of;
    use tidings_control::State;

    /// A machine as its files describe it.
    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a temporary directory");
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("it lies in a directory")).expect("writable");
            fs::write(path, text).expect("writable");
        }
        root
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal:  1048576 kB\nMemFree: 1 kB\n");

    #[test]
    fn the_least_limit_of_machine_and_groups_counts() {
        let mib = |files: &[(&str, &str)]| {
            let root = machine(files);
            available_in(root.path()).map(|available| available.bytes >> 20)
        };
        assert_eq!(mib(&[]), None);
        assert_eq!(mib(&[MEMINFO]), Some(1024));
        let group = ("proc/self/cgroup", "0::/system.slice/tidings.service\n");
        let own = ("sys/fs/cgroup/system.slice/tidings.service/memory.max", "268435456\n");
        let around = ("sys/fs/cgroup/system.slice/memory.max", "134217728\n");
        let unlimited = ("sys/fs/cgroup/system.slice/memory.max", "max\n");
        assert_eq!(mib(&[MEMINFO, group, own, unlimited]), Some(256));
        assert_eq!(mib(&[MEMINFO, group, own, around]), Some(128));
        let old = ("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a/b\n");
        let limit = ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "67108864\n");
        let none = ("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(mib(&[MEMINFO, old, limit, none]), Some(64));
    }

    #[test]
    fn settings_that_may_need_too_much_are_rejected_with_the_figures() {
        let root = machine(&[MEMINFO]);
        let default = check_in(&settings_of(&[]), root.path()).expect("the default fits");
        assert!(default < 256 << 20, "{default}: the unit for systemd allows 256 MiB");
        let refused = check_in(&settings_of(&["--max-nodes", "1000000"]), root.path());
        let message = refused.expect_err("too large").to_string();
        let start = "with these settings the agent may use ";
        let end = format!(
            " MiB of memory, and {}/proc/meminfo allows 1024 MiB: lower max_nodes, which is \
             1000000, or raise that limit",
            root.path().display()
        );
        assert!(message.starts_with(start) && message.ends_with(&end), "{message}");
    }

    #[test]
    fn parts_that_are_off_cost_nothing() {
        let bound = |flags: &[&str]| bound_bytes(&settings_of(flags));
        assert!(bound(&["--board", "off"]) < bound(&[]));
        assert!(bound(&["--max-nodes", "8192"]) > bound(&[]));
        assert!(bound(&["--colony", "1"]) > bound(&[]));
    }

    /// No report is longer as JSON than the formula assumes.
    #[test]
    fn the_longest_report_is_within_the_formula() {
        let digits = Some(f64::MIN_POSITIVE * 1.234_567_890_123_456_7);
        let most = Some(u64::MAX);
        let report = NodeReport {
            name: "n".repeat(63),
            address: "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535".to_owned(),
            state: State::Suspected,
            age_ms: digits,
            readings_age_ms: digits,
            incarnation: u32::MAX,
            sequence: Some(u32::MAX),
            cores: Some(u32::MAX),
            load1: digits,
            load5: digits,
            load15: digits,
            cpu_busy_percent: digits,
            mem_total_bytes: most,
            mem_available_bytes: most,
            swap_total_bytes: most,
            swap_used_bytes: most,
            psi_cpu_percent: digits,
            psi_memory_percent: digits,
            psi_io_percent: digits,
            disk_read_bytes_s: most,
            disk_write_bytes_s: most,
            net_rx_bytes_s: most,
            net_tx_bytes_s: most,
            temperature_c: digits,
            power_w: digits,
            uptime_s: most,
            kernel: Some("\u{1}".repeat(31)),
            user: [("k".repeat(16), "\u{1}".repeat(46))].into(),
        };
        let bytes = serde_json::to_vec(&report).expect("serialises").len() as u64 + 1;
        assert!(bytes <= json_bytes(1, 64) - 1_024, "{bytes}");
    }
}
