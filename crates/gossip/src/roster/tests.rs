//! Rosters as people write them, as they mistype them, and as an attacker would.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn names(text: &str) -> Vec<String> {
    parse(text).expect(text).into_iter().map(|node| node.name).collect()
}

fn refusal(text: &str) -> String {
    parse(text).expect_err(text).to_string()
}

#[test]
fn ranges_keep_their_padding_and_the_leftmost_bracket_varies_slowest() {
    assert_eq!(names("n[08-11]"), ["n08", "n09", "n10", "n11"]);
    assert_eq!(names("n[9-11]"), ["n9", "n10", "n11"]);
    assert_eq!(
        names("n[1-2,7]-ib[0,1].x"),
        ["n1-ib0.x", "n1-ib1.x", "n2-ib0.x", "n2-ib1.x", "n7-ib0.x", "n7-ib1.x"]
    );
    let all = names("n[0001-8192]");
    assert_eq!((all.len(), all[0].as_str(), all[8191].as_str()), (8192, "n0001", "n8192"));
}

#[test]
fn lines_comments_commas_and_addresses() {
    let text =
        "# the cluster\r\n\r\n  login1 = 192.0.2.7:9616, n[1-2] # two\r\ngw=[2001:db8::7]:1\n";
    let nodes: Vec<_> = parse(text)
        .expect("the text is well formed")
        .into_iter()
        .map(|node| (node.line, node.name, node.address))
        .collect();
    let expected = [
        (3, "login1", Some("192.0.2.7:9616")),
        (3, "n1", None),
        (3, "n2", None),
        (4, "gw", Some("[2001:db8::7]:1")),
    ];
    let expected = expected.map(|(line, name, at)| (line, name.to_owned(), at.map(str::to_owned)));
    assert_eq!(nodes, expected);
}

#[test]
fn every_fault_says_where_it_is_and_what_to_do() {
    let cases = [
        ("", "line 1, column 1: it names no node; write one name a line, or n[0001-8192]"),
        ("a\nn[9-3]", "line 2, column 3: the range 9-3 runs backwards; write 3-9"),
        ("n[01-010]", "line 1, column 3: the range 01-010 is padded unevenly"),
        ("n[1-3", "line 1, column 6: expected ',' or ']'"),
        ("n[1;3]", "line 1, column 4: expected ',' or ']'"),
        ("n[]", "line 1, column 3: a number is missing"),
        ("n[1-]", "line 1, column 5: a number is missing"),
        ("n[1,]", "line 1, column 5: a number is missing"),
        ("n1]", "line 1, column 3: unexpected text"),
        ("n1 n2", "line 1, column 3: unexpected text"),
        ("nœud", "line 1, column 2: unexpected text"),
        ("a,,b", "line 1, column 3: a node's name must begin here"),
        ("a, -b", "line 1, column 4: a node's name must begin here"),
        ("n[1-1234567890123456789]", "line 1, column 3: the number has 19 digits; at most 18"),
        ("n[1-2]=h:1", "line 1, column 8: one address for a name with brackets"),
        ("n=h", "line 1, column 3: not an address"),
        ("n=", "line 1, column 3: not an address"),
        ("n=h:0", "line 1, column 3: not an address"),
        ("n=::1:9616", "line 1, column 3: not an address"),
        ("n=h:+80", "line 1, column 3: not an address"),
        ("a\nb\na", "line 3, column 1: the name a stands on line 1 already"),
        ("b, n[1-3,2]", "line 1, column 4: the name n2 stands on line 1 already"),
        ("a=h:1\nb=H:1", "line 2, column 1: the address H:1 belongs to a on line 1"),
        ("a=[::1]:7,b=[0::1]:7", "line 1, column 11: the address [0::1]:7 belongs to a"),
    ];
    for (text, expected) in cases {
        let refusal = refusal(text);
        assert!(refusal.starts_with(&format!("roster, {expected}")), "{text:?}: {refusal}");
    }
}

#[test]
fn sizes_are_bounded_before_a_name_is_made() {
    assert_eq!(count("n[1-3,7]-[0-9]\nm"), Ok(41));
    assert_eq!(count("n[1-1048577]"), parse("n[1-1048577]").map(|nodes| nodes.len()));
    assert_eq!(parse("n[1-1048576]").map(|nodes| nodes.len()), Ok(MAX_NAMES));
    assert!(refusal("n[1-1048577]").contains("1048577 names up to here"));
    assert!(refusal("n[1-1048576]\nm").starts_with("roster, line 2, column 1: 1048577 names"));
    assert!(refusal(&"[0-999999999999999999]".repeat(3)).contains("at most 1048576"));
    assert_eq!(names(&"n".repeat(63)).len(), 1);
    assert!(refusal(&"n".repeat(64)).contains("a name of 64 bytes"));
    assert!(refusal(&"[1]".repeat(100_000)).contains("a name of 100000 bytes"));
}

#[test]
fn compress_folds_neighbours_that_differ_in_one_number() {
    let cases = [
        ("n[0001-8192]", "n[0001-8192]"),
        ("n1,n2,n3,n5,login1", "n[1-3,5],login1"),
        ("n[8-12]", "n[8-12]"),
        ("n[1-2]-ib[0-1]", "n1-ib[0-1],n2-ib[0-1]"),
        ("rack[1-3]-n7.example.org", "rack[1-3]-n7.example.org"),
        ("n1,n01,n001", "n[1,01,001]"),
        ("n3,n2,n1", "n[3,2,1]"),
        ("a,b", "a,b"),
        ("n19,n29", "n[19,29]"),
    ];
    for (text, folded) in cases {
        assert_eq!(compress(&names(text)), folded);
    }
    assert_eq!(compress::<&str>(&[]), "");
}

proptest! {
    #[test]
    fn reading_what_compress_writes_gives_the_names_back(
        drawn in prop::collection::vec("[0-2a][0-2a.-]{0,5}", 1..40)
    ) {
        let mut seen = BTreeSet::new();
        let drawn: Vec<_> = drawn.into_iter().filter(|name| seen.insert(name.clone())).collect();
        prop_assert_eq!(names(&compress(&drawn)), drawn);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(?s).{0,60}", near in "[n019\\[\\],=:#. \\-\n]{0,40}") {
        for text in [text, near] {
            if let Ok(nodes) = parse(&text) {
                prop_assert!((1..=MAX_NAMES).contains(&nodes.len()));
                for node in nodes {
                    prop_assert!((1..=MAX_NAME_BYTES).contains(&node.name.len()));
                }
            }
        }
    }
}
