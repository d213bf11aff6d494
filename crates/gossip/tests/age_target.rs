//! A node that is told an age chooses its window by the model, and anew when members come or go.

use std::net::SocketAddr;
use std::time::Duration;

use tidings_gossip::{Address, AgeTarget, Config, Incarnation, Instant, KeyRing, Member, Node};

fn roster(nodes: u16) -> Vec<Member> {
    let member = |number| Member {
        name: format!("n{number}"),
        address: Address::from(SocketAddr::from(([127, 0, 0, 1], 9_000 + number))),
    };
    (0..nodes).map(member).collect()
}

#[test]
fn the_window_follows_the_number_of_members() {
    let mut config = Config::default();
    config.age_target = Some(AgeTarget { age: Duration::from_secs(1), quantile: None });
    let keys = KeyRing::open(&config.cluster);
    let small = roster(16);
    let (me, start) = (small[0].clone(), Instant::EPOCH);
    let mut node =
        Node::new(config, keys, me, &small, Incarnation::new(1), 7, start).expect("valid");
    let mut chosen = Vec::new();
    for nodes in [16, 128, 512, 16] {
        let now = node.poll_timeout();
        node.set_roster(&roster(nodes), now).expect("it names the node");
        // Enough passes that the model is searched again: the rounds of some units.
        for _ in 0..80 {
            node.handle_timeout(node.poll_timeout());
        }
        chosen.push(node.window_entries());
    }
    assert!(chosen[0] < chosen[1] && chosen[1] < chosen[2], "{chosen:?}");
    assert_eq!(chosen[0], chosen[3], "the same members, the same window");
    // Less than everything: three units of age need no full windows.
    assert!(chosen[2] < 512, "{chosen:?}");
}
