//! The board of an agent, as a test has it say.

use std::path::Path;
use std::time::Duration;

use tidings_board::{News, Outline, State, Writer, now_ns};

/// Who writes a board of nodes n0, n1 and so on.
pub(crate) struct Agent(Writer);

impl Agent {
    /// All live.
    pub(crate) fn new(path: &Path, nodes: usize) -> Self {
        let outline = Outline {
            cluster: "test".to_owned(),
            observer: "n0".to_owned(),
            slots: nodes,
            payload_bytes: 8,
            payload_schema: 0,
            unit: Duration::from_millis(256),
        };
        let mut writer = Writer::create(path, &outline).expect("a directory");
        for slot in 0..nodes {
            let seated = writer.seat(slot, &format!("n{slot}"), b"::1:1", &news(State::Alive));
            seated.expect("there is a slot");
        }
        writer.beat(now_ns());
        Self(writer)
    }

    pub(crate) fn says(&mut self, node: usize, state: State) {
        self.0.update(node, &news(state)).expect("it has a slot");
        self.0.beat(now_ns());
    }
}

fn news(state: State) -> News<'static> {
    News { state, node_id: 1, incarnation: 1, sequence: 1, birth_ns: now_ns(), payload: &[] }
}
