//! Tables on a terminal: a pseudo-terminal whose other end these tests read and write.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::demo::{Running, seed};
use crate::programs::Workplace;

/// The sequence that restores the screen.
const LEAVE: &str = "\u{1b}[?1049l";

/// A program at a terminal.
pub(crate) struct Sitting {
    child: Child,
    terminal: File,
    shown: String,
}

impl Sitting {
    /// Starts `command` with a terminal as its input and output, and for its complaints.
    fn start(command: &mut Command) -> Self {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        Self::on(command, terminal)
    }

    fn on(command: &mut Command, terminal: OwnedFd) -> Self {
        grantpt(&terminal).and_then(|()| unlockpt(&terminal)).expect("its own end");
        let name = ptsname(&terminal, Vec::new()).expect("its name");
        let end = open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("its other end");
        let end = || File::from(end.try_clone().expect("a free descriptor"));
        command.stdin(end()).stdout(end()).stderr(end());
        let child = command.spawn().expect("the program starts");
        // The command keeps its descriptors, which would hold the terminal open.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self { child, terminal: terminal.into(), shown: String::new() }
    }

    /// Starts it on a terminal of this many columns and lines.
    pub(crate) fn start_sized(command: &mut Command, (columns, lines): (u16, u16)) -> Self {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        let size = Winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size).expect("a terminal has a size");
        Self::on(command, terminal)
    }

    /// All that is shown until the program ends with 0.
    pub(crate) fn until_its_end(mut self) -> String {
        let mut bytes = [0; 4096];
        // At the end of the last process on it a terminal reads as an error.
        while let Ok(read @ 1..) = self.terminal.read(&mut bytes) {
            self.shown.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
        assert_eq!(self.child.wait().expect("a child").code(), Some(0), "{}", self.shown);
        self.shown
    }

    /// Presses these keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).expect("the program reads");
    }

    /// Forgets what was shown until now.
    pub(crate) fn forget(&mut self) {
        self.shown.clear();
    }

    /// Reads until `wanted` has been shown.
    pub(crate) fn wait_for(&mut self, wanted: &str) {
        let mut bytes = [0; 4096];
        while !self.shown.contains(wanted) {
            let read = self.terminal.read(&mut bytes).expect("the program writes");
            self.shown.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
    }
}

#[test]
fn top_reads_keys_and_signals_and_restores_the_terminal() {
    let place = Workplace::new();
    let demo = Running::start(&place);
    let seed = seed(&place);
    let end_by = |ask: &dyn Fn(&mut Sitting), every: &str| {
        let mut command = place.tidings(&["top", "--every", every, "--runtime-dir"]);
        let mut top = Sitting::start(command.arg(&seed));
        top.wait_for("q ends");
        ask(&mut top);
        top.wait_for(LEAVE);
        assert_eq!(top.child.wait().expect("a child").code(), Some(0), "{}", top.shown);
    };
    let press = |keys: &'static [u8]| {
        move |top: &mut Sitting| top.terminal.write_all(keys).expect("the program reads")
    };
    end_by(&press(b"q"), "1h");
    end_by(&press(b"\x03"), "100ms");
    end_by(&|top| kill_process(Pid::from_child(&top.child), Signal::TERM).expect("it runs"), "1h");
    demo.signal(Signal::INT);
    demo.end();
}

#[test]
fn states_are_coloured_and_lines_fit_a_narrow_terminal() {
    let place = Workplace::new();
    let mut demo = Running::start(&place);
    demo.wait_for_full_view();
    let seed = seed(&place);
    let show = |arguments: &[&str], columns: u16, no_color: &str| {
        let mut command = place.tidings(&["--runtime-dir"]);
        command.arg(&seed).args(arguments).env("NO_COLOR", no_color).env("TERM", "xterm");
        let shown = Sitting::start_sized(&mut command, (columns, 15)).until_its_end();
        drop(command);
        shown
    };
    let shown = show(&["nodes"], 60, "");
    assert!(shown.contains("\u{1b}[38;5;2malive\u{1b}[39m"), "{shown:?}");
    let shown = show(&["nodes"], 60, "1");
    assert!(!shown.contains('\u{1b}') && shown.contains("alive"), "{shown:?}");
    assert!(shown.lines().all(|line| line.chars().count() <= 60), "{shown}");
    assert_eq!((shown.lines().count(), shown.matches('…').count()), (4, 4), "{shown}");
    let shown = show(&["nodes"], 200, "1");
    assert!(!shown.contains('…') && shown.contains("uptime"), "{shown}");
    let shown = show(&["nodes", "--summary"], 60, "1");
    assert!(shown.contains("n[01-03]\r\n"), "{shown}");
    demo.signal(Signal::INT);
    demo.end();
}

/// A pipe gets the rows that `lab characterize` reads; a person, tables.
#[test]
fn a_model_of_a_machine_is_tables_on_a_terminal() {
    let place = Workplace::new();
    let words = ["lab", "fluid", "torus", "--shape", "2,2,2", "--test", "hops", "--test", "fans"];
    let shown = Sitting::start_sized(&mut place.tidings(&words), (100, 30)).until_its_end();
    assert!(shown.starts_with("hops\r\ntest "), "{shown}");
    assert!(shown.contains("\r\nfans\r\n") && !shown.contains('{'), "{shown}");
    let piped = place.tidings(&words).stderr(Stdio::inherit()).output().expect("it runs");
    assert!(piped.stdout.starts_with(b"{") && !piped.stdout.contains(&0x1b));
}

#[test]
fn a_demo_says_how_to_ask_it_on_a_small_screen_too() {
    let place = Workplace::new();
    let mut command = place.tidings(&["demo", "--nodes", "3", "--interval", "20ms"]);
    let mut demo = Sitting::start_sized(&mut command, (60, 15));
    demo.wait_for("all knew all after ");
    demo.wait_for("Ctrl-C ends it\r\n");
    let query = format!("tidings nodes --runtime-dir {}", crate::demo::seed(&place).display());
    let query: String = query.chars().take(59).collect();
    assert!(demo.shown.contains(&query), "{}", demo.shown);
    assert!(demo.shown.contains("3 agents, grid, "), "{}", demo.shown);
    kill_process(Pid::from_child(&demo.child), Signal::TERM).expect("it runs");
    let shown = demo.until_its_end();
    assert!(shown.contains("3 agents for "), "{shown}");
    place.assert_empty();
}

/// The command with the terminal that it is started on for its own: keys are read by nobody else.
fn in_the_foreground(command: &Command) -> Command {
    let mut own = Command::new("setsid");
    own.arg("--ctty").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => own.env(name, value),
            None => own.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        own.current_dir(folder);
    }
    own
}

#[test]
fn a_demo_kills_an_agent_and_shows_who_knew_it_when() {
    let place = Workplace::new();
    let command = place.tidings(&["demo", "--nodes", "4", "--interval", "20ms"]);
    let mut demo = Sitting::start_sized(&mut in_the_foreground(&command), (60, 15));
    demo.wait_for("all knew all after ");
    demo.wait_for("k kills an agent, Ctrl-C ends it\r\n");
    let home = crate::demo::seed(&place).parent().expect("it has a directory").to_owned();
    // Where the directory is not in memory.
    let board = std::fs::read_link(home.join("n04/board"));
    demo.press("k");
    demo.wait_for("3 of 4 agents up");
    demo.wait_for("n04 killed: 3 of 3 know, first n0");
    kill_process(Pid::from_child(&demo.child), Signal::TERM).expect("it runs");
    demo.until_its_end();
    assert_eq!(place.processes(), []);
    place.assert_empty();
    assert!(board.is_err() || !board.as_ref().is_ok_and(|board| board.exists()), "{board:?}");
}

#[test]
fn top_has_totals_scrolls_to_the_side_and_takes_conditions() {
    let place = Workplace::new();
    let mut demo = Running::start(&place);
    demo.wait_for_full_view();
    let mut command = place.tidings(&["top", "--every", "100ms", "--runtime-dir"]);
    command.arg(seed(&place)).args(["--where", "name =~ n[01-02]"]).env("NO_COLOR", "1");
    let mut top = Sitting::start_sized(&mut command, (60, 15));
    top.wait_for("memory free");
    top.wait_for(" cores, ");
    top.wait_for("n02");
    assert!(!top.shown.contains("n03") && !top.shown.contains("uptime"), "{}", top.shown);
    top.press(&"\u{1b}[C".repeat(9));
    top.wait_for("uptime");
    // Another condition, wrong at first.
    top.press("/\x15name == n03 an\r");
    top.wait_for("where: name == n03 an_   (");
    top.press("\x17\r");
    top.wait_for("\nwhere name == n03");
    top.forget();
    top.wait_for("n03");
    top.wait_for("q ends");
    assert!(!top.shown.contains("n02"), "{}", top.shown);
    top.press("q");
    top.wait_for(LEAVE);
    assert_eq!(top.child.wait().expect("a child").code(), Some(0), "{}", top.shown);
    demo.signal(Signal::INT);
    demo.end();
}

#[test]
fn queues_are_shown_until_a_key_and_the_terminal_is_restored() {
    let place = Workplace::new();
    let store = format!("file:{}", place.path().join("store").display());
    let tidings = |arguments: &[&str]| {
        let mut command = place.tidings(arguments);
        command.env("TIDINGS_STORE", &store);
        command
    };
    let mut top = Sitting::start(&mut tidings(&["queue", "top", "--every", "100ms"]));
    top.wait_for("q ends");
    // It may hold the store: others take part all the same, and are seen.
    let put = tidings(&["queue", "put", "jobs", "--", "true"]).output().expect("it starts");
    assert!(put.status.success(), "{put:?}");
    top.wait_for("jobs ");
    top.press("q");
    top.wait_for(LEAVE);
    assert_eq!(top.child.wait().expect("a child").code(), Some(0), "{}", top.shown);
}

#[test]
fn a_run_shows_who_does_what_and_leaves_its_output_alone() {
    let place = Workplace::new();
    let gate = place.path().join("gate");
    assert!(Command::new("mkfifo").arg(&gate).status().expect("mkfifo").success());
    let task = "read _ < gate; echo result $0";
    let rows = ["run", "-n", "1", "--", "sh", "-c", task, ":::", "1", "2"];
    let store = format!("file:{}", place.path().join("store").display());
    let mut command = place.tidings(&rows);
    let mut run = Sitting::start(command.current_dir(place.path()).env("TIDINGS_STORE", store));
    run.wait_for("host");
    run.wait_for(&format!("  -  sh -c {task} 1\r"));
    run.wait_for("1 of 1");
    let mut gate = File::options().write(true).open(&gate).expect("the task reads");
    gate.write_all(b"\n\n").expect("both read a line");
    // What was drawn is removed before a line is printed.
    run.wait_for("\r\u{1b}[Jresult 1\r\n");
    run.wait_for("result 2\r\n");
    assert_eq!(run.child.wait().expect("a child").code(), Some(0), "{}", run.shown);
    let (_, after) = run.shown.rsplit_once("result 2\r\n").expect("it was waited for");
    assert_eq!(after, "");
}
