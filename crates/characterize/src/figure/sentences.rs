//! One sentence for each figure: what it means for an application.
//!
//! A sentence states what the points say and nothing else; a difference within a tenth is none.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::kinds::rate;
use crate::orders;
use crate::point::{Characterisation, Point};
use crate::words;

/// Differences below this share are not reported.
const ALIKE: f64 = 0.10;
/// A latency this much above the line through the two sizes before it is a change of protocol.
const JUMP: f64 = 1.3;

/// The point with most bytes.
fn largest<'a>(points: &[&'a Point]) -> Option<&'a Point> {
    points.iter().copied().max_by_key(|point| point.key.bytes)
}

fn time(point: &Point) -> f64 {
    point.seconds.estimate
}

/// The points of each variant.
fn variants<'a>(points: &[&'a Point]) -> BTreeMap<&'a str, Vec<&'a Point>> {
    let mut variants: BTreeMap<&str, Vec<&Point>> = BTreeMap::new();
    for point in points {
        variants.entry(point.key.variant.as_str()).or_default().push(point);
    }
    variants
}

/// `1.5 times`, or that two values are alike.
fn times(ratio: f64) -> Option<String> {
    (ratio > 1.0 + ALIKE).then(|| format!("{} times", words::number(ratio)))
}

/// The size above which latency jumps most beyond the line through the two sizes before it.
fn eager_limit(points: &[&Point]) -> Option<(u64, u64)> {
    let mut sorted: Vec<&Point> = points.to_vec();
    sorted.sort_by_key(|point| point.key.bytes);
    let jump = |three: &[&Point]| {
        let [first, second, third] = [three[0], three[1], three[2]];
        let slope = (time(second) - time(first)) / (second.key.bytes - first.key.bytes) as f64;
        let further = (third.key.bytes - second.key.bytes) as f64;
        time(third) / (time(second) + slope.max(0.0) * further)
    };
    let jumps =
        sorted.windows(3).map(|three| (jump(three), three[1].key.bytes, three[2].key.bytes));
    let most = jumps.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (most.0 >= JUMP).then_some((most.1, most.2))
}

pub(super) fn latency(points: &[&Point], _: &Characterisation) -> String {
    let all = variants(points);
    let Some(inside) = all.get("in cache") else { return String::new() };
    let Some(small) = inside.iter().min_by_key(|point| point.key.bytes) else {
        return String::new();
    };
    let limit = eager_limit(inside).map_or(
        "no size was found at which the protocol changes".to_owned(),
        |(below, above)| {
            format!(
                "latency jumps between {} and {}, where the library leaves its eager protocol: \
                 split or combine messages around it",
                words::bytes(below),
                words::bytes(above)
            )
        },
    );
    format!("A message costs {} at least, and {limit}.", words::seconds(time(small)))
}

pub(super) fn bandwidth(points: &[&Point], _: &Characterisation) -> String {
    let all = variants(points);
    let top = |name: &str| {
        let own = all.get(name)?;
        own.iter().copied().max_by(|one, other| rate(one).total_cmp(&rate(other)))
    };
    let Some(inside) = top("in cache") else { return String::new() };
    let most = format!(
        "Two processes reach {}, at {}",
        words::rate(rate(inside)),
        words::bytes(inside.key.bytes)
    );
    let Some(outside) = top("out of cache") else { return format!("{most}.") };
    match times(rate(inside) / rate(outside)) {
        Some(ratio) => {
            format!("{most}, {ratio} what they reach with buffers out of cache: reuse buffers.")
        }
        None => format!("{most}; it makes no difference whether buffers are in cache."),
    }
}

/// The least and the largest of some points.
fn extremes<'a>(points: &[&'a Point], of: fn(&Point) -> f64) -> Option<[&'a Point; 2]> {
    let least = points.iter().copied().min_by(|one, other| of(one).total_cmp(&of(other)))?;
    let most = points.iter().copied().max_by(|one, other| of(one).total_cmp(&of(other)))?;
    Some([least, most])
}

/// How lines of cores end whose buffers are out of cache.
const BEYOND: &str = ", out of cache";

pub(super) fn cores(points: &[&Point], _: &Characterisation) -> String {
    // Out of cache a message waits for memory, whichever cores talk.
    let is_small = |own: &&Point| own.key.bytes <= 1 && !own.key.variant.ends_with(BEYOND);
    let small: Vec<&Point> = points.iter().copied().filter(is_small).collect();
    let Some([least, most]) = extremes(&small, time) else { return String::new() };
    match times(time(most) / time(least)) {
        Some(ratio) => format!(
            "It matters which cores talk: {} takes {ratio} as long as {}.",
            most.key.variant, least.key.variant
        ),
        None => format!("It does not matter which cores talk: {}.", words::seconds(time(least))),
    }
}

pub(super) fn core_bandwidth(points: &[&Point], all: &Characterisation) -> String {
    let of = |test: &str, points: &[&Point]| {
        let own = points.iter().copied().filter(|point| point.key.test == test);
        own.map(rate).max_by(f64::total_cmp)
    };
    let every: Vec<&Point> = all.points.iter().collect();
    let Some(inside) = of("core-bandwidth", points) else { return String::new() };
    let beyond: Vec<&Point> =
        points.iter().copied().filter(|own| own.key.variant.ends_with(BEYOND)).collect();
    let beyond = of("core-bandwidth", &beyond)
        .map_or(String::new(), |rate| format!(" Out of cache {} are reached.", words::rate(rate)));
    let nodes = all.places.as_ref().map_or(1, |places| places.names.len());
    let inside = match of("bandwidth", &every).filter(|_| nodes > 1) {
        Some(between) => format!(
            "Inside a node {} are reached, {} times what two nodes reach.",
            words::rate(inside),
            words::number(inside / between)
        ),
        None => format!("Inside a node {} are reached.", words::rate(inside)),
    };
    inside + &beyond
}

pub(super) fn hops(points: &[&Point], _: &Characterisation) -> String {
    let least = points.iter().map(|point| point.key.bytes).min();
    let small: Vec<&Point> =
        points.iter().copied().filter(|own| Some(own.key.bytes) == least).collect();
    let near = small.iter().min_by_key(|point| point.key.count);
    let far = small.iter().max_by_key(|point| point.key.count);
    let (Some(near), Some(far)) = (near, far) else { return String::new() };
    let hops = far.key.count.saturating_sub(near.key.count).max(1) as f64;
    let each = (time(far) - time(near)) / hops;
    format!(
        "A hop costs {}: {} to the nearest node, {} over {} hops ({:.0} % more).",
        words::seconds(each.max(0.0)),
        words::seconds(time(near)),
        words::seconds(time(far)),
        far.key.count,
        100.0 * (time(far) / time(near) - 1.0)
    )
}

/// What each flow keeps of its bandwidth, at the largest size: name, share.
fn kept(points: &[&Point]) -> Vec<(String, f64)> {
    let most = largest(points).map(|point| point.key.bytes);
    let at_most: Vec<&Point> =
        points.iter().copied().filter(|own| Some(own.key.bytes) == most).collect();
    let flow = |point: &Point| point.key.variant.split(", ").next().unwrap_or("").to_owned();
    let is_alone = |point: &Point| {
        point.key.variant.ends_with("no overlap") || point.key.variant.ends_with("alone")
    };
    let together = at_most.iter().filter(|point| !is_alone(point));
    together
        .filter_map(|point| {
            let alone = at_most.iter().find(|own| is_alone(own) && flow(own) == flow(point))?;
            let name = point.key.variant.replacen(", ", " ", 1);
            Some((name, rate(point) / rate(alone)))
        })
        .collect()
}

pub(super) fn overlap(points: &[&Point], _: &Characterisation) -> String {
    let mut kept = kept(points);
    kept.sort_by(|one, other| one.1.total_cmp(&other.1));
    let ([least, ..], [.., most]) = (&kept[..], &kept[..]) else { return String::new() };
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    if most.1 - least.1 <= ALIKE {
        return format!(
            "Flows that share a link are throttled alike: each keeps {} to {} of its bandwidth.",
            percent(least.1),
            percent(most.1)
        );
    }
    format!(
        "{} is throttled most: it keeps {} of its bandwidth, {} keeps {}.",
        least.0,
        percent(least.1),
        most.0,
        percent(most.1)
    )
}

pub(super) fn through(points: &[&Point], _: &Characterisation) -> String {
    let kept = kept(points);
    let said: Vec<String> =
        kept.iter().map(|(name, share)| format!("{name}: {:.0} %", 100.0 * share)).collect();
    format!("Of its bandwidth a local flow keeps: {}.", said.join("; "))
}

pub(super) fn streams(points: &[&Point], _: &Characterisation) -> String {
    let one = |bytes: u64| points.iter().find(|own| own.key.count == 1 && own.key.bytes == bytes);
    let gain = |point: &&&Point| Some(rate(point) / rate(one(point.key.bytes)?));
    let several = points.iter().filter(|point| point.key.count > 1);
    let gains = several.filter_map(|point| Some((gain(&point)?, point)));
    let Some((gain, point)) = gains.max_by(|one, other| one.0.total_cmp(&other.0)) else {
        return "There is one stream only.".to_owned();
    };
    match times(gain) {
        Some(ratio) => format!(
            "{} streams together reach {ratio} what one does, at {}: let several ranks of a node \
             communicate.",
            point.key.count,
            words::bytes(point.key.bytes)
        ),
        None => "Several streams reach no more than one: one rank of a node may communicate for \
                 all."
            .to_owned(),
    }
}

pub(super) fn hotspot(points: &[&Point], _: &Characterisation) -> String {
    let sizes: BTreeSet<u64> = points.iter().map(|point| point.key.bytes).collect();
    let limit = |bytes: u64| {
        let own = || points.iter().filter(move |point| point.key.bytes == bytes);
        let first = own().min_by_key(|point| point.key.count)?;
        let slow = own().filter(|point| time(point) > 2.0 * time(first));
        Some((bytes, slow.map(|point| point.key.count).min()))
    };
    let said = |bytes: Option<&u64>| {
        bytes.and_then(|bytes| limit(*bytes)).map(|(bytes, count)| match count {
            Some(count) => format!("{count} workers with {}", words::bytes(bytes)),
            None => format!("none that was measured with {}", words::bytes(bytes)),
        })
    };
    let ends: BTreeSet<String> =
        [said(sizes.first()), said(sizes.last())].into_iter().flatten().collect();
    format!(
        "A master answers a worker in less than twice the time of a single one up to a limit, \
         which is passed at: {}.",
        ends.into_iter().collect::<Vec<_>>().join("; ")
    )
}

/// The largest rate with the number of neighbours.
fn fan(points: &[&Point], what: &str) -> String {
    let most = points.iter().max_by(|one, other| rate(one).total_cmp(&rate(other)));
    most.map_or(String::new(), |most| {
        format!(
            "One rank {what} {} at most, with {} neighbours at {}",
            words::rate(rate(most)),
            most.key.count,
            words::bytes(most.key.bytes)
        )
    })
}

pub(super) fn fan_in(points: &[&Point], _: &Characterisation) -> String {
    fan(points, "receives") + "."
}

pub(super) fn fan_out(points: &[&Point], all: &Characterisation) -> String {
    let top = |test: &str| {
        let own = all.points.iter().filter(|point| point.key.test == test);
        own.map(rate).max_by(f64::total_cmp)
    };
    let sent = fan(points, "sends");
    match (top("fan-out"), top("fan-in")) {
        (Some(out), Some(into)) if out > into * (1.0 + ALIKE) => {
            format!(
                "{sent}; that is {} times what it receives: spread the receiving.",
                words::number(out / into)
            )
        }
        (Some(out), Some(into)) if into > out * (1.0 + ALIKE) => {
            format!("{sent}; it receives {} times as much.", words::number(into / out))
        }
        _ => format!("{sent}, about what it receives."),
    }
}

pub(super) fn communicators(points: &[&Point], _: &Characterisation) -> String {
    let most_ranks = points.iter().map(|point| point.key.ranks).max();
    let own: Vec<&Point> =
        points.iter().copied().filter(|own| Some(own.key.ranks) == most_ranks).collect();
    let world = |bytes: u64| {
        own.iter().find(|point| point.key.variant == "WORLD" && point.key.bytes == bytes)
    };
    // Communicators of as many ranks as WORLD, or one less, can be compared with it.
    let comparable = own.iter().filter(|point| {
        point.key.variant.contains("WORLD ") || point.key.variant.ends_with("of WORLD")
    });
    let ratios =
        comparable.filter_map(|point| Some((time(point) / time(world(point.key.bytes)?), point)));
    let Some((ratio, point)) = ratios.max_by(|one, other| one.0.total_cmp(&other.0)) else {
        return "There is no other communicator to compare WORLD with.".to_owned();
    };
    match times(ratio) {
        Some(ratio) => format!(
            "On {} it takes {ratio} as long as on WORLD: libraries that duplicate or split \
             communicators pay that.",
            point.key.variant
        ),
        None => "A communicator that is not WORLD costs what WORLD does.".to_owned(),
    }
}

pub(super) fn at_once(points: &[&Point], _: &Characterisation) -> String {
    let said = |bytes: u64| {
        let own = || points.iter().filter(move |point| point.key.bytes == bytes);
        let one = own().find(|point| point.key.count == 1)?;
        let most = own().max_by_key(|point| point.key.count)?;
        let change = 100.0 * (time(most) / time(one) - 1.0);
        (most.key.count > 1).then(|| {
            let (less, change) = (if change < 0.0 { "less" } else { "more" }, change.abs());
            format!("{} communicators at once take {change:.0} % {less} than one", most.key.count)
        })
    };
    let sizes: BTreeSet<u64> = points.iter().map(|point| point.key.bytes).collect();
    let all: Vec<String> = sizes.into_iter().filter_map(said).collect();
    if all.is_empty() { "There is one communicator only.".to_owned() } else { all.join("; ") + "." }
}

pub(super) fn halo(points: &[&Point], all: &Characterisation) -> String {
    let most = points.iter().map(|point| point.key.count).max();
    let own: Vec<&Point> =
        points.iter().copied().filter(|own| Some(own.key.count) == most).collect();
    let name = |point: &Point| point.key.variant.clone();
    let order = |point: &Point| point.key.variant.split(", ").next().unwrap_or("").to_owned();
    let plain: Vec<&Point> =
        own.iter().copied().filter(|own| own.key.variant.ends_with("isend and irecv")).collect();
    let Some([best, worst]) = extremes(&plain, time) else { return String::new() };
    let mut said = if plain.len() < 2 {
        "There is one order of ranks only on this machine".to_owned()
    } else {
        format!(
            "With the order {} an exchange takes {}, with {} {} times as long",
            order(best),
            words::seconds(time(best)),
            order(worst),
            words::number(time(worst) / time(best))
        )
    };
    if let Some(first) = orders::orders(all).first() {
        let (name, took) = (&first.prediction.variant, words::seconds(time(first.point)));
        let _ = write!(
            said,
            "; from the loads of links {name} was predicted to be the best, and takes {took}"
        );
    }
    if let Some(own) = orders::agreement(all) {
        let _ = write!(
            said,
            ", place {} of {}; the rank correlation of predicted and measured is {:.2}",
            own.place, own.orders, own.correlation
        );
    }
    if let Some([quick, _]) = extremes(&own, time) {
        let _ = write!(said, "; the quickest of all is {}", name(quick));
    }
    said + "."
}
