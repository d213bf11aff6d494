//! What outlives a whole job of real ranks: checkpoints in files, and summaries of phases in a
//! store of the durable layer. What is torn is refused by its name.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::recovering::{lines, program, survived};
use crate::toolchain::{Mpi, place, run, said};

/// A job that ends with the first of its ranks.
fn job(mpi: Mpi, folder: &Path, words: &str) -> Command {
    let (program, _) = program(mpi);
    let mut launcher = mpi.launcher(3, folder);
    launcher.arg(program).args(words.split(' '));
    launcher
}

/// All sums of a job that ran to its end are right; how many phases or parts it ran.
fn whole(output: &Output) -> usize {
    let (lines, text) = (lines(output), said(output));
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(lines.iter().all(|line| line["right"] == true), "{text}");
    lines.len()
}

#[test]
fn a_job_goes_on_from_its_last_checkpoint() {
    for mpi in [Mpi::Open5, Mpi::Mpich] {
        let place = place();
        fs::create_dir(place.path().join("kept")).unwrap();
        let words = "--scheme checkpoint --folder kept --tasks 400 --phases 2 --parts 4";
        // A part has 100 tasks: one part is whole when a rank runs its 101st.
        let dies = run(&mut job(mpi, place.path(), &format!("{words} --kill 1,101")));
        assert!(!dies.status.success(), "{}", said(&dies));
        let goes_on = run(&mut job(mpi, place.path(), words));
        let left = whole(&goes_on);
        assert!(said(&goes_on).contains("goes on after step"), "{}", said(&goes_on));
        assert!((1..8).contains(&left), "{left} parts: {}", said(&goes_on));
        let names: Vec<_> = fs::read_dir(place.path().join("kept")).unwrap().collect();
        assert_eq!(names.len(), 4, "three ranks and `whole`: {names:?}");
    }
}

/// Cut, changed, missing, or of an array of another shape.
#[test]
fn a_checkpoint_that_is_not_whole_is_refused_by_name() {
    let place = place();
    let kept = place.path().join("kept");
    fs::create_dir(&kept).unwrap();
    let words = "--scheme checkpoint --folder kept --tasks 100 --parts 2";
    assert_eq!(whole(&run(&mut job(Mpi::Mpich, place.path(), words))), 2);
    let refused = |words: &str, name: &str| {
        let output = run(&mut job(Mpi::Mpich, place.path(), words));
        let text = said(&output);
        assert!(!output.status.success() && !text.contains("right"), "{text}");
        assert!(text.contains(name) && text.contains("remove its folder"), "{text}");
    };
    refused(&format!("{words} --words 9"), "kept/whole: it is of an array of another shape");
    for name in ["2.1", "whole"] {
        let file = kept.join(name);
        let bytes = fs::read(&file).unwrap();
        let mut changed = bytes.clone();
        changed[bytes.len() / 2] ^= 1;
        let longer = [&bytes[..], &changed].concat();
        for torn in [&bytes[..bytes.len() - 1], &changed, b"", &longer] {
            fs::write(&file, torn).unwrap();
            refused(words, &format!("checkpoint kept/{name}: it "));
        }
        fs::write(&file, &bytes).unwrap();
    }
    fs::remove_file(kept.join("2.0")).unwrap();
    refused(words, "kept/2.0: it is missing");
}

/// The processes that a process has started, and those that these have.
fn below(pid: Pid) -> Vec<Pid> {
    let mut all = vec![pid];
    let mut at = 0;
    while at < all.len() {
        let threads =
            fs::read_dir(format!("/proc/{}/task", all[at].as_raw_nonzero())).into_iter().flatten();
        for thread in threads.flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            let pids = children.split_whitespace().filter_map(|pid| pid.parse().ok());
            all.extend(pids.filter_map(Pid::from_raw));
        }
        at += 1;
    }
    all
}

/// The launcher and all ranks are killed in the third phase, or soon after; the same command runs
/// the phases that are left, and every sum is right.
#[test]
fn a_job_that_dies_as_a_whole_goes_on_after_its_last_phase() {
    let place = place();
    let store = format!("file:{}", place.path().join("store").display());
    let words = format!("--summary {store} --tasks 300 --task-us 1000 --phases 6 --words 400");
    let mut dies = job(Mpi::Open5, place.path(), &words);
    let mut dies = dies.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut said_lines = BufReader::new(dies.stdout.take().unwrap()).lines();
    for _ in 0..2 {
        said_lines.next().unwrap().unwrap();
    }
    for pid in below(Pid::from_child(&dies)) {
        let _ = kill_process(pid, Signal::KILL); // it may have ended with another
    }
    dies.wait().unwrap();
    let goes_on = run(&mut job(Mpi::Open5, place.path(), &words));
    let left = whole(&goes_on);
    assert!((1..=5).contains(&left), "{left} phases: {}", said(&goes_on));
    let first = lines(&goes_on)[0]["phase"].as_u64().unwrap() as usize;
    assert_eq!(first + left, 7, "{}", said(&goes_on));
}

/// Who writes the summary dies, and another goes on with it.
#[test]
fn a_summary_survives_the_death_of_its_writer() {
    let place = place();
    let store = format!("file:{}", place.path().join("store").display());
    let words = format!("--summary {store} --tasks 400 --phases 3");
    assert_eq!(whole(&survived(4, &format!("{words} --kill 0,150"))), 3);
    let after = survived(4, &words);
    assert_eq!(whole(&after), 0);
    assert!(said(&after).contains("goes on after step 3"), "{}", said(&after));
    let other = survived(2, &format!("{words} --blocks 3"));
    assert!(said(&other).contains("it is of an array of another shape"), "{}", said(&other));
    assert!(!other.status.success());
}
