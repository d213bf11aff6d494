//! The gossip core in programs of others: the examples of a driver, in Rust and in C, as real
//! processes; what docs/guides/embedding.md shows; the packages of the crates.

mod cluster;
mod guide;
mod packages;

use cluster::{Cluster, Language};

#[test]
fn three_in_rust_know_each_other_and_one_that_is_killed_is_dead_until_it_is_back() {
    let mut cluster = Cluster::of(&[Language::Rust; 3]);
    cluster.until_all_know_each_other();
    cluster.kill(2);
    cluster.until_seen(2, "Dead");
    cluster.start(2);
    cluster.until_all_know_each_other();
}

#[test]
fn three_in_c_know_each_other_and_one_that_is_killed_is_dead_until_it_is_back() {
    let mut cluster = Cluster::of(&[Language::C; 3]);
    cluster.until_all_know_each_other();
    cluster.kill(0);
    cluster.until_seen(0, "Dead");
    cluster.start(0);
    cluster.until_all_know_each_other();
}

#[test]
fn rust_and_c_are_one_cluster() {
    let mut cluster = Cluster::of(&[Language::Rust, Language::C, Language::C, Language::Rust]);
    cluster.until_all_know_each_other();
    cluster.kill(1);
    cluster.until_seen(1, "Dead");
    cluster.end_input(3);
    cluster.until_seen(3, "Left");
    cluster.start(1);
    cluster.start(3);
    cluster.until_all_know_each_other();
}

/// A node of the same addresses with another key is one that nobody hears.
#[test]
fn another_key_is_another_cluster() {
    let mut cluster = Cluster::of(&[Language::Rust, Language::C, Language::C]);
    cluster.until_all_know_each_other();
    cluster.kill(2);
    cluster.until_seen(2, "Dead");
    cluster.write_key([7; 32]);
    cluster.start(2);
    // It is up, knows nobody, and is dead to the others still.
    let looks = |line: &str| line.starts_with("n0 Unheard");
    cluster.until(2, "three looks of the one with the other key", |lines| {
        lines.iter().filter(|line| looks(line)).count() >= 3
    });
    cluster.until_seen(2, "Dead");
}

#[test]
fn what_is_wrong_is_named_with_the_remedy() {
    for language in [Language::Rust, Language::C] {
        let cluster = Cluster::of(&[]);
        let said = |words: &[&str]| cluster.refusal(language, words);
        let two = ["127.0.0.1:9700", "127.0.0.1:9701"];
        assert!(said(&["0", two[0], two[1]]).contains("head -c 32 /dev/urandom"));
        cluster.write_key([1; 32]);
        assert!(said(&[]).contains("usage"));
        let number = said(&["2", two[0], two[1]]);
        assert!(number.contains("number"), "{number}");
        let address = said(&["0", two[0], "nowhere"]);
        assert!(address.contains("address"), "{address}");
    }
}
