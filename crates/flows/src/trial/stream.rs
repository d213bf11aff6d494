//! Streams: messages one after the other from a node to another, several streams at once.

use crate::engine::Engine;
use crate::machine::Machine;

/// A stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    /// The node that sends.
    pub(super) from: u32,
    /// The node that receives.
    pub(super) to: u32,
}

/// When the last of so many messages of each stream has been received, in seconds: the next one
/// moves when its receiver has done with the one before.
pub(super) fn run(machine: &Machine, streams: &[Stream], bytes: u64, messages: u32) -> Vec<f64> {
    let mut engine = Engine::new(&machine.capacities());
    let mut of_message: Vec<usize> = Vec::new();
    let mut left: Vec<u32> = vec![messages; streams.len()];
    let mut done_s = vec![0.0; streams.len()];
    let paths: Vec<_> = streams.iter().map(|own| machine.path(own.from, own.to)).collect();
    for (stream, path) in paths.iter().enumerate() {
        engine.begin(path.latency_s, bytes as f64, path.way());
        of_message.push(stream);
    }
    while let Some(arrival) = engine.next_arrival() {
        let stream = of_message[arrival.message as usize];
        done_s[stream] = arrival.at_s + machine.receive_s(bytes);
        left[stream] -= 1;
        if left[stream] > 0 {
            let path = &paths[stream];
            engine.begin(done_s[stream] + path.latency_s, bytes as f64, path.way());
            of_message.push(stream);
        }
    }
    done_s
}

/// How long one message takes from a node to another that waits for it, in seconds.
pub(super) fn one(machine: &Machine, from: u32, to: u32, bytes: u64) -> f64 {
    run(machine, &[Stream { from, to }], bytes, 1)[0]
}
