//! What the shim cannot do is an error with a reason and a remedy: no crash, no hang, nothing left
//! behind.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::shim::{GOSSIP, shimmed};
use crate::toolchain::{Mpi, place, root, run, said};

/// Rejected before MPI begins.
fn refused(output: &Output, complaint: &str) {
    assert_eq!(output.status.code(), Some(2), "{}", said(output));
    assert_eq!(said(output).matches(complaint).count(), 1, "{}", said(output));
}

#[test]
fn a_shim_made_for_another_mpi_is_refused() {
    let directory = place();
    for (of_program, of_shim, complaint) in [
        (Mpi::Mpich, Mpi::Open, "this shim is made for Open MPI, but the program uses MPICH"),
        (Mpi::Open, Mpi::Mpich, "this shim is made for the family of MPICH, but the program uses"),
    ] {
        let program = of_program.compile("leaks.c", directory.path());
        let mut launcher = of_program.launcher(2, directory.path());
        of_program.preload(&mut launcher, &[of_shim.shim()]);
        refused(&run(launcher.arg(program)), complaint);
    }
}

/// Where a job's file cannot be written, it does not begin: what it is run for would be lost.
#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_program_begins() {
    let directory = place();
    for mpi in [Mpi::Open, Mpi::Mpich] {
        let program = mpi.compile("leaks.c", directory.path());
        for variable in ["TIDINGS_TIMES", "TIDINGS_REPORT"] {
            let mut launcher = shimmed(mpi, &GOSSIP, directory.path());
            launcher.env(variable, directory.path().join("none/file"));
            let output = run(launcher.arg(&program));
            refused(&output, &format!("{variable}: {}", directory.path().display()));
            assert!(said(&output).contains("name a file in a folder that exists"));
        }
    }
}

/// MPICH ends a job of which a rank exits without MPI_Finalize; its status is 9, unless the rank
/// that it looks at first was quicker. Below the shim such a job looked as if it had succeeded.
#[test]
fn a_program_of_mpich_that_does_not_finalize_has_not_succeeded() {
    let directory = place();
    let program = Mpi::Mpich.compile("unfinished.c", directory.path());
    for _ in 0..5 {
        let output = run(shimmed(Mpi::Mpich, &GOSSIP, directory.path()).arg(&program));
        assert_eq!(output.status.code(), Some(9), "{}", said(&output));
    }
}

/// What mpi/check says of a program.
fn checked(program: &Path) -> Output {
    run(Command::new(root().join("mpi/check")).arg(program))
}

#[test]
fn a_check_tells_which_shim_a_program_takes_and_why_none() {
    let directory = place();
    for mpi in [Mpi::Open, Mpi::Mpich] {
        let output = checked(&mpi.compile("spawn.c", directory.path()));
        assert_eq!(said(&output).trim(), mpi.name());
    }
    let source = directory.path().join("alone.c");
    fs::write(&source, "int main(void) { return 0; }\n").expect("the place can be written");
    let cases = [
        (&["-static"][..], "is statically linked, so the shim cannot be loaded below it"),
        (&[], "is not linked to an MPI"),
    ];
    for (flags, complaint) in cases {
        let program = directory.path().join("alone");
        let built = run(Command::new("cc").args(flags).arg(&source).arg("-o").arg(&program));
        assert!(built.status.success(), "{}", said(&built));
        let output = checked(&program);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains(complaint), "{}", said(&output));
    }
    let output = checked(&directory.path().join("none"));
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}

/// The processes of a program, each with the environment that it was started with.
fn processes(program: &Path) -> Vec<(Pid, String)> {
    let running = fs::read_dir("/proc").expect("Linux has /proc").filter_map(|entry| {
        let place = entry.ok()?.path();
        let pid = Pid::from_raw(place.file_name()?.to_str()?.parse().ok()?)?;
        // One that ends meanwhile is no longer there to be read.
        let is_it = fs::read_link(place.join("exe")).ok()? == program;
        let environment = fs::read(place.join("environ")).ok()?;
        is_it.then(|| (pid, String::from_utf8_lossy(&environment).into_owned()))
    });
    running.collect()
}

/// Waits for a minute at most.
fn until(what: &str, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(60), "never: {what}");
        thread::park_timeout(Duration::from_millis(10));
    }
}

/// A hidden rank is killed: the launcher ends the job, as with any rank, and says so.
fn a_dying_rank_ends_the_job(mpi: Mpi, rank_is: &str) {
    let directory = place();
    let program = mpi.compile("lingers.c", directory.path());
    let program = program.canonicalize().expect("it was built");
    let mut command = shimmed(mpi, &GOSSIP, directory.path());
    command.arg(&program).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut job = command.spawn().expect("the launcher is installed");
    let mut lines = BufReader::new(job.stdout.take().expect("it is piped")).lines();
    let begun = lines.next().expect("the program says something").expect("in UTF-8");
    assert_eq!(begun, "begun");
    let all = processes(&program);
    let is_hidden = |environment: &str| environment.split('\0').any(|text| text == rank_is);
    let (hidden, _) = all.iter().find(|(_, text)| is_hidden(text)).expect("rank 2 is hidden");
    kill_process(*hidden, Signal::KILL).expect("it is this test's own");
    let output = job.wait_with_output().expect("it ends");
    assert!(!output.status.success(), "{}", said(&output));
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    let reported = format!("{} {}", said(&output), rest.join("\n")).to_lowercase();
    assert!(
        reported.contains("signal 9")
            || reported.contains("signal: 9")
            || reported.contains("code: 9"),
        "{reported}"
    );
    until("all of its processes end", || processes(&program).is_empty());
}

#[test]
fn a_hidden_rank_that_dies_ends_the_job_under_open_mpi() {
    a_dying_rank_ends_the_job(Mpi::Open, "OMPI_COMM_WORLD_RANK=2");
}

#[test]
fn a_hidden_rank_that_dies_ends_the_job_under_mpich() {
    a_dying_rank_ends_the_job(Mpi::Mpich, "PMI_RANK=2");
}
