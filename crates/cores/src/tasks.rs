//! The tasks of a machine: what they are called, when they began, whether they are the kernel's.

use std::collections::BTreeMap;

use crate::machine::Machine;
use crate::set::CoreSet;

/// The flag of a thread of the kernel.
const KERNEL: u64 = 0x0020_0000;

/// The flag of a thread of the kernel that cannot be moved.
const BOUND: u64 = 0x0400_0000;

/// The thread that starts those of the kernel, which cannot be moved either.
const STARTER: u32 = 2;

/// The most tasks that are looked at.
const TASKS_MOST: usize = 1 << 20;

/// A thread of a program or of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its number.
    pub number: u32,
    /// When it began, in ticks since the machine started: with the number it is told from others.
    pub began: u64,
    /// What it is called.
    pub name: String,
    /// Whether it is a thread of the kernel that stays where it is.
    pub is_bound: bool,
}

/// All tasks of a machine.
pub fn all(machine: &dyn Machine) -> Vec<Task> {
    let mut tasks = Vec::new();
    for process in machine.list("/proc") {
        if !process.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let numbers = machine.list(&format!("/proc/{process}/task"));
        tasks.extend(numbers.iter().filter_map(|number| one(machine, number.parse().ok()?)));
        if tasks.len() > TASKS_MOST {
            break;
        }
    }
    tasks
}

/// The task with this number.
pub fn one(machine: &dyn Machine, number: u32) -> Option<Task> {
    let stat = machine.read(&format!("/proc/{number}/stat")).ok()?;
    let (head, tail) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = tail.split_whitespace().collect();
    let field = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let flags = field(6)?;
    Some(Task {
        number,
        began: field(19)?,
        name: head.split_once('(')?.1.to_owned(),
        is_bound: flags & KERNEL != 0 && (flags & BOUND != 0 || number == STARTER),
    })
}

/// The cores of each task, by number and beginning.
pub fn affinities(machine: &dyn Machine) -> BTreeMap<(u32, u64), CoreSet> {
    let cores = |task: Task| {
        let cores = machine.affinity(task.number).ok()?;
        Some(((task.number, task.began), cores))
    };
    all(machine).into_iter().filter_map(cores).collect()
}

/// Ordinary tasks but one that may run on a core: all but threads of the kernel that cannot be
/// moved, which run seldom and get a share of the core whatever else runs there.
pub fn ordinary_on(machine: &dyn Machine, core: u32, but: u32) -> Vec<Task> {
    let may_run = |task: &Task| {
        let cores = machine.affinity(task.number).unwrap_or_default();
        cores.has(core) && !task.is_bound && task.number != but
    };
    all(machine).into_iter().filter(may_run).collect()
}
