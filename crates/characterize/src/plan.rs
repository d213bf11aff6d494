//! The series for this machine: which tests run, on how many ranks, how often.
//!
//! Two processes have a core each; tests of several ranks outnumber the cores of a small machine,
//! and wait by sleep there. All programs run in rounds, because a machine differs from run to run
//! more than within one, and moves with time: what it did meanwhile is then in all tests alike.

use std::fmt::Write as _;

use serde_json::Value;

/// What the series is for.
#[derive(Clone, Debug)]
pub struct Here {
    /// The name of the MPI: `openmpi` or `mpich`.
    pub mpi: String,
    /// `tidings-mpi-characterize` for it.
    pub program: String,
    /// The library that has waiting ranks yield, if it is here.
    pub yielding: Option<String>,
    /// Processors.
    pub processors: u32,
    /// The cores that these are of: several processors may share one.
    pub cores: u32,
    /// At most two minutes.
    pub quick: bool,
    /// The shim and the options of gossip that runs beside, if any.
    pub gossip: Option<Gossip>,
}

/// Gossip beside the tests.
#[derive(Clone, Debug)]
pub struct Gossip {
    /// The shim, which hides ranks.
    pub shim: String,
    /// The options of gossip.
    pub options: String,
}

/// How much is measured.
struct Extent {
    rounds: u32,
    repetitions: u32,
    largest: u32,
    factor: u32,
    halo_largest: u32,
    beyond_cache: u32,
    /// Ranks that are measured core by core, the first with each other one.
    talking: u32,
}

/// As many rounds as fit into two minutes, on two processors 14 s each: a comparison learns from
/// their quarters how far a session moves. Eight can decide about 300 lines, by its rule. Beside
/// gossip each is twice as long.
pub(crate) const QUICK_ROUNDS: u32 = 8;
const QUICK: Extent = Extent {
    rounds: QUICK_ROUNDS,
    repetitions: 11,
    largest: 1 << 20,
    factor: 16,
    halo_largest: 1024,
    beyond_cache: 16 << 20,
    talking: 4,
};
const WHOLE: Extent = Extent {
    rounds: 12,
    repetitions: 100,
    largest: 4 << 20,
    factor: 2,
    halo_largest: 1024,
    beyond_cache: 64 << 20,
    talking: 9,
};

/// The most ranks that are started here, and of those the least.
const MOST_RANKS: u32 = 16;
const LEAST_RANKS: u32 = 4;
/// So many are hidden where gossip runs beside: one alone has no peer.
const HIDDEN: u32 = 2;

/// Tests that need a core for each rank, of two ranks and of more, and those of several ranks.
const PAIRS: &[&str] = &["pair", "cores"];
const PAIR: &[&str] = &["pair"];
const CORES: &[&str] = &["cores"];
/// Arguments of either MPI's launcher by which each rank keeps to a core of its own.
const PINNED: &[&str] = &["--bind-to", "core"];
const GROUPS: &[&str] = &[
    "hops",
    "through",
    "overlap",
    "streams",
    "hotspot",
    "fans",
    "collectives",
    "parallel",
    "halo",
];

/// The text of the series.
pub fn text(here: &Here) -> String {
    let extent = if here.quick { QUICK } else { WHOLE };
    let rounds = extent.rounds;
    let most = here.processors.clamp(LEAST_RANKS, MOST_RANKS);
    // An even number, of which two hidden ranks take alike.
    let most = if here.gossip.is_some() { most & !1 } else { most };
    let hidden = if here.gossip.is_some() { HIDDEN } else { 0 };
    let is_crowded = most + hidden > here.processors;
    let pairs_are_crowded = hidden > 0 && 2 + hidden > here.processors;
    let mut text = format!(
        "# Written by tidings lab characterize.\nname = \"characterize{}\"\nlimit_s = {}.0\n\
         on_failure = \"go-on\"\nrounds = {rounds}\n\n",
        match (here.quick, &here.gossip) {
            (false, None) => "",
            (true, None) => "-quick",
            (false, Some(_)) => "-gossip",
            (true, Some(_)) => "-quick-gossip",
        },
        if here.quick { 60 } else { 1800 }
    );
    machine(&mut text, here, "a core each", pairs_are_crowded);
    machine(&mut text, here, "several", is_crowded);
    // Hidden ranks have no cores of their own; one core cannot be told from another where there is
    // one.
    let pinned = if hidden == 0 && here.cores > 1 { PINNED } else { &[] };
    let of_a_core = Runs { machine: "a core each", is_crowded: pairs_are_crowded, pinned };
    let several = Runs { machine: "several", is_crowded, pinned: &[] };
    let talking = here.cores.min(extent.talking);
    if pinned.is_empty() || talking < 3 {
        program(&mut text, here, &extent, ("pairs", PAIRS, &[2]), &of_a_core);
    } else {
        program(&mut text, here, &extent, ("pairs", PAIR, &[2]), &of_a_core);
        program(&mut text, here, &extent, ("cores", CORES, &[talking]), &of_a_core);
    }
    program(&mut text, here, &extent, ("groups", GROUPS, &[most]), &several);
    // How a machine grows does not depend on gossip, and ranks would be hidden unevenly.
    if here.gossip.is_some() {
        return text;
    }
    let ranks = growing(most, here.quick);
    program(&mut text, here, &extent, ("growth", &["collectives"], &ranks), &several);
    text
}

/// The numbers of ranks below the most, by which it is seen how collective operations grow: with
/// the most three at least, without which nothing can be said; in two minutes one.
fn growing(most: u32, is_quick: bool) -> Vec<u32> {
    match (is_quick, most) {
        (true, _) => vec![most / 2],
        (false, LEAST_RANKS) => vec![2, 3],
        (false, _) => {
            let doubled = std::iter::successors(Some(2), |ranks| Some(2 * ranks));
            doubled.take_while(|ranks| *ranks < most).collect()
        }
    }
}

/// A string of JSON is one of TOML.
fn string(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

fn machine(text: &mut String, here: &Here, name: &str, is_crowded: bool) {
    let yielding = here.yielding.as_ref().filter(|_| is_crowded);
    let library = |key: &str, path: &String| format!(", {key} = {}", string(path));
    let yielding = yielding.map_or(String::new(), |path| library("yielding", path));
    let shim = here.gossip.as_ref().map_or(String::new(), |own| library("shim", &own.shim));
    let _ = write!(
        text,
        "[[machines]]\nname = {}\nbackend = {{ kind = \"local\", mpi = {}{yielding}{shim} }}\n\n",
        string(name),
        string(&here.mpi)
    );
}

/// How the runs of a program are started.
struct Runs {
    machine: &'static str,
    /// Whether ranks outnumber processors.
    is_crowded: bool,
    /// What the launcher is told, if each is to keep to a core.
    pinned: &'static [&'static str],
}

/// A program of the series, with its tests and numbers of ranks.
fn program(
    text: &mut String,
    here: &Here,
    extent: &Extent,
    (name, tests, ranks): (&str, &[&str], &[u32]),
    runs: &Runs,
) {
    let mut words = vec![here.program.clone()];
    words.extend(tests.iter().flat_map(|test| ["--test".to_owned(), (*test).to_owned()]));
    for (option, value) in [
        ("--repetitions", extent.repetitions),
        ("--largest", extent.largest),
        ("--factor", extent.factor),
        ("--halo-largest", extent.halo_largest),
        ("--beyond-cache", extent.beyond_cache),
    ] {
        words.extend([option.to_owned(), value.to_string()]);
    }
    if runs.is_crowded {
        words.extend(["--sleep", "--late", "0.002"].map(str::to_owned));
    }
    let words: Vec<String> = words.iter().map(|word| string(word)).collect();
    let pinned = match runs.pinned {
        [] => String::new(),
        words => format!("launcher_arguments = {words:?}\n"),
    };
    let gossip = here.gossip.as_ref().map_or(String::new(), |own| {
        let every = ranks[0] / HIDDEN + 1;
        format!("gossip = {{ every = {every}, options = {} }}\n", string(&own.options))
    });
    let _ = write!(
        text,
        "[[programs]]\nname = {}\nmachines = [{}]\nnodes = {ranks:?}\ncommand = [{}]\n\
         {pinned}{gossip}\n",
        string(name),
        string(runs.machine),
        words.join(", ")
    );
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use tidings_experiment::series::{Cell, Series};

    #[test]
    fn the_series_is_a_right_one_and_crowded_ranks_sleep() {
        for (processors, quick, most) in [(2, true, 4), (2, false, 4), (8, true, 8), (64, true, 16)]
        {
            let here = Here {
                mpi: "openmpi".to_owned(),
                program: "/a \"b\"/x".to_owned(),
                yielding: Some("/y.so".to_owned()),
                processors,
                cores: processors,
                quick,
                gossip: None,
            };
            let text = text(&here);
            let series = Series::from_text(&text, Path::new("here.toml")).expect("a right series");
            let ranks = series.cells.iter().map(|cell| cell.nodes).max();
            assert_eq!(ranks, Some(most), "{text}");
            let crowded = most > processors;
            assert_eq!(text.contains("--sleep"), crowded, "{text}");
            assert_eq!(text.contains("/y.so"), crowded, "{text}");
            assert_eq!(series.cells[0].command[0], "/a \"b\"/x");
        }
    }

    #[test]
    fn what_grows_with_ranks_has_three_numbers_of_them_but_in_two_minutes() {
        for most in LEAST_RANKS..=MOST_RANKS {
            let ranks = growing(most, false);
            assert!(ranks.len() >= 2 && ranks.iter().all(|own| *own < most), "{most}: {ranks:?}");
            assert_eq!(growing(most, true), [most / 2]);
        }
    }

    /// One core with another is measured where each rank has one, and the launcher keeps it there.
    #[test]
    fn core_by_core_there_are_as_many_ranks_as_cores_and_each_keeps_to_its_own() {
        for (processors, cores, quick, talking) in [
            (1, 1, false, 2),
            (2, 1, true, 2),
            (2, 2, true, 2),
            (8, 4, false, 4),
            (64, 64, false, 9),
            (64, 64, true, 4),
        ] {
            let here = Here {
                mpi: "openmpi".to_owned(),
                program: "/x".to_owned(),
                yielding: None,
                processors,
                cores,
                quick,
                gossip: None,
            };
            let text = text(&here);
            let series = Series::from_text(&text, Path::new("here.toml")).expect("a right series");
            let by_core = |cell: &&Cell| cell.command.iter().any(|word| word == "cores");
            for cell in &series.cells {
                let is_pinned = cell.launcher_arguments == PINNED;
                let is_of_a_core = by_core(&cell) || cell.command.iter().any(|word| word == "pair");
                assert_eq!(is_pinned, is_of_a_core && cores > 1, "{text}");
            }
            let ranks = series.cells.iter().find(by_core).map(|cell| cell.nodes);
            assert_eq!(ranks, Some(talking), "{text}");
        }
    }

    #[test]
    fn beside_gossip_two_ranks_are_hidden_from_every_test() {
        for processors in [2, 7, 64] {
            let gossip = Gossip { shim: "/s.so".to_owned(), options: "--interval 64".to_owned() };
            let here = Here {
                mpi: "mpich".to_owned(),
                program: "/x".to_owned(),
                yielding: Some("/y.so".to_owned()),
                processors,
                cores: processors,
                quick: true,
                gossip: Some(gossip),
            };
            let text = text(&here);
            let series = Series::from_text(&text, Path::new("here.toml")).expect("a right series");
            for cell in &series.cells {
                let hidden = cell.hidden.as_ref().expect("some are hidden");
                assert_eq!(hidden.ranks(cell.nodes), cell.nodes + HIDDEN, "{text}");
            }
            assert_eq!(text.contains("--sleep"), processors < 64, "{text}");
        }
    }
}
