//! `tidings lab advise`: where to place the ranks of an application, from a characterisation.
//!
//! What is advised is computed by `tidings-characterize`. This module reads the stored
//! characterisation, the pattern and, if asked, the board of a running agent, and writes the files
//! by which launchers place ranks.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueHint};
use tidings_characterize::advice::{self, Advice, AdviceError, Machine, Pattern, Presence, Seen};
use tidings_control::{NodeReport, State};
use tidings_experiment::ExperimentError;
use tidings_nodes::board;
use tidings_nodes::filter::Filter;
use tidings_nodes::units::{Unit, size_bytes};

use super::characterize;
use super::network::Network;
use crate::Failure;
use crate::output::{self, Agent};
use crate::table::{Align, render};

/// More bytes of a file of neighbours are not read.
const MOST_FILE_BYTES: u64 = 64 << 20;
/// More sizes of messages are not predicted at once.
const MOST_SIZES: usize = 64;
/// A link with more than this share of its bandwidth in use is busy, unless --busy says otherwise.
const BUSY_SHARE: f64 = 0.10;
/// So is a node whose processors have more to do, in per cent.
const BUSY_PERCENT: f64 = 50.0;

/// Options of `tidings lab advise`.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The folder of the characterisation
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Ranks are a grid, such as 8x4 or 4x4x2, and send to the next one in each direction
    #[arg(long, value_name = "PxQ", required_unless_present = "neighbours")]
    grid: Option<String>,
    /// A file with a line for each message: who sends, who receives and, if they differ, its size
    #[arg(long, value_name = "FILE", conflicts_with = "grid", value_hint = ValueHint::FilePath)]
    neighbours: Option<PathBuf>,
    /// The grid has ends: ranks at its sides do not send around
    #[arg(long, requires = "grid")]
    open: bool,
    /// Sizes of messages, such as 8,64KiB
    #[arg(long, value_name = "SIZES", default_value = "8,1KiB,64KiB,1MiB")]
    #[arg(value_delimiter = ',', value_parser = size)]
    sizes: Vec<f64>,
    /// The machine of the series [default: the one there is]
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// The network of the machine, if the characterisation does not say it
    #[arg(long, value_name = "NETWORK", requires = "shape")]
    network: Option<Network>,
    /// Lengths of rings or rows; ports down of each level; groups, chassis, routers and nodes a
    /// router
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', requires = "network")]
    shape: Vec<u32>,
    /// Avoid nodes that are busy or gone at this moment, as the board of the running agent says
    #[arg(long)]
    now: bool,
    /// The board to read instead of the one in the agent's runtime directory
    #[arg(long, value_name = "PATH", requires = "now", value_hint = ValueHint::FilePath)]
    board: Option<PathBuf>,
    /// When a node is busy, as in `tidings nodes --where` [default: half of its processors' time,
    /// or a tenth of a link's bandwidth]
    #[arg(long, value_name = "CONDITION", requires = "now")]
    busy: Option<String>,
    /// Entries that are older than this are not believed
    #[arg(long, value_name = "TIME", requires = "now", default_value = "10s")]
    #[arg(value_parser = humantime::parse_duration)]
    older: Duration,
    /// The folder for the files by which launchers place ranks [default: none are written]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

fn size(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().or_else(|| size_bytes(text));
    let size = number.filter(|size: &f64| (0.0..=1e12).contains(size));
    size.ok_or_else(|| "write bytes, such as 8 or 64KiB, up to 1 TB".to_owned())
}

pub(super) fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    let sizes = &options.sizes[..options.sizes.len().min(MOST_SIZES)];
    let pattern = pattern(options)?;
    let (series, records) = characterize::stored(&options.folder)?;
    let machine = Machine::of(&series, &records, options.machine.as_deref())?;
    let machine = match options.network {
        Some(network) => machine.with_network(network.shape(&options.shape)?)?,
        None => machine,
    };
    let seen = if options.now { now(agent, options, &machine)? } else { Vec::new() };
    let (advice, slots) = advice::advise(&machine, &pattern, sizes, &seen)?;
    if let Some(folder) = &options.output {
        write(folder, &machine, &advice, &slots)?;
    }
    if options.json {
        return output::print_json(&advice);
    }
    output::print(&said(&advice, options.output.as_deref()))
}

/// The pattern of the options.
fn pattern(options: &Options) -> Result<Pattern, Failure> {
    if let Some(grid) = &options.grid {
        return Ok(Pattern::of_grid(grid, options.open)?);
    }
    let path = options.neighbours.clone().unwrap_or_default();
    let unreadable = |source| ExperimentError::Unreadable { path: path.clone(), source };
    let bytes = fs::metadata(&path).map_err(unreadable)?.len();
    let file = path.display().to_string();
    if bytes > MOST_FILE_BYTES {
        let reason = format!("{bytes} bytes: {MOST_FILE_BYTES} at most are read");
        return Err(AdviceError::Neighbours { file, line: 1, reason }.into());
    }
    let text = fs::read_to_string(&path).map_err(unreadable)?;
    Ok(Pattern::of_text(&text, &file)?)
}

/// What the board says of each node of the machine.
fn now(agent: &Agent, options: &Options, machine: &Machine) -> Result<Vec<Seen>, Failure> {
    let least = (machine.costs.link_bytes_per_s * BUSY_SHARE).round();
    let default = format!(
        "cpu_busy_percent > {BUSY_PERCENT} or net_rx_bytes_s > {least} or net_tx_bytes_s > {least}"
    );
    let busy = match &options.busy {
        Some(condition) => Filter::parse(condition)?,
        None => Filter::kept(&default)?,
    };
    let path = options.board.clone().unwrap_or_else(|| agent.board());
    let nodes = board::nodes(&path)?.nodes;
    let report = |name: &String| {
        let named = |known: &&NodeReport| known.name == *name;
        let host = |own: &str| own.split('.').next().unwrap_or_default().to_owned();
        let alike = |known: &&NodeReport| host(&known.name) == host(name);
        nodes.iter().find(named).or_else(|| nodes.iter().find(alike))
    };
    Ok(machine.nodes.iter().map(|name| seen(report(name), &busy, options.older)).collect())
}

/// What an entry says of a node.
fn seen(report: Option<&NodeReport>, busy: &Filter, older: Duration) -> Seen {
    let unknown =
        |reason: String| Seen { presence: Presence::Unknown(reason), link_bytes_per_s: 0.0 };
    let Some(own) = report else {
        return unknown("the agent knows no node of this name".to_owned());
    };
    if matches!(own.state, State::Dead | State::Left) {
        let presence = Presence::Gone(format!("it is {}", own.state.name()));
        return Seen { presence, link_bytes_per_s: 0.0 };
    }
    let Some(age_ms) = own.readings_age_ms.filter(|_| own.state == State::Alive) else {
        return unknown(format!("it is {}", own.state.name()));
    };
    if age_ms > older.as_secs_f64() * 1e3 {
        return unknown(format!("its entry is {} old", Unit::Milliseconds.humanise(age_ms)));
    }
    let passing = own.net_rx_bytes_s.unwrap_or(0).max(own.net_tx_bytes_s.unwrap_or(0)) as f64;
    let presence = if busy.holds(own) {
        let link = Unit::BytesPerSecond.humanise(passing);
        let processors = own.cpu_busy_percent.map_or("-".to_owned(), |own| format!("{own:.0} %"));
        Presence::Busy(format!("processors {processors}, link {link}"))
    } else {
        Presence::Idle
    };
    Seen { presence, link_bytes_per_s: passing }
}

/// The files of launchers, and the advice itself.
fn write(folder: &Path, machine: &Machine, advice: &Advice, slots: &[u32]) -> Result<(), Failure> {
    let failed = |path: PathBuf| move |source| Failure::File { path, source };
    fs::create_dir_all(folder).map_err(failed(folder.to_owned()))?;
    let text = serde_json::to_string_pretty(advice).expect("numbers and names") + "\n";
    let files = advice::files(machine, slots).into_iter().chain([("advice.json", text)]);
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).map_err(failed(path.clone()))?;
    }
    Ok(())
}

fn said(advice: &Advice, folder: Option<&Path>) -> String {
    let row = |own: &advice::Expected| {
        let times = [own.default_s, own.advised_s].map(|own| format!("{:.2}", own * 1e6));
        let [default, advised] = times;
        vec![format!("{}", own.bytes), default, advised, format!("{:.2}", own.gain)]
    };
    let headings = [
        ("bytes", Align::Right),
        ("default, µs", Align::Right),
        ("advised, µs", Align::Right),
        ("gain", Align::Right),
    ];
    let mut text = render(&headings, &advice.gains.iter().map(row).collect::<Vec<_>>());
    let (default, advised) = (&advice.default, &advice.advised);
    let _ = writeln!(
        text,
        "\nplaces by {}\nhops a message: {:.2} instead of {:.2}; the busiest link carries {} messages \
         instead of {}",
        advice.order,
        advised.hops_a_message,
        default.hops_a_message,
        advised.messages_of_the_busiest_link,
        default.messages_of_the_busiest_link,
    );
    for assumed in &advice.costs.assumed {
        let _ = writeln!(text, "{assumed}");
    }
    for own in &advice.nodes_not_idle {
        let used = if own.used { "used for want of others" } else { "avoided" };
        let _ = writeln!(text, "{} is {}: {} ({used})", own.node, own.state, own.reason);
    }
    if is_scattered(advice) {
        text += "MPICH's launcher takes ranks of a node whose numbers do not follow each other to be on \
                 different nodes: they do not share memory\n";
    }
    let Some(folder) = folder else { return text };
    let folder = folder.display();
    text + &format!(
        "Open MPI: mpirun --rankfile {folder}/rankfile\n\
         MPICH:    mpirun -f {folder}/machinefile\n\
         Slurm:    SLURM_HOSTFILE={folder}/hosts srun --distribution=arbitrary\n"
    )
}

/// Whether some node has ranks between whose numbers are ranks of others.
fn is_scattered(advice: &Advice) -> bool {
    let mut left = BTreeSet::new();
    advice.placement.windows(2).any(|two| {
        let moved = two[0].node != two[1].node;
        moved && {
            left.insert(&two[0].node);
            left.contains(&two[1].node)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(state: State, age_ms: f64, busy: f64) -> NodeReport {
        NodeReport {
            name: "n1".to_owned(),
            state,
            readings_age_ms: Some(age_ms),
            cpu_busy_percent: Some(busy),
            net_tx_bytes_s: Some(7),
            ..NodeReport::default()
        }
    }

    #[test]
    fn old_entries_are_not_believed_and_the_dead_are_gone() {
        let busy = Filter::kept("cpu_busy_percent > 50").expect("a condition");
        let of = |own: Option<&NodeReport>| seen(own, &busy, Duration::from_secs(10)).presence;
        assert_eq!(of(Some(&report(State::Alive, 500.0, 10.0))), Presence::Idle);
        let Presence::Busy(said) = of(Some(&report(State::Alive, 500.0, 90.0))) else {
            panic!("it is busy")
        };
        assert!(said.contains("processors 90 %"), "{said}");
        for (own, wanted) in [
            (Some(report(State::Alive, 11_000.0, 90.0)), "old"),
            (Some(report(State::Suspected, 500.0, 10.0)), "suspected"),
            (None, "no node of this name"),
        ] {
            let Presence::Unknown(said) = of(own.as_ref()) else { panic!("{wanted}") };
            assert!(said.contains(wanted), "{said}");
        }
        let gone = of(Some(&report(State::Dead, 500.0, 10.0)));
        assert_eq!(gone, Presence::Gone("it is dead".to_owned()));
    }

    #[test]
    fn sizes_are_bytes_with_or_without_a_unit() {
        assert_eq!((size("8"), size("64KiB")), (Ok(8.0), Ok(65_536.0)));
        assert!(size("-1").is_err() && size("x").is_err() && size("2e12").is_err());
    }
}
