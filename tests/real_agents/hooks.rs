//! Programs and sockets that are notified of events, by `tidings hook` beside a real agent.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process, test_kill_process_group};
use serde_json::Value;
use tidings_experiment::agents::{Agent, Cluster, programs};

/// A hook that ends with the test.
struct Hook {
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Hook {
    fn begin(agent: &Agent, arguments: &[&str]) -> Self {
        let mut child = command(agent, arguments).spawn().expect("it is built");
        let said = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut hook = Self { child, said };
        hook.until_said("tidings: follows the agent of ");
        hook
    }

    /// Ends it as a service manager does.
    fn end(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.child.wait().expect("it was started here")
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it has not been waited for");
    }

    /// Waits for a line of its standard error.
    fn until_said(&mut self, words: &str) {
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            assert_ne!(self.said.read_line(&mut line).expect("text"), 0, "it ends without {words}");
        }
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(agent: &Agent, arguments: &[&str]) -> Command {
    let mut command = Command::new(programs().join("tidings"));
    command.env("TIDINGS_RUNTIME_DIR", agent.runtime_dir()).arg("hook").args(arguments);
    command.stderr(Stdio::piped()).stdin(Stdio::null());
    command
}

/// A script in the folder of a cluster.
fn script(cluster: &Cluster, text: &str) -> PathBuf {
    let path = cluster.path().join("script");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("ours");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
    path
}

fn three() -> Cluster {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    cluster.join("n2", "n1", &[]);
    cluster.join("n3", "n1", &[]);
    cluster.until_known(&["n1", "n2", "n3"], 3);
    cluster
}

fn kill(cluster: &mut Cluster, name: &str) {
    cluster.agent(name).signal(Signal::KILL);
    cluster.end(name);
}

/// Waits until a file has a line with these words, and returns it.
fn line(cluster: &Cluster, file: &Path, words: &str) -> String {
    cluster.until(&format!("a line with {words}"), |_| {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.lines().find(|line| line.contains(words)).map(str::to_owned)
    })
}

#[test]
fn a_program_is_told_who_is_dead_and_back() {
    let mut cluster = three();
    let told = cluster.path().join("told");
    let program = script(&cluster, "cat >>\"$1\"; echo \"$TIDINGS_DEAD|$TIDINGS_BACK\" >>\"$1\"");
    let program = program.display().to_string();
    let arguments = ["--every", "10ms", "--", &program, &told.display().to_string()];
    let mut hook = Hook::begin(cluster.agent("n1"), &arguments);
    kill(&mut cluster, "n3");
    let dead: Value = serde_json::from_str(&line(&cluster, &told, "\"dead\"")).expect("JSON");
    assert_eq!((&dead["name"], &dead["observer"]), (&"n3".into(), &"n1".into()));
    line(&cluster, &told, "n3|");
    cluster.join("n3", "n1", &[]);
    line(&cluster, &told, "|n3");
    assert_eq!(hook.end().code(), Some(0));
    // n1 has known both of them before, so nobody has joined.
    let told = fs::read_to_string(told).expect("it was read before");
    assert!(!told.contains("joined"), "{told}");
}

#[test]
fn a_program_is_told_who_joins_and_who_leaves() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    cluster.join("n2", "n1", &[]);
    cluster.until_known(&["n1", "n2"], 2);
    let told = cluster.path().join("told");
    let program = script(&cluster, "cat >>\"$1\"").display().to_string();
    let arguments = ["--every", "10ms", "--", &program, &told.display().to_string()];
    let mut hook = Hook::begin(cluster.agent("n1"), &arguments);
    cluster.join("n3", "n1", &[]);
    let joined: Value = serde_json::from_str(&line(&cluster, &told, "\"joined\"")).expect("JSON");
    assert_eq!((&joined["name"], &joined["observer"]), (&"n3".into(), &"n1".into()));
    assert_eq!(cluster.stop("n3"), Some(0));
    let left: Value = serde_json::from_str(&line(&cluster, &told, "\"left\"")).expect("JSON");
    assert_eq!(left["name"], "n3");
    assert_eq!(hook.end().code(), Some(0));
    let text = fs::read_to_string(&told).expect("it was written");
    assert!(!text.contains("\"dead\""), "who leaves is not dead: {text}");
}

#[test]
fn a_program_that_hangs_ends_with_all_it_has_started_and_is_started_again() {
    let mut cluster = three();
    let told = cluster.path().join("told");
    // The first one starts another process and hangs; the second finds a file, and does its work.
    let program = script(
        &cluster,
        "[ -e \"$1.first\" ] && exec cp /dev/stdin \"$1\"\necho $$ >\"$1.first\"\nsleep 600 & wait",
    );
    let arguments = [
        "--every",
        "10ms",
        "--time-limit",
        "200ms",
        "--on",
        "dead",
        "--",
        &program.display().to_string(),
        &told.display().to_string(),
    ];
    let mut hook = Hook::begin(cluster.agent("n1"), &arguments);
    kill(&mut cluster, "n3");
    hook.until_said("took longer than 200ms: raise --time-limit: 1 events are reported again");
    line(&cluster, &told, "\"dead\"");
    let first = fs::read_to_string(cluster.path().join("told.first")).expect("it was started");
    let group = Pid::from_raw(first.trim().parse().expect("a number")).expect("above zero");
    cluster.until("its processes have ended", |_| test_kill_process_group(group).err());
}

#[test]
fn the_end_of_a_hook_is_the_end_of_its_program() {
    let mut cluster = three();
    let told = cluster.path().join("told");
    let program = script(&cluster, "echo $$ >\"$1\"; sleep 600 & wait");
    let arguments = ["--", &program.display().to_string(), &told.display().to_string()];
    let mut hook = Hook::begin(cluster.agent("n1"), &arguments);
    kill(&mut cluster, "n3");
    let leader = cluster.until("it runs", |_| fs::read_to_string(&told).ok()?.trim().parse().ok());
    assert_eq!(hook.end().code(), Some(0));
    let group = Pid::from_raw(leader).expect("above zero");
    cluster.until("its processes have ended", |_| test_kill_process_group(group).err());
}

#[test]
fn a_hook_outlives_its_agent_and_tells_what_it_has_missed() {
    let mut cluster = three();
    let told = cluster.path().join("told");
    let program = script(&cluster, "cat >>\"$1\"");
    let arguments =
        ["--every", "10ms", "--", &program.display().to_string(), &told.display().to_string()];
    let mut hook = Hook::begin(cluster.agent("n1"), &arguments);
    kill(&mut cluster, "n1");
    hook.until_said("this command waits for the agent");
    kill(&mut cluster, "n3");
    cluster.join("n1", "n2", &[]);
    hook.until_said("follows the agent of n1 again");
    line(&cluster, &told, "\"dead\",\"name\":\"n3\"");
    kill(&mut cluster, "n2");
    line(&cluster, &told, "\"dead\",\"name\":\"n2\"");
    line(&cluster, &told, "\"alone\",\"name\":\"n1\"");
    cluster.join("n2", "n1", &[]);
    line(&cluster, &told, "\"accompanied\",\"name\":\"n1\"");
}

#[test]
fn a_socket_has_what_is_dead_at_the_start_once_somebody_listens() {
    let mut cluster = three();
    kill(&mut cluster, "n3");
    cluster.until("n3 is dead", |cluster| {
        let state = cluster.agent("n1").node("n3")?.state;
        (state == tidings_control::State::Dead).then_some(())
    });
    let socket = cluster.path().join("monitor.sock");
    let arguments = ["--at-start", "--every", "10ms", "--socket", &socket.display().to_string()];
    let mut hook = Hook::begin(cluster.agent("n1"), &arguments);
    hook.until_said("cannot be written (No such file or directory (os error 2)): does anybody");
    let listener = UnixListener::bind(&socket).expect("a free path");
    let mut text = String::new();
    listener.accept().expect("it tries again").0.read_to_string(&mut text).expect("text");
    assert!(text.starts_with("{\"event\":\"dead\",\"name\":\"n3\""), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn a_web_address_gets_events_as_one_array() {
    let mut cluster = three();
    let server = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/alerts", server.local_addr().expect("it is bound"));
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/hooks/webhook.py");
    let _hook = Hook::begin(cluster.agent("n1"), &["--on", "dead", "--", program, &url]);
    kill(&mut cluster, "n3");
    let (connection, _) = server.accept().expect("it connects");
    let mut reader = BufReader::new(&connection);
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let mut line = String::new();
        reader.read_line(&mut line).expect("text");
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = value.trim().parse().expect("a number");
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a whole body");
    let events: Value = serde_json::from_slice(&body).expect("JSON");
    assert!(head.starts_with("POST /alerts HTTP/1.1\r\n"), "{head}");
    assert_eq!((&events[0]["event"], &events[0]["name"]), (&"dead".into(), &"n3".into()));
}

#[test]
fn a_hook_that_cannot_be_is_refused_at_once() {
    let mut cluster = Cluster::new();
    let agent = cluster.start("n1", &[]);
    for (arguments, words) in [
        (&["--", "no-such-program"][..], "no program `no-such-program` that can be executed"),
        (&["--", "/etc/passwd"], "no program `/etc/passwd` that can be executed"),
        (&[], "the following required arguments were not provided"),
        (&["--every", "0s", "--", "true"], "it has to be above 0"),
        (&["--on", "died", "--", "true"], "invalid value 'died' for '--on"),
        (&["--socket", "/x", "--", "true"], "cannot be used with"),
    ] {
        let output = command(agent, arguments).output().expect("it is built");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}

#[test]
fn a_reading_that_crosses_a_threshold_is_an_event() {
    let mut cluster = three();
    let told = cluster.path().join("told");
    let program = script(&cluster, "cat >>\"$1\"").display().to_string();
    let file = told.display().to_string();
    let arguments = ["--when", "user.heat > 90", "--every", "10ms", "--", &program, &file];
    let mut hook = Hook::begin(cluster.agent("n1"), &arguments);
    let heat = |cluster: &Cluster, degrees: &str| {
        let publish = cluster.agent("n2").client().publish("heat", degrees, 3_600);
        publish.expect("it has room");
    };
    heat(&cluster, "95");
    let met: Value = serde_json::from_str(&line(&cluster, &told, "\"met\"")).expect("JSON");
    assert_eq!((&met["name"], &met["observer"]), (&"n2".into(), &"n1".into()));
    heat(&cluster, "20");
    line(&cluster, &told, "\"unmet\"");
    heat(&cluster, "95");
    cluster.until("it is met again", |_| {
        let text = fs::read_to_string(&told).unwrap_or_default();
        (text.matches("\"met\"").count() == 2).then_some(())
    });
    kill(&mut cluster, "n2");
    line(&cluster, &told, "\"dead\"");
    let text = fs::read_to_string(&told).expect("it is there");
    assert_eq!(text.matches("\"unmet\"").count(), 1, "{text}");
    assert_eq!(hook.end().code(), Some(0));
}

#[test]
fn a_condition_that_cannot_be_read_is_refused() {
    let cluster = three();
    for (arguments, words) in [
        (&["--when", "heet > 90", "--", "true"][..], "no column `heet`"),
        (&["--for", "3s", "--", "true"], "--when"),
    ] {
        let output = command(cluster.agent("n1"), arguments).output().expect("it is built");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(words), "{said}");
    }
}
