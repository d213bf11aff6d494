//! Network rates: `proc/net/dev`.
//!
//! Interfaces with a device behind them, `sys/class/net/NAME/device`; where there is none, as in
//! most containers, every interface but `lo`. That counts a packet once on a node with bonds,
//! bridges and VLANs, which carry their members' packets again.

use std::collections::BTreeSet;
use std::path::Path;

use procfs_core::FromRead;
use procfs_core::net::InterfaceDeviceStatus;
use tidings_gossip::payload::NodeState;

use super::disk::with_device;
use super::rate::Rates;
use super::source::{Listing, MAX_BYTES, Pass, Source, str_of};

/// Bytes per second received and sent.
#[derive(Debug)]
pub(super) struct Network {
    dev: Source,
    physical: Listing<BTreeSet<String>>,
    rates: Rates,
    /// The lines that count, under the two lines of a heading.
    wanted: String,
}

impl Network {
    pub(super) fn new(proc: &Path, sys: &Path) -> Self {
        Self {
            dev: Source::new(proc.join("net/dev")),
            physical: Listing::new(sys.join("class/net"), with_device),
            rates: Rates::default(),
            wanted: String::new(),
        }
    }

    pub(super) fn read(&mut self, pass: &mut Pass, state: &mut NodeState) {
        let (now, physical) = (pass.now, self.physical.get(pass.now));
        let (rates, wanted) = (&mut self.rates, &mut self.wanted);
        let sum = self.dev.read(pass, MAX_BYTES, |text| {
            pick(str_of(text)?, physical, wanted);
            let interfaces = InterfaceDeviceStatus::from_read(wanted.as_bytes()).ok()?.0;
            let mut increase = rates.begin();
            for (name, counted) in &interfaces {
                increase.add(name, [counted.recv_bytes, counted.sent_bytes]);
            }
            Some(increase.finish(now))
        });
        state.net_rx_bytes_s = sum.flatten().map(|[received, _]| received);
        state.net_tx_bytes_s = sum.flatten().map(|[_, sent]| sent);
    }
}

/// Copies the heading and the lines of the interfaces that count.
fn pick(text: &str, physical: &BTreeSet<String>, wanted: &mut String) {
    wanted.clear();
    for (index, line) in text.lines().enumerate() {
        let name = line.split(':').next().unwrap_or_default().trim();
        let counts = if physical.is_empty() { name != "lo" } else { physical.contains(name) };
        if index < 2 || counts {
            wanted.push_str(line);
            wanted.push('\n');
        }
    }
}
