//! Roles are set: groups, tasks, interrupts, kernel work, statistics, in this order.
//!
//! Invariant: a change is in the journal, synced, before it is made. What fails is undone at once.

use std::io;
use std::path::Path;

use crate::CoresError;
use crate::hierarchy::Way;
use crate::interrupts;
use crate::journal::{self, Change, Header, Journal, Remembered};
use crate::knob::{Form, Value};
use crate::machine::{Machine, is_there};
use crate::plan::{Asked, Roles};
use crate::set::CoreSet;
use crate::tasks;
use crate::topology::Topology;
use crate::undo;

/// Masks of kernel work, below /sys.
const WORKQUEUES: [&str; 2] =
    ["/sys/devices/virtual/workqueue/cpumask", "/sys/devices/virtual/workqueue/writeback/cpumask"];

/// How often statistics are brought together, in seconds: rarely.
const STATISTICS: (&str, &str) = ("/proc/sys/vm/stat_interval", "120");

/// Where the kernel looks for cores that hang.
const WATCHDOG: &str = "/proc/sys/kernel/watchdog_cpumask";

/// Where new interrupts may arrive.
const NEW_INTERRUPTS: &str = "/proc/irq/default_smp_affinity";

/// How often tasks are looked for that began meanwhile.
const ROUNDS: usize = 8;

/// The deepest nesting of groups that is followed.
const DEPTH_MOST: usize = 16;

/// Sets roles.
///
/// # Errors
/// [`CoresError`]; every knob is then as it was, or the error says which is not.
pub fn apply(machine: &dyn Machine, roles: &Roles, folder: &Path) -> Result<Header, CoresError> {
    let topology = Topology::read(machine)?;
    roles.check(&topology, &interrupts::read(machine), &Asked::default())?;
    let _lock = journal::lock(folder)?;
    let header = Header {
        version: 1,
        machine: topology.machine.clone(),
        boot: topology.boot.clone(),
        way: Way::best(machine),
        application: roles.application.clone(),
        service: roles.service.clone(),
    };
    let journal = Journal::begin(folder, &header)?;
    let mut setting = Setting { machine, journal, header: &header, online: &topology.online };
    match setting.all() {
        Ok(()) => Ok(header),
        Err(error) => Err(restored(error, undo::all(machine, folder, false))),
    }
}

/// The error, with what has become of the knobs that were turned before it.
fn restored(error: CoresError, undone: Result<undo::Undone, CoresError>) -> CoresError {
    let said = match undone {
        Ok(undone) if undone.kept.is_empty() => "; every knob is as it was".to_owned(),
        Ok(undone) => format!("; all is as it was, except {}", undone.kept.join(", ")),
        Err(why) => format!("; undoing the rest failed ({why}): run `tidings cores undo`"),
    };
    match error {
        CoresError::Knob { path, value, source, state } => {
            CoresError::Knob { path, value, source, state: state + &said }
        }
        other => other,
    }
}

struct Setting<'a> {
    machine: &'a dyn Machine,
    journal: Journal,
    header: &'a Header,
    online: &'a CoreSet,
}

impl Setting<'_> {
    fn all(&mut self) -> Result<(), CoresError> {
        self.remember_pinned()?;
        match &self.header.way {
            Way::Partition(root) => self.partition(root)?,
            Way::Shield(root) => self.shield(root)?,
            Way::Affinities => self.affinities()?,
        }
        self.interrupts()?;
        for path in WORKQUEUES {
            self.reduce(path, Form::Mask, None)?;
        }
        self.reduce(WATCHDOG, Form::List, None)?;
        let (path, value) = STATISTICS;
        if let Ok(before) = self.machine.read(path) {
            self.value(path, Form::Text, before.trim(), value, None)?;
        }
        self.journal.note(&Change::Complete)
    }

    /// A knob with another value. One that has it already is left alone.
    fn value(
        &mut self,
        path: &str,
        form: Form,
        before: &str,
        after: &str,
        interrupt: Option<(u32, String)>,
    ) -> Result<(), CoresError> {
        if form.plain(before) == form.plain(after) {
            return Ok(());
        }
        let (path, before) = (path.to_owned(), before.to_owned());
        let value = Value { path, form, before, after: after.to_owned(), interrupt };
        self.journal.note(&Change::Value(value.clone()))?;
        value.set(self.machine, after).map_err(|source| refused(&value.path, after, source))
    }

    /// Takes application cores out of a knob that names cores; one that is not there is left out.
    fn reduce(
        &mut self,
        path: &str,
        form: Form,
        interrupt: Option<(u32, String)>,
    ) -> Result<(), CoresError> {
        let Ok(before) = self.machine.read(path) else { return Ok(()) };
        let before = before.trim();
        let cores = match form {
            Form::Mask => CoreSet::of_mask(before),
            _ => before.parse(),
        };
        let Ok(cores) = cores else { return Ok(()) };
        if cores.is_apart(&self.header.application) {
            return Ok(());
        }
        let rest = cores.without(&self.header.application);
        let rest = if rest.is_empty() { self.header.service.clone() } else { rest };
        let after = if form == Form::Mask { rest.mask() } else { rest.to_string() };
        self.value(path, form, before, &after, interrupt)
    }

    fn group(&mut self, path: &str) -> Result<(), CoresError> {
        let members = self.header.way.members().to_owned();
        self.journal.note(&Change::Group { path: path.to_owned(), members })?;
        self.machine.make_group(path).map_err(|source| refused(path, "a new group", source))
    }

    /// A knob of a group of our own.
    fn own(&mut self, group: &str, knob: &str, form: Form, after: &str) -> Result<(), CoresError> {
        let path = format!("{group}/{knob}");
        let read = |source| CoresError::Read { path: path.clone(), source };
        let before = self.machine.read(&path).map_err(read)?;
        self.value(&path, form, before.trim(), after, None)
    }

    /// Tasks that do not use all cores: groups may change that, and do not put it back.
    fn remember_pinned(&mut self) -> Result<(), CoresError> {
        let pinned = |((task, began), before): ((u32, u64), CoreSet)| {
            (before != *self.online).then_some(Remembered { task, began, before, after: None })
        };
        let tasks = tasks::affinities(self.machine).into_iter().filter_map(pinned).collect();
        self.journal.note(&Change::Affinities { tasks })
    }

    fn partition(&mut self, root: &str) -> Result<(), CoresError> {
        let control = format!("{root}/cgroup.subtree_control");
        let read = |source| CoresError::Read { path: control.clone(), source };
        let before = Form::Controller.plain(&self.machine.read(&control).map_err(read)?);
        self.value(&control, Form::Controller, &before, "+cpuset", None)?;
        let group = format!("{root}/tidings.application");
        self.group(&group)?;
        let cores = self.header.application.to_string();
        self.own(&group, "cpuset.cpus", Form::List, &cores)?;
        if is_there(self.machine, &format!("{group}/cpuset.cpus.exclusive")) {
            self.own(&group, "cpuset.cpus.exclusive", Form::List, &cores)?;
        }
        self.own(&group, "cpuset.cpus.partition", Form::Text, "isolated")
    }

    fn shield(&mut self, root: &str) -> Result<(), CoresError> {
        self.groups_of_others(root, 0)?;
        let memory = self.machine.read(&format!("{root}/cpuset.mems")).unwrap_or_default();
        let (application, service) = (&self.header.application, &self.header.service);
        for (name, cores) in [("application", application), ("service", service)] {
            let group = format!("{root}/tidings.{name}");
            self.group(&group)?;
            self.own(&group, "cpuset.cpus", Form::List, &cores.to_string())?;
            self.own(&group, "cpuset.mems", Form::List, memory.trim())?;
        }
        self.move_tasks(&format!("{root}/tasks"), &format!("{root}/tidings.service/tasks"));
        Ok(())
    }

    /// Takes application cores from the groups that others have made, the inner ones first.
    fn groups_of_others(&mut self, above: &str, depth: usize) -> Result<(), CoresError> {
        if depth == DEPTH_MOST {
            return Ok(());
        }
        for name in self.machine.list(above) {
            let group = format!("{above}/{name}");
            let path = format!("{group}/cpuset.cpus");
            let Ok(cores) = self.machine.read(&path) else { continue };
            self.groups_of_others(&group, depth + 1)?;
            let cores: CoreSet = cores.trim().parse().unwrap_or_default();
            if !cores.is_empty() && cores.without(&self.header.application).is_empty() {
                let what = format!("the control group {group} has application cores only");
                return Err(CoresError::Overlap { what });
            }
            self.reduce(&path, Form::List, None)?;
        }
        Ok(())
    }

    /// Moves all tasks that can be moved: threads of the kernel that are bound to a core cannot.
    fn move_tasks(&self, from: &str, to: &str) {
        let mut tried = std::collections::BTreeSet::new();
        for _ in 0..ROUNDS {
            let members = self.machine.read(from).unwrap_or_default();
            let tasks = members.lines().map(str::to_owned).collect::<Vec<_>>();
            let begun: Vec<String> =
                tasks.into_iter().filter(|task| tried.insert(task.clone())).collect();
            if begun.is_empty() {
                return;
            }
            for task in begun {
                // One that has ended, or is bound, stays out.
                let _ = self.machine.write(to, &task);
            }
        }
    }

    fn affinities(&mut self) -> Result<(), CoresError> {
        let mut known = std::collections::BTreeSet::new();
        for _ in 0..ROUNDS {
            let moved: Vec<Remembered> = tasks::affinities(self.machine)
                .into_iter()
                .filter(|(key, cores)| {
                    !cores.is_apart(&self.header.application) && known.insert(*key)
                })
                .map(|((task, began), before)| self.without_application(task, began, before))
                .collect();
            if moved.is_empty() {
                break;
            }
            self.journal.note(&Change::Affinities { tasks: moved.clone() })?;
            for one in moved {
                let cores = one.after.unwrap_or_default();
                // One that has ended, or is the kernel's and bound, stays where it is.
                let _ = self.machine.set_affinity(one.task, &cores);
            }
        }
        Ok(())
    }

    fn without_application(&self, task: u32, began: u64, before: CoreSet) -> Remembered {
        let rest = before.without(&self.header.application);
        let rest = if rest.is_empty() { self.header.service.clone() } else { rest };
        Remembered { task, began, before, after: Some(rest) }
    }

    fn interrupts(&mut self) -> Result<(), CoresError> {
        for one in interrupts::read(self.machine) {
            if one.movable == Some(true) {
                let path = interrupts::path(one.number);
                self.reduce(&path, Form::List, Some((one.number, one.name)))?;
            }
        }
        self.reduce(NEW_INTERRUPTS, Form::Mask, None)
    }
}

fn refused(path: &str, value: &str, source: io::Error) -> CoresError {
    let (path, value) = (path.to_owned(), value.to_owned());
    CoresError::Knob { path, value, source, state: String::new() }
}
