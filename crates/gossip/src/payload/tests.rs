//! The bytes of a payload as the table says, and states that come back as they went.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn compute_node() -> NodeState {
    NodeState {
        kernel: KernelRelease::parse("6.12.48+deb13-amd64"),
        cores: Some(128),
        load1: Some(0.52),
        load5: Some(12.0),
        load15: Some(127.99),
        cpu_busy_percent: Some(99.87),
        mem_total_bytes: Some(256 << 30),
        mem_available_bytes: Some(1_234_567 << 10),
        swap_total_bytes: Some(0),
        swap_used_bytes: None,
        disk_read_bytes_s: Some(4096),
        disk_write_bytes_s: Some(1_000_000),
        net_rx_bytes_s: Some(12_500_000_000),
        net_tx_bytes_s: Some(1),
        temperature_c: Some(-3.5),
        power_w: Some(351.2),
        uptime_s: Some(86_400),
        psi_cpu_percent: Some(1.2),
        psi_memory_percent: Some(0.0),
        psi_io_percent: Some(100.0),
        health: 0,
        user: BTreeMap::from([("gpu".to_owned(), "3".to_owned()), ("job".into(), "µ7".into())]),
    }
}

fn hex(bytes: &[u8]) -> String {
    let lines = bytes
        .chunks(16)
        .map(|line| line.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn golden_bytes_of_a_compute_node() {
    let mut payload = [0xaa; 64];
    compute_node().encode(&mut payload).expect("it fits");
    let golden = "\
        ff fd 0f 00 06 0c 30 00 80 00 34 00 b0 04 80 1c\n\
        03 27 00 90 6b 51 00 00 00 00 00 10 42 4f a4 bb\n\
        01 00 dd ff b8 0d 8c 32 03 00 fa 00 03 01 67 70\n\
        75 33 03 03 6a 6f 62 c2 b5 37 00 00 00 00 00 00";
    assert_eq!(hex(&payload), golden);
    assert_eq!(NodeState::decode(&payload).expect("it is sound").load15, Some(128.0));
}

#[test]
fn a_bare_state_is_all_zeros_and_differs_from_readings_of_zero() {
    let mut payload = [0xaa; FIXED_BYTES];
    NodeState::default().encode(&mut payload).expect("it fits");
    assert_eq!(payload, [0; FIXED_BYTES]);
    assert_eq!(NodeState::decode(&payload), Ok(NodeState::default()));
    NodeState { cores: Some(0), ..Default::default() }.encode(&mut payload).expect("it fits");
    assert_eq!((payload[0], NodeState::decode(&payload).expect("sound").cores), (2, Some(0)));
}

#[test]
fn user_metrics_that_do_not_fit_say_by_how_much_and_leave_the_payload_alone() {
    let mut payload = [0xaa; 55];
    let refused = compute_node().encode(&mut payload);
    assert_eq!(payload, [0xaa; 55]);
    let expected = PayloadError::UserMetricsTooLarge { excess_bytes: 3, room_bytes: 11 };
    assert_eq!(refused, Err(expected.clone()));
    assert_eq!(
        expected.to_string(),
        "the user metrics need 3 bytes more than the 11 there are; drop some, or raise \
         payload_bytes by at least 3 on every node"
    );
    let mut exact = [0xaa; 58];
    assert_eq!(compute_node().encode(&mut exact), Ok(()));
    assert_eq!(NodeState::decode(&exact).expect("sound").user, compute_node().user);
    assert_eq!(
        NodeState::default().encode(&mut [0; 43]),
        Err(PayloadError::TooSmall { bytes: 43 })
    );
}

#[test]
fn metrics_that_break_a_rule_are_refused_by_name() {
    assert_eq!(check_metric("gpu.free_mib-0", "µ"), Ok(()));
    for key in ["", "GPU", "a b", "ü", &"k".repeat(33)] {
        assert_eq!(check_metric(key, ""), Err(PayloadError::Key(key.to_owned())));
    }
    let long = check_metric("k", &"v".repeat(256));
    assert_eq!(long, Err(PayloadError::ValueTooLong { key: "k".to_owned(), bytes: 256 }));
    for acts in ["\u{1b}[2J", "a\u{202e}b", "a\u{2028}b", "\u{200b}"] {
        let refused = check_metric("k", acts);
        assert_eq!(refused, Err(PayloadError::ValueControl("k".to_owned())), "{acts:?}");
    }
}

#[test]
fn foreign_bytes_are_refused_where_they_are_wrong() {
    let decode = |behind: &[u8]| {
        let payload = [&[0; FIXED_BYTES], behind].concat();
        NodeState::decode(&payload).map_err(|error| error.to_string())
    };
    for (behind, refusal) in [
        (&b"\x01"[..], "at byte 44 of the payload: a user metric is cut off"),
        (b"\x01\x00a\x02\x02b", "at byte 47 of the payload: a user metric is cut off"),
        (b"\x01\x00A", "at byte 44 of the payload: a user metric's key must be"),
        (b"\x01\x01a\xff", "at byte 44 of the payload: a user metric's value must be"),
        (b"\x01\x01a\n", "at byte 44 of the payload: a user metric's value must be"),
        (b"\x01\x00b\x01\x00b", "at byte 47 of the payload: the keys of user metrics must ascend"),
    ] {
        assert!(decode(behind).expect_err("it is malformed").starts_with(refusal), "{refusal}");
    }
    let mut busy = [0; FIXED_BYTES];
    (busy[0], busy[16], busy[17]) = (1 << 5, 0x11, 0x27);
    let refused = PayloadError::Malformed { at: 16, what: "a share of more than 100 %" };
    assert_eq!(NodeState::decode(&busy), Err(refused));
}

#[test]
fn kernel_releases() {
    let parse = |text| KernelRelease::parse(text).map(|release| release.to_string());
    assert_eq!(parse("6.18.44-fc-v657\n").as_deref(), Some("6.18.44"));
    assert_eq!(parse("5.14.0-427.el9.x86_64").as_deref(), Some("5.14.0"));
    assert_eq!(parse("6.1-rc3").as_deref(), Some("6.1.0"));
    assert_eq!((parse(""), parse("six.1.2"), parse("300.1.2")), (None, None, None));
}

/// A number of any magnitude below `2^bits`, or none.
fn spread(bits: u32) -> impl Strategy<Value = Option<u64>> {
    prop::option::of((any::<u64>(), 64 - bits..64).prop_map(|(value, shift)| value >> shift))
}

/// Hundredths of a number below `max`, or none.
fn fraction(max: f64) -> impl Strategy<Value = Option<f64>> {
    prop::option::of(0.0..=max)
}

prop_compose! {
    fn any_state()(
        (kernel, cores, temperature_c) in (
            any::<Option<(u8, u8, u16)>>(),
            any::<Option<u16>>(),
            prop::option::of(-3276.7..3276.7),
        ),
        loads in [fraction(1e3), fraction(1e3), fraction(1e3)],
        percents in [fraction(100.0), fraction(100.0), fraction(100.0), fraction(100.0)],
        power_w in fraction(1e4),
        sizes in [spread(51), spread(51), spread(51), spread(51)],
        rates in [spread(41), spread(41), spread(41), spread(41), spread(41)],
        user in prop::collection::btree_map("[a-z0-9_.-]{1,32}", any_value(), 0..8),
        health in any::<u8>(),
    ) -> NodeState {
        let [load1, load5, load15] = loads;
        let [cpu_busy_percent, psi_cpu_percent, psi_memory_percent, psi_io_percent] = percents;
        let [mem_total_bytes, mem_available_bytes, swap_total_bytes, swap_used_bytes] = sizes;
        let [
            disk_read_bytes_s, disk_write_bytes_s, net_rx_bytes_s, net_tx_bytes_s, uptime_s
        ] = rates;
        let kernel = kernel.map(|(major, minor, patch)| KernelRelease { major, minor, patch });
        NodeState {
            kernel, cores, load1, load5, load15, cpu_busy_percent, mem_total_bytes,
            mem_available_bytes, swap_total_bytes, swap_used_bytes, disk_read_bytes_s,
            disk_write_bytes_s, net_rx_bytes_s, net_tx_bytes_s, temperature_c, power_w, uptime_s,
            psi_cpu_percent, psi_memory_percent, psi_io_percent, health, user,
        }
    }
}

/// What a metric may say: `\PC` has the ends of lines and paragraphs, which a value has not.
fn any_value() -> impl Strategy<Value = String> {
    "\\PC{0,12}".prop_map(|text| text.chars().filter(|&c| !is_hidden(c)).collect())
}

/// Whether `after` is `before` within half a step or 2^-12 of the value, whichever is more.
fn near(before: Option<f64>, after: Option<f64>, half_step: f64) -> bool {
    match (before, after) {
        (Some(before), Some(after)) => {
            (after - before).abs() <= half_step + 1e-9 + before.abs() / 4096.0
        }
        (before, after) => before.is_none() && after.is_none(),
    }
}

fn whole(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

proptest! {
    #[test]
    fn a_state_comes_back_within_the_stated_resolution(before in any_state()) {
        let mut payload = [0xaa; 1024];
        before.encode(&mut payload).expect("8 metrics fit in 1,024 bytes");
        let after = NodeState::decode(&payload).expect("what encode writes is sound");
        prop_assert_eq!(&after.user, &before.user);
        prop_assert_eq!(
            (after.kernel, after.cores, after.health),
            (before.kernel, before.cores, before.health)
        );
        for (before, after, half_step) in [
            (before.load1, after.load1, 0.005),
            (before.load5, after.load5, 0.005),
            (before.load15, after.load15, 0.005),
            (before.cpu_busy_percent, after.cpu_busy_percent, 0.005),
            (before.psi_cpu_percent, after.psi_cpu_percent, 0.2),
            (before.psi_memory_percent, after.psi_memory_percent, 0.2),
            (before.psi_io_percent, after.psi_io_percent, 0.2),
            (before.temperature_c, after.temperature_c, 0.05),
            (before.power_w, after.power_w, 0.05),
            (whole(before.mem_total_bytes), whole(after.mem_total_bytes), 512.0),
            (whole(before.mem_available_bytes), whole(after.mem_available_bytes), 512.0),
            (whole(before.swap_total_bytes), whole(after.swap_total_bytes), 512.0),
            (whole(before.swap_used_bytes), whole(after.swap_used_bytes), 512.0),
            (whole(before.disk_read_bytes_s), whole(after.disk_read_bytes_s), 0.0),
            (whole(before.disk_write_bytes_s), whole(after.disk_write_bytes_s), 0.0),
            (whole(before.net_rx_bytes_s), whole(after.net_rx_bytes_s), 0.0),
            (whole(before.net_tx_bytes_s), whole(after.net_tx_bytes_s), 0.0),
            (whole(before.uptime_s), whole(after.uptime_s), 0.0),
        ] {
            prop_assert!(near(before, after, half_step), "{before:?} came back as {after:?}");
        }
        let mut again = [0; 1024];
        after.encode(&mut again).expect("it fits as before");
        prop_assert_eq!(payload, again);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(state) = NodeState::decode(&bytes) {
            let mut again = bytes.clone();
            state.encode(&mut again).expect("what was read fits where it was");
            prop_assert_eq!(NodeState::decode(&again), Ok(state));
        }
    }

    #[test]
    fn readings_out_of_range_come_to_its_end(wild in any::<f64>()) {
        let wild = Some(wild);
        let state = NodeState {
            load1: wild, cpu_busy_percent: wild, temperature_c: wild, psi_io_percent: wild,
            ..Default::default()
        };
        let mut payload = [0; FIXED_BYTES];
        state.encode(&mut payload).expect("it fits");
        prop_assert!(NodeState::decode(&payload).is_ok());
    }
}
