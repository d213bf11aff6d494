//! `tidings pick`: nodes for work, for `mpirun --host` or `srun -w`.

mod failure;

use std::ops::Range;

use clap::{Args, ValueEnum};
use tidings_control::{Pick, Picked};
use tidings_gossip::roster::{self, Hostlist};
use tidings_nodes::units::size_bytes;

use crate::Failure;
use crate::output::{self, Agent};
pub use failure::NeedError;

const AFTER_HELP: &str = concat!(
    "\
Nodes are chosen at random among those that have what is needed, preferably less loaded ones; a
picked node counts as busy until its entry can show the work. `two-choices` and `spread` suit
many callers at once, `least-loaded` one.

Examples:
  tidings pick -n 4
  mpirun --host $(tidings pick -n 4 --need cpus=8,mem=16GiB --format mpi) ./solver
  srun -w $(tidings pick -n 16 --avoid 'n[1-3],m7' --format slurm) ./solver
  tidings pick -n 2 --policy pack --format json",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings pick`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    /// How many different nodes
    #[arg(short = 'n', long = "nodes", value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    nodes: u32,
    /// What each node must have free: cpus=NUMBER, mem=SIZE, or both with a comma
    #[arg(long, value_name = "NEED", default_value = "", hide_default_value = true)]
    need: String,
    /// Nodes that must not be picked, as a hostlist: n[1-3],m7; the option may be repeated
    #[arg(long, value_name = "NODES", value_parser = hostlist)]
    avoid: Vec<String>,
    /// How nodes are chosen: two-choices, least-loaded, spread or pack
    #[arg(long, value_name = "POLICY", default_value = "two-choices", hide_possible_values = true)]
    #[arg(value_parser = ["two-choices", "least-loaded", "spread", "pack"])]
    policy: String,
    /// How nodes are printed
    #[arg(long, value_name = "FORMAT", default_value = "lines")]
    format: Format,
}

/// How nodes are printed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// One name per line, the best first
    Lines,
    /// Names with commas, as mpirun --host takes them
    Mpi,
    /// A hostlist, as srun -w takes it
    Slurm,
    /// One JSON object with what is known of each
    Json,
}

/// The needs, and other names for them.
const NEEDS: [(&str, &[&str]); 2] = [
    ("cpus", &["cpu", "core", "cores", "processor", "processors", "ncpus", "threads"]),
    ("mem", &["memory", "ram", "mem_bytes", "mem_available", "mem_free"]),
];

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
    if !picked.avoid_unknown.is_empty() {
        let names = roster::compress(&picked.avoid_unknown);
        output::complain(&format!("--avoid: nobody has the name {names}"));
    }
    match options.format {
        Format::Json => output::print_json(&picked),
        other => output::print(&text(&picked, other)),
    }
}

/// A hostlist, which the agent reads: here it is only checked.
fn hostlist(text: &str) -> Result<String, String> {
    match Hostlist::parse(text.trim()) {
        Err(error) if !text.trim().is_empty() => {
            Err(format!("character {}: {}", error.column, error.problem))
        }
        _ => Ok(text.to_owned()),
    }
}

fn text(picked: &Picked, format: Format) -> String {
    let mut names: Vec<&str> = picked.nodes.iter().map(|node| node.name.as_str()).collect();
    match format {
        Format::Mpi => names.join(",") + "\n",
        Format::Slurm => {
            // Neighbours are folded; srun ignores the order.
            names.sort_unstable();
            roster::compress(&names) + "\n"
        }
        Format::Lines | Format::Json => names.iter().flat_map(|name| [name, "\n"]).collect(),
    }
}

/// Processors and bytes of memory.
fn read_need(given: &str) -> Result<(f64, u64), NeedError> {
    let (mut cpus, mut mem_bytes) = (None, None);
    let mut begin = 0;
    for part in given.split(',') {
        let place = trimmed(part, begin);
        begin += part.len() + 1;
        if place.is_empty() {
            continue;
        }
        let wrong = |place: Range<usize>, reason: String| NeedError {
            given: given.to_owned(),
            place,
            reason,
        };
        let Some((key, value)) = given[place.clone()].split_once('=') else {
            return Err(wrong(place.clone(), format!("`{}` has no `=`", &given[place])));
        };
        let key_at = trimmed(key, place.start);
        let value_at = trimmed(value, place.start + key.len() + 1);
        let (key, value) = (key.trim(), value.trim());
        let again = match key {
            "cpus" => {
                let number = value.parse::<f64>().ok().filter(|n| (0.0..=1e6).contains(n));
                let number = number.ok_or_else(|| {
                    wrong(value_at, format!("`{value}` is not a number of processors"))
                })?;
                cpus.replace(number).is_some()
            }
            "mem" => {
                let size = size_bytes(value).filter(|bytes| (0.0..=1e18).contains(bytes));
                let size = size.ok_or_else(|| {
                    wrong(value_at.clone(), format!("`{value}` is not a size such as 16GiB"))
                })?;
                if size > 0.0 && value.ends_with(|c: char| !c.is_ascii_alphabetic()) {
                    let reason = format!("`{value}` has no unit; write for example {value}GiB");
                    return Err(wrong(value_at, reason));
                }
                mem_bytes.replace(size.ceil() as u64).is_some()
            }
            other => {
                let reason = format!("no need `{other}`; the nearest is `{}`", nearest(other));
                return Err(wrong(key_at, reason));
            }
        };
        if again {
            return Err(wrong(key_at, format!("`{key}` is named twice")));
        }
    }
    Ok((cpus.unwrap_or(0.0), mem_bytes.unwrap_or(0)))
}

/// The position of a part that begins at `begin`, without the spaces around it.
fn trimmed(part: &str, begin: usize) -> Range<usize> {
    let start = begin + part.len() - part.trim_start().len();
    start..start + part.trim().len()
}

/// The need whose name, or another name of the same, is most like this.
fn nearest(name: &str) -> &'static str {
    let likeness = |of: &(&str, &[&str])| {
        let names = of.1.iter().chain([&of.0]);
        names.map(|other| strsim::jaro_winkler(other, name)).fold(0.0, f64::max)
    };
    let [one, other] = NEEDS;
    if likeness(&other) > likeness(&one) { other.0 } else { one.0 }
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
        assert_eq!(read_need("mem=16B"), Ok((0.0, 16)));
        assert_eq!(read_need("mem=0"), Ok((0.0, 0)));
    }

    /// The whole message, as a person sees it behind `tidings: `.
    #[test]
    fn carets_point_at_what_is_wrong_with_a_need() {
        for (given, message, carets) in [
            ("cpus", "`cpus` has no `=`", "^^^^"),
            ("gpus=1", "no need `gpus`; the nearest is `cpus`", "^^^^"),
            ("cpus=8, memory=2GiB", "no need `memory`; the nearest is `mem`", "        ^^^^^^"),
            ("ram=2GiB", "no need `ram`; the nearest is `mem`", "^^^"),
            ("cores=2", "no need `cores`; the nearest is `cpus`", "^^^^^"),
            ("cpus=8,mem=lots", "`lots` is not a size such as 16GiB", "           ^^^^"),
            ("mem=16", "`16` has no unit; write for example 16GiB", "    ^^"),
            ("cpus=1,mem=1e9", "`1e9` is not a size such as 16GiB", "           ^^^"),
            ("mem=3s", "`3s` is not a size such as 16GiB", "    ^^"),
            ("cpus = -1", "`-1` is not a number of processors", "       ^^"),
            ("cpus=nan", "`nan` is not a number of processors", "     ^^^"),
            ("cpus=", "`` is not a number of processors", "     ^"),
            ("cpus=1,cpus=2", "`cpus` is named twice", "       ^^^^"),
        ] {
            let expected = format!(
                "--need: {message}; write cpus=8, mem=16GiB or cpus=8,mem=16GiB\n  {given}\n  \
                 {carets}"
            );
            assert_eq!(read_need(given).expect_err(given).to_string(), expected);
        }
    }

    #[test]
    fn each_launcher_gets_its_format() {
        let node = |name: &str| PickedNode { name: name.to_owned(), ..PickedNode::default() };
        let nodes = ["n3", "n1", "n2", "login"].map(node).to_vec();
        let picked = Picked { nodes, ..Picked::default() };
        assert_eq!(text(&picked, Format::Mpi), "n3,n1,n2,login\n");
        assert_eq!(text(&picked, Format::Slurm), "login,n[1-3]\n");
        assert_eq!(text(&picked, Format::Lines), "n3\nn1\nn2\nlogin\n");
    }
}
