//! The tolerances that docs/reference/readings.md states are those that nodes have without any
//! configuration.

use tidings_gossip::payload::{Reading, Tolerance, Tolerances};

const PAGE: &str = include_str!("../../../docs/reference/readings.md");

/// The readings that a word of the table's first column stands for.
fn readings(word: &str) -> &'static [Reading] {
    match word {
        "kernel" => &[Reading::Kernel],
        "processors" => &[Reading::Cores],
        "memory total" => &[Reading::MemTotal],
        "swap total" => &[Reading::SwapTotal],
        "loads" => &[Reading::Load1, Reading::Load5, Reading::Load15],
        "CPU busy" => &[Reading::CpuBusy],
        "pressures" => &[Reading::PsiCpu, Reading::PsiMemory, Reading::PsiIo],
        "memory available" => &[Reading::MemAvailable],
        "swap used" => &[Reading::SwapUsed],
        "rates of disks and networks" => {
            &[Reading::DiskRead, Reading::DiskWrite, Reading::NetRx, Reading::NetTx]
        }
        "temperature" => &[Reading::Temperature],
        "power" => &[Reading::Power],
        "uptime" => &[Reading::Uptime],
        "to which a holder adds the age" => &[],
        other => panic!("no readings are called {other:?}"),
    }
}

/// A number, and what it is to be multiplied by.
fn scaled(text: &str, units: &[(&str, f64)]) -> f64 {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let scale = units.iter().find(|(name, _)| *name == unit);
    let (_, scale) = scale.unwrap_or_else(|| panic!("no unit is called {unit:?}"));
    number.parse::<f64>().expect("it begins with a number") * scale
}

fn tolerance(distance: &str, share: &str) -> Tolerance {
    const UNITS: [(&str, f64); 7] = [
        ("", 1.0),
        ("%", 1.0),
        ("MiB", 1_048_576.0),
        ("KiB/s", 1_024.0),
        ("°C", 1.0),
        ("W", 1.0),
        ("s", 1.0),
    ];
    if distance == "exact" {
        assert_eq!(share, "", "an exact reading has no share");
        return Tolerance::Exact;
    }
    let share = match share.strip_prefix("2^") {
        Some(power) => power.parse::<i32>().map(|power| 2_f64.powi(power)).expect("a power"),
        None if share.is_empty() => 0.0,
        None => scaled(share, &[("%", 0.01)]),
    };
    Tolerance::Within { absolute: scaled(distance, &UNITS), share }
}

#[test]
fn the_page_states_the_tolerance_of_each_reading() {
    let (_, page) = PAGE.split_once("\n## Tolerances\n").expect("it has the section");
    let rows = page.lines().skip_while(|line| !line.starts_with("|---"));
    let rows = rows.skip(1).take_while(|line| line.starts_with('|'));
    let (usual, mut stated) = (Tolerances::default(), Vec::new());
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [names, distance, share] = cells[..] else { panic!("not three columns: {row}") };
        for reading in names.split(", ").flat_map(readings) {
            let (says, has) = (tolerance(distance, share), usual.of(*reading));
            assert_eq!(says, has, "{}: {row}", reading.name());
            stated.push(*reading);
        }
    }
    stated.sort_unstable_by_key(|reading| reading.bit());
    assert_eq!(stated, Reading::ALL, "each once");
}
