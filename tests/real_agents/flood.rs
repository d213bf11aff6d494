//! A flood of forgeries: datagrams that look like a member's until they are decrypted.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use tidings_control::State;
use tidings_experiment::agents::Cluster;

use super::KEYS;

/// The part of a header that numbers a sender's datagrams.
const COUNTER: std::ops::Range<usize> = 22..28;
/// Forgeries sent, and how many are sent between two reads of the clock.
const FORGERIES: u64 = 300_000;
const BURST: u64 = 100;
/// Forgeries per second, at most.
const RATE: f64 = 100_000.0;

/// A datagram of `n1`, sealed and sent to a socket that only listens.
fn captured(cluster: &mut Cluster, keys: &str) -> Vec<u8> {
    let listener = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let seed = listener.local_addr().expect("bound").to_string();
    cluster.start("n1", &["--keys", keys, "--seed", &seed, "--interval", "100ms"]);
    let mut buffer = [0; 2_000];
    let bytes = listener.recv(&mut buffer).expect("a node alone asks its seeds");
    buffer[..bytes].to_vec()
}

/// Sends forgeries that pass all checks before decryption: a member's, and never seen.
fn flood(mut datagram: Vec<u8>, to: &str) -> f64 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    socket.connect(to).expect("an address");
    let begin = Instant::now();
    for number in 0..FORGERIES {
        let counter = ((1u64 << 40) + number).to_le_bytes();
        datagram[COUNTER].copy_from_slice(&counter[..6]);
        let _ = socket.send(&datagram); // one that does not fit into the receiver's buffer is lost
        if number % BURST == 0 {
            let due = number as f64 / RATE;
            while begin.elapsed().as_secs_f64() < due {
                thread::yield_now();
            }
        }
    }
    FORGERIES as f64 / begin.elapsed().as_secs_f64()
}

#[test]
fn a_flood_of_forgeries_changes_no_entry() {
    let mut cluster = Cluster::new();
    let keys = cluster.write("keys", KEYS[0]);
    let datagram = captured(&mut cluster, &keys);
    for name in ["n2", "n3"] {
        cluster.join(name, "n1", &["--keys", &keys, "--interval", "100ms"]);
    }
    cluster.until_known(&["n1", "n2", "n3"], 3);
    let before = cluster.agent("n2").status();
    let (ended, to) = (AtomicBool::new(false), before.address.clone());
    let rate = thread::scope(|scope| {
        let flood = scope.spawn(|| {
            let rate = flood(datagram, &to);
            ended.store(true, Ordering::Relaxed);
            rate
        });
        cluster.until("the flood is over, with answers all the time", |cluster| {
            let nodes = cluster.agent("n2").client().nodes().expect("answered").nodes;
            assert!(nodes.len() == 3 && nodes.iter().all(|node| node.state == State::Alive));
            ended.load(Ordering::Relaxed).then_some(())
        });
        flood.join().expect("it has no reason to panic")
    });
    let after = cluster.agent("n2").status();
    let passed = |name: &str| after.counters[name] - before.counters[name];
    let seconds = after.uptime_s - before.uptime_s;
    println!(
        "{rate:.0} forgeries a second; {} opened and rejected; {:.2} of a core; {} rounds in {seconds:.1} s",
        passed("dropped_corrupt"),
        (after.cpu_seconds - before.cpu_seconds) / seconds,
        passed("rounds"),
    );
    assert!(passed("dropped_corrupt") > FORGERIES / 100, "{:?}", after.counters);
    assert_eq!((after.members, after.known), (3, 3));
    assert!(passed("rounds") as f64 > 0.5 * seconds / 0.1, "the round is kept");
    cluster.until("entries are as young as before", |cluster| {
        let age = |name| cluster.agent("n2").node(name).and_then(|node| node.age_ms);
        let young = |name| age(name).is_some_and(|age_ms| age_ms < 1_000.0);
        (young("n1") && young("n3")).then_some(())
    });
}
