//! Times of a board that no writer writes: the reader in C computes with them what is defined.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tidings_board::{News, Outline, State, Writer, now_ns};

/// Where the heartbeat is, and the birth of the first slot (docs/reference/board.md).
const HEARTBEAT: u64 = 384;
const BIRTH: u64 = 512 + 24;

#[test]
fn extreme_times_are_no_undefined_arithmetic_in_c() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let program = directory.path().join("extremes");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-Wall", "-Werror"])
        .args(["-fsanitize=undefined", "-fno-sanitize-recover=all", "-I"])
        .args([here.join("include"), here.join("tests/extremes.c")])
        .arg("-o")
        .arg(&program)
        .output()
        .expect("there is a compiler");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));

    let path = directory.path().join("board");
    let outline = Outline {
        cluster: "physics".into(),
        observer: "n0".into(),
        slots: 1,
        payload_bytes: 8,
        payload_schema: 1,
        unit: Duration::from_millis(256),
    };
    let mut writer = Writer::create(&path, &outline).expect("writable");
    let birth_ns = now_ns();
    let news = News {
        state: State::Alive,
        node_id: 1,
        incarnation: 1,
        sequence: 1,
        birth_ns,
        payload: &[],
    };
    writer.seat(0, "n0", &[127, 0, 0, 1, 0, 9], &news).expect("fits");

    let file = OpenOptions::new().read(true).write(true).open(&path).expect("there");
    let mut beat = [0; 8];
    file.read_exact_at(&mut beat, HEARTBEAT).expect("long enough");
    let extremes = [i64::MIN, i64::MIN + 1, -1, i64::MAX - 1, i64::MAX];
    for (at, times) in [(HEARTBEAT, extremes), (BIRTH, extremes)] {
        for time in times {
            file.write_all_at(&time.to_le_bytes(), at).expect("writable");
            let output = Command::new(&program).arg(&path).output().expect("it was compiled");
            let (said, failed) = (output.stdout, String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success(), "{time} at {at}: {failed}");
            let said = String::from_utf8(said).expect("numbers");
            let (status, ages) = said.trim_end().split_once(' ').unwrap_or((&said, ""));
            assert_eq!(status == "0", at == BIRTH, "{time} at {at}: {said}");
            assert!(!ages.contains('-'), "no age is negative: {said}");
        }
        file.write_all_at(&beat, HEARTBEAT).expect("writable");
    }
}
