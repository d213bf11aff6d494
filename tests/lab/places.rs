//! Where campaigns are tried: a folder of the test's own, the command, and programs built for it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tidings_experiment::agents::programs;

/// Longer than anything here takes on a machine that is not stuck.
const PATIENCE: Duration = Duration::from_secs(180);

/// The repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the repository")
}

/// A folder with campaigns.
pub(crate) struct Bench {
    folder: TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().expect("there is room for temporary files") }
    }

    /// In this folder, whatever is the one for temporary files.
    pub(crate) fn below(place: &str) -> Self {
        Self { folder: TempDir::new_in(place).expect("there is room") }
    }

    /// A file of it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file; its path.
    pub(crate) fn lay(&self, name: &str, text: &str) -> String {
        let path = self.file(name);
        fs::write(&path, text).expect("the folder is ours");
        path.display().to_string()
    }

    /// Writes a script that can be run.
    pub(crate) fn lay_program(&self, name: &str, text: &str) -> PathBuf {
        let path = PathBuf::from(self.lay(name, text));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
        path
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(programs().join("tidings"));
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        // Open MPI has a folder there for all that a user runs. Who ends last removes it, even
        // while another begins.
        command.env("TMPDIR", self.folder.path());
        command
    }

    /// Runs `tidings` to its end.
    pub(crate) fn tidings(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("it is built")
    }

    /// Starts `tidings`; what it complains of is kept.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        let complaints = fs::File::create(self.file("complaints")).expect("ours");
        let mut command = self.command(arguments);
        command.stdout(Stdio::null()).stderr(complaints).spawn().expect("it is built")
    }

    /// What the command that was started complained of.
    pub(crate) fn complaint(&self) -> String {
        fs::read_to_string(self.file("complaints")).unwrap_or_default()
    }

    /// The runs in a journal so far.
    pub(crate) fn runs(&self, folder: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.file(folder).join("runs.jsonl")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = whole.lines().skip(1);
        lines.map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
    }

    /// Waits until something holds.
    pub(crate) fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !holds() {
            assert!(begin.elapsed() < PATIENCE, "not in time: {what}\n{}", self.complaint());
            thread::park_timeout(Duration::from_millis(20));
        }
    }

    /// Whether a process lives that works in this folder.
    pub(crate) fn has_processes(&self) -> bool {
        self.has_processes_named("")
    }

    /// Whether one lives whose program's name begins so.
    pub(crate) fn has_processes_named(&self, name: &str) -> bool {
        let own = fs::canonicalize(self.folder.path()).expect("it is there");
        let entries = fs::read_dir("/proc").expect("Linux").flatten().map(|entry| entry.path());
        let mut here = entries
            .filter(|entry| fs::read_link(entry.join("cwd")).is_ok_and(|at| at.starts_with(&own)));
        here.any(|entry| {
            fs::read_to_string(entry.join("comm")).is_ok_and(|it| it.starts_with(name))
        })
    }

    /// The names of what lies in a campaign's folder as directories of runs do.
    pub(crate) fn run_folders(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.file(folder)).expect("it is there").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("run-")).collect()
    }

    /// A program without a dynamic linker.
    pub(crate) fn compile_static(&self) -> PathBuf {
        let source = self.lay("static.c", "int main(void) { return 0; }\n");
        let program = self.file("static");
        done(Command::new("cc").args(["-static", &source, "-o"]).arg(&program));
        program
    }
}

/// The shim for an MPI, built once for all tests of this process.
pub(crate) fn shim_of(mpi: &str) -> PathBuf {
    static BUILT: [OnceLock<TempDir>; 2] = [const { OnceLock::new() }; 2];
    let place = BUILT[usize::from(mpi == "mpich")].get_or_init(|| {
        let place = TempDir::new().expect("there is room for temporary files");
        let library = programs().join("libtidings_node.a");
        let mut build = Command::new(repository().join("mpi/build"));
        done(build.arg(format!("mpicc.{mpi}")).arg(library).arg(place.path()));
        place
    });
    place.path().join(format!("libtidings-shim.{mpi}.so"))
}

/// What a program says in JSON on a host of the campaign that this process runs.
pub(crate) fn on_host(lab: u32, host: u32, program: &str, arguments: &[&str]) -> Value {
    in_namespace(&format!("tidings-lab-{lab}-0-{host}"), program, arguments)
}

/// What a program prints as JSON in a network namespace.
pub(crate) fn in_namespace(name: &str, program: &str, arguments: &[&str]) -> Value {
    let mut command = Command::new("ip");
    let output = command.args(["netns", "exec", name, program]).args(arguments).output();
    let output = output.expect("there is an ip");
    assert!(output.status.success(), "{program}: {}", said(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The application of known length, built with this compiler.
pub(crate) fn known_length(bench: &Bench, compiler: &str) -> PathBuf {
    let source = repository().join("studies/injected-slowdown/known_length.c");
    compile(bench, compiler, &source.display().to_string())
}

/// A program, built with this compiler.
pub(crate) fn compile(bench: &Bench, compiler: &str, source: &str) -> PathBuf {
    let name = Path::new(source).file_stem().expect("a file").to_string_lossy().into_owned();
    let program = bench.file(&format!("{name}.{compiler}"));
    done(
        Command::new(compiler)
            .args(["-O2", "-Wall", "-Werror"])
            .arg(source)
            .arg("-o")
            .arg(&program),
    );
    program
}

/// Whether there is a network namespace of the campaign that this process ran.
pub(crate) fn has_namespaces(lab: u32) -> bool {
    let entries = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.any(|name| name.starts_with(&format!("tidings-lab-{lab}-")))
}

fn done(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", said(&output));
}

/// All that a program printed.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}
