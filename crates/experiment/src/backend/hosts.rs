//! Several real hosts on one machine: each node has a network, a host name, shared memory and
//! file systems mounted of its own.
//!
//! The MPI's own launcher starts its daemons by what it takes for ssh: a script that enters the
//! namespaces of a host. Names, shared memory and the table of hosts are the host's own there, or
//! the MPI would find out that all ranks share a machine and pass the network by.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::kinds::{Mpi, MpiFamily};
use super::local;
use super::order::Order;
use crate::ExperimentError;
use crate::hosts::{self, CARD, Fabric, Home, Mesh, Network};
use crate::run::Launch;

/// The hosts, and the launcher that runs on the first.
#[derive(Debug)]
pub(super) struct Launcher {
    family: MpiFamily,
    mpirun: local::Launcher,
    script: PathBuf,
    /// Held for what they are: with them hosts and script go.
    hosts: Made,
    _home: Home,
}

/// What connects the hosts.
#[derive(Debug)]
enum Made {
    /// A switch.
    Switched { _hosts: Fabric },
    /// Links of their own.
    Linked(Mesh),
}

impl Launcher {
    /// Makes so many hosts.
    ///
    /// # Errors
    /// [`ExperimentError::Machine`] if they cannot be made here, [`ExperimentError::Program`] for
    /// what is missing.
    pub(super) fn make(mpi: &Mpi, network: &Network, count: u32) -> Result<Self, ExperimentError> {
        let mpirun = local::Launcher::find(mpi)?;
        let most = network.shape.map_or(hosts::MOST_HOSTS, |shape| shape.hosts());
        if count > most {
            let reason = match network.shape {
                Some(shape) => format!("{count} nodes: the {shape} has {most} hosts"),
                None => format!("{count} nodes: backend hosts makes {most} on a machine at most"),
            };
            return Err(ExperimentError::Machine(reason));
        }
        must_be_root()?;
        let refused =
            |error: std::io::Error| ExperimentError::Machine(format!("no script: {error}"));
        hosts::clear(hosts::remove);
        let tag = hosts::tag();
        let home = Home::make(&tag).map_err(refused)?;
        let all = network.shape.map_or(count, |_| most);
        let script = lay_script(home.path(), &tag, all).map_err(refused)?;
        let hosts = match network.shape {
            Some(shape) => Made::Linked(Mesh::new(tag, shape, network)?),
            None => Made::Switched { _hosts: Fabric::new(tag, count, network)? },
        };
        Ok(Self { family: mpi.family, mpirun, script, hosts, _home: home })
    }

    /// The hosts, if they have links of their own.
    pub(super) fn mesh(&self) -> Option<&Mesh> {
        match &self.hosts {
            Made::Linked(mesh) => Some(mesh),
            Made::Switched { .. } => None,
        }
    }

    /// What starts a run.
    pub(super) fn launch(&self, order: &Order<'_>) -> Launch {
        let mut launch = self.mpirun.launch(order);
        let placement = self.placement(order);
        launch.words.splice(1..1, placement);
        // The launcher runs on the first host, so that its own ranks do too.
        let enter = [self.script.display().to_string(), hosts::host_name(0)];
        let line = launch.words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        launch.words = enter.into_iter().chain([line]).collect();
        launch.adopts = true;
        launch
    }

    /// Arguments that lay so many ranks on each host, but where a file says which.
    fn placement(&self, order: &Order<'_>) -> Vec<String> {
        let each = order.ranks / order.nodes;
        let hosts = (0..order.nodes).map(|host| format!("{}:{each}", hosts::host_name(host)));
        let hosts = hosts.collect::<Vec<_>>().join(",");
        let script = self.script.display().to_string();
        let is_placed = self.mpirun.is_placed(order);
        let words = match self.family {
            MpiFamily::OpenMpi => open_mpi(&hosts, &script, is_placed),
            MpiFamily::Mpich => mpich(&hosts, &script, is_placed),
        };
        words.into_iter().map(str::to_owned).collect()
    }
}

/// Refuses before anything is made what could not be made.
fn must_be_root() -> Result<(), ExperimentError> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err(ExperimentError::Machine(
        "backend hosts makes network namespaces, which takes root: run it as root (sudo), or name \
         backend local"
            .to_owned(),
    ))
}

/// How Open MPI's launcher learns of hosts, of what to reach them by, and of the network.
fn open_mpi<'a>(hosts: &'a str, script: &'a str, is_placed: bool) -> Vec<&'a str> {
    let placement = [["--map-by", "slot"], ["--bind-to", "none"]];
    let placement = placement.into_iter().filter(|_| !is_placed);
    let words = [["--host", hosts]].into_iter().chain(placement);
    let parameters = [
        ["plm", "rsh"],
        ["plm_rsh_agent", script],
        // The first host starts all daemons: those of others are not asked to start further ones.
        ["plm_rsh_no_tree_spawn", "1"],
        // Messages of daemons go straight to each other, not by a tree of hosts.
        ["routed", "direct"],
        ["btl_tcp_if_include", CARD],
        ["oob_tcp_if_include", CARD],
        ["pml", "ob1"],
        ["btl", "tcp,vader,self"],
    ];
    let parameters = parameters.into_iter().flat_map(|[name, value]| ["--mca", name, value]);
    words.flatten().chain(parameters).collect()
}

/// The same for MPICH's, HYDRA, which fills hosts one after the other.
fn mpich<'a>(hosts: &'a str, script: &'a str, is_placed: bool) -> Vec<&'a str> {
    let words = ["-launcher", "ssh", "-launcher-exec", script, "-iface", CARD];
    let placement = ["-hosts", hosts].into_iter().filter(|_| !is_placed);
    words.into_iter().chain(placement).collect()
}

/// Lays the script that runs a line of shell on a host, called as ssh is: options, host, words.
fn lay_script(folder: &Path, tag: &str, hosts: u32) -> std::io::Result<PathBuf> {
    let names = folder.join("hosts");
    let lines =
        (0..hosts).map(|host| format!("{} {}\n", hosts::address(host), hosts::host_name(host)));
    fs::write(&names, format!("127.0.0.1 localhost\n{}", lines.collect::<String>()))?;
    let script = folder.join("enter");
    let text = format!(
        "#!/bin/sh\n# Runs a command on a host of this fabric, in namespaces of its own.\n\
         while [ \"${{1#-}}\" != \"$1\" ]; do shift; done\n\
         host=$1; shift\n\
         exec ip netns exec {tag}-${{host#h}} unshare --uts --ipc --mount sh -c '\n\
         hostname \"$1\" && mount --bind {} /etc/hosts && mount -t tmpfs tmpfs /dev/shm || exit 125\n\
         [ -d \"$PWD\" ] || {{ echo \"$PWD is in /dev/shm, of which each host has its own: \
         choose another folder with --output\" >&2; exit 125; }}\n\
         shift; eval \"$*\"' sh \"$host\" \"$@\"\n",
        quoted(&names.display().to_string()).replace('\'', "\""),
    );
    fs::write(&script, text)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    Ok(script)
}

/// A word as a shell would read it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
