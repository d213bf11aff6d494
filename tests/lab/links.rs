//! Characterisations of hosts with links of their own: each link is what was asked, its counters
//! are right, flows that share a link are told apart, and what goes wrong is said.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use serde_json::Value;
use tidings_experiment::agents::programs;
use tidings_experiment::hosts::{Mesh, Network, OwnLink, Shape, gauge, tag};
use tidings_experiment::mpi::Mpi;

use super::code;
use super::places::{Bench, in_namespace, said};

/// A series of one run on hosts with links.
fn series(mpi: Mpi, backend: &str, nodes: u32, command: &str, words: &str) -> String {
    let words: Vec<String> = words.split_whitespace().map(|word| format!("\"{word}\"")).collect();
    // Debian's MPICH does not always end on several hosts without it (mpi/shim/finish.c).
    let shim = format!("shim = \"{}\", ", mpi.shim().display());
    let shim = if mpi == Mpi::Mpich { shim } else { String::new() };
    format!(
        "name = \"linked\"\nlimit_s = 120.0\n[[machines]]\nname = \"hosts\"\n\
         backend = {{ kind = \"hosts\", mpi = \"{}\", yielding = \"{}\", {shim}{backend} }}\n\
         [[programs]]\nname = \"all\"\nmachines = [\"hosts\"]\nnodes = [{nodes}]\n\
         command = [\"{command}\", \"--repetitions\", \"2\", \"--factor\", \"16384\", \
         \"--beyond-cache\", \"0\", \"--late\", \"10\", \"--sleep\", {}]\n",
        mpi.name(),
        mpi.yielding().display(),
        words.join(", ")
    )
}

fn program(mpi: Mpi) -> String {
    mpi.characterize().display().to_string()
}

/// The lines of `links.csv`, by their columns.
fn links(bench: &Bench) -> Vec<Vec<String>> {
    let text = fs::read_to_string(bench.file("out/links.csv")).expect("written");
    let cells = |line: &str| line.split(',').map(str::to_owned).collect();
    text.lines().skip(1).map(cells).collect()
}

fn number(cells: &[String], at: usize) -> f64 {
    cells[at].parse().unwrap_or_else(|_| panic!("{cells:?}: column {at}"))
}

/// Two flows over one link of a chain of four. What the cards counted is what was sent: only the
/// link in the middle carries all of it.
#[test]
fn flows_over_one_link_of_a_chain_are_told_apart_and_its_links_count_what_they_carry() {
    let bench = Bench::below(env!("CARGO_TARGET_TMPDIR"));
    let words = "--mesh 4 --test overlap --largest 65536";
    let text = series(Mpi::Open, "mesh = [4], rate_mbit = 200.0", 4, &program(Mpi::Open), words);
    let file = bench.lay("linked.toml", &text);
    let done = bench.tidings(&["lab", "characterize", &file, "--output", "out"]);
    assert_eq!(code(&done), Some(0), "{}", said(&done));
    let table = fs::read_to_string(bench.file("out/points.csv")).expect("written");
    for flow in ["P0-P3, with P1-P2", "P1-P2, with P0-P3", "P0-P2, with P1-P3", "P1-P3, with P0-P2"]
    {
        let own = table.lines().find(|line| line.contains(&format!("\"{flow}\",65536,")));
        assert!(own.is_some_and(|line| line.ends_with(",true,")), "{flow}: {table}");
    }
    let links = links(&bench);
    assert_eq!(links.len(), 2 * 3, "each direction of three: {links:?}");
    let carried = |from: &str, to: &str| {
        let own = links.iter().find(|link| link[1] == from && link[2] == to);
        number(own.expect("a link"), 12)
    };
    for link in &links {
        assert!(number(link, 5) <= 1.05 * 200.0, "no faster than asked: {link:?}");
        assert_eq!([&link[9], &link[10]], [&link[8]; 2], "both ends count: {link:?}");
        assert_eq!(link[11], "0", "{link:?}");
    }
    // P0 sends to P3 and P2, P1 to P2 and P3: so many bytes at least, alone and together.
    let flow = 65_536.0 * 16.0;
    let ends = [carried("0", "1"), carried("2", "3")];
    assert!(ends.iter().all(|own| *own > 4.0 * flow), "{ends:?}");
    assert!(carried("1", "2") > ends[0].max(ends[1]) + 2.0 * flow, "{links:?}");
}

/// Packets take the shorter way round, each link as long as was asked: a host passes them on. Two
/// links have values of their own, one of them no delay: a cable beside those on the delay line.
#[test]
fn a_packet_travels_along_each_link_of_a_torus_for_as_long_as_asked() {
    let bench = Bench::below(env!("CARGO_TARGET_TMPDIR"));
    let words = "--torus 3,2 --test hops --largest 64";
    let own = "links = [{ between = [3, 0], rate_mbit = 60.0, delay_us = 2500.0 }, \
               { between = [4, 5], delay_us = 0.0 }]";
    let backend = "torus = [3, 2], rates_mbit = [80.0, 40.0, 40.0], delay_us = 1500.0";
    let backend = &format!("{backend}, {own}");
    let text = series(Mpi::Mpich, backend, 6, &program(Mpi::Mpich), words);
    let file = bench.lay("torus.toml", &text);
    let done = bench.tidings(&["lab", "characterize", &file, "--output", "out"]);
    assert_eq!(code(&done), Some(0), "{}", said(&done));
    let links = links(&bench);
    // Two rings of three, and three cables between them.
    assert_eq!(links.len(), 2 * (2 * 3 + 3));
    for link in &links {
        let (asked_mbit, asked_us) = match (link[1].as_str(), link[2].as_str()) {
            ("0", "3") | ("3", "0") => (60.0, 5_000.0),
            ("4", "5") | ("5", "4") => (80.0, 0.0),
            _ if link[3].starts_with('x') => (80.0, 3_000.0),
            _ => (40.0, 3_000.0),
        };
        assert!((number(link, 4) - asked_mbit).abs() < 1e-9, "{link:?}");
        assert!((number(link, 6) - asked_us).abs() < 1e-9, "{link:?}");
        assert!(number(link, 7) >= asked_us, "{link:?}");
        assert_eq!([&link[9], &link[10]], [&link[8]; 2], "both ends count: {link:?}");
    }
    let table = fs::read_to_string(bench.file("out/points.csv")).expect("written");
    for hops in [1_u32, 2] {
        let start = format!("\"hosts\",6,\"hops-latency\",\"idle network\",64,{hops},");
        let own = table.lines().find_map(|line| line.strip_prefix(&start));
        let seconds = own.and_then(|rest| rest.split(',').next()?.parse::<f64>().ok());
        let least = f64::from(hops) * 0.001_5;
        assert!(seconds.is_some_and(|own| own >= least), "{hops}: {table}");
    }
    let page = fs::read_to_string(bench.file("out/characterize.md")).expect("written");
    assert!(page.contains("6 on 6 nodes"), "each is a node of its own: {page}");
}

/// A host that speaks IPv6 asks for routers now and then, on each card: its links would count
/// frames that no program sent.
#[test]
fn hosts_send_nothing_of_their_own_accord() {
    let shape = Shape::new(&[3], false).expect("a chain of three");
    for delay_us in [0.0, 2_000.0] {
        let network = Network { delay_us, ..Network::default() };
        let mesh = Mesh::new(tag(), shape, &network).expect("root, ip and tc");
        for host in 0..mesh.count() {
            let command = ["-n", &mesh.namespace(host), "-6", "address"];
            let said = Command::new("ip").args(command).output().expect("iproute2");
            assert!(said.status.success() && said.stdout.is_empty(), "{host}: {said:?}");
        }
    }
}

/// The kernel is asked what it was told: in a chain without a delay, one link has a rate of its
/// own, one a delay of its own, and the third is as all are.
#[test]
fn a_link_has_the_rate_and_the_delay_of_its_own_that_it_was_given() {
    let shape = Shape::new(&[4], false).expect("a chain of four");
    let own = |between, rate_mbit, delay_us| OwnLink { between, rate_mbit, delay_us };
    let links = vec![own([0, 1], Some(4.5), None), own([2, 1], None, Some(1_500.0))];
    let network = Network { rate_mbit: Some(40.0), links, ..Network::default() };
    let mesh = Mesh::new(tag(), shape, &network).expect("root, ip and tc");
    for (host, card, rate_mbit, kind) in [
        (0, "x-up", 4.5, "veth"),
        (1, "x-down", 4.5, "veth"),
        (1, "x-up", 40.0, "tun"),
        (2, "x-down", 40.0, "tun"),
        (2, "x-up", 40.0, "veth"),
        (3, "x-down", 40.0, "veth"),
    ] {
        let name = mesh.namespace(host);
        let bucket = in_namespace(&name, "tc", &["-j", "qdisc", "show", "dev", card]);
        assert_eq!(bucket[0]["kind"], "tbf", "{host} {card}: {bucket}");
        let bytes = bucket[0]["options"]["rate"].as_f64().expect("bytes a second");
        assert!((bytes * 8.0 / 1e6 - rate_mbit).abs() < 1e-9, "{host} {card}: {bucket}");
        let made = in_namespace(&name, "ip", &["-j", "-d", "link", "show", "dev", card]);
        assert_eq!(made[0]["linkinfo"]["info_kind"], kind, "{host} {card}: {made}");
    }
    // No packet is early, whatever else the machine does.
    for link in gauge(&mesh).expect("sockets in all hosts") {
        let is_long = [link.from, link.to].iter().all(|host| [1, 2].contains(host));
        let asked_us = if is_long { 3_000.0 } else { 0.0 };
        assert!((link.asked_round_us - asked_us).abs() < 1e-9, "{link:?}");
        assert!(link.round_us >= asked_us && link.is_counted(), "{link:?}");
    }
}

/// A host whose processes all die in a run: the run fails, and the same command goes on.
#[test]
fn a_host_that_dies_fails_its_run_and_the_same_command_goes_on() {
    let bench = Bench::below(env!("CARGO_TARGET_TMPDIR"));
    let died = bench.file("died").display().to_string();
    let wrapper = bench.lay_program(
        "dies.sh",
        &format!(
            "#!/bin/sh\n[ \"$(hostname)\" = h1 ] && [ ! -e {died} ] && {{ : > {died}; \
             kill -KILL $PPID; }}\nexec {} \"$@\"\n",
            program(Mpi::Open)
        ),
    );
    let words = "--mesh 2 --test pair --largest 64";
    let command = wrapper.display().to_string();
    let file = bench.lay("dies.toml", &series(Mpi::Open, "mesh = [2]", 2, &command, words));
    let measure = || bench.tidings(&["lab", "characterize", &file, "--output", "out"]);
    let failed = measure();
    assert_eq!(code(&failed), Some(1), "{}", said(&failed));
    assert!(said(&failed).contains("what was measured is kept"), "{}", said(&failed));
    assert!(!bench.has_processes(), "nothing of the other host is left");
    let done = measure();
    assert_eq!(code(&done), Some(0), "{}", said(&done));
    let outcomes: Vec<Value> =
        bench.runs("out").into_iter().map(|run| run["outcome"].clone()).collect();
    assert_eq!(outcomes, ["failed", "ok"]);
}

#[test]
fn hosts_with_links_that_cannot_be_made_are_refused() {
    let bench = Bench::below(env!("CARGO_TARGET_TMPDIR"));
    let text = |backend: &str, nodes| series(Mpi::Open, backend, nodes, "true", "");
    for (backend, nodes, wanted) in [
        ("torus = [3, 0]", 2, "is no shape: write one to three lengths"),
        ("torus = [9, 9, 9]", 2, "250 hosts at most"),
        ("torus = [2], mesh = [2]", 2, "a torus or a mesh, not both"),
        ("mesh = [2], loss_percent = 1.0", 2, "links of a torus or a mesh lose nothing"),
        ("rates_mbit = [1.0, 1.0, 1.0]", 2, "instead of rate_mbit"),
        ("mesh = [2], rates_mbit = [1.0]", 2, "three rates, for X, Y and Z"),
        ("mesh = [3], links = [{ between = [0, 2], rate_mbit = 1.0 }]", 2, "0 has links to 1"),
        ("links = [{ between = [0, 1], rate_mbit = 1.0 }]", 2, "links is of a torus or a mesh"),
        ("torus = [2, 2]", 5, "5 nodes: the torus of 2 x 2 x 1 has 4 hosts"),
    ] {
        let file = bench.lay("refused.toml", &text(backend, nodes));
        let output = bench.tidings(&["lab", "characterize", &file, "--check"]);
        assert_eq!(code(&output), Some(2), "{backend}: {}", said(&output));
        assert!(said(&output).contains(wanted), "{backend}: {}", said(&output));
    }
    // Somebody who is not root, in a folder that all can read.
    let file = bench.lay("user.toml", &text("mesh = [2]", 2));
    let folder = bench.file("");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("ours");
    let mut command = Command::new(programs().join("tidings"));
    command.args(["lab", "characterize", &file, "--check"]).uid(65_534).current_dir(folder);
    let output = command.output().expect("it is built");
    assert_eq!(code(&output), Some(2), "{}", said(&output));
    assert!(said(&output).contains("run it as root"), "{}", said(&output));
}
