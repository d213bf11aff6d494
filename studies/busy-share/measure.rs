//! How busy is a gossip process, by interval and number of nodes?
//!
//! Figure 6 of Levy et al. (ROSS'14) shows the share of time in which the gossip processes were not
//! waiting: linear in the number of nodes and in the inverse of the interval, up to a limit: among
//! 8,192 nodes they could not keep up below 4 ms, and the runs were aborted. Here one real node
//! sends and takes in a window of 20 % each unit (see `tidings_studies::driven`), and the CPU time
//! of a unit over the interval is its busy share. Above 1 it could not keep up.
//!
//! What a unit costs does not depend on how long it is, so each setting is measured once, as the
//! median over many units, and gives the shares at all intervals. Sockets are not counted. The
//! references are the number of nodes, which the cost should follow, and 1, which no share may
//! exceed.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::Map;
use tidings_studies::driven::{Cost, Driven, Setting, WINDOW_PERCENT};
use tidings_studies::table::{self, Made};

const NODES: [u32; 4] = [1024, 2048, 4096, 8192];
/// The paper's entries, and the agent's.
const PAYLOADS: [u16; 2] = [1024, 64];
/// Over Ethernet, and one message a window as far as UDP goes.
const DATAGRAMS: [u16; 2] = [1452, 65_507];
/// The paper's intervals.
const INTERVALS_MS: [u32; 8] = [1, 2, 4, 8, 16, 64, 256, 1024];
/// Units measured at each setting.
const UNITS: usize = 400;

/// The median cost of a unit in one setting, and the quartiles of the whole.
struct Measured {
    setting: Setting,
    units: usize,
    send_us: f64,
    receive_us: f64,
    unit_us: f64,
    quartiles_us: [f64; 2],
}

fn main() -> ExitCode {
    table::make("busy", "studies/busy-share/run", Some(1), |is_measured| {
        Ok::<_, Infallible>(all(is_measured))
    })
}

fn all(is_measured: bool) -> Made {
    let (nodes, units) = if is_measured { (&NODES[..], UNITS) } else { (&NODES[..1], 3) };
    let mut table = heading();
    for &payload_bytes in &PAYLOADS {
        for &datagram_bytes in &DATAGRAMS {
            for &nodes in nodes {
                let measured = measure(Setting { nodes, payload_bytes, datagram_bytes }, units);
                measured.write(&mut table);
                let _ = writeln!(std::io::stderr(), "{}", measured.line());
            }
        }
    }
    (table, Map::new())
}

fn measure(setting: Setting, units: usize) -> Measured {
    let mut driven = Driven::new(setting);
    let costs: Vec<Cost> = (0..units).map(|_| driven.unit()).collect();
    let sorted = |of: fn(&Cost) -> Duration| {
        let mut micros: Vec<f64> = costs.iter().map(|cost| of(cost).as_secs_f64() * 1e6).collect();
        micros.sort_by(f64::total_cmp);
        micros
    };
    let whole = sorted(|cost| cost.send + cost.receive);
    let at = |sorted: &[f64], quarter: usize| sorted[(sorted.len() - 1) * quarter / 4];
    Measured {
        setting,
        units,
        send_us: at(&sorted(|cost| cost.send), 2),
        receive_us: at(&sorted(|cost| cost.receive), 2),
        unit_us: at(&whole, 2),
        quartiles_us: [at(&whole, 1), at(&whole, 3)],
    }
}

fn heading() -> String {
    "nodes,window_percent,entry_bytes,datagram_bytes,units,send_us,receive_us,unit_us,\
     unit_lower_quartile_us,unit_upper_quartile_us,interval_ms,busy_share,possible\n"
        .to_owned()
}

impl Measured {
    /// A line of the table for each interval.
    fn write(&self, table: &mut String) {
        let Setting { nodes, payload_bytes, datagram_bytes } = self.setting;
        let [lower, upper] = self.quartiles_us;
        for interval_ms in INTERVALS_MS {
            let share = self.unit_us / 1e3 / f64::from(interval_ms);
            let possible = if share <= 1.0 { "yes" } else { "no" };
            let _ = writeln!(
                table,
                "{nodes},{WINDOW_PERCENT},{payload_bytes},{datagram_bytes},{},{:.1},{:.1},\
                 {:.1},{lower:.1},{upper:.1},{interval_ms},{share:.6},{possible}",
                self.units, self.send_us, self.receive_us, self.unit_us,
            );
        }
    }

    /// What was measured, for people.
    fn line(&self) -> String {
        let Setting { nodes, payload_bytes, datagram_bytes } = self.setting;
        format!(
            "{nodes} nodes, entries of {payload_bytes} B, datagrams of {datagram_bytes} B: {:.0} µs \
             out, {:.0} µs in",
            self.send_us, self.receive_us
        )
    }
}
