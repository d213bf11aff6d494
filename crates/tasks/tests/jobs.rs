//! Payloads of declared tasks, as whoever claims them reads them.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

use tidings_tasks::flow::{Body, Instance, Job, Version};
use tidings_tasks_core::id::TaskId;

/// Payloads come from other processes: a damaged one is said to be none, or to be damaged.
#[test]
fn no_payload_makes_who_reads_it_panic() {
    let version = |part| Version::Made { task: TaskId::of("a", 1), part };
    let instance = |version| Instance { dependency: "d".into(), key: vec![1.into()], version };
    let instances = vec![instance(version(Some(1))), instance(vec![7; 9].into())];
    let body = Body { arguments: vec!["x".into(), 0.5.into()], instances, changes: 1 };
    let payload = Job { function: "f".into(), body }.to_payload();
    assert!(matches!(Job::from_payload(&payload), Ok(Some(_))));
    for at in 0..payload.len() {
        assert!(!matches!(Job::from_payload(&payload[..at]), Ok(Some(_))));
        for byte in 0..=u8::MAX {
            let mut damaged = payload.clone();
            damaged[at] = byte;
            if let Ok(Some(job)) = Job::from_payload(&damaged) {
                assert!(job.inputs().len() <= job.body.instances.len());
                let _ = job.check(&damaged);
            }
        }
    }
}
