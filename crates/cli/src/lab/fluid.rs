//! `tidings lab fluid`: what a machine that is not here would do under load, by a model of flows on
//! its links.
//!
//! It prints the rows of `tidings-mpi-characterize`, one JSON object a line, so that `tidings lab
//! characterize` runs it as it runs that program; on a terminal, tables instead. The model is a
//! crate of its own (`tidings-flows`).

use clap::Args;
use serde_json::{Value, json};
use tidings_flows::error::FlowsError;
use tidings_flows::machine::{Figures, Inside, Machine, Sharing};
use tidings_flows::own_link::OwnLink;
use tidings_flows::shape::Shape;
use tidings_flows::trial::{Extent, Row, TRIALS, Trial};

use super::modelled::tables;
use super::network::Network;
use crate::{Failure, output};

/// Options of `tidings lab fluid`.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The network; a torus has BlueGene/P's figures, a fat tree InfiniBand's, a dragonfly Aries'
    #[arg(value_name = "NETWORK")]
    network: Network,
    /// Lengths of rings; ports down of each level; groups, chassis, routers and nodes a router
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', required = true)]
    shape: Vec<u32>,
    /// Processes on each node
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=4096)
    )]
    cores: u32,
    /// Only this test; may be repeated [default: all]
    #[arg(long, value_name = "NAME", value_parser = trial)]
    test: Vec<Trial>,
    /// The largest message
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 1 << 20,
        value_parser = clap::value_parser!(u64).range(1..=1 << 40)
    )]
    largest: u64,
    /// From one size of message to the next
    #[arg(
        long,
        value_name = "N",
        default_value_t = 4,
        value_parser = clap::value_parser!(u64).range(2..=1 << 20)
    )]
    factor: u64,
    /// The least side of a sub-domain of HALO
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2,
        value_parser = clap::value_parser!(u64).range(1..=1 << 30)
    )]
    halo_least: u64,
    /// The largest side of a sub-domain of HALO
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1024,
        value_parser = clap::value_parser!(u64).range(1..=1 << 30)
    )]
    halo_largest: u64,
    /// Only this order of ranks in HALO, as TXYZ or Hilbert; may be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    order: Vec<String>,
    /// Bandwidth of a link, each way, in GB/s; on a torus three, if links along X, Y and Z differ
    #[arg(long, value_name = "GB/S", value_delimiter = ',', value_parser = positive)]
    link_gb_s: Vec<f64>,
    /// Latency of a link, in microseconds
    #[arg(long, value_name = "US", value_parser = positive)]
    hop_us: Option<f64>,
    /// Bandwidth of the link between nodes A and B of a torus or mesh, in GB/s; may be repeated
    #[arg(long, value_name = "A-B=GB/S", value_parser = own_link)]
    own_gb_s: Vec<OwnLink>,
    /// Latency of the link between nodes A and B, in microseconds; may be repeated
    #[arg(long, value_name = "A-B=US", value_parser = own_link)]
    own_hop_us: Vec<OwnLink>,
    /// What a message costs the core that receives it, in microseconds
    #[arg(long, value_name = "US", value_parser = positive)]
    receive_us: Option<f64>,
    /// What a node sends at most, and what it receives, in GB/s
    #[arg(long, value_name = "OUT,IN", value_parser = engines)]
    engines_gb_s: Option<[f64; 2]>,
    /// Below this size a message moves before its receiver has asked for it
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    buffered_below: u64,
    /// Share links by the inverse of latency, and nothing inside a node, as SimGrid's SMPI does
    #[arg(long)]
    as_simgrid: bool,
}

/// A number above 0 that a model can bear.
fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|own| (1e-9..=1e9).contains(own));
    number.ok_or_else(|| "write a number from 1e-9 to 1e9".to_owned())
}

fn engines(text: &str) -> Result<[f64; 2], String> {
    let (out, into) = text.split_once(',').ok_or("write OUT,IN, as in 2.25,1.6")?;
    Ok([positive(out)?, positive(into)?])
}

/// A link by its two nodes, and its value.
fn own_link(text: &str) -> Result<OwnLink, String> {
    let form = "write A-B=VALUE, two nodes and a number, as in 0-1=0.5";
    let (nodes, value) = text.split_once('=').ok_or(form)?;
    let (one, other) = nodes.split_once('-').ok_or(form)?;
    let node = |text: &str| text.parse::<u32>().map_err(|_| form.to_owned());
    Ok(OwnLink { between: [node(one)?, node(other)?], value: positive(value)? })
}

/// The same links, their values in another unit.
fn scaled(all: &[OwnLink], unit: f64) -> Vec<OwnLink> {
    all.iter().map(|own| OwnLink { value: unit * own.value, ..*own }).collect()
}

fn trial(text: &str) -> Result<Trial, String> {
    let found = TRIALS.iter().find(|(name, _)| *name == text).map(|(_, trial)| *trial);
    let names = || TRIALS.map(|(name, _)| name).join(", ");
    found.ok_or_else(|| format!("no such test: write one of {}", names()))
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let machine = machine(options)?;
    let extent = Extent {
        largest: options.largest,
        factor: options.factor,
        halo: [options.halo_least, options.halo_largest],
        orders: options.order.clone(),
        buffered_below: options.buffered_below,
    };
    let is_read = output::is_terminal();
    if !is_read {
        output::print(&line(&places(&machine)))?;
    }
    for (name, trial) in TRIALS {
        if !options.test.is_empty() && !options.test.contains(&trial) {
            continue;
        }
        if is_read {
            show(name, trial, &machine, &extent)?;
        } else {
            tell(trial, &machine, &extent)?;
        }
    }
    Ok(())
}

/// Runs a test, and prints its tables.
fn show(name: &str, trial: Trial, machine: &Machine, extent: &Extent) -> Result<(), Failure> {
    let mut rows = Vec::new();
    trial.run(machine, extent, &mut |row| rows.push(row))?;
    output::print_table(&tables(name, &rows))
}

/// Runs a test, and prints each row when it is there.
fn tell(trial: Trial, machine: &Machine, extent: &Extent) -> Result<(), Failure> {
    let mut printed = Ok(());
    let mut print = |row: Row| {
        if printed.is_ok() {
            printed = output::print(&line(&object(&row, machine.processes())));
        }
    };
    trial.run(machine, extent, &mut print)?;
    printed
}

fn machine(options: &Options) -> Result<Machine, Failure> {
    let shape = options.network.shape(&options.shape)?;
    let mut figures = figures(&shape, &options.link_gb_s)?;
    if let Some(hop_us) = options.hop_us {
        figures.hop_s = 1e-6 * hop_us;
    }
    if let Some(receive_us) = options.receive_us {
        figures.receive_s = 1e-6 * receive_us;
    }
    if let Some(engines_gb_s) = options.engines_gb_s {
        figures.engines_bytes_per_s = engines_gb_s.map(|own| 1e9 * own);
    }
    if options.as_simgrid {
        (figures.sharing, figures.inside) = (Sharing::ByLatency, Inside::Alone);
    }
    let machine = Machine::new(shape, options.cores, figures)?;
    let machine = machine.with_link_bytes_per_s(&scaled(&options.own_gb_s, 1e9))?;
    Ok(machine.with_hops_s(&scaled(&options.own_hop_us, 1e-6))?)
}

/// The usual figures of a network, with links that pass so much: all the same, or by the axis.
fn figures(shape: &Shape, link_gb_s: &[f64]) -> Result<Figures, FlowsError> {
    match *link_gb_s {
        [] => Ok(Figures::usual(shape, None)),
        [all] => Ok(Figures::usual(shape, Some(1e9 * all))),
        [x, y, z] if shape.torus().is_some() => {
            let most = x.max(y).max(z);
            let usual = Figures::usual(shape, Some(1e9 * most));
            Ok(Figures { axes: [x, y, z].map(|own| own / most), ..usual })
        }
        _ => Err(FlowsError::Rates { count: link_gb_s.len() }),
    }
}

/// The row that says where ranks are.
fn places(machine: &Machine) -> Value {
    let names: Vec<String> = (0..machine.nodes()).map(|node| format!("n{node}")).collect();
    let node_of: Vec<u32> = (0..machine.processes()).map(|own| machine.node_of(own)).collect();
    let shape = machine.shape();
    json!({"test": "places", "library": "fluid model", "simulated": true, "names": names,
        "node_of": node_of, "network": shape.kind(), "shape": shape.counts()})
}

fn object(row: &Row, ranks: u32) -> Value {
    match row {
        Row::Measured(own) => json!({"test": own.test, "variant": own.variant, "bytes": own.bytes,
            "count": own.count, "messages": own.messages, "valid": true, "warmups": 0,
            "wanted": 1, "late": 0, "late_limit_s": 0.0, "start_error_s": 0.0,
            "modelled_ranks": ranks, "samples_s": [own.seconds]}),
        Row::Skipped { test, reason } => json!({"test": test, "variant": "", "skipped": reason}),
        Row::Prediction(own) => json!({"test": "halo-prediction", "variant": own.variant,
            "messages_between_nodes": own.messages_between_nodes,
            "hops_a_message": own.hops_a_message,
            "messages_of_the_busiest_link": own.messages_of_the_busiest_link,
            "busiest_s_a_byte": own.busiest_s_a_byte}),
    }
}

fn line(row: &Value) -> String {
    format!("{row}\n")
}
