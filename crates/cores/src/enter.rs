//! A program in a role: this process enters its group and cores before it becomes the program.

use std::path::Path;

use crate::CoresError;
use crate::journal::{self, Change, Header};
use crate::machine::Machine;
use crate::set::CoreSet;
use crate::tasks;

/// What a program is started as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// On cores that are kept for it.
    Application,
    /// With the system.
    Service,
}

/// How many names a refusal has.
const NAMES: usize = 5;

/// Moves this thread, and all that it starts, to the cores of a role.
///
/// # Errors
/// [`CoresError`] if no roles are set, or the system rejects it.
pub fn enter(machine: &dyn Machine, folder: &Path, role: Role) -> Result<CoreSet, CoresError> {
    let header = standing(folder)?;
    let group = match role {
        Role::Application => header.way.application(),
        Role::Service => header.way.service(),
    };
    let cores = of(&header, role);
    let refused = |path: &str| {
        let path = path.to_owned();
        move |source| CoresError::Knob {
            path,
            value: "this process".to_owned(),
            source,
            state: "; run it as root".to_owned(),
        }
    };
    if let Some(group) = group {
        let path = format!("{group}/{}", header.way.members());
        machine.write(&path, "0").map_err(refused(&path))?;
    }
    machine.set_affinity(0, &cores).map_err(refused("the affinity"))?;
    Ok(cores)
}

/// The cores of a role.
///
/// # Errors
/// [`CoresError`] if no roles are set.
pub fn cores(folder: &Path, role: Role) -> Result<CoreSet, CoresError> {
    Ok(of(&standing(folder)?, role))
}

/// Whose roles are set, if all of it was done.
fn standing(folder: &Path) -> Result<Header, CoresError> {
    let (header, changes) = journal::read(folder)?.ok_or(CoresError::NotApplied)?;
    if changes.contains(&Change::Complete) {
        return Ok(header);
    }
    Err(CoresError::Applied { path: journal::path(folder) })
}

fn of(header: &Header, role: Role) -> CoreSet {
    match role {
        Role::Application => header.application.clone(),
        Role::Service => header.service.clone(),
    }
}

/// Fails if an ordinary task but this one may run on one of these cores: before one that never
/// waits it would never run. Threads of the kernel that are bound to a core are no such task: the
/// kernel gives them a share even then.
///
/// # Errors
/// [`CoresError::NotEmpty`].
pub fn must_be_empty(machine: &dyn Machine, cores: &CoreSet, own: u32) -> Result<(), CoresError> {
    for core in cores.iter() {
        let there = tasks::ordinary_on(machine, core, own);
        if !there.is_empty() {
            let names =
                there.iter().take(NAMES).map(|task| format!("{} ({})", task.name, task.number));
            let count = match there.len() {
                1 => "a task".to_owned(),
                count => format!("{count} tasks"),
            };
            let names = names.collect::<Vec<_>>().join(", ");
            return Err(CoresError::NotEmpty { core, count, names });
        }
    }
    Ok(())
}
