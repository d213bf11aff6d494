//! Targets whose input is one text or one payload.

use tidings_control::Request;
use tidings_gossip::payload::NodeState;
use tidings_gossip::roster::{self, MAX_NAME_BYTES, MAX_NAMES};
use tidings_gossip::signed::MAX_IDENTITIES;
use tidings_gossip::wire::keys::{KeyRing, MAX_KEYS};
use tidings_gossip::{Identities, Signer};

/// Names that are folded and read again; beyond that the target would only be slow.
const NAMES_FOLDED: usize = 4_096;

/// Any payload decodes to a state or an error. A decoded state encodes into as many bytes, and
/// these decode to the same state.
pub fn payload(bytes: &[u8]) {
    let Ok(state) = NodeState::decode(bytes) else { return };
    let mut again = vec![0xA5; bytes.len()];
    state.encode(&mut again).expect("a state from a payload fits a payload of that size");
    let state_again = NodeState::decode(&again).expect("what was encoded decodes");
    assert_eq!(state, state_again, "a round trip changed the state");
}

/// Any text is a roster or an error with a place in that text. A roster's names are bounded, legal
/// and distinct, and folded into a hostlist they read back as the same names in the same order.
pub fn roster(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let nodes = match roster::parse(&text) {
        Ok(nodes) => nodes,
        Err(error) => {
            let lines = text.lines().count().max(1);
            assert!((1..=lines).contains(&error.line), "{error}");
            assert!(error.column >= 1, "{error}");
            return;
        }
    };
    assert!((1..=MAX_NAMES).contains(&nodes.len()));
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    for name in &names {
        assert!((1..=MAX_NAME_BYTES).contains(&name.len()), "{name}");
        assert!(name.bytes().all(legal), "{name}");
    }
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert!(sorted.windows(2).all(|pair| pair[0] != pair[1]), "a name twice");
    if names.len() <= NAMES_FOLDED {
        let folded = roster::compress(&names);
        let again = roster::parse(&folded).unwrap_or_else(|error| panic!("{folded}: {error}"));
        assert!(again.iter().map(|node| node.name.as_str()).eq(names), "{folded}");
    }
}

/// Any text is a key ring of 1 to 8 keys that excludes other keys, or an error that shows no key.
pub fn keyring(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match KeyRing::parse(&text) {
        Ok(ring) => {
            assert!(ring.is_secret());
            assert!((1..=MAX_KEYS).contains(&ring.len()));
        }
        Err(error) => {
            let shown = format!("{error} {error:?}");
            let words = text.split(|c: char| c.is_whitespace() || c == '#');
            let leaked = words.filter(|word| word.len() >= 40).find(|word| shown.contains(word));
            assert_eq!(leaked, None, "an error shows a line of the key file");
        }
    }
    identities(&text);
}

/// Any text is a list of public keys, which can be written and read again, or an error; neither
/// that nor the error of a signer shows a secret.
fn identities(text: &str) {
    let list = Identities::parse(text);
    if let Ok(list) = &list {
        assert!((1..=MAX_IDENTITIES).contains(&list.len()));
        for line in text.lines() {
            let Some(name) = line.split_whitespace().next() else { continue };
            let Some(key) = list.get(name) else { continue };
            assert_eq!(key.to_string().parse(), Ok(key), "{line}");
        }
    }
    let shown = format!("{:?} {:?}", list.err(), Signer::parse(text).err());
    assert!(!shown.contains("ed25519-secret:") || !text.contains("ed25519-secret:"), "{shown}");
}

/// Any line is a request to an agent or an error. A request that was read is written as a line that
/// reads as the same request, within the bound of a request's length.
pub fn control(bytes: &[u8]) {
    let Ok(request) = serde_json::from_slice::<Request>(bytes) else { return };
    let line = serde_json::to_string(&request).expect("a request that was read can be written");
    let mut again: Request = serde_json::from_str(&line).expect("what was written reads");
    if let (Request::Pick(asked), Request::Pick(read)) = (&request, &mut again) {
        // Numbers of many digits are read to about the last bit.
        assert!((asked.cpus - read.cpus).abs() <= 1e-15 * asked.cpus.abs());
        read.cpus = asked.cpus;
    }
    assert_eq!(request, again, "a round trip changed the request");
    // Each byte may become six, and optional fields are written.
    assert!(line.len() <= 6 * bytes.len() + 512, "{line}");
}
