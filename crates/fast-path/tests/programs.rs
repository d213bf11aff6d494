//! Programs of their own files, static and dynamic, loaded and run with their calls shipped.

#![cfg(target_arch = "x86_64")]

use std::ffi::CString;
use std::path::Path;
use std::process::{Command, Output};

use tidings_fast_path::{ProgramError, Service, Settings, dispatch, program};

const PROGRAM: &str = "TIDINGS_PROGRAM";

/// In a process of its own, becomes the program; as a test of its own, nothing.
#[test]
fn a_process_that_becomes_a_program() {
    let Ok(line) = std::env::var(PROGRAM) else { return };
    let words: Vec<CString> =
        line.split('\n').map(|word| CString::new(word).expect("no zeros")).collect();
    let path = Path::new(line.split('\n').next().expect("one at least"));
    let settings = Settings { core: None, spins: 100 };
    let service = Service::start_anyway(settings).expect("a thread can be started");
    dispatch::tell_at_exit();
    let environment = [c"A=b".to_owned()];
    match program::run(path, &words, &environment, service) {
        Err(ProgramError::Dispatch { .. }) => println!("NO DISPATCH HERE"),
        Err(other) => panic!("{other}"),
        Ok(never) => match never {},
    }
}

fn run(words: &[&str]) -> Output {
    let mut program = Command::new(std::env::current_exe().expect("this program"));
    program.args(["--exact", "a_process_that_becomes_a_program", "--nocapture"]);
    program.env(PROGRAM, words.join("\n")).output().expect("it can be started")
}

/// What it printed after what the test harness did, and that its calls were shipped.
fn checked(output: &Output, code: i32, expected: &str) {
    let said = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    if said.contains("NO DISPATCH HERE") {
        println!("this kernel has no syscall user dispatch");
        return;
    }
    assert_eq!(output.status.code(), Some(code), "{:?}\n{said}{error}", output.status);
    assert!(said.ends_with(expected), "{said}{error}");
    let shipped = error.split("tidings: ").nth(1).and_then(|tally| tally.split(' ').next());
    let shipped: u64 = shipped.and_then(|count| count.parse().ok()).expect("a tally");
    assert!(shipped > 0, "{error}");
}

#[test]
fn a_dynamic_program_runs() {
    let script = "echo \"$A $1\"; (exit 4); echo $?; echo from a pipe | cat; exit 3";
    let output = run(&["/bin/sh", "-c", script, "sh", "argument"]);
    checked(&output, 3, "b argument\n4\nfrom a pipe\n");
}

/// A program in C, linked with nothing, writes, reads its parent and has a thread.
#[test]
fn a_static_program_runs() {
    const SOURCE: &str = "#include <pthread.h>\n#include <stdio.h>\n#include <unistd.h>\n\
        static void *half(void *sum) { *(long *)sum += getppid() > 0; return sum; }\n\
        int main(int count, char **words) { long sum = 0; pthread_t thread;\n\
        for (int at = 0; at < 1000; at++) sum += getppid() > 0;\n\
        if (pthread_create(&thread, 0, half, &sum) || pthread_join(thread, 0)) return 1;\n\
        printf(\"%d %s %ld\\n\", count, words[1], sum); return 5; }\n";
    let folder = std::env::temp_dir().join(format!("tidings-programs-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a folder");
    let (source, made) = (folder.join("static.c"), folder.join("static"));
    std::fs::write(&source, SOURCE).expect("there is room");
    for way in [["-static", "-no-pie"], ["-static-pie", "-fPIE"]] {
        let mut compiler = Command::new("cc");
        compiler.args(way).arg("-o").arg(&made).arg(&source).arg("-pthread");
        assert!(compiler.status().expect("there is a C compiler").success(), "{compiler:?}");
        let output = run(&[made.to_str().expect("plain"), "word"]);
        checked(&output, 5, "2 word 1001\n");
    }
    std::fs::remove_dir_all(&folder).expect("it is ours");
}

#[test]
fn what_is_no_program_is_refused() {
    for (path, is) in
        [("/nowhere", "File"), ("/etc/passwd", "Foreign"), ("/dev/null", "Foreign"), ("/", "File")]
    {
        let service = Service::in_place("the test asks for it");
        let error = program::run(Path::new(path), &[c"a".to_owned()], &[], service);
        let error = error.expect_err("it is no program");
        assert!(error.to_string().contains(path), "{error}");
        assert!(format!("{error:?}").starts_with(is), "{error:?}");
    }
}
