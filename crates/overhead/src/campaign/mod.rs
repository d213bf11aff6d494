//! A campaign: which applications run with which gossip, where, how often, and what is done about
//! disturbed runs.
//!
//! A [`Campaign`] comes from a TOML file ([`Campaign::read`]) and is checked in full before
//! anything runs: an unknown key, a value out of range or a key of another backend is refused with
//! its line. Nothing of it is decided after the first run.

mod applications;
mod kinds;
mod text;

use std::fs;
use std::path::Path;

use tidings_experiment::ExperimentError;

pub(crate) use kinds::TIMES;
pub use kinds::{Application, Campaign, Doing};

impl Campaign {
    /// Reads a campaign file.
    ///
    /// # Errors
    /// [`ExperimentError::Unreadable`], or [`ExperimentError::Campaign`] with the line of what is
    /// wrong.
    pub fn read(path: &Path) -> Result<Self, ExperimentError> {
        let text = fs::read_to_string(path)
            .map_err(|source| ExperimentError::Unreadable { path: path.to_owned(), source })?;
        Self::from_text(&text, path)
    }

    /// The campaign of a text that stands in `path`.
    ///
    /// # Errors
    /// [`ExperimentError::Campaign`].
    pub fn from_text(text: &str, path: &Path) -> Result<Self, ExperimentError> {
        text::campaign(text, path)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use tidings_experiment::backend::{Backend, SimulatedMachine};
    use tidings_experiment::scheduling::Scheduling;

    use super::*;

    /// A campaign on this machine: one application, two arms.
    pub(crate) const LOCAL: &str = r#"
name = "small"
seed = 1
repetitions = 20
limit_s = 10.0
controls = ["none"]

[world]
nodes = [2]
ranks_per_node = 2

[backend]
kind = "local"
mpi = "openmpi"
shim = "shim.so"

[gossip]
intervals_ms = [256.0]
windows = ["20%"]
entry_bytes = [64]

[contamination]
steal_share = 0.05

[[applications]]
name = "spin"
command = ["./spin", "--gossip", "{gossip}"]
seconds = { file = "stdout", json = "seconds" }
"#;

    /// A campaign on a simulated machine.
    pub(crate) const SMPI: &str = r#"
name = "torus"
repetitions = 3
limit_s = 10.0
[world]
nodes = [8]
ranks_per_node = 2
[backend]
kind = "smpi"
platform = "torus.xml"
[gossip]
intervals_ms = [4]
windows = ["20%", "40%"]
entry_bytes = [1024]
[[applications]]
name = "fft"
command = ["./fft", "{gossip}"]
seconds = { file = "stdout", json = "seconds" }
"#;

    pub(crate) fn campaign_of(text: &str) -> Campaign {
        Campaign::from_text(text, Path::new("c.toml")).expect("a right campaign")
    }

    pub(crate) fn small(repetitions: u32) -> Campaign {
        campaign_of(&LOCAL.replace("repetitions = 20", &format!("repetitions = {repetitions}")))
    }

    /// A campaign on nodes of Slurm, with this rule.
    pub(crate) fn on_nodes(rule: &str) -> String {
        LOCAL.replace("kind = \"local\"", "kind = \"slurm\"").replace("steal_share = 0.05", rule)
    }

    #[test]
    fn nodes_of_slurm_have_the_rule_of_this_machine_as_far_as_they_say_shares() {
        let rule = |own: &str| campaign_of(&on_nodes(own)).contamination;
        assert_eq!(rule("").others_share, Some(0.25), "as on this machine");
        assert_eq!(rule("steal_share = 0.05").others_share, None);
        for bound in ["pressure_share", "run_delay_share"] {
            let text = on_nodes(&format!("{bound} = 0.5"));
            let refused = Campaign::from_text(&text, Path::new("c.toml")).expect_err(bound);
            assert!(refused.to_string().contains("take the other bounds"), "{refused}");
        }
    }

    #[test]
    fn arms_are_the_controls_and_every_combination() {
        let text = LOCAL.replace("[256.0]", "[256, 4]").replace("[\"20%\"]", "[\"20%\", \"3\"]");
        let campaign = campaign_of(&text);
        let arms: Vec<String> = campaign.arms.iter().map(ToString::to_string).collect();
        let wanted = [
            "none hidden",
            "gossip 256 ms 20% 64 B",
            "gossip 256 ms 3 64 B",
            "gossip 4 ms 20% 64 B",
            "gossip 4 ms 3 64 B",
        ];
        assert_eq!(arms, wanted);
        assert_eq!(campaign.ranks(2, &Doing::None), (2, 0));
        assert_eq!(campaign.ranks(2, &Doing::Asleep), (4, 2));
        assert_eq!(
            campaign_of(SMPI).backend,
            Backend::Smpi(SimulatedMachine {
                platform: "./torus.xml".into(),
                host_pattern: "n{}".to_owned(),
                launcher_arguments: Vec::new(),
            })
        );
    }

    #[test]
    fn scheduling_has_a_class_and_what_belongs_to_it() {
        for (written, wanted) in [
            ("normal", Scheduling::Normal),
            ("fifo:1", Scheduling::Fifo(1)),
            ("rr:99", Scheduling::RoundRobin(99)),
            ("nice:-20", Scheduling::Nice(-20)),
        ] {
            let line = format!("scheduling = \"{written}\"\nseed = 1");
            assert_eq!(campaign_of(&LOCAL.replace("seed = 1", &line)).scheduling, wanted);
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line_and_a_remedy() {
        for (right, wrong, line, said) in [
            ("seed = 1", "sead = 1", 3, "unknown key `sead`"),
            ("seed = 1", "seed = ", 3, ""),
            ("seed = 1", "seed = \"x\"", 3, "seed cannot be the text \"x\": write a whole number"),
            ("limit_s = 10.0", "limit_s = [1]", 5, "limit_s cannot be a list: write a number"),
            ("json = \"seconds\"", "jason = \"s\"", 28, "a number is read by \"shim\""),
            ("limit_s = 10.0", "limit_s = 0.0", 5, "limit_s cannot be 0"),
            ("\"none\"", "\"idle\"", 6, "write none, asleep or busy"),
            ("\"none\"", "\"asleep\"", 1, "take it out"),
            ("nodes = [2]", "nodes = []", 9, "name a number"),
            ("ranks_per_node = 2", "ranks_per_node = 1", 10, "every rank would be hidden"),
            ("ranks_per_node = 2", "ranks_per_node = 2\nevery = 5", 11, "none would be hidden"),
            ("kind = \"local\"", "kind = \"cloud\"", 13, "write local, hosts, slurm or smpi"),
            (
                "kind = \"local\"\nmpi = \"openmpi\"\nshim = \"shim.so\"",
                "kind = \"plain\"",
                13,
                "it is for series",
            ),
            ("mpi = \"openmpi\"", "mpi = \"lam\"", 14, "openmpi"),
            ("mpi = \"openmpi\"", "", 13, "needs mpi"),
            ("mpi = \"openmpi\"", "mpi = \"mpich\"\nplatform = \"x\"", 15, "of smpi"),
            ("[256.0]", "[0.01]", 18, "0.1 to 3600000"),
            ("\"20%\"", "\"120%\"", 19, "no window `120%`"),
            ("steal_share = 0.05", "steal_share = 5.0", 1, "write 0 to 1"),
            ("steal_share", "steel_share", 23, "unknown key"),
            ("[\"./spin\", \"--gossip\", \"{gossip}\"]", "[]", 25, "is empty"),
            ("file = \"stdout\"", "file = \"../x\"", 25, "no file of the run's directory"),
            ("seed = 1", "scheduling = \"rr:0\"", 3, "rr:1 to rr:99"),
            ("seed = 1", "scheduling = \"batch:1\"", 3, "nice:-20 to nice:19"),
            ("repetitions = 20", "repetitions = 3", 4, "3 repetitions can show nothing"),
            ("name = \"small\"", "name = \"a b\"", 2, "it names files"),
        ] {
            let text = LOCAL.replacen(right, wrong, 1);
            assert_ne!(text, LOCAL, "{right}");
            let refused = Campaign::from_text(&text, Path::new("c.toml")).expect_err(wrong);
            let refused = refused.to_string();
            assert!(refused.starts_with(&format!("c.toml:{line}: ")), "{wrong}: {refused}");
            assert!(refused.contains(said), "{wrong}: {refused}");
        }
    }
}
