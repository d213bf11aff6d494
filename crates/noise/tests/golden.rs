//! From a made-up trace to the result: what a known disturbance becomes, byte for byte.
//!
//! A probe of a second has a tick each 4 ms (2 µs between its tracepoints, 1 µs of ways), a soft
//! interrupt after each tenth, a task that takes 5 ms once, and one gap that nobody explains.
//! `TIDINGS_BLESS=1` writes golden.json again; python/tests/test_noise.py holds it to the schema.

use std::fs;
use std::path::Path;

use tidings_noise::comparison::{Measure, compare};
use tidings_noise::naming::name;
use tidings_noise::result::{Attributed, Kernel, Outcome, Own, Probe, SCHEMA};
use tidings_noise::samples::{Gap, Quantum};
use tidings_noise::source::{Kind, Names};
use tidings_noise::summary::{Summary, share_of};
use tidings_noise::timeline::Timeline;
use tidings_noise::trace::{Event, What};

const PROBE: u32 = 100;
const HOG: u32 = 7;
const MILLISECOND: u64 = 1_000_000;
const STEP_NS: u64 = 100;

/// The events of the trace and the gaps of the probe, in order of time.
fn made_up(names: &mut Names) -> (Vec<Event>, Vec<Gap>) {
    let tick = names.id(Kind::Timer, "");
    let softirq = names.id(Kind::Softirq, "TIMER");
    let hog = names.id(Kind::Preemption, "hog");
    let probe = names.id(Kind::Preemption, "noise-probe-0");
    let (mut events, mut gaps) = (Vec::new(), Vec::new());
    let mut add = |at_ns, current, what| events.push(Event { at_ns, core: 0, current, what });
    let gap = |begin_ns, lost_ns| Gap { begin_ns, step_ns: lost_ns + STEP_NS, lost_ns };
    for number in 0..250 {
        let at_ns = 500_000 + number * 4 * MILLISECOND;
        add(at_ns, PROBE, What::Enter(tick));
        add(at_ns + 2_000, PROBE, What::Leave);
        let is_soft = number % 10 == 0;
        if is_soft {
            add(at_ns + 2_000, PROBE, What::Enter(softirq));
            add(at_ns + 6_000, PROBE, What::Leave);
        }
        if number == 100 {
            add(at_ns + 7_000, PROBE, What::Switch(HOG, hog));
            add(at_ns + 3 * MILLISECOND, HOG, What::Switch(PROBE, probe));
            gaps.push(gap(at_ns - 500, 3 * MILLISECOND + 1_000));
        } else {
            gaps.push(gap(at_ns - 500, if is_soft { 7_000 } else { 3_000 }));
        }
        if number == 200 {
            gaps.push(gap(at_ns + MILLISECOND, 30_000));
        }
    }
    (events, gaps)
}

fn analysed() -> Outcome {
    let mut names = Names::default();
    let (events, gaps) = made_up(&mut names);
    let fault = names.id(Kind::PageFault, "");
    let mut timeline = Timeline::new(&[PROBE], &mut names);
    for event in events {
        timeline.add(event);
    }
    timeline.close_all(1_000 * MILLISECOND);
    let mut summary = Summary::new(1_000 * MILLISECOND, false);
    for gap in &gaps {
        let seat = timeline.seat(0);
        summary.gap(gap, &name(gap, seat.segments(), seat.faults(), fault));
        seat.forget(gap.end_ns());
    }
    for place in 0..1_000 {
        let (begin, end) = (place * MILLISECOND, (place + 1) * MILLISECOND);
        let within = |gap: &Gap| gap.end_ns().min(end).saturating_sub(gap.begin_ns.max(begin));
        let lost_ns: u64 = gaps.iter().map(|gap| within(gap).min(gap.lost_ns)).sum();
        let units = (MILLISECOND - lost_ns) / STEP_NS;
        let quantum = Quantum { begin_ns: begin, length_ns: MILLISECOND, units, lost_ns };
        summary.quantum(&quantum);
    }
    outcome(&mut summary, &mut names)
}

fn outcome(summary: &mut Summary, names: &mut Names) -> Outcome {
    summary.steal(10_000, names);
    let [lost_ns, unknown_ns, edges_ns] = summary.lost_ns();
    let [quanta, speed] = summary.spreads();
    let probe = Probe {
        core: Some(0),
        measured_s: 1.0,
        lost_ns,
        lost_share: share_of(lost_ns, 1_000 * MILLISECOND),
        named_share: share_of(lost_ns - unknown_ns, lost_ns),
        unknown_share: share_of(unknown_ns, lost_ns),
        edges_share: share_of(edges_ns, lost_ns),
        gaps: summary.gaps(1.0),
        quanta,
        speed,
        kernel: Kernel {
            waited_ns: 2_993_000,
            preemptions: 1,
            faults: 0,
            steal_ns: 10_000,
            interrupts: [("LOC".to_owned(), 250)].into(),
            softirqs: [("TIMER".to_owned(), 25)].into(),
        },
        own: Own { step_ns: STEP_NS, share: 0.000_05, dropped: 0 },
        sources: summary.taken(names),
        histogram: summary.histogram().buckets(),
        windows: summary.windows(),
        files: ["core-0.quanta".to_owned(), "core-0.gaps".to_owned()],
    };
    Outcome {
        schema: SCHEMA.to_owned(),
        method: "ftq".to_owned(),
        quantum_us: Some(1_000.0),
        work_units: None,
        threshold_ns: 500,
        pinned: true,
        keeper_cores: Some("1".to_owned()),
        asked_s: 1.0,
        measured_s: 1.0,
        signal: None,
        guest: false,
        attribution: Attributed {
            by: "tracepoints".to_owned(),
            reason: None,
            events: vec!["sched:sched_switch".to_owned()],
            missed: 0,
        },
        probes: vec![probe],
        sources: names.all().to_vec(),
    }
}

#[test]
fn a_known_disturbance_is_named_share_by_share() {
    let outcome = analysed();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden.json");
    let text = serde_json::to_string_pretty(&outcome).expect("it is data") + "\n";
    if std::env::var_os("TIDINGS_BLESS").is_some() {
        fs::write(&path, &text).expect("the crate is ours");
    }
    let golden = fs::read_to_string(&path).expect("golden.json is there");
    assert_eq!(text, golden, "if this is meant, give TIDINGS_BLESS=1");
    let probe = &outcome.probes[0];
    let of = |kind| {
        let all = probe.sources.iter().filter(|own| own.kind == kind);
        all.map(|own| own.lost_ns).sum::<u64>()
    };
    // 25 soft interrupts of 4 µs; the hog from 7 µs after its tick until 3 ms after it.
    assert_eq!(of(Kind::Softirq), 100_000);
    assert_eq!(probe.sources[0].name, "hog");
    assert_eq!(of(Kind::Preemption), 2_993_000 + 1_000, "and half of the ways");
    assert_eq!((of(Kind::Steal), of(Kind::Unknown)), (10_000, 20_000));
    let all: u64 = probe.sources.iter().map(|own| own.lost_ns).sum();
    assert_eq!(all, probe.lost_ns, "each nanosecond has one name");
    assert!(probe.named_share > 0.99 && probe.edges_share < 0.1, "{probe:?}");
}

/// The result with other losses in its stretches of time.
fn with_losses(loss: impl Fn(usize) -> f64) -> Outcome {
    let mut outcome = analysed();
    for (place, window) in outcome.probes[0].windows.iter_mut().enumerate() {
        window.lost_share = loss(place);
        window.speed = Some(10.0 + 0.01 * (place % 3) as f64);
    }
    outcome
}

#[test]
fn a_result_that_lost_more_differs_and_one_that_did_not_does_not() {
    let before = with_losses(|place| 0.01 + 0.001 * (place % 4) as f64);
    let after = with_losses(|place| 0.03 + 0.001 * (place % 4) as f64);
    let same = compare(&before, &before).expect("the same");
    assert!(same.iter().all(|own| !own.differs), "{same:?}");
    let differences = compare(&before, &after).expect("the same probe");
    let differ: Vec<_> = differences.iter().map(|own| (own.measure, own.differs)).collect();
    assert_eq!(differ, [(Measure::LostShare, true), (Measure::Speed, false)]);
    let change = differences[0].change.expect("ten stretches each");
    assert!((change.estimate - 0.02).abs() < 0.001, "{change:?}");
}

#[test]
fn results_that_are_not_alike_are_refused() {
    let one = analysed();
    let other = Outcome { method: "fwq".to_owned(), ..one.clone() };
    assert_eq!(compare(&one, &other).expect_err("two methods").exit_code(), 2);
    let mut other = one.clone();
    other.probes[0].core = Some(1);
    let refused = compare(&one, &other).expect_err("no core in common");
    assert!(refused.to_string().contains("no core in common"));
}

#[test]
fn a_result_is_read_back_and_what_is_none_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("noise.json");
    Outcome::read(folder.path()).expect_err("no file");
    let text = serde_json::to_string(&analysed()).expect("it is data");
    fs::write(&file, &text).expect("ours");
    assert_eq!(Outcome::read(folder.path()).expect("a result").probes.len(), 1);
    for wrong in [text.replace("noise-1", "noise-9"), text[..200].to_owned(), "[]".to_owned()] {
        fs::write(&file, wrong).expect("ours");
        let refused = Outcome::read(folder.path()).expect_err("no result");
        assert!(refused.to_string().contains("noise.json: "), "{refused}");
        assert_eq!(refused.exit_code(), 2);
    }
}
