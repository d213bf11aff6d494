//! Which figures there are.

use super::kinds::{Along, Spec, Value};
use super::sentences as say;

const SMALL: Option<u64> = Some(4);
const LARGE: Option<u64> = Some(16_384);

const BYTES: (Along, &str) = (Along::Bytes, "bytes of a message");
const TOGETHER: (Along, &str) = (Along::Count, "communicators at once");

/// A figure of times over sizes, with a line for each variant.
const LATENCY: Spec = Spec {
    number: "2a",
    title: "one-way latency of two processes",
    test: "latency",
    bytes: None,
    across: BYTES,
    line: Along::Variant,
    value: Value::Seconds,
    sentence: say::latency,
};

/// A figure of rates over sizes, with a line for each variant.
const BANDWIDTH: Spec = Spec {
    number: "2b",
    title: "bandwidth one way of two processes",
    test: "bandwidth",
    value: Value::Rate,
    sentence: say::bandwidth,
    ..LATENCY
};

/// The same operation on several communicators at once.
const AT_ONCE: Spec = Spec {
    number: "8b",
    title: "barrier on several communicators at once",
    test: "parallel-barrier",
    bytes: None,
    across: TOGETHER,
    line: Along::Bytes,
    value: Value::Seconds,
    sentence: say::at_once,
};

/// All figures, in the paper's order.
pub const SPECS: [Spec; 20] = [
    LATENCY,
    BANDWIDTH,
    Spec {
        number: "3a",
        title: "one-way latency inside a node, core by core",
        test: "core-latency",
        sentence: say::cores,
        ..LATENCY
    },
    Spec {
        number: "3b",
        title: "bandwidth inside a node, core by core",
        test: "core-bandwidth",
        sentence: say::core_bandwidth,
        ..BANDWIDTH
    },
    Spec {
        number: "4",
        title: "latency over hops on an idle network",
        test: "hops-latency",
        across: (Along::Count, "hops"),
        line: Along::Bytes,
        sentence: say::hops,
        ..LATENCY
    },
    Spec {
        number: "5",
        title: "two flows over one link",
        test: "overlap",
        sentence: say::overlap,
        ..BANDWIDTH
    },
    Spec {
        number: "5 through",
        title: "local flow beside flow-through traffic",
        test: "through",
        sentence: say::through,
        ..BANDWIDTH
    },
    Spec {
        number: "6a",
        title: "several streams between two nodes, sum of all",
        test: "streams",
        line: Along::Count,
        sentence: say::streams,
        ..BANDWIDTH
    },
    Spec {
        number: "6b",
        title: "hot spot: latency that a worker sees",
        test: "hotspot",
        across: (Along::Count, "workers of one master"),
        line: Along::Bytes,
        sentence: say::hotspot,
        ..LATENCY
    },
    Spec {
        number: "7a",
        title: "fan-in: one rank receives from its neighbours",
        test: "fan-in",
        line: Along::Count,
        sentence: say::fan_in,
        ..BANDWIDTH
    },
    Spec {
        number: "7b",
        title: "fan-out: one rank sends to its neighbours",
        test: "fan-out",
        line: Along::Count,
        sentence: say::fan_out,
        ..BANDWIDTH
    },
    Spec {
        number: "8a",
        title: "barrier on different communicators",
        test: "barrier",
        across: (Along::Ranks, "ranks"),
        sentence: say::communicators,
        ..LATENCY
    },
    AT_ONCE,
    Spec {
        number: "9",
        title: "broadcast on different communicators",
        test: "bcast",
        sentence: say::communicators,
        ..LATENCY
    },
    Spec {
        number: "10a",
        title: "broadcast of 4 B on several communicators at once",
        test: "parallel-bcast",
        bytes: SMALL,
        ..AT_ONCE
    },
    Spec {
        number: "10b",
        title: "broadcast of 16 KiB on several communicators at once",
        test: "parallel-bcast",
        bytes: LARGE,
        ..AT_ONCE
    },
    Spec {
        number: "11a",
        title: "allreduce of 16 KiB on several communicators at once",
        test: "parallel-allreduce",
        bytes: LARGE,
        ..AT_ONCE
    },
    Spec {
        number: "11b",
        title: "allgather of 4 B on several communicators at once",
        test: "parallel-allgather",
        bytes: SMALL,
        ..AT_ONCE
    },
    Spec {
        number: "12",
        title: "HALO: exchange of an N × N sub-domain, by order of ranks and protocol",
        test: "halo",
        across: (Along::Count, "N"),
        sentence: say::halo,
        ..LATENCY
    },
    Spec {
        number: "12 ranks",
        title: "allreduce of 4 B over ranks, by communicator",
        test: "allreduce",
        bytes: SMALL,
        across: (Along::Ranks, "ranks"),
        sentence: say::communicators,
        ..LATENCY
    },
];
