//! `tidings pick`: nodes for work, for `mpirun --host` or `srun -w`.

use clap::{Args, ValueEnum};
use tidings_control::{Pick, Picked};
use tidings_gossip::roster;

use crate::Failure;
use crate::output::{self, Agent};
use crate::units::Unit;

const AFTER_HELP: &str = concat!(
    "\
Nodes are chosen by chance among those that have what is needed, the less loaded rather; what was
picked counts as taken until there is news that can know of it. `two-choices` and `spread` suit
many callers at once, `least-loaded` one.

Examples:
  tidings pick -n 4
  mpirun --host $(tidings pick -n 4 --need cpus=8,mem=16GiB --format mpi) ./solver
  srun -w $(tidings pick -n 16 --avoid n7 --format slurm) ./solver
  tidings pick -n 2 --policy pack --format json",
    "\n\n",
    crate::arguments::exit_codes!()
);

/// Options of `tidings pick`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    /// How many nodes, each another
    #[arg(short = 'n', long = "nodes", value_name = "N", default_value_t = 1)]
    nodes: u32,
    /// What each must have free: cpus=NUMBER, mem=SIZE, or both with a comma
    #[arg(long, value_name = "NEED", default_value = "", hide_default_value = true)]
    need: String,
    /// A node that is not to be picked; may be given again, or several with commas
    #[arg(long, value_name = "NODE", value_delimiter = ',')]
    avoid: Vec<String>,
    /// By what nodes are chosen: two-choices, least-loaded, spread or pack
    #[arg(long, value_name = "POLICY", default_value = "two-choices")]
    policy: String,
    /// How they are printed
    #[arg(long, value_name = "FORMAT", default_value = "lines")]
    format: Format,
}

/// How nodes are printed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// One name a line, the best first
    Lines,
    /// Names with commas, as mpirun --host takes them
    Mpi,
    /// A hostlist, as srun -w takes it
    Slurm,
    /// One JSON object with what is known of each
    Json,
}

/// `--need` cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("--need {given}: {reason}; write cpus=8, mem=16GiB or cpus=8,mem=16GiB")]
pub struct NeedError {
    given: String,
    reason: String,
}

/// Asks the agent and prints the nodes.
///
/// # Errors
/// [`Failure::Need`], or the agent's refusal: too few nodes have what is needed (exit code 4).
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    let (cpus, mem_bytes) = read_need(&options.need)?;
    let picked = agent.connect()?.pick(Pick {
        count: options.nodes,
        cpus,
        mem_bytes,
        avoid: options.avoid.clone(),
        policy: options.policy.clone(),
    })?;
    match options.format {
        Format::Json => output::print_json(&picked),
        other => output::print(&text(&picked, other)),
    }
}

fn text(picked: &Picked, format: Format) -> String {
    let mut names: Vec<&str> = picked.nodes.iter().map(|node| node.name.as_str()).collect();
    match format {
        Format::Mpi => names.join(",") + "\n",
        Format::Slurm => {
            // Neighbours are folded, and the best first means nothing to srun.
            names.sort_unstable();
            roster::compress(&names) + "\n"
        }
        Format::Lines | Format::Json => names.iter().flat_map(|name| [name, "\n"]).collect(),
    }
}

/// Processors and bytes of memory.
fn read_need(given: &str) -> Result<(f64, u64), NeedError> {
    let wrong = |reason: String| NeedError { given: given.to_owned(), reason };
    let (mut cpus, mut mem_bytes) = (0.0, 0);
    for part in given.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (key, value) =
            part.split_once('=').ok_or_else(|| wrong(format!("`{part}` has no `=`")))?;
        match key.trim() {
            "cpus" => {
                let number = value.trim().parse::<f64>().ok().filter(|n| (0.0..=1e6).contains(n));
                cpus = number.ok_or_else(|| wrong(format!("`{value}` is no number of cpus")))?;
            }
            "mem" => {
                let size = size_bytes(value.trim());
                mem_bytes = size.ok_or_else(|| wrong(format!("`{value}` is no size")))?;
            }
            other => return Err(wrong(format!("there is no need called `{other}`"))),
        }
    }
    Ok((cpus, mem_bytes))
}

/// `16GiB` in bytes.
fn size_bytes(text: &str) -> Option<u64> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let bytes = number.trim().parse::<f64>().ok()? * Unit::Bytes.scale(unit.trim())?;
    (0.0..=1e18).contains(&bytes).then_some(bytes.ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_control::PickedNode;

    #[test]
    fn needs_are_read_with_their_units() {
        assert_eq!(read_need(""), Ok((0.0, 0)));
        assert_eq!(read_need("cpus=8,mem=16GiB"), Ok((8.0, 16 << 30)));
        assert_eq!(read_need(" mem = 1.5kB , cpus=0.5"), Ok((0.5, 1500)));
        for (given, part) in [
            ("cpus", "has no `=`"),
            ("gpus=1", "no need called `gpus`"),
            ("mem=lots", "`lots` is no size"),
            ("mem=3s", "`3s` is no size"),
            ("cpus=-1", "no number of cpus"),
            ("cpus=nan", "no number of cpus"),
        ] {
            let message = read_need(given).expect_err(given).to_string();
            assert!(message.contains(part) && message.contains("cpus=8"), "{message}");
        }
    }

    #[test]
    fn each_launcher_gets_its_form() {
        let node = |name: &str| PickedNode { name: name.to_owned(), ..PickedNode::default() };
        let nodes = ["n3", "n1", "n2", "login"].map(node).to_vec();
        let picked = Picked { nodes, ..Picked::default() };
        assert_eq!(text(&picked, Format::Mpi), "n3,n1,n2,login\n");
        assert_eq!(text(&picked, Format::Slurm), "login,n[1-3]\n");
        assert_eq!(text(&picked, Format::Lines), "n3\nn1\nn2\nlogin\n");
    }
}
