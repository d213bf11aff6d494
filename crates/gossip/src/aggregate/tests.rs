//! The laws of aggregates by property, their bytes by hand, and their size and error by trial.

use core::time::Duration;

use proptest::prelude::*;
use tidings_primitives::Chance;

use super::wire::rice_code_bits;
use super::*;
use crate::payload::NodeState;

const STALE_AFTER: Duration = Duration::from_secs(60);

/// What one node contributes, with its payload.
#[derive(Clone, Debug)]
enum Node {
    Alive(Duration, Vec<u8>),
    Left,
    Dead,
    Unheard,
}

impl<'a> From<&'a Node> for Contribution<'a> {
    fn from(node: &'a Node) -> Self {
        match node {
            Node::Alive(age, payload) => Self::Alive { age: *age, payload },
            Node::Left => Self::Left,
            Node::Dead => Self::Dead,
            Node::Unheard => Self::Unheard,
        }
    }
}

fn aggregate(nodes: &[Node]) -> Aggregate {
    Aggregate::of(nodes, STALE_AFTER)
}

fn merged(parts: &[&Aggregate]) -> Aggregate {
    let mut all = Aggregate::default();
    for part in parts {
        all.merge(part);
    }
    all
}

fn encoded(aggregate: &Aggregate) -> Vec<u8> {
    let mut bytes = vec![0xA5; MAX_BYTES];
    let written = aggregate.encode(&mut bytes).expect("it is of few nodes, and there is room");
    assert!(bytes[written..].iter().all(|&byte| byte == 0xA5), "bytes behind its end");
    bytes.truncate(written);
    bytes
}

fn payload(state: &NodeState) -> Vec<u8> {
    let mut payload = vec![0; 44];
    state.encode(&mut payload).expect("44 bytes hold the readings");
    payload
}

/// Payloads of any bytes, of few different bytes, and of readings close to each other.
fn any_payload() -> impl Strategy<Value = Vec<u8>> {
    let near = (0.0..8.0, 30.0..60.0, 1u64 << 30..1 << 38, any::<[bool; 4]>());
    prop_oneof![
        1 => prop::collection::vec(any::<u8>(), 0..60),
        2 => prop::collection::vec(any::<u8>(), 44),
        2 => prop::collection::vec(prop::sample::select(vec![0xFF, 0x0F, 0x10, 0x00]), 44),
        4 => near.prop_map(|(load1, heat, bytes, there)| payload(&NodeState {
            cores: Some(128),
            load1: there[0].then_some(load1),
            cpu_busy_percent: there[1].then_some(load1 * 12.5),
            mem_available_bytes: there[2].then_some(bytes),
            temperature_c: there[3].then_some(heat),
            ..Default::default()
        })),
    ]
}

fn any_node() -> impl Strategy<Value = Node> {
    prop_oneof![
        1 => Just(Node::Left),
        1 => Just(Node::Unheard),
        12 => (0u64..70_000_000, any_payload())
            .prop_map(|(age, payload)| Node::Alive(Duration::from_micros(age), payload)),
    ]
}

fn nodes() -> impl Strategy<Value = Vec<Node>> {
    prop::collection::vec(any_node(), 0..60)
}

proptest! {
    /// Merging is the union, so grouping and order do not matter.
    #[test]
    fn merging_is_the_aggregate_of_the_union(parts in [nodes(), nodes(), nodes()]) {
        let [a, b, c] = parts.each_ref().map(|part| aggregate(part));
        let union = aggregate(&parts.concat());
        let right_first = merged(&[&a, &merged(&[&b, &c])]);
        prop_assert_eq!(&merged(&[&merged(&[&a, &b]), &c]), &union);
        prop_assert_eq!(&right_first, &union);
        prop_assert_eq!(&merged(&[&c, &a, &b]), &union);
        for reading in Reading::ALL {
            for q in [0.0, 0.1, 0.5, 0.99, 1.0] {
                let (found, wanted) = (right_first.summary(reading), union.summary(reading));
                prop_assert_eq!(found.quantile(q), wanted.quantile(q));
            }
        }
    }

    /// A change gives exactly what it was made of, whatever its base; alike, in few bytes.
    #[test]
    fn a_change_by_any_base_gives_the_aggregate_again(
        (base, is, common) in (nodes(), nodes(), nodes()),
    ) {
        let base = aggregate(&[base, common.clone()].concat());
        let is = aggregate(&[is, common].concat());
        let mut bytes = [0; 2 * MAX_BYTES];
        let written = is.encode_change(&base, &mut bytes).expect("there is room");
        prop_assert_eq!(Aggregate::decode_change(&base, &bytes[..written]), Some(is.clone()));
        prop_assert_eq!(is.encode_change(&base, &mut bytes[..written - 1]), None);
        let same = base.encode_change(&base, &mut bytes).expect("there is room");
        prop_assert!(same <= 3, "{} bytes tell that nothing changed", same);
        prop_assert_eq!(Aggregate::decode_change(&base, &bytes[..same]), Some(base));
    }

    /// Any bytes, and changes with a bit that is another, give an aggregate that travels, or none.
    #[test]
    fn any_bytes_give_an_aggregate_or_none(
        (base, is) in (nodes(), nodes()),
        any in prop::collection::vec(any::<u8>(), 0..200),
        at in any::<prop::sample::Index>(),
    ) {
        let (base, is) = (aggregate(&base), aggregate(&is));
        let mut bytes = [0; 2 * MAX_BYTES];
        let written = is.encode_change(&base, &mut bytes).expect("there is room");
        let bit = at.index(8 * written);
        bytes[bit / 8] ^= 1 << (bit % 8);
        for bytes in [&any, &bytes[..written], &bytes[..written - 1]] {
            if let Some(read) = Aggregate::decode_change(&base, bytes) {
                prop_assert_eq!(Aggregate::decode(&encoded(&read)), Ok(read));
            }
        }
    }

    /// The order of the nodes does not matter.
    #[test]
    fn order_does_not_matter(nodes in nodes(), by in any::<prop::sample::Index>()) {
        let mut other = nodes.clone();
        other.reverse();
        other.rotate_left(by.index(nodes.len() + 1));
        prop_assert_eq!(aggregate(&nodes), aggregate(&other));
    }

    /// What is sent arrives, within the bound, and says of itself nothing that is not so.
    #[test]
    fn a_round_trip_changes_nothing(nodes in nodes()) {
        let sent = aggregate(&nodes);
        let bytes = encoded(&sent);
        prop_assert!(bytes.len() <= MAX_BYTES);
        prop_assert_eq!(Aggregate::decode(&bytes), Ok(sent));
        for cut in 0..bytes.len() {
            prop_assert!(Aggregate::decode(&bytes[..cut]).is_err());
        }
    }

    /// Any bytes are refused, or are the form of what they decode to.
    #[test]
    fn any_bytes_are_refused_or_come_back(
        nodes in nodes(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        noise in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let mut bytes = encoded(&aggregate(&nodes));
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        for bytes in [bytes, noise.clone(), [&[SCHEMA_DEAD], &noise[..]].concat()] {
            if let Ok(aggregate) = Aggregate::decode(&bytes) {
                prop_assert_eq!(encoded(&aggregate), bytes);
                let twice = merged(&[&aggregate, &aggregate]);
                prop_assert_eq!(twice.nodes(), 2 * aggregate.nodes());
            }
        }
    }

    /// A quantile is off by at most half a bin of codes, and lies where it is said to lie.
    #[test]
    fn quantiles_are_near_those_of_a_sort(nodes in nodes(), q in 0.0..=1.0) {
        let aggregate = aggregate(&nodes);
        for (at, reading) in Reading::ALL.into_iter().enumerate() {
            let mut codes: Vec<u16> = fresh(&nodes).filter_map(|p| reading::codes(p)[at]).collect();
            codes.sort_unstable();
            let summary = aggregate.summary(reading);
            prop_assert_eq!(summary.count() as usize, codes.len());
            let rank = summary.rank(q);
            let Some(&exact) = codes.get((rank as usize).saturating_sub(1)) else {
                prop_assert_eq!((summary.quantile(q), summary.mean()), (None, None));
                continue;
            };
            let spread = codes[codes.len() - 1] - codes[0];
            let estimate = summary.sketch.code_at(rank).expect("there are readings");
            prop_assert!(31 * u32::from(estimate.abs_diff(exact)) <= u32::from(spread));
            let (low, high) = summary.quantile_bounds(q).expect("there are readings");
            let (found, exact) = (reading.value(estimate), reading.value(exact));
            prop_assert!(low <= found && found <= high && low <= exact && exact <= high);
            let sum: f64 = codes.iter().map(|&code| reading.value(code)).sum();
            prop_assert!((summary.sum() - sum).abs() <= 1e-9 * sum.abs().max(1.0));
            let bins: Vec<Bin> = summary.histogram().collect();
            prop_assert!(bins.len() <= 32);
            prop_assert_eq!(bins.iter().map(|bin| bin.count).sum::<u32>(), summary.count());
            prop_assert_eq!(Some(bins[0].low), summary.min());
        }
    }
}

/// The payloads that count.
fn fresh(nodes: &[Node]) -> impl Iterator<Item = &[u8]> {
    nodes.iter().filter_map(|node| match node {
        Node::Alive(age, payload) if *age < STALE_AFTER => Some(&payload[..]),
        _ => None,
    })
}

#[test]
fn the_readings_are_those_that_a_payload_decodes_to() {
    let state = NodeState {
        cores: Some(96),
        load1: Some(12.34),
        cpu_busy_percent: Some(45.67),
        mem_available_bytes: Some(77 << 30),
        temperature_c: Some(-12.5),
        power_w: Some(321.0),
        psi_io_percent: Some(98.4),
        // These must not be taken for one of the others.
        load5: Some(1.0),
        mem_total_bytes: Some(2 << 40),
        psi_cpu_percent: Some(3.2),
        ..Default::default()
    };
    let payload = payload(&state);
    let read = NodeState::decode(&payload).expect("what was encoded decodes");
    let one = Aggregate::of(
        [Contribution::Alive { age: Duration::ZERO, payload: &payload }],
        STALE_AFTER,
    );
    let wanted = [
        ("cores", read.cores.map(f64::from)),
        ("load1", read.load1),
        ("cpu_busy_percent", read.cpu_busy_percent),
        ("mem_available_bytes", read.mem_available_bytes.map(|bytes| bytes as f64)),
        ("temperature_c", read.temperature_c),
        ("power_w", read.power_w),
        ("psi_io_percent", read.psi_io_percent),
    ];
    for (reading, (name, value)) in Reading::ALL.into_iter().zip(wanted) {
        let summary = one.summary(reading);
        assert_eq!((reading.name(), summary.min()), (name, value));
        assert_eq!((summary.max(), summary.quantile(0.5)), (value, value), "{name}");
        assert_eq!((summary.mean(), Some(summary.sum())), (value, value), "{name}");
    }
}

#[test]
fn states_are_counted_and_stale_nodes_contribute_nothing_else() {
    let load = |load1| payload(&NodeState { load1: Some(load1), ..Default::default() });
    let second = Duration::from_secs(1);
    let nodes = [
        Node::Alive(2 * second, load(1.0)),
        Node::Alive(5 * second, vec![]),
        Node::Alive(STALE_AFTER, load(99.0)),
        Node::Left,
        Node::Dead,
        Node::Dead,
        Node::Dead,
        Node::Unheard,
        Node::Unheard,
    ];
    let all = aggregate(&nodes);
    assert_eq!((all.fresh(), all.stale(), all.left(), all.unheard()), (2, 1, 1, 2));
    assert_eq!((all.dead(), all.nodes()), (3, 9));
    assert_eq!((all.summary(Reading::Load1).count(), all.summary(Reading::Load1).sum()), (1, 1.0));
    // Ages are rounded up as on the wire: by 0.05 % and 16 µs at most.
    let [mean, max] =
        [all.age_avg(), all.age_max()].map(|age| age.expect("two are fresh").as_secs_f64());
    assert!((3.5..=3.5 * 1.0005).contains(&mean) && (5.0..=5.0 * 1.0005).contains(&max));
    let none = Aggregate::default();
    assert_eq!((none.age_avg(), none.age_max(), none.nodes()), (None, None, 0));
}

#[test]
fn a_share_out_of_range_is_absent() {
    let mut bytes = payload(&NodeState {
        cpu_busy_percent: Some(100.0),
        psi_io_percent: Some(100.0),
        ..Default::default()
    });
    let counts = |payload: &[u8]| {
        let one =
            Aggregate::of([Contribution::Alive { age: Duration::ZERO, payload }], STALE_AFTER);
        [Reading::CpuBusy, Reading::IoPressure].map(|reading| one.summary(reading).count())
    };
    assert_eq!(counts(&bytes), [1, 1]);
    (bytes[16], bytes[42]) = (bytes[16] + 1, bytes[42] + 1);
    assert_eq!(counts(&bytes), [0, 0]);
}

/// An age of so many steps.
fn age(steps: u64) -> Duration {
    Duration::from_micros(16 * steps)
}

/// Nodes of which one is busy by a share of the input's choice.
fn golden_nodes(share: f64) -> [Node; 7] {
    let busy = |percent| {
        payload(&NodeState {
            cpu_busy_percent: Some(percent),
            temperature_c: Some(-0.5),
            ..Default::default()
        })
    };
    [
        Node::Alive(age(300), busy(0.0)),
        Node::Alive(age(7), busy(0.04)),
        Node::Alive(age(7), busy(share)),
        Node::Alive(age(7), busy(0.32)),
        Node::Alive(age(7), vec![]),
        Node::Left,
        Node::Alive(STALE_AFTER, vec![]),
    ]
}

/// Written out by hand from section 7 of docs/protocol.md.
#[test]
fn golden_bytes() {
    let nodes = golden_nodes(0.04);
    let golden: &[&[u8]] = &[
        &[1],                         // schema
        &[5, 1, 1, 0],                // fresh, stale, left, unheard
        &[0x2C, 0x01, 0xC8, 0x02],    // largest age 300 steps, sum 328
        &[5],                         // cores: absent from all five
        &[5],                         // load1
        &[1, 0x00, 0x00, 0x20, 0x00], // cpu_busy: absent from one, 0 to 32 hundredths
        &[40],                        // sum of the codes 0, 4, 4 and 32
        // Codes 0 to 32 touch 33 bins, so the shift is 1 and there are 17 bins, of which 16 are
        // coded: 1, 0, 2, 0 … 0. With a parameter of 0 each is as many ones and a zero, from the
        // lowest bit on: 10 0 110 0000 … in 19 bits.
        &[0b0001_1001, 0, 0],
        &[5],                         // mem_available
        &[1, 0xFB, 0x7F, 0xFB, 0x7F], // temperature: four times 32768 − 5
        &[0xEC, 0xFF, 0x07],          // sum 4 · 32763 = 131052; a single bin, which is not coded
        &[5],                         // power
        &[5],                         // io_pressure
    ];
    assert_eq!(encoded(&aggregate(&nodes)), golden.concat());
    assert_eq!(Aggregate::decode(&golden.concat()), Ok(aggregate(&nodes)));
    assert_eq!(encoded(&Aggregate::default()), [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    // With dead nodes there is a fifth count, between those that left and the unheard.
    let gone = aggregate(&[Node::Left, Node::Dead, Node::Dead, Node::Unheard]);
    assert_eq!(encoded(&gone), [2, 0, 0, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(Aggregate::decode(&encoded(&gone)), Ok(gone));
}

#[test]
fn bytes_that_no_aggregate_has_are_refused_where_they_are_wrong() {
    let refusal = |bytes: &[u8]| Aggregate::decode(bytes).expect_err("it is malformed");
    let what = |bytes: &[u8]| match refusal(bytes) {
        AggregateError::Malformed { what, .. } => what,
        other => panic!("{other}"),
    };
    assert_eq!(refusal(&[3]), AggregateError::Schema { found: 3 });
    assert_eq!(what(&[2, 0, 0, 0, 0, 0]), "a count of the dead that is 0");
    assert_eq!(refusal(&[]), AggregateError::Malformed { at: 0, what: "it is cut off" });
    // 65,535 and 2 nodes; a number of 70 bits; a number with a zero too many.
    assert_eq!(what(&[1, 0xFF, 0xFF, 0x03, 2]), "more nodes than there can be");
    assert_eq!(what(&[[1].as_slice(), &[0xFF; 9], &[1]].concat()), "a number of more than 63 bits");
    assert_eq!(what(&[1, 0x81, 0x00]), "a number with needless zeros");
    assert_eq!(what(&[1, 1, 0, 0, 0, 9, 0, 8]), "a sum of ages that the largest contradicts");
    assert_eq!(what(&[1, 1, 0, 0, 0, 9, 0, 9, 2]), "more nodes than there can be");
    assert_eq!(what(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), "bytes follow its end");
    // Two fresh nodes of age 0 with the processors given behind this.
    let cores = |behind: &[u8]| what(&[&[1, 2, 0, 0, 0, 0, 0, 0, 0], behind].concat());
    assert_eq!(cores(&[9, 0, 8, 0, 17]), "ends that no readings have");
    assert_eq!(cores(&[8, 0, 9, 0, 16]), "a sum that smallest and largest contradict");
    assert_eq!(cores(&[8, 0, 9, 0, 17, 0b111]), "more readings in bins than nodes");
    assert_eq!(
        cores(&[8, 0, 9, 0, 17, 0b011]),
        "no reading in the bin of the smallest or the largest"
    );
    assert_eq!(cores(&[8, 0, 9, 0, 17, 0b101]), "ones behind the last bin");
    assert_eq!(cores(&[8, 0, 9, 0, 17, 0b001]), "it is cut off");
    // No share of more than 100 % is a reading.
    let busy = |high| what(&[1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0x11, high, 0x11, high, 0x91, 0x4E]);
    assert_eq!(
        (busy(0x26), busy(0x27)),
        ("a sum that smallest and largest contradict", "ends that no readings have")
    );
}

#[test]
fn what_cannot_be_sent_is_refused_and_writes_nothing() {
    let mut many = Aggregate::default();
    for _ in 0..MAX_NODES {
        many.add(Contribution::Left, STALE_AFTER);
    }
    assert_eq!(Aggregate::decode(&encoded(&many)).as_ref(), Ok(&many));
    let mut out = [0xA5; MAX_BYTES];
    assert_eq!(many.encode(&mut out[..13]), Err(AggregateError::NoRoom { bytes: 14, room: 13 }));
    many.add(Contribution::Unheard, STALE_AFTER);
    assert_eq!(many.encode(&mut out), Err(AggregateError::TooManyNodes { nodes: 65_537 }));
    assert_eq!(out, [0xA5; MAX_BYTES]);
}

/// Merging what is hostile, again and again, ends at the largest numbers.
#[test]
fn counts_do_not_overflow() {
    let mut all = aggregate(&[Node::Alive(STALE_AFTER / 2, vec![0xFF; 44]), Node::Left]);
    for _ in 0..70 {
        all.merge(&all.clone());
    }
    assert_eq!((all.fresh(), all.left(), all.nodes()), (u32::MAX, u32::MAX, u32::MAX));
    assert_eq!(all.summary(Reading::Power).count(), u32::MAX);
    assert!(all.age_avg().is_some() && all.summary(Reading::Power).mean() > Some(0.0));
}

/// Readings of every value there is, in every form: no more bytes are needed for a sketch.
#[test]
fn the_largest_aggregate_keeps_to_the_bound() {
    let most = (1..=32u32)
        .flat_map(|bins| (1..=MAX_NODES).map(move |count| rice_code_bits(bins, count)))
        .max();
    assert_eq!(most, Some(404), "31 remainders of 11 bits and their ends, and 32 unary bits");
    assert_eq!(MAX_BYTES, 493);
    let mut chance = Chance::new(1);
    let mut widest = Aggregate::default();
    for node in 0..MAX_NODES {
        let mut payload = vec![0; 44];
        payload[..4].fill(0xFF);
        payload[4..].fill_with(|| chance.bits() as u8);
        // Shares of up to 100 %.
        payload[17] %= 39;
        payload[42] %= 251;
        let age = Duration::from_millis(u64::from(node % 1000));
        widest.add(Contribution::Alive { age, payload: &payload }, STALE_AFTER);
    }
    let bytes = encoded(&widest).len();
    assert!((400..=MAX_BYTES).contains(&bytes), "{bytes} bytes");
}

/// Hardest of all for the size: readings uniform over all codes. In life they lie closer together;
/// `cargo bench -p tidings-bench --bench aggregate` prints the size of a colony as in life.
#[test]
fn readings_uniform_over_all_codes_take_at_most_320_bytes() {
    let mut chance = Chance::new(2);
    let mut colony = Aggregate::default();
    for _ in 0..1024 {
        let mut payload = vec![0; 44];
        payload[..4].fill(0xFF);
        payload[4..].fill_with(|| chance.bits() as u8);
        colony.add(Contribution::Alive { age: STALE_AFTER / 2, payload: &payload }, STALE_AFTER);
    }
    let bytes = encoded(&colony).len();
    assert!(bytes <= 320, "{bytes} bytes");
}

/// Written out by hand from section 11 of docs/protocol.md: one node more has left, the ages are 2
/// steps older in all, and a processor is busy by 6 hundredths instead of 4, a bin further.
#[test]
fn golden_bits_of_a_change() {
    let mut later = golden_nodes(0.06).to_vec();
    later.push(Node::Left);
    if let Node::Alive(older, _) = &mut later[1] {
        *older = age(9);
    }
    let bits = [
        "1 00 00 010 00 00", // numbers differ: the third by a length of 1, so by 1, upwards
        "0000 0010 0 0",     // the largest age is the same, the sum of a length of 2, by 0b10
        "0 0",               // cores, load1
        "1 0 0 0 0010 0 0",  // cpu_busy: count and ends are the same, the sum is 2 more
        "1 000 0 0 100 101", // bins by the base's, of order 0: one less in the third, one more
        "0000 0000 0000 0 0 0 0", // 12 bins; mem_available, temperature, power, io_pressure
    ];
    let bits: Vec<u8> = bits.concat().bytes().filter(|bit| *bit != b' ').collect();
    let byte = |bits: &[u8]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | (bit - b'0'));
    let told: Vec<u8> = bits.chunks(8).map(byte).collect();
    let (base, later) = (aggregate(&golden_nodes(0.04)), aggregate(&later));
    let mut change = [0; MAX_BYTES];
    let written = later.encode_change(&base, &mut change).expect("there is room");
    assert_eq!(change[..written], told);
}
