//! Words that only the running agent knows, completed by each of the three shells.

use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;

use crate::demo::{Running, seed};
use crate::programs::{Workplace, built, text};
use crate::terminal::Sitting;

/// Three agents, of which the first has a metric of its own.
struct Scene {
    demo: Running,
    seed: PathBuf,
    place: Workplace,
}

impl Scene {
    fn new() -> Self {
        let place = Workplace::new();
        let mut demo = Running::start(&place);
        demo.wait_for_full_view();
        let seed = seed(&place);
        let publish = place.tidings(&["publish", "gpu=3", "--runtime-dir"]).arg(&seed).output();
        assert!(publish.expect("tidings starts").status.success());
        Self { demo, seed, place }
    }

    /// The script for a shell.
    fn script(&self, shell: &str) -> String {
        text(&self.place.tidings(&["completions", shell]).output().expect("it starts").stdout)
    }

    /// A shell that finds the command and the agent.
    fn shell(&self, name: &str, arguments: &[&str]) -> Command {
        let program = built("tidings");
        let directory = program.parent().expect("it lies in a directory").display();
        let path = format!("{directory}:{}", std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new(name);
        shell.args(arguments).env("PATH", path).env("TIDINGS_RUNTIME_DIR", &self.seed);
        shell.env("HOME", self.place.path()).current_dir(self.place.path());
        shell
    }

    fn end(self) {
        self.demo.signal(Signal::INT);
        self.demo.end();
    }
}

/// bash itself calls the function for a word, as it does at the key.
#[test]
fn bash_completes_what_only_the_agent_knows() {
    let scene = Scene::new();
    let script = scene.script("bash");
    // The words as bash splits them: at blanks, and at `=`.
    let ask = "words=($LINE); COMP_WORDS=(\"${words[@]}\"); \
               COMP_CWORD=$((${#words[@]} - 1)); cur=${words[COMP_CWORD]}; \
               _tidings \"${words[0]}\" \"$cur\" \"${words[COMP_CWORD-1]}\"; \
               echo \"${COMPREPLY[*]}\"";
    for (line, words) in [
        ("tidings show n", "n01 n02 n03"),
        ("tidings pick -n 2 --avoid n01,", "n01,n02 n01,n03"),
        ("tidings nodes --columns name,mem_a", "name,mem_available"),
        ("tidings top --sort = load15", "load15 load15:desc"),
        ("tidings nodes --where us", "user.gpu"),
        ("tidings no", "nodes"),
        ("tidings nodes --so", "--sort"),
    ] {
        let mut bash = scene.shell("bash", &["-c", &format!("{script}\n{ask}")]);
        let output = bash.env("LINE", line).output().expect("bash starts");
        assert_eq!(text(&output.stderr), "", "{line}");
        assert_eq!(text(&output.stdout).trim_end(), words, "{line}");
    }
    scene.end();
}

/// fish says what it would offer.
#[test]
fn fish_completes_what_only_the_agent_knows() {
    let scene = Scene::new();
    std::fs::write(scene.place.path().join("tidings.fish"), scene.script("fish")).expect("ours");
    for (line, words) in [
        ("tidings show n0", "n01 n02 n03"),
        ("tidings pick -n 2 --avoid n01,", "n01,n02 n01,n03"),
        ("tidings nodes --columns name,mem_a", "name,mem_available"),
        ("tidings nodes --where us", "user.gpu"),
        ("tidings no", "nodes"),
    ] {
        let ask = "source tidings.fish; complete -C \"$LINE\"";
        let mut fish = scene.shell("fish", &["--no-config", "-c", ask]);
        let output = fish.env("LINE", line).output().expect("fish starts");
        assert_eq!(text(&output.stderr), "", "{line}");
        // A candidate, and a tab before what it is.
        let said = text(&output.stdout);
        let offered: Vec<_> = said.lines().filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(offered.join(" "), words, "{line}");
    }
    scene.end();
}

/// zsh completes at a terminal, where the key is pressed.
#[test]
fn zsh_completes_what_only_the_agent_knows() {
    let scene = Scene::new();
    std::fs::write(scene.place.path().join("_tidings"), scene.script("zsh")).expect("ours");
    // A terminal of its own, so that keys are read by nobody else.
    let mut shell = scene.shell("setsid", &["--ctty", "zsh", "-f", "-i"]);
    let mut zsh = Sitting::start_sized(shell.env("TERM", "xterm"), (100, 30));
    zsh.press("autoload -U compinit; compinit -u -D; source ./_tidings; echo REA'DY'\n");
    zsh.wait_for("READY\r\n");
    for (line, words) in [
        ("tidings show n0", ["n01", "n02", "n03"]),
        ("tidings nodes --columns name,mem_", ["name,mem_available", "name,mem_total", ""]),
    ] {
        zsh.forget();
        // From the beginning of a line; twice, as the first only says that there are several.
        zsh.press(&format!("\x15{line}\t\t"));
        for word in words {
            zsh.wait_for(word);
        }
    }
    zsh.press("\x15exit\n");
    zsh.until_its_end();
    scene.end();
}
