//! A whole service over a store of which one call fails: each call once, in each way.
//!
//! A small computation ([`workload`]) runs once undisturbed, which counts the calls. Then it runs
//! again for each call and each fault, in virtual time, and what lies in the store in the end must
//! be the same each time. So is what was acknowledged before a machine lost its power.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

mod crowd;
mod workload;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use tidings_tasks::store::crashing::{Acknowledge, Crashing, Outage};
use tidings_tasks::store::faulty::{Fault, Faults, Faulty};
use tidings_tasks::store::memory::Memory;
use workload::{End, run};

const FAULTS: [Fault; 5] =
    [Fault::AnswerLost, Fault::CallLost, Fault::Refused, Fault::Delayed, Fault::Late];

/// What says which run has failed, if one does.
fn named<T>(run: impl FnOnce() -> T, name: impl FnOnce() -> String) -> T {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(done) => done,
        Err(panic) => {
            eprintln!("this run has failed: {}", name());
            resume_unwind(panic)
        }
    }
}

/// Runs it over a store in memory; how it has ended, and how many calls there were.
fn with(at: BTreeMap<u64, Fault>) -> (End, u64) {
    let memory = Memory::default();
    let faults = Faults { at, ..Faults::default() };
    let store = Faulty::new(Arc::new(memory.clone()), faults, 1);
    run(Arc::new(store.clone()));
    (End::of(&memory.ledger()), store.calls())
}

#[test]
fn whichever_call_fails_all_is_done_once() {
    let (expected, calls) = with(BTreeMap::new());
    expected.check();
    assert!(calls > 50, "it makes {calls} calls: too few to say much");
    for call in 1..=calls {
        for fault in FAULTS {
            let seen = named(
                || with(BTreeMap::from([(call, fault)])).0,
                || format!("call {call} of {calls} meets {fault:?}"),
            );
            assert_eq!(seen, expected, "call {call} of {calls} meets {fault:?}");
        }
    }
}

/// Faults that follow each other meet what a recovery does.
#[test]
fn faults_that_follow_each_other_change_nothing() {
    let (expected, calls) = with(BTreeMap::new());
    for first in (1..=calls).step_by(3) {
        let at = BTreeMap::from([first, first + 1, first + 2, first + 5].map(|call| {
            let fault = FAULTS[(call % FAULTS.len() as u64) as usize];
            (call, fault)
        }));
        let seen = named(|| with(at.clone()).0, || format!("calls meet {at:?}"));
        assert_eq!(seen, expected, "calls meet {at:?}");
    }
}

/// Runs it over a store whose power fails during a commit; how it has ended, and how many commits
/// there were.
fn through(acknowledge: Acknowledge, outage: Option<Outage>) -> (End, u64) {
    let store = Arc::new(Crashing::with_outage(acknowledge, outage));
    run(store.clone());
    (End::of(&store.ledger()), store.commits())
}

#[test]
fn whenever_the_power_fails_nothing_acknowledged_is_lost() {
    let (expected, commits) = through(Acknowledge::Synced, None);
    expected.check();
    for commit in 1..=commits {
        for is_synced in [false, true] {
            let outage = Outage { commit, is_synced };
            let seen = named(
                || through(Acknowledge::Synced, Some(outage)).0,
                || format!("of {commits} commits {outage:?}"),
            );
            assert_eq!(seen, expected, "of {commits} commits {outage:?}");
        }
    }
}

/// The check finds a store that acknowledges what it can lose: without that it would check nothing.
#[test]
fn a_store_that_acknowledges_too_early_is_found_out() {
    let (_, commits) = through(Acknowledge::Synced, None);
    let early = Acknowledge::Early { commits: commits + 1 };
    let outage = Some(Outage { commit: commits / 2, is_synced: false });
    let seen = catch_unwind(|| through(early, outage).0);
    let expected = through(Acknowledge::Synced, None).0;
    assert!(seen.is_err() || seen.ok() != Some(expected), "half of it was lost, and all is there");
}
