//! Roles are undone: the journal backwards, each knob that still has the value set here.
//!
//! A knob that another program has changed since is left with what it has, and named. What is gone,
//! as after a restart, needs nothing. Undoing twice, or after being ended within, changes nothing
//! more; the journal goes last.

use std::io::ErrorKind;
use std::path::Path;

use serde::Serialize;

use crate::CoresError;
use crate::journal::{self, Change, Remembered};
use crate::knob::{Held, Value};
use crate::machine::Machine;
use crate::tasks;
use crate::topology::Topology;

/// How often the tasks of a group are looked for: on a busy machine they fork while they are moved,
/// and one that is about to end is in its group for a while, though no list has it.
const ROUNDS: usize = 4_096;

/// What was undone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// Knobs that have their former value again.
    pub restored: usize,
    /// Those that are left as they are, and why.
    pub kept: Vec<String>,
    /// Those that are not there any more.
    pub gone: usize,
}

/// Undoes roles. With `force` also knobs that another program has changed get their former value.
///
/// # Errors
/// [`CoresError`]; the journal is then still there, and this can be called again.
pub fn undo(machine: &dyn Machine, folder: &Path, force: bool) -> Result<Undone, CoresError> {
    let _lock = journal::lock(folder)?;
    if !journal::is_there(folder) {
        return Err(CoresError::NotApplied);
    }
    all(machine, folder, force)
}

/// Undoes what the journal has, under the lock.
pub(crate) fn all(machine: &dyn Machine, folder: &Path, force: bool) -> Result<Undone, CoresError> {
    let mut undone = Undone::default();
    if let Some((header, changes)) = journal::read(folder)? {
        let same_start = Topology::read(machine)?.boot == header.boot;
        let goes = |value: &Value| {
            changes.iter().any(|change| match change {
                Change::Group { path, .. } => {
                    value.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
                }
                _ => false,
            })
        };
        for change in changes.iter().rev() {
            match change {
                // It goes with its group, and could not be emptied while tasks are there.
                Change::Value(value) if goes(value) => {}
                Change::Value(value) => restore(machine, value, force, &mut undone)?,
                Change::Group { path, members } => remove(machine, path, members, &mut undone)?,
                Change::Affinities { tasks } if same_start => {
                    for one in tasks {
                        release(machine, one, &mut undone);
                    }
                }
                Change::Affinities { .. } | Change::Complete => {}
            }
        }
    }
    journal::end(folder)?;
    Ok(undone)
}

fn restore(
    machine: &dyn Machine,
    value: &Value,
    force: bool,
    undone: &mut Undone,
) -> Result<(), CoresError> {
    match value.held(machine) {
        Held::Before => return Ok(()),
        Held::Gone => {
            undone.gone += 1;
            return Ok(());
        }
        Held::Drifted(now) if !force => {
            let Value { path, after, before, .. } = value;
            undone.kept.push(format!(
                "{path} has `{now}` by another program (set here: `{after}`, before: `{before}`)"
            ));
            return Ok(());
        }
        Held::Holds | Held::Drifted(_) => {}
    }
    let before = if value.before.is_empty() { "\n" } else { &value.before };
    value.set(machine, before).map_err(|source| CoresError::Knob {
        path: value.path.clone(),
        value: value.before.clone(),
        source,
        state: "; the knobs before it are still as set: run `tidings cores undo` again".to_owned(),
    })?;
    undone.restored += 1;
    Ok(())
}

/// Moves the tasks of a group to the one above it, and removes it.
fn remove(
    machine: &dyn Machine,
    path: &str,
    members: &str,
    undone: &mut Undone,
) -> Result<(), CoresError> {
    let own = format!("{path}/{members}");
    if machine.read(&own).is_err() {
        undone.gone += 1;
        return Ok(());
    }
    let above = path.rsplit_once('/').map_or("", |(above, _)| above);
    let mut rounds = 0..ROUNDS;
    let removed = loop {
        for task in machine.read(&own).unwrap_or_default().lines() {
            // One that has ended meanwhile is no task of it any more.
            let _ = machine.write(&format!("{above}/{members}"), task);
        }
        match machine.remove_group(path) {
            Err(error) if error.kind() == ErrorKind::ResourceBusy && rounds.next().is_some() => {}
            done => break done,
        }
    };
    removed.map_err(|source| CoresError::Knob {
        path: path.to_owned(),
        value: "its removal".to_owned(),
        source,
        state: "; end the programs in it and run `tidings cores undo` again".to_owned(),
    })?;
    undone.restored += 1;
    Ok(())
}

/// Gives a task the cores that it could use, if it still lives and nobody has set others.
fn release(machine: &dyn Machine, one: &Remembered, undone: &mut Undone) {
    let lives = tasks::one(machine, one.task).is_some_and(|task| task.began == one.began);
    let Some(now) = lives.then(|| machine.affinity(one.task).ok()).flatten() else { return };
    if now == one.before {
        return;
    }
    if one.after.as_ref().is_some_and(|after| *after != now) {
        undone.kept.push(format!("task {} may use {now} by another program", one.task));
    } else if machine.set_affinity(one.task, &one.before).is_ok() {
        undone.restored += 1;
    }
}
