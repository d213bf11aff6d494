//! Debian's Slurm beside real agents: the claims of docs/guides/slurm.md.
//!
//! The settings and the commands are those of the guide, read from the page itself; a command that
//! the page does not have cannot be run here. Two nodes and the controller share this machine, so
//! each script is called by another that names this node's agent.

mod characterize;
mod daemons;
mod overhead;
mod scaling;
mod workers;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::process::Signal;
use tidings_control::State;
use tidings_experiment::agents::{Cluster, programs};

use daemons::Slurm;

const GUIDE: &str = include_str!("../../docs/guides/slurm.md");
/// Where the guide puts the scripts.
const INSTALLED: &str = "/etc/slurm/tidings";
const SHIPPED: &str = "/usr/share/doc/tidings/examples/slurm";
const SCRIPTS: [&str; 4] =
    ["tidings-health-check", "tidings-node-state", "tidings-prolog", "tidings-prolog-slurmctld"];
const NODES: [&str; 2] = ["n1", "n2"];
/// Slow rounds, so that no agent looks unhealthy on a loaded machine.
const FLAGS: [&str; 4] = ["--interval", "500ms", "--collect-interval", "500ms"];

/// The settings of the guide, with the scripts of this directory.
fn settings(scripts: &Path) -> String {
    let block = GUIDE.split("```ini\n").nth(1).and_then(|rest| rest.split("```").next());
    let block = block.expect("the guide has a block of settings");
    block.replace(INSTALLED, &scripts.display().to_string())
}

/// The command of the guide that contains `part`, with the scripts of the repository.
fn command(part: &str) -> String {
    let lines = GUIDE.lines().filter_map(|line| line.trim().strip_prefix("$ "));
    let mut found = lines.filter(|line| line.contains(part));
    let line = found.next().unwrap_or_else(|| panic!("no command of the guide has {part}"));
    assert!(found.next().is_none(), "several commands of the guide have {part}");
    line.replace(SHIPPED, &repository().join("examples/slurm").display().to_string())
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests lie in the repository")
}

/// Puts a script for each of the guide's into `scripts`: it finds the agent of the node that runs
/// it, the one of `head` for the controller, and continues as the real one.
fn lay_scripts(scripts: &Path, agents: &Path) {
    fs::create_dir(scripts).expect("a fresh directory");
    for name in SCRIPTS {
        let real = repository().join("examples/slurm").join(name);
        let text = format!(
            "#!/bin/sh\nexport PATH={}:/usr/sbin:/usr/bin:/sbin:/bin SLURM_CONF={}\n\
             export TIDINGS_RUNTIME_DIR={}/${{SLURMD_NODENAME:-head}}\nexec {}\n",
            programs().display(),
            agents.join("slurm/slurm.conf").display(),
            agents.display(),
            real.display(),
        );
        let script = scripts.join(name);
        fs::write(&script, text).expect("an own directory");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("an own file");
    }
}

/// The agents of the nodes and of the controller's machine, and Slurm without its health check.
fn both() -> (Cluster, Slurm, String) {
    let mut cluster = Cluster::new();
    cluster.start("head", &FLAGS);
    for node in NODES {
        cluster.join(node, "head", &FLAGS);
    }
    cluster.until_known(&["head", "n1", "n2"], 3);
    let (scripts, directory) = (cluster.path().join("scripts"), cluster.path().join("slurm"));
    fs::set_permissions(cluster.path(), fs::Permissions::from_mode(0o711)).expect("ours");
    lay_scripts(&scripts, cluster.path());
    fs::create_dir(&directory).expect("a fresh directory");
    let settings = settings(&scripts);
    let idle = settings.replace("HealthCheckInterval=30", "HealthCheckInterval=0");
    assert_ne!(idle, settings, "the guide says how often the health is checked");
    let mut slurm = Slurm::start(&directory, &NODES, &idle, programs());
    slurm.set("TIDINGS_RUNTIME_DIR", &cluster.agent("head").runtime_dir().display().to_string());
    until_state(&cluster, &slurm, "n1", "idle|none");
    until_state(&cluster, &slurm, "n2", "idle|none");
    (cluster, slurm, idle)
}

fn until_state(cluster: &Cluster, slurm: &Slurm, node: &str, wanted: &str) {
    cluster.until(&format!("{node} is {wanted}"), |_| {
        slurm.state(node).starts_with(wanted).then_some(())
    });
}

fn until_dead(cluster: &Cluster, node: &str) {
    cluster.until(&format!("{node} is dead"), |cluster| {
        let known = cluster.agent("head").node(node).expect("a member");
        (known.state == State::Dead).then_some(())
    });
}

fn kill(cluster: &mut Cluster, node: &str) {
    cluster.agent(node).signal(Signal::KILL);
    cluster.end(node);
}

#[test]
fn slurm_follows_the_agents_state() {
    let (mut cluster, mut slurm, idle) = both();
    jobs_go_to_the_picked_nodes(&slurm);
    a_dead_node_is_down_until_it_is_back(&mut cluster, &slurm);
    a_node_that_its_peers_consider_dead_is_rejected(&mut cluster, &slurm);
    a_node_is_drained_and_resumed_by_its_own_agent(&mut cluster, &mut slurm, &idle);
    an_unhealthy_node_fails_the_prolog(&mut cluster, &mut slurm, &idle);
}

fn jobs_go_to_the_picked_nodes(slurm: &Slurm) {
    let printed = slurm.says(&command("--ntasks=2"));
    let mut nodes: Vec<&str> = printed.lines().collect();
    nodes.sort_unstable();
    assert_eq!(nodes, NODES);
    let node = slurm.says(&command("least-loaded.sh"));
    assert!(NODES.contains(&node.as_str()), "{node}");
}

fn a_dead_node_is_down_until_it_is_back(cluster: &mut Cluster, slurm: &Slurm) {
    let scripts = cluster.path().join("scripts").display().to_string();
    let _hook = slurm.begin(&command("tidings hook").replace(INSTALLED, &scripts));
    slurm.says("scontrol update NodeName=n1 State=DRAIN Reason=disk");
    kill(cluster, "n1");
    until_dead(cluster, "n1");
    kill(cluster, "n2");
    until_state(cluster, slurm, "n2", "down|tidings: dead");
    cluster.join("n1", "head", &FLAGS);
    cluster.join("n2", "head", &FLAGS);
    until_state(cluster, slurm, "n2", "idle|none");
    assert_eq!(slurm.state("n1"), "drained|disk", "what a person drained stays so");
    slurm.says("scontrol update NodeName=n1 State=RESUME");
    until_state(cluster, slurm, "n1", "idle|none");
}

fn a_node_that_its_peers_consider_dead_is_rejected(cluster: &mut Cluster, slurm: &Slurm) {
    kill(cluster, "n2");
    until_dead(cluster, "n2");
    let refused = slurm.shell("srun --nodelist=n2 true");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("PrologSlurmctld failed"), "{said}");
    let state = slurm.state("n2");
    assert!(state.contains("|tidings: n2 is not alive: head considers it dead"), "{state}");
    slurm.says("srun --nodelist=n1 true");
    let reasons = slurm.says(&command("--list-reasons"));
    assert!(reasons.contains("tidings: n2 is not"), "{reasons}");
}

fn a_node_is_drained_and_resumed_by_its_own_agent(
    cluster: &mut Cluster,
    slurm: &mut Slurm,
    idle: &str,
) {
    let often = idle.replace("HealthCheckInterval=0", "HealthCheckInterval=1");
    slurm.change(&often, &command("reconfigure"));
    // Its agent is still gone, so it stays as it is; the other's is healthy.
    assert!(slurm.state("n2").starts_with("drain"), "{}", slurm.state("n2"));
    cluster.join("n2", "head", &FLAGS);
    until_state(cluster, slurm, "n2", "idle|none");
    slurm.says("scontrol update NodeName=n2 State=DRAIN Reason=disk");
    cluster.agent("n1").signal(Signal::STOP);
    until_state(cluster, slurm, "n1", "drained|tidings: the agent at ");
    cluster.agent("n1").signal(Signal::CONT);
    until_state(cluster, slurm, "n1", "idle|none");
    assert_eq!(slurm.state("n2"), "drained|disk", "what a person drained stays so");
    slurm.says("scontrol update NodeName=n2 State=RESUME");
}

fn an_unhealthy_node_fails_the_prolog(cluster: &mut Cluster, slurm: &mut Slurm, idle: &str) {
    let others = idle.lines().filter(|line| !line.starts_with("PrologSlurmctld"));
    let prolog_alone: Vec<&str> = others.collect();
    slurm.change(&prolog_alone.join("\n"), &command("reconfigure"));
    kill(cluster, "n1");
    let refused = slurm.shell("srun --nodelist=n1 echo it ran");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    // On a busy machine srun may first get the message that its job was revoked, and it may end
    // with status 0 though it has run nothing.
    let is_told =
        ["Prolog failure on node n1", "has been revoked"].map(|words| said.contains(words));
    assert!(refused.stdout.is_empty() && is_told.contains(&true), "{said}");
    until_state(cluster, slurm, "n1", "drained|Prolog error");
    cluster.join("n1", "head", &FLAGS);
    slurm.says(&command("State=RESUME"));
    until_state(cluster, slurm, "n1", "idle");
    slurm.says("srun --nodelist=n1 true");
}
