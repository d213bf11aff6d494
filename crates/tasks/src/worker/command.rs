//! A command: a program that is started for one try of a task, and ends with it.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use tidings_tasks_core::retry::Cause;
use tokio::time::Instant;

use crate::work::{Report, WorkLimits};

use super::closing::{self, Closed};
use super::ending::{Act, Ending, Why};
use super::leader::Leader;
use super::process::{Process, Start};
use super::shared::{Shared, Try};
use super::verdict::{self, Verdict};

/// The status of what was not found, as in a shell.
const NOT_FOUND: i32 = 127;

/// The status of what was found and could not be started, as in a shell.
const NOT_STARTED: i32 = 126;

/// What is to be started.
pub(super) struct Parts {
    pub(super) argv: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
    pub(super) directory: Option<String>,
    pub(super) stdin: Vec<u8>,
}

/// Runs a command to its end, whoever brings that about.
pub(super) async fn run(shared: &Shared, of: &Try, parts: Parts, ending: &mut Ending) -> Verdict {
    let begun = Instant::now();
    let (program, directory) = (parts.argv[0].clone(), parts.directory.clone());
    let limits = ending.limits();
    ending.begin_time();
    let (command, start) = prepare(shared, of, parts, limits);
    let mut process = match Process::start(&shared.launcher, command, start).await {
        Ok(process) => process,
        Err(error) => return refused(&error, &program, directory.as_deref(), shared),
    };
    wait(&mut process, ending).await;
    let closed = match closing::close(shared, of, process).await {
        Ok(closed) => closed,
        Err(error) => return verdict::host_fault(&error),
    };
    let Closed { mut report, status, was_out_of_memory, short } = closed;
    report.wall_us = begun.elapsed().as_micros() as u64;
    if let Some(short) = short.clone().filter(|_| ending.why() == Some(Why::Room)) {
        return Verdict::no_room(short);
    }
    let failure = verdict::failure(ending.why(), was_out_of_memory, status, limits);
    let failure = failure.map(|(cause, text)| (cause, verdict::with_log(&text, &report)));
    Verdict { failure, report: Some(Box::new(report)), ..Verdict::default() }.unless(short)
}

fn prepare<'s>(
    shared: &'s Shared,
    of: &Try,
    parts: Parts,
    limits: WorkLimits,
) -> (Command, Start<'s>) {
    let mut command = Command::new(&parts.argv[0]);
    command.args(&parts.argv[1..]).envs(parts.environment);
    command.env("TIDINGS_TASK", of.task.to_string());
    command.env("TIDINGS_ATTEMPT", of.attempt.0.to_string());
    command.env("TIDINGS_QUEUE", of.queue.as_str()).env("TIDINGS_SLOT", of.slot.to_string());
    if let Some(directory) = &parts.directory {
        command.current_dir(directory);
    }
    let has_input = !parts.stdin.is_empty();
    command.stdin(if has_input { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let (scratch, memory_bytes) = (shared.scratch(), limits.memory_bytes);
    (command, Start { stdin: parts.stdin, inherited: Vec::new(), memory_bytes, scratch })
}

/// Waits until a process has ended, and brings that about where it is due.
async fn wait(process: &mut Process, ending: &mut Ending) {
    let Process { leader, exit, streams } = process;
    if ending.limits().memory_bytes > 0 && !leader.is_limited() {
        ending.measure();
    }
    loop {
        tokio::select! {
            () = exit.wait() => return,
            () = streams.pump() => {
                // Nobody could read what it goes on to print.
                if streams.are_short() && ending.has_no_room() {
                    leader.kill();
                }
            }
            act = ending.act() => perform(act, leader, ending),
        }
    }
}

fn perform(act: Act, leader: &Leader, ending: &mut Ending) {
    match act {
        Act::Ask => leader.terminate(),
        Act::Kill => leader.kill(),
        Act::Measure => ending.check_memory(leader),
    }
}

/// What is said of a program that could not be started.
fn refused(error: &io::Error, program: &str, directory: Option<&str>, shared: &Shared) -> Verdict {
    let Some((status, text)) = sentence(error, program, directory) else {
        return verdict::host_fault(error);
    };
    let host = shared.settings.host.clone();
    let report = Some(Box::new(Report { status, host, ..Report::default() }));
    Verdict { failure: Some((Cause::Exit, text)), report, ..Verdict::default() }
}

/// The status and the sentence, if it is the command that is wrong and not the host.
fn sentence(error: &io::Error, program: &str, directory: Option<&str>) -> Option<(i32, String)> {
    let wrong = directory.filter(|directory| !Path::new(directory).is_dir());
    Some(match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory if wrong.is_some() => {
            let directory = wrong.unwrap_or_default();
            let text = format!("there is no folder {directory:?} on this host to start it in");
            (NOT_STARTED, text)
        }
        io::ErrorKind::NotFound if program.contains('/') && Path::new(program).exists() => {
            let text =
                format!("the interpreter that {program:?} names in its first line is not there");
            (NOT_FOUND, text)
        }
        io::ErrorKind::NotFound => {
            (NOT_FOUND, format!("there is no program {program:?} on this host; give its path"))
        }
        // A folder of PATH, or a file of that name in one, is closed to this user, and no other
        // folder has the program.
        io::ErrorKind::PermissionDenied if !program.contains('/') => {
            let text = format!(
                "no folder of PATH has a program {program:?} that may be used; give its path"
            );
            (NOT_STARTED, text)
        }
        io::ErrorKind::PermissionDenied => {
            let text = format!("{program:?}, or its folder, may not be used: check its mode");
            (NOT_STARTED, text)
        }
        io::ErrorKind::ArgumentListTooLong => {
            let text = "the arguments and variables are too long; pass them by a file".to_owned();
            (NOT_STARTED, text)
        }
        io::ErrorKind::OutOfMemory | io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy => {
            return None;
        }
        // Out of descriptors, of this process or of all.
        _ if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => return None,
        _ => (NOT_STARTED, format!("{program:?} could not be started: {error}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_is_at_fault_costs_the_task_nothing() {
        let of = |code| sentence(&io::Error::from_raw_os_error(code), "/bin/sh", None);
        assert_eq!(of(libc::EAGAIN), None);
        assert_eq!(of(libc::ENOMEM), None);
        assert_eq!(of(libc::EMFILE), None);
        assert_eq!(of(libc::E2BIG).unwrap().0, NOT_STARTED);
        let (status, text) = of(libc::ENOENT).unwrap();
        assert!(status == NOT_FOUND && text.contains("interpreter"), "{text}");
        let closed = io::Error::from_raw_os_error(libc::EACCES);
        let (_, text) = sentence(&closed, "sim", None).unwrap();
        assert!(text.contains("no folder of PATH"), "{text}");
        let (_, text) = sentence(&closed, "./sim", None).unwrap();
        assert!(text.contains("check its mode"), "{text}");
    }
}
