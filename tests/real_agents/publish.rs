//! Metrics of one's own, published several at once by programs in Rust and C: all of them or none.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tidings_control::{ClientError, ErrorKind};
use tidings_experiment::agents::Cluster;

use crate::pick::{compile, run};

fn examples(directory: &Path) -> [PathBuf; 2] {
    let source = Path::new("examples/publish.c");
    [
        compile(directory, "cc", &["-std=c11", "-pedantic"], source),
        compile(directory, "c++", &["-x", "c++", "-std=c++17"], source),
    ]
}

fn user(cluster: &Cluster, name: &str) -> BTreeMap<String, String> {
    cluster.agent("n1").node(name).map(|node| node.user).unwrap_or_default()
}

fn of(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

/// Waits until n1 publishes this: from its next round on.
fn until(cluster: &Cluster, pairs: &[(&str, &str)]) {
    cluster.until("n1 publishes it", |cluster| (user(cluster, "n1") == of(pairs)).then_some(()));
}

#[test]
fn several_metrics_are_seen_elsewhere_together_or_not_at_all() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    cluster.join("n2", "n1", &[]);
    cluster.until_known(&["n1", "n2"], 2);
    let mut client = cluster.agent("n2").client();
    let done = client.publish_all([("job", "a17"), ("gpu", "3")], 600).expect("they fit");
    assert_eq!((done.keys.join(" "), done.user_metrics), ("gpu job".to_owned(), 2));
    // What is seen first has both.
    cluster.until("n1 sees them", |cluster| {
        let user = user(cluster, "n2");
        (!user.is_empty()).then(|| assert_eq!(user, of(&[("gpu", "3"), ("job", "a17")])))
    });
    for (key, value) in [("note", "x".repeat(20)), ("A", String::new())] {
        let both = [("gpu", "4".to_owned()), (key, value)];
        let refused = client.publish_all(both, 600).expect_err("one of them cannot be");
        let ClientError::Refused(report) = refused else { panic!("{refused}") };
        assert_eq!(report.kind, ErrorKind::BadValue, "{report:?}");
        let own = cluster.agent("n2").node("n2").expect("itself").user;
        assert_eq!(own, of(&[("gpu", "3"), ("job", "a17")]), "nothing has changed");
    }
    let done = client.publish_all([("gpu", ""), ("job", "")], 0).expect("it always works");
    assert_eq!(done.user_metrics, 0);
    cluster.until("n1 sees none", |cluster| user(cluster, "n2").is_empty().then_some(()));
}

/// The metric without a rule says which of the values that were given is seen.
#[test]
fn a_metric_that_stays_within_its_tolerance_is_said_again() {
    let changes = ["--wire-version", "3", "--strategy", "grid", "--tolerances", "user.gpu=2"];
    let mut cluster = Cluster::new();
    cluster.start("n1", &changes);
    cluster.join("n2", "n1", &changes);
    cluster.until_known(&["n1", "n2"], 2);
    let mut client = cluster.agent("n2").client();
    for (step, given, said) in
        [("1", "50", "50"), ("2", "51.5", "50"), ("3", "48.5", "50"), ("4", "53", "53")]
    {
        client.publish_all([("gpu", given), ("step", step)], 600).expect("they fit");
        let seen = cluster.until("n1 sees this step", |cluster| {
            let user = user(cluster, "n2");
            (user.get("step").map(String::as_str) == Some(step)).then_some(user)
        });
        assert_eq!(seen["gpu"], said, "step {step}");
    }
}

#[test]
fn programs_in_c_publish_and_withdraw() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    let runtime_dir = cluster.agent("n1").runtime_dir();
    for program in examples(cluster.path()) {
        let (code, _, errors) = run(&program, runtime_dir, &["600", "gpu", "3", "job", "\"\\a"]);
        assert_eq!((code, errors.as_str()), (Some(0), ""));
        until(&cluster, &[("gpu", "3"), ("job", "\"\\a")]);
        let long = "x".repeat(200);
        let (code, _, errors) = run(&program, runtime_dir, &["600", "gpu", "4", "job", &long]);
        assert_eq!(code, Some(1), "{errors}");
        assert!(errors.contains("raise payload_bytes"), "{errors}");
        let rounds = cluster.agent("n1").counter("rounds");
        cluster.until("another round", |cluster| {
            (cluster.agent("n1").counter("rounds") > rounds + 1).then_some(())
        });
        assert_eq!(user(&cluster, "n1")["gpu"], "3", "all or none");
        let (code, _, errors) = run(&program, runtime_dir, &["600"]);
        assert_eq!(code, Some(2), "{errors}");
        assert!(errors.contains("1 to 64 metrics"), "{errors}");
        let (code, _, errors) = run(&program, runtime_dir, &["0", "gpu", "job"]);
        assert_eq!((code, errors.as_str()), (Some(0), ""));
        until(&cluster, &[]);
        let (code, _, errors) = run(&program, &cluster.path().join("none"), &["9", "a", "1"]);
        assert_eq!(code, Some(3), "{errors}");
    }
}
