//! A host: a network namespace with a name, on which processes are started, killed, frozen and cut
//! off from all others.

use std::collections::BTreeSet;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
pub(crate) use tidings_experiment::agents::name;
use tidings_experiment::hosts::Hosts;

/// What can happen to a host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Fault {
    /// All its processes are killed; what they were connected with is told so by the system.
    Killed,
    /// All its processes stop, and go on later. Nobody is told.
    Frozen,
    /// Nothing goes in or out, and later it does again. Nobody is told.
    Cut,
    /// Its power goes: all its processes are killed, and nobody is told until it is back.
    Dark,
}

pub(crate) const FAULTS: [Fault; 4] = [Fault::Killed, Fault::Frozen, Fault::Cut, Fault::Dark];

impl Fault {
    /// Whether its processes have to be started again.
    pub(crate) fn kills(self) -> bool {
        matches!(self, Self::Killed | Self::Dark)
    }
}

/// The host in the name of a member, `ROLE-HOST-PROCESS-LIFE`.
pub(crate) fn of_member(member: &str) -> Option<usize> {
    member.split('-').nth(1)?.strip_prefix('h')?.parse().ok()
}

/// The words before a command that is to run on a host, under its name.
pub(crate) fn words(hosts: &Hosts, host: usize) -> Vec<String> {
    let named = ["unshare", "--uts", "sh", "-c", r#"hostname "$0" && exec "$@""#];
    let named = named.into_iter().map(str::to_owned).chain([name(host)]);
    hosts.on(host).into_iter().chain(named).collect()
}

/// A command with words before it.
pub(crate) fn command(words: &[String], program: &str) -> Command {
    let (first, rest) = words.split_first().expect("a host has words");
    let mut command = Command::new(first);
    command.args(rest).arg(program);
    command
}

/// Lets something happen to a host.
pub(crate) fn strike(hosts: &Hosts, host: usize, fault: Fault) {
    match fault {
        Fault::Killed => end_all(hosts, host),
        Fault::Frozen => signal_all(hosts, host, Signal::STOP),
        Fault::Cut => hosts.unplug(host),
        Fault::Dark => {
            hosts.unplug(host);
            end_all(hosts, host);
        }
    }
}

/// Lets a host go on, but for what was killed.
pub(crate) fn mend(hosts: &Hosts, host: usize, fault: Fault) {
    match fault {
        Fault::Killed => {}
        Fault::Frozen => signal_all(hosts, host, Signal::CONT),
        Fault::Cut | Fault::Dark => hosts.plug(host),
    }
}

/// Kills all processes of a host, and returns when none is left.
pub(crate) fn end_all(hosts: &Hosts, host: usize) {
    loop {
        let running = hosts.processes(host);
        if running.is_empty() {
            return;
        }
        for process in running {
            signal(process, Signal::KILL);
        }
    }
}

/// Sends a signal to all processes of a host, also to those that they start meanwhile.
fn signal_all(hosts: &Hosts, host: usize, number: Signal) {
    let mut reached = BTreeSet::new();
    loop {
        let running = hosts.processes(host).into_iter();
        let left: Vec<u32> = running.filter(|process| !reached.contains(process)).collect();
        if left.is_empty() {
            return;
        }
        for &process in &left {
            signal(process, number);
        }
        reached.extend(left);
    }
}

fn signal(process: u32, number: Signal) {
    let process = Pid::from_raw(process as i32).expect("the system numbers from 1");
    // It may have ended meanwhile.
    let _ = kill_process(process, number);
}
