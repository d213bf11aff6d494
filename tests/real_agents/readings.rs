//! Typed readings in C: what tidings_readings.h reads of a payload is what the core does.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use tidings_experiment::agents::Cluster;
use tidings_gossip::payload::{NodeState, PayloadError};

use crate::pick::{compile, run};

/// Prints a line for each payload that it is given in hexadecimal: the status, all readings, and
/// what is published under two keys.
const PROGRAM: &str = r#"
#include "tidings_readings.h"
int main(int count, char **words)
{
    for (int at = 1; at < count; at++) {
        tidings_entry entry;
        tidings_readings of;
        char gpu[TIDINGS_VALUE], note[TIDINGS_VALUE];
        memset(&entry, 0, sizeof entry);
        entry.state = TIDINGS_ALIVE;
        entry.payload_bytes = (uint32_t)strlen(words[at]) / 2;
        for (uint32_t byte = 0; byte < entry.payload_bytes; byte++) {
            char digits[3] = {words[at][2 * byte], words[at][2 * byte + 1], 0};
            entry.payload[byte] = (uint8_t)strtoul(digits, NULL, 16);
        }
        printf("%d", tidings_readings_of(&entry, &of));
        const double *all = (const double *)&of;
        for (size_t one = 0; one < sizeof of / sizeof *all; one++)
            isnan(all[one]) ? printf(" -") : printf(" %.17g", all[one]);
        int has_gpu = tidings_metric_of(&entry, "gpu.busy", gpu);
        int has_note = tidings_metric_of(&entry, "note", note);
        printf(" %d:%s %d:%s\n", has_gpu, gpu, has_note, note);
    }
    return 0;
}
"#;

/// The readings of a payload in the order of the header, by the core; `None` if it refuses them.
fn by_the_core(payload: &[u8]) -> Option<Vec<Option<f64>>> {
    let state = match NodeState::decode(payload) {
        Ok(state) => state,
        Err(PayloadError::Malformed { .. }) => return None,
        Err(error) => panic!("{error}"),
    };
    let whole = |value: Option<u64>| value.map(|value| value as f64);
    let kernel = state.kernel;
    Some(vec![
        kernel.map(|kernel| f64::from(kernel.major)),
        kernel.map(|kernel| f64::from(kernel.minor)),
        kernel.map(|kernel| f64::from(kernel.patch)),
        state.cores.map(f64::from),
        state.load1,
        state.load5,
        state.load15,
        state.cpu_busy_percent,
        whole(state.mem_total_bytes),
        whole(state.mem_available_bytes),
        whole(state.swap_total_bytes),
        whole(state.swap_used_bytes),
        whole(state.disk_read_bytes_s),
        whole(state.disk_write_bytes_s),
        whole(state.net_rx_bytes_s),
        whole(state.net_tx_bytes_s),
        state.temperature_c,
        state.power_w,
        whole(state.uptime_s),
        state.psi_cpu_percent,
        state.psi_memory_percent,
        state.psi_io_percent,
    ])
}

/// Payloads of all kinds of bytes, the same each time.
fn payloads() -> Vec<Vec<u8>> {
    let mut word = 0x7164_u64;
    let mut byte = move || {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (word >> 56) as u8
    };
    let mut random = |_| -> Vec<u8> {
        let mut payload: Vec<u8> = (0..44).map(|_| byte()).collect();
        // Shares are in range half of the time.
        for (at, most) in [(17, 39), (40, 250), (41, 250), (42, 250)] {
            payload[at] = payload[at].min(most);
        }
        payload
    };
    let mut all: Vec<_> = (0..200).map(&mut random).collect();
    all.push(vec![0; 44]);
    all.push([vec![0xff; 16], vec![0x10, 0x27], vec![0xff; 22], vec![250; 3], vec![0]].concat());
    all.push(vec![0xff; 44]);
    all
}

fn hex(payload: &[u8]) -> String {
    payload.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a text takes all");
        text
    })
}

fn program(cluster: &Cluster) -> [std::path::PathBuf; 2] {
    let source = cluster.path().join("readings.c");
    fs::write(&source, PROGRAM).expect("writable");
    [
        compile(cluster.path(), "cc", &["-std=c11", "-pedantic"], &source),
        compile(cluster.path(), "c++", &["-x", "c++", "-std=c++17"], &source),
    ]
}

#[test]
fn readings_in_c_are_those_of_the_core() {
    let cluster = Cluster::new();
    let payloads = payloads();
    let words: Vec<String> = payloads.iter().map(|payload| hex(payload)).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    for program in program(&cluster) {
        let (code, said, errors) = run(&program, Path::new("/none"), &words);
        assert_eq!((code, errors.as_str()), (Some(0), ""));
        assert_eq!(said.lines().count(), payloads.len());
        let mut damaged = 0;
        for (payload, line) in payloads.iter().zip(said.lines()) {
            let mut words = line.split(' ');
            let status = words.next().expect("a status");
            let read: Vec<Option<f64>> = words.take(22).map(|word| word.parse().ok()).collect();
            if let Some(expected) = by_the_core(payload) {
                assert_eq!((status, read), ("0", expected), "{payload:?}");
            } else {
                damaged += 1;
                assert_eq!((status, read), ("-5", vec![None; 22]), "{payload:?}");
            }
        }
        assert!(damaged > 0 && damaged < payloads.len() - 20, "{damaged}");
    }
}

#[test]
fn metrics_of_users_are_found_in_c() {
    let cluster = Cluster::new();
    let mut state = NodeState::default();
    for (key, value) in [("gpu.busy", "87"), ("gpu.n", "4"), ("note", "in repair")] {
        state.user.insert(key.to_owned(), value.to_owned());
    }
    let mut payload = vec![0; 96];
    state.encode(&mut payload).expect("it fits");
    let cut = &payload[..60];
    let words = [hex(&payload), hex(&payload[..44]), hex(cut), hex(&payload[..8])];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    for program in program(&cluster) {
        let (_, said, _) = run(&program, Path::new("/none"), &words);
        let found: Vec<String> = said
            .lines()
            .map(|line| line.split(' ').skip(23).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(found, ["0:87 0:in repair", "1: 1:", "0:87 -5:", "1: 1:"]);
        assert!(said.lines().last().expect("four").starts_with("1 - -"), "no readings: {said}");
    }
}
