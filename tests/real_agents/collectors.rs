//! Executables whose metrics an agent publishes: as asked for, and whatever they do.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use tidings_experiment::agents::Cluster;

/// A folder of executables.
struct Folder(PathBuf);

impl Folder {
    fn new(cluster: &Cluster) -> Self {
        let folder = cluster.path().join("collectors.d");
        fs::create_dir(&folder).expect("writable");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&folder, mode).expect("its owner's");
        Self(folder)
    }

    /// Puts an executable there, which is run ten times a second.
    fn put(&self, name: &str, time_limit: &str, script: &str) {
        self.put_with(name, &format!("time_limit = \"{time_limit}\"\n"), script);
    }

    /// The same with these settings.
    fn put_with(&self, name: &str, settings: &str, script: &str) {
        let text = format!("interval = \"100ms\"\n{settings}");
        let settings = self.0.join(format!("{name}.toml"));
        fs::write(&settings, text).expect("writable");
        // It must not be run before it is whole.
        let new = self.0.join(format!(".{name}"));
        fs::write(&new, format!("#!/bin/sh\n{script}\n")).expect("writable");
        for (path, mode) in [(&settings, 0o644), (&new, 0o755)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its owner's");
        }
        fs::rename(&new, self.0.join(name)).expect("the same folder");
    }

    fn flag(&self) -> &str {
        self.0.to_str().expect("a plain path")
    }
}

fn metric(cluster: &Cluster, key: &str) -> Option<String> {
    cluster.agent("n1").node("n2")?.user.get(key).cloned()
}

fn until(cluster: &Cluster, key: &str, value: Option<&str>) {
    cluster.until(&format!("n1 sees {key} of n2 as {value:?}"), |cluster| {
        (metric(cluster, key).as_deref() == value).then_some(())
    });
}

fn until_logged(cluster: &Cluster, text: &str) {
    cluster.until(&format!("n2 logs {text:?}"), |cluster| {
        cluster.agent("n2").log().iter().any(|line| line.contains(text)).then_some(())
    });
}

#[test]
fn what_executables_say_is_seen_on_other_nodes_while_they_say_it() {
    let mut cluster = Cluster::new();
    let folder = Folder::new(&cluster);
    let switch = cluster.write("switch", "ok");
    let disks = format!("grep -q ok {switch} || exit 3; echo disk_ok 1 1795225353102");
    folder.put("disks", "60s", &disks);
    folder.put("hangs", "200ms", "echo slow 1; sleep 1d");
    cluster.start("n1", &[]);
    cluster.join("n2", "n1", &["--collectors", folder.flag()]);
    until(&cluster, "disk_ok", Some("1"));
    until_logged(&cluster, "it took longer than 200ms, and was killed");
    assert_eq!(metric(&cluster, "slow"), None);
    cluster.write("switch", "no");
    until(&cluster, "disk_ok", None);
    until_logged(&cluster, "it failed (exit status: 3)");
    cluster.write("switch", "ok");
    until(&cluster, "disk_ok", Some("1"));
    until_logged(&cluster, "the collector works again");
    // What users publish comes first, and what has no room is named.
    let mut client = cluster.agent("n2").client();
    client.publish_all([("disk_ok", "mine")], 600).expect("6 + 2 + 5 bytes of 20");
    until(&cluster, "disk_ok", Some("mine"));
    client.publish_all([("disk_ok", ""), ("note", "x")], 0).expect("withdrawing always works");
    client.publish("note", "x".repeat(10).as_str(), 600).expect("16 bytes of 20");
    until(&cluster, "disk_ok", None);
    until_logged(&cluster, "have no room: raise payload_bytes");
    client.publish("note", "", 0).expect("withdrawing always works");
    until(&cluster, "disk_ok", Some("1"));
    fs::remove_file(folder.0.join("disks")).expect("its owner's");
    until(&cluster, "disk_ok", None);
    assert!(cluster.agent("n2").counter("gatherings_failed") > 0);
}

#[test]
fn an_executable_runs_as_the_user_that_is_named() {
    let mut cluster = Cluster::new();
    let folder = Folder::new(&cluster);
    fs::set_permissions(cluster.path(), fs::Permissions::from_mode(0o711)).expect("ours");
    folder.put_with("who", "user = \"nobody\"\n", "echo \"who $(id -un)\"");
    cluster.start("n1", &[]);
    cluster.join("n2", "n1", &["--collectors", folder.flag()]);
    until(&cluster, "who", Some("nobody"));
}
