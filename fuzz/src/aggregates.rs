//! The target `aggregate`: the input is read as an aggregate, as a change by one, and as the
//! contributions of nodes to one.

use std::time::Duration;

use tidings_gossip::aggregate::{Aggregate, Contribution, MAX_BYTES, MAX_NODES, Reading};

/// Bytes of a node in the input: its state, two of its age, its readings.
const NODE_BYTES: usize = 3 + 44;
const STALE_AFTER: Duration = Duration::from_secs(60);

/// Any bytes are rejected, or encode the aggregate that they decode to, whose numbers do not
/// contradict each other; so as a change. The aggregate of any nodes is that of any two parts of
/// them, merged; it is sent within the bound, and arrives unchanged.
pub fn aggregate(bytes: &[u8]) {
    if let Ok(aggregate) = Aggregate::decode(bytes) {
        assert_eq!(encoded(&aggregate), bytes, "another form of the same aggregate");
        check(&aggregate);
        let mut twice = aggregate.clone();
        twice.merge(&aggregate);
        assert_eq!(twice.nodes(), 2 * aggregate.nodes());
        if twice.nodes() <= MAX_NODES {
            check(&twice);
            encoded(&twice);
        }
    }
    change(bytes);
    let (Some(cut), nodes) = (bytes.first(), bytes.get(1..).unwrap_or_default()) else { return };
    let nodes: Vec<_> = nodes.chunks(NODE_BYTES).map(contribution).collect();
    let (some, others) = nodes.split_at(usize::from(*cut).min(nodes.len()));
    let of = |nodes: &[Contribution<'_>]| Aggregate::of(nodes.iter().copied(), STALE_AFTER);
    let (mut merged, all) = (of(others), of(&nodes));
    merged.merge(&of(some));
    assert_eq!(merged, all, "merging is not the union");
    check(&all);
    assert_eq!(Aggregate::decode(&encoded(&all)), Ok(all), "a round trip changed it");
}

/// As a change by some aggregate any bytes are rejected, or give an aggregate that travels, and
/// that as a change gives the same.
fn change(bytes: &[u8]) {
    let (base, change) = bytes.split_at(bytes.len() / 2);
    let base: Vec<_> = base.chunks(NODE_BYTES).map(contribution).collect();
    let base = Aggregate::of(base, STALE_AFTER);
    let Some(read) = Aggregate::decode_change(&base, change) else { return };
    check(&read);
    assert_eq!(Aggregate::decode(&encoded(&read)).as_ref(), Ok(&read));
    let mut room = [0; 2 * MAX_BYTES];
    let written = read.encode_change(&base, &mut room).expect("there is room");
    assert_eq!(Aggregate::decode_change(&base, &room[..written]), Some(read));
}

fn contribution(bytes: &[u8]) -> Contribution<'_> {
    match *bytes {
        [0, ..] => Contribution::Left,
        [1, ..] => Contribution::Unheard,
        [2, ..] => Contribution::Dead,
        [state, low, high, ref payload @ ..] => {
            let age = u64::from(u16::from_le_bytes([low, high]));
            let age = Duration::from_micros(age << (state % 32));
            Contribution::Alive { age, payload }
        }
        _ => Contribution::Alive { age: Duration::ZERO, payload: &[] },
    }
}

fn encoded(aggregate: &Aggregate) -> Vec<u8> {
    let mut bytes = vec![0xA5; MAX_BYTES];
    let written = aggregate.encode(&mut bytes).expect("the bound holds for all that can be sent");
    bytes.truncate(written);
    bytes
}

fn check(aggregate: &Aggregate) {
    assert!(aggregate.age_avg() <= aggregate.age_max());
    for reading in Reading::ALL {
        let summary = aggregate.summary(reading);
        assert!(summary.count() <= aggregate.fresh());
        let (Some(min), Some(max)) = (summary.min(), summary.max()) else { continue };
        assert!(min.is_finite() && max.is_finite() && summary.sum().is_finite());
        let mut last = min;
        for percent in 0..=100 {
            let q = f64::from(percent) / 100.0;
            let (low, high) = summary.quantile_bounds(q).expect("there are readings");
            let found = summary.quantile(q).expect("there are readings");
            assert!(min <= low && low <= found && found <= high && high <= max);
            assert!(last <= found, "quantiles ascend");
            last = found;
        }
        let bins: Vec<_> = summary.histogram().collect();
        assert!(bins.len() <= 32 && bins.windows(2).all(|pair| pair[0].high < pair[1].low));
        assert_eq!(bins.iter().map(|bin| bin.count).sum::<u32>(), summary.count());
    }
}
