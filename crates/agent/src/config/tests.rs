//! Precedence and messages of the whole way from four layers to settings.

use std::ffi::OsString;

use super::setting::{SETTINGS, find, nearest};
use super::*;

/// What a test puts in place of the machine.
#[derive(Clone, Copy, Default)]
struct Given<'a> {
    flags: &'a [&'a str],
    variables: &'a [(&'a str, &'a str)],
    file: Option<&'a str>,
}

/// The settings of an agent called `n1` with these flags and nothing else.
pub(crate) fn settings_of(flags: &[&str]) -> Settings {
    let arguments = ["tidings-agent"].iter().chain(flags).map(OsString::from);
    let invocation = parse_arguments(arguments).expect("a valid command line");
    let surroundings = Surroundings {
        variable: &|_| None,
        host_name: "n1".to_owned(),
        runtime_dir: "/run/tidings".into(),
    };
    Settings::load(&invocation, &surroundings).expect("valid settings")
}

fn load(given: &Given<'_>) -> Result<Settings, String> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("agent.toml");
    let mut arguments = vec![OsString::from("tidings-agent")];
    if let Some(text) = given.file {
        std::fs::write(&path, text).expect("a fresh directory is writable");
        arguments.extend([OsString::from("--config"), path.clone().into()]);
    }
    arguments.extend(given.flags.iter().map(OsString::from));
    let invocation = parse_arguments(arguments).expect("a valid command line");
    let variable = |name: &str| {
        let found = given.variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let surroundings = Surroundings {
        variable: &variable,
        host_name: "host7".to_owned(),
        runtime_dir: "/run/tidings".into(),
    };
    Settings::load(&invocation, &surroundings).map_err(|errors| {
        errors.to_string().replace(&format!("{}/", directory.path().display()), "")
    })
}

fn refused(given: &Given<'_>) -> String {
    load(given).expect_err("this must be rejected")
}

#[test]
fn without_settings_the_defaults_apply() {
    let settings = load(&Given::default()).expect("the defaults are valid");
    assert_eq!(settings.name, "host7");
    assert_eq!(settings.listen.to_string(), "127.0.0.1:9616");
    assert_eq!(settings.http.map(|http| http.to_string()).as_deref(), Some("127.0.0.1:9617"));
    assert_eq!(settings.interval, Duration::from_millis(256));
    assert_eq!(settings.core().datagram_bytes, 1452);
    assert_eq!(settings.runtime_dir, Path::new("/run/tidings"));
}

#[test]
fn flag_over_environment_over_file_over_default() {
    let file = Some("interval = \"3s\"\nmtu = 9000\npayload_bytes = 128\n");
    let variables = &[("TIDINGS_INTERVAL", "2s"), ("TIDINGS_MTU", "8000")][..];
    let given = Given { flags: &["--interval", "1s"], variables, file };
    let settings = load(&given).expect("valid");
    assert_eq!(settings.interval, Duration::from_secs(1), "flag");
    assert_eq!(settings.mtu, 8000, "environment");
    assert_eq!(settings.payload_bytes, 128, "file");
    assert_eq!(settings.max_nodes, 4096, "default");
    let table = settings.table();
    let row = |key: &str| {
        let row = table.lines().find(|line| line.starts_with(key)).expect(key);
        row.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("interval"), "interval 1s flag");
    assert_eq!(row("mtu"), "mtu 8000 environment");
    assert!(row("payload_bytes").ends_with("agent.toml:3:17"), "{table}");
    assert_eq!(row("max_nodes"), "max_nodes 4096 default");
}

#[test]
fn a_key_opens_the_default_address() {
    let settings = load(&Given { flags: &["--keys", "k"], ..Given::default() }).expect("valid");
    assert_eq!(settings.listen.to_string(), "0.0.0.0:9616");
}

#[test]
fn a_file_is_also_named_by_the_environment() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("a.toml");
    std::fs::write(&path, "name = \"n1\"\nkeys = \"key\"\n").expect("writable");
    let path_text = path.display().to_string();
    let given = Given { variables: &[(FILE_VARIABLE, &path_text)], ..Given::default() };
    let settings = load(&given).expect("valid");
    assert_eq!(settings.name, "n1");
    assert_eq!(settings.keys, Some(directory.path().join("key")), "relative to the file");
}

#[test]
fn messages_name_place_reason_and_what_is_allowed() {
    let file = |text| Given { file: Some(text), ..Given::default() };
    let flags = |flags| Given { flags, ..Given::default() };
    let cases = [
        (
            refused(&file("\ninterval = \"20\"\n")),
            "agent.toml:2:12: interval = 20: a duration needs a unit: ms, s, min, h; allowed is a \
             duration from 1ms to 1h, such as 256ms",
        ),
        (
            refused(&flags(&["--interval", "2h"])),
            "--interval 2h: 2h is out of range; allowed is a duration from 1ms to 1h, such as 256ms",
        ),
        (
            refused(&Given { variables: &[("TIDINGS_MTU", "9k")], ..Given::default() }),
            "TIDINGS_MTU=9k: not an integer; allowed is an integer from 576 to 65535",
        ),
        (
            refused(&file("payload_bytes = 2000")),
            "agent.toml:1:17: payload_bytes = 2000: out of range; allowed is an integer from 0 to \
             1024",
        ),
        (
            refused(&flags(&["--listen", "10.0.0.7"])),
            "--listen 10.0.0.7: an address without a port; allowed is an IP address with a port, \
             such as 10.0.0.7:9616 or [::1]:0",
        ),
        (
            refused(&flags(&["--http", "0.0.0.0:80"])),
            "--http 0.0.0.0:80: 0.0.0.0 is not a loopback address, and the pages have no access \
             control: serve the metrics to others with `scrape`, the page through a proxy that asks \
             who it is; allowed is a loopback address with a port, such as 127.0.0.1:9617, or \
             `off`",
        ),
        (
            refused(&flags(&["--seed", "n1"])),
            "--seed n1: a host without a port; allowed is a host name or IP address with a port, \
             such as n1:9616",
        ),
        (
            refused(&flags(&["--forget-after", "3s"])),
            "--forget-after 3s: out of range with the other settings; allowed is 64 intervals to \
             365 days",
        ),
        (
            refused(&flags(&["--mtu", "600", "--payload-bytes", "1024"])),
            "--mtu 600: out of range with the other settings; allowed is a value that leaves \
             1232 to 65507 bytes for a datagram",
        ),
        (
            refused(&flags(&["--roster", "n[1-2]", "--seed", "n1:9616"])),
            "both a roster and seeds are given: a node learns of the others by one of the two; \
             drop `roster` or `seed`",
        ),
    ];
    for (message, expected) in cases {
        assert_eq!(message, expected);
    }
}

#[test]
fn everything_that_is_wrong_is_reported_at_once() {
    let message = refused(&Given {
        flags: &["--window", "0%"],
        variables: &[("TIDINGS_LOG", "loud")],
        file: Some("max_nodes = 1\nname = \"-\"\n"),
    });
    for part in [
        "--window 0%",
        "TIDINGS_LOG=loud",
        "agent.toml:1:13: max_nodes = 1",
        "agent.toml:2:8: name = -",
    ] {
        assert!(message.contains(part), "{part} is missing in:\n{message}");
    }
}

#[test]
fn settings_that_need_a_restart_are_listed() {
    let settings = |flags| load(&Given { flags, ..Given::default() }).expect("valid");
    let old = settings(&[][..]);
    let new = settings(&["--log", "debug", "--interval", "1s", "--seed", "a:1"][..]);
    assert_eq!(new.fixed_changes(&old), ["interval"]);
}

#[test]
fn variables_that_are_nearly_settings_are_reported() {
    let names = ["TIDINGS_INTERVALL", "TIDINGS_MTU", "TIDINGS_CONFIG", "TIDINGS_BIN_DIR", "HOME"];
    let found: Vec<_> = misspelt(names.iter().map(ToString::to_string)).collect();
    assert_eq!(found, [("TIDINGS_INTERVALL".to_owned(), "TIDINGS_INTERVAL".to_owned())]);
}

#[test]
fn the_example_in_the_repository_is_valid() {
    let file = Some(include_str!("../../../../examples/agent.toml"));
    let settings = load(&Given { file, ..Given::default() }).expect("valid");
    assert_eq!((settings.cluster.as_str(), settings.seeds.len()), ("physics", 2));
}

#[test]
fn an_age_replaces_a_window_and_excludes_one() {
    let file = Some("age_target = \"900ms\"\nage_target_quantile = \"0.99\"\n");
    let settings = load(&Given { file, ..Given::default() }).expect("valid");
    let target = settings.core().age_target.expect("it was given");
    assert_eq!((target.age, target.quantile), (Duration::from_millis(900), Some(0.99)));
    assert_eq!(settings.window_text(), "age_target 900ms for 99%");
    let table = settings.table();
    assert!(table.contains("age_target ") && !table.contains("window"), "{table}");
    let both = Given { flags: &["--window", "10%"], file, ..Given::default() };
    let message = refused(&both);
    assert!(message.contains("drop `age_target` or `window`"), "{message}");
    let flags = &["--age-target-quantile", "0.5"][..];
    assert!(refused(&Given { flags, ..Given::default() }).contains("without an age_target"));
    let message = refused(&Given { flags: &["--age-target", "5"], ..Given::default() });
    assert!(message.contains("--age-target 5: a duration needs a unit"), "{message}");
    let flags = &["--age-target", "1s", "--age-target-quantile", "1.5"][..];
    assert!(refused(&Given { flags, ..Given::default() }).contains("--age-target-quantile 1.5"));
    let flags = &["--age-target", "1s", "--strategy", "staggered"][..];
    assert!(refused(&Given { flags, ..Given::default() }).contains("strategy"));
}

/// One file for all nodes: `colony` alone decides which of the seeds are of the own colony.
#[test]
fn seeds_of_all_colonies_are_one_list() {
    let file = Some("colony_seed = [\"1@a:1\", \"2@b:1\", \"3@c:1\"]\nmax_colonies = 2\n");
    let variables = &[("TIDINGS_COLONY", "2")][..];
    let given = Given { variables, file, ..Given::default() };
    let seeds = |given: &Given<'_>| -> Vec<String> {
        load(given).expect("valid").seeds.iter().map(ToString::to_string).collect()
    };
    assert_eq!(seeds(&given), ["1@a:1", "b:1", "3@c:1"]);
    let roster = Given { flags: &["--roster", "n[1-2]", "--name", "n1"], ..given };
    assert_eq!(seeds(&roster), ["1@a:1", "3@c:1"], "a roster names the members");
    let colony = load(&given).expect("valid").core().colony.expect("it was given");
    assert_eq!((colony.id, colony.max_colonies), (ColonyId(2), 2));

    let alone = refused(&Given { file, ..Given::default() });
    assert!(alone.contains("colony_seed is given without a colony"), "{alone}");
    for (flags, part) in [
        (["--colony", "4"], "raise max_colonies"),
        (["--colony", "-1"], "--colony -1: out of range; allowed is an integer from 1"),
        (["--strategy", "uniform"], "--strategy uniform: out of range with"),
        (
            ["--mtu", "1000"],
            "--mtu 1000: out of range with the other settings; allowed is a value that",
        ),
        (["--colony-seed", "n1:9616"], "--colony-seed n1:9616: no colony number before an @"),
    ] {
        let message = refused(&Given { flags: &flags, ..given });
        assert!(message.contains(part), "{message}");
    }
}

/// A few thousand mutations of a file, the same ones each time: each is read or rejected with
/// messages, and what is read is in range.
#[test]
fn any_file_is_either_read_or_rejected() {
    const WHOLE: &str = "name = \"n1\"\nlisten = \"127.0.0.1:0\"\nseed = [\"a:1\", \"b:2\"]\n\
                         interval = \"256ms\"\nwindow = \"20%\"\npayload_bytes = 64\n\
                         capacity = \"full\"\nmax_nodes = 4096\nmtu = 1500\nlog = \"info\"\n\
                         death_after = \"off\"\ncatch_up = true\nwire_version = 2\n\
                         tolerances = [\"load1=1/2%\", \"user.a*=1\"]\n\
                         board = \"/dev/shm/b\"\ncolony = 3\n";
    const EDGES: &[u8] = b"\n\"=[]#.%0-\x00\xff\x80";
    let mut state = 0x7464_6E67u64;
    let mut below = |bound: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    let mut outcomes = [0, 0];
    for _ in 0..4_000 {
        let mut bytes = WHOLE.as_bytes().to_vec();
        for _ in 0..=below(4) {
            let at = below(bytes.len());
            match below(4) {
                0 => bytes.insert(at, EDGES[below(EDGES.len())]),
                1 => bytes[at] ^= 1 << below(8),
                2 => drop(bytes.remove(at)),
                _ => {
                    let count = (bytes.len() - at).min(9);
                    bytes.copy_within(at / 2..at / 2 + count, at);
                }
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let loaded = load(&Given { file: Some(&text), ..Given::default() });
        outcomes[usize::from(loaded.is_ok())] += 1;
        match loaded {
            Ok(settings) => settings.core().validate().expect("what is read is in range"),
            Err(message) => assert!(message.len() > 20, "{message} for {text}"),
        }
    }
    assert!(outcomes.iter().all(|&count| count > 50), "refused and read: {outcomes:?}");
}

#[test]
fn the_three_names_of_a_setting_follow_from_its_key() {
    let setting = find("forget_after").expect("in the table");
    assert_eq!(setting.flag(), "forget-after");
    assert_eq!(setting.variable(), "TIDINGS_FORGET_AFTER");
}

#[test]
fn suggestions_are_near_or_absent() {
    for (written, meant) in [
        ("intervall", Some("interval")),
        ("Interval", Some("interval")),
        ("payload-bytes", Some("payload_bytes")),
        ("payload", Some("payload_bytes")),
        ("seeds", Some("seed")),
        ("widnow", Some("window")),
        ("frobnicate", None),
        ("x", None),
    ] {
        assert_eq!(nearest(written), meant, "{written}");
    }
}

#[test]
fn the_reference_page_has_a_row_for_every_setting() {
    let page = include_str!("../../../../docs/reference/config.md");
    for setting in &SETTINGS {
        let default = setting.default.map_or(String::new(), |text| format!("`{text}`"));
        let row = format!("| `{}` | {default}", setting.key);
        let line = page.lines().find(|line| line.starts_with(&row));
        let line = line.unwrap_or_else(|| panic!("no row that begins with {row}"));
        assert!(line.contains(setting.allowed.trim_end()), "{}: {}", line, setting.allowed);
        assert_eq!(line.ends_with("| yes |"), setting.reloads, "{line}");
    }
}
