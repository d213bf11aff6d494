//! Nodes for work, requested from live agents by programs: in Rust, in C, as C++.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use tidings_control::{Client, ClientError, ErrorKind, Pick, socket_path};
use tidings_experiment::agents::Cluster;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const MORE_MEMORY_THAN_THERE_IS: u64 = 1 << 60;

/// Compiles a program with all warnings as errors.
pub(crate) fn compile(
    directory: &Path,
    compiler: &str,
    language: &[&str],
    source: &Path,
) -> PathBuf {
    let program = directory.join(format!("program-{compiler}"));
    let mut command = Command::new(compiler);
    command.args(language).args(["-O2", "-Wall", "-Wextra", "-Werror"]);
    command.args(["-I", "crates/board/include"]).arg(source).arg("-o").arg(&program);
    let output = command.current_dir(ROOT).output().expect("the compiler is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

fn examples(directory: &Path) -> [PathBuf; 2] {
    let source = Path::new("examples/pick.c");
    [
        compile(directory, "cc", &["-std=c11", "-pedantic"], source),
        compile(directory, "c++", &["-x", "c++", "-std=c++17"], source),
    ]
}

pub(crate) fn run(
    program: &Path,
    runtime_dir: &Path,
    words: &[&str],
) -> (Option<i32>, String, String) {
    let mut command = Command::new(program);
    let output: Output =
        command.env("TIDINGS_RUNTIME_DIR", runtime_dir).args(words).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn three_with_readings() -> Cluster {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    cluster.join("n2", "n1", &[]);
    cluster.join("n3", "n1", &[]);
    cluster.until_known(&["n1"], 3);
    cluster.until("all have readings", |cluster| {
        let nodes = cluster.agent("n1").client().nodes().expect("answered").nodes;
        nodes.iter().all(|node| node.cores.is_some()).then_some(())
    });
    cluster
}

/// A hostlist is avoided as its names are, and names that nobody has are complained of.
#[test]
fn hostlists_are_avoided_and_unknown_names_complained_of() {
    let cluster = three_with_readings();
    let runtime_dir = cluster.agent("n1").runtime_dir();
    let tidings = |words: &[&str]| {
        run(&tidings_experiment::agents::programs().join("tidings"), runtime_dir, words)
    };
    let picked = tidings(&["pick", "-n", "1", "--avoid", "n[2-3]"]);
    assert_eq!(picked, (Some(0), "n1\n".to_owned(), String::new()));
    let (code, out, err) = tidings(&["pick", "--avoid", "n[1-2,7-9]", "--avoid", "m1"]);
    assert_eq!((code, out.as_str()), (Some(0), "n3\n"));
    assert_eq!(err, "tidings: --avoid: nobody has the name m1,n[7-9]\n");
    let (code, _, err) = tidings(&["pick", "--avoid", "n[1-"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("'n[1-' for '--avoid <NODES>': character 5: a number is"), "{err}");
    let (code, out, err) = tidings(&["nodes", "--columns", "name", "--where", "name =~ n[2-5]"]);
    assert_eq!((code, out.as_str()), (Some(0), "name\nn2\nn3\n"));
    assert_eq!(err, "tidings: --where: nobody has the name n[4-5]\n");
}

#[test]
fn programs_in_c_cpp_and_rust_pick_nodes_of_a_live_agent() {
    let cluster = three_with_readings();
    let runtime_dir = cluster.agent("n1").runtime_dir();
    for program in examples(cluster.path()) {
        let (code, said, errors) = run(&program, runtime_dir, &["2", "0", "1", "n2", "\"\\\t"]);
        assert_eq!(code, Some(0), "{errors}");
        let mut names: Vec<&str> = said.lines().filter_map(|line| line.split(' ').next()).collect();
        names.sort_unstable();
        assert_eq!(names, ["n1", "n3"], "{said}");
        let cores = cluster.agent("n1").node("n1").and_then(|node| node.cores).expect("heard");
        assert!(said.contains(&format!("of {cores} processors free")), "{said}");
    }
    let mut client = cluster.agent("n1").client();
    let picked = client.pick(Pick { avoid: vec!["n1".into()], ..Pick::of(2) }).expect("two");
    assert!(picked.nodes.iter().all(|node| node.name != "n1" && node.age_ms < 60_000.0));
}

/// All give the agent's message and numbers.
#[test]
fn all_report_which_need_failed_and_by_how_much() {
    let cluster = three_with_readings();
    let runtime_dir = cluster.agent("n1").runtime_dir();
    let mem_bytes = MORE_MEMORY_THAN_THERE_IS;
    let mut client = cluster.agent("n1").client();
    let error = client.pick(Pick { mem_bytes, ..Pick::of(2) }).expect_err("no such machine");
    let ClientError::Refused(report) = error else { panic!("{error}") };
    assert_eq!(report.kind, ErrorKind::Unsatisfied);
    let shortfall = report.shortfall.expect("with numbers");
    assert_eq!((shortfall.wanted, shortfall.found, shortfall.considered), (2, 0, 3));
    let [lack] = shortfall.lacks.as_slice() else { panic!("{shortfall:?}") };
    assert_eq!((lack.need.as_str(), lack.nodes), ("mem_bytes", 3));
    // Numbers in JSON are read back to within a unit in the last place.
    let rest = (lack.asked - lack.best - lack.short).abs();
    assert!(lack.best > 0.0 && rest < lack.asked * 1e-12, "{lack:?}");
    for program in examples(cluster.path()) {
        let (code, _, errors) = run(&program, runtime_dir, &["2", "0", &mem_bytes.to_string()]);
        assert_eq!(code, Some(4), "{errors}");
        let begins = "0 of the 2 nodes wanted have what is needed, of 3 considered: mem=1024PiB \
                      fails on 3, the best of them has ";
        assert!(errors.starts_with(begins), "{errors}");
        assert!(errors.contains("mem_bytes: ") && !errors.contains("cpus: "), "{errors}");
        let (code, _, errors) = run(&program, runtime_dir, &["4"]);
        assert_eq!(code, Some(4), "{errors}");
        assert!(errors.contains("3 of the 4 nodes") && errors.contains("fewer nodes"), "{errors}");
        let (code, _, errors) = run(&program, runtime_dir, &["1", "1e9"]);
        assert_eq!(code, Some(2), "{errors}");
        assert!(errors.contains("0 to 1e6 processors"), "{errors}");
    }
}

#[test]
fn a_missing_and_a_stopped_agent_are_errors_in_time() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    let runtime_dir = cluster.agent("n1").runtime_dir().to_owned();
    cluster.agent("n1").signal(Signal::STOP);
    let programs = examples(cluster.path());
    for program in &programs {
        let (code, _, errors) = run(program, &runtime_dir, &["--timeout", "0.05"]);
        assert_eq!(code, Some(3), "{errors}");
        assert!(errors.contains("did not answer in time: it may be stopped"), "{errors}");
        let (code, _, errors) = run(program, &cluster.path().join("none"), &[]);
        assert_eq!(code, Some(3), "{errors}");
        assert!(errors.contains("none/control.sock: start one with `tidings agent`"), "{errors}");
        let long = cluster.path().join("x".repeat(200));
        let (code, _, errors) = run(program, &long, &[]);
        assert_eq!(code, Some(3), "{errors}");
        assert!(errors.contains("too long"), "{errors}");
    }
    let soon = Duration::from_millis(50);
    let client = Client::connect_within(&runtime_dir, soon);
    let error = client.and_then(|mut client| client.pick(Pick::of(1))).expect_err("stopped");
    assert!(matches!(error, ClientError::TimedOut { .. }), "{error}");
    cluster.agent("n1").signal(Signal::CONT);
}

/// For every malformed reply, C ends with a message that names the socket: it never returns
/// nonsense as nodes, and always ends.
#[test]
fn c_rejects_malformed_replies() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let [program, _] = examples(directory.path());
    let node = r#"{"name":"n\u00417","age_ms":1.5e3,"cpus":8,"later":[{"x":"}"}],"free_cpus":2.5}"#;
    let good = format!("{{\"later\":null,\"result\":{{\"nodes\":[{node}]}},\"ok\":true}}\n");
    for (reply, code, what) in [
        (good.as_str(), 0, ""),
        ("", 3, "closed the connection"),
        (&good[..60], 3, "closed the connection"),
        ("HTTP/1.1 400 Bad Request\r\n\r\n", 1, "does not understand"),
        ("{}\n", 1, "does not understand"),
        ("{\"ok\":true,\"result\":{\"nodes\":[]}}\n", 1, "does not understand"),
        ("{\"ok\":true,\"result\":{\"nodes\":[{\"cpus\":x}]}}\n", 1, "does not understand"),
        ("{\"ok\":true,\"x\":]}\n", 1, "does not understand"),
        (
            "{\"ok\":false,\"error\":{\"kind\":\"busy\",\"message\":\"so \\\"many\\\"\"}}\n",
            1,
            "so \"many\"",
        ),
        ("{\"ok\":false,\"error\":{\"kind\":\"bad-request\",\"message\":\"odd\"}}\n", 2, "odd"),
    ] {
        let socket = socket_path(directory.path());
        let listener = UnixListener::bind(&socket).expect("a fresh name");
        let bytes = reply.as_bytes().to_vec();
        let agent = thread::spawn(move || {
            let (stream, _) = listener.accept().expect("the program connects");
            let mut reader = BufReader::new(stream);
            reader.read_line(&mut String::new()).expect("it asks");
            let _ = reader.get_mut().write_all(&bytes); // it may have closed by then
        });
        let (ended, said, errors) = run(&program, directory.path(), &["--timeout", "60"]);
        agent.join().expect("no panic");
        fs::remove_file(&socket).expect("an own file");
        assert_eq!(ended, Some(code), "{reply:?}: {errors}");
        assert!(errors.contains(what), "{reply:?}: {errors}");
        assert_eq!(said == "nA7 1.500 s old, 2.5 of 8 processors free\n", code == 0, "{said}");
    }
}

/// The lines of code on pages are those of programs that are compiled and run here.
#[test]
fn the_code_on_pages_in_c_and_rust_runs() {
    let cluster = three_with_readings();
    let runtime_dir = cluster.agent("n1").runtime_dir();
    let pages = ["docs/guides/readers.md", "docs/reference/board.md", "docs/reference/control.md"];
    let (mut c, mut rust) = (0, 0);
    for page in pages {
        let text = fs::read_to_string(Path::new(ROOT).join(page)).expect("a page");
        for block in blocks(&text, "c") {
            let source = cluster.path().join("snippet.c");
            let head = "#include \"tidings_publish.h\"\n#include \"tidings_readings.h\"\nint main(void) {\nchar text[8192];\n(void)text;\n";
            fs::write(&source, format!("{head}{block}return 0;\n}}\n")).expect("writable");
            let program = compile(cluster.path(), "cc", &["-std=c11"], &source);
            let (code, _, errors) = run(&program, runtime_dir, &[]);
            assert_eq!(code, Some(0), "{page}: {errors}");
            c += 1;
        }
        let example = Path::new(ROOT).join("crates/control/examples/readers.rs");
        let compiled = fs::read_to_string(example).expect("an example, which cargo compiles");
        let lines: Vec<&str> = compiled.lines().map(str::trim).collect();
        for line in blocks(&text, "rust").iter().flat_map(|block| block.lines()) {
            assert!(lines.contains(&line.trim()), "{page}: the example lacks the line {line}");
            rust += 1;
        }
    }
    assert!(c >= 2 && rust >= 6, "{c} {rust}");
}

/// The code blocks of a page in a language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once(&format!("\n```{language}\n")) {
        let Some((block, behind)) = after.split_once("```") else { break };
        blocks.push(block.to_owned());
        rest = behind;
    }
    blocks
}
