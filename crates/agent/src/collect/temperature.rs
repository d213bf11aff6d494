//! The hottest temperature: `sys/class/hwmon/*/temp*_input`, in thousandths of a degree.
//!
//! A reading must not disturb what it measures. `coretemp` has a sensor for each core, and reading
//! one interrupts that core; drives answer by a command, which may wake them. So the sensors of the
//! processor packages are read where there are any, else at most [`MAX_SENSORS`] of the rest, never
//! those of drives.

use std::path::Path;

use tidings_gossip::payload::NodeState;

use super::source::{Listing, Pass, Source, line_once, names_in};

/// The most sensors read.
const MAX_SENSORS: usize = 16;

/// Drivers whose sensors are a drive's.
const DRIVES: [&str; 2] = ["nvme", "drivetemp"];

/// Drivers of processors, one sensor a package or a few.
const PROCESSORS: [&str; 3] = ["k10temp", "zenpower", "cpu_thermal"];

/// Millidegrees that a working sensor may show; broken ones show absolute zero and the like.
const PLAUSIBLE: std::ops::Range<i64> = -99_000..200_000;

/// The hottest of the machine's sensors.
#[derive(Debug)]
pub(super) struct Temperature {
    sensors: Listing<Vec<Source>>,
}

impl Temperature {
    pub(super) fn new(sys: &Path) -> Self {
        Self { sensors: Listing::new(sys.join("class/hwmon"), sensors) }
    }

    pub(super) fn read(&mut self, pass: &mut Pass, state: &mut NodeState) {
        let sensors = self.sensors.get(pass.now).iter_mut();
        let millidegrees = sensors.filter_map(|sensor| sensor.read_number(pass));
        let hottest = millidegrees.filter(|shown| PLAUSIBLE.contains(shown)).max();
        state.temperature_c = hottest.map(|millidegrees| millidegrees as f64 / 1000.0);
    }
}

/// The sensors to read: those of processors, or else some others.
fn sensors(hwmon: &Path) -> Vec<Source> {
    let (mut processors, mut others) = (Vec::new(), Vec::new());
    for chip in names_in(hwmon) {
        let chip = hwmon.join(chip);
        let driver = line_once(&chip.join("name")).unwrap_or_default();
        for input in names_in(&chip) {
            let Some(sensor) = input.strip_suffix("_input").filter(|s| s.starts_with("temp"))
            else {
                continue;
            };
            let source = || Source::new(chip.join(&input));
            let label = || line_once(&chip.join(format!("{sensor}_label"))).unwrap_or_default();
            match driver.as_str() {
                "coretemp" if label().starts_with("Package") => processors.push(source()),
                driver if PROCESSORS.contains(&driver) => processors.push(source()),
                driver if driver == "coretemp" || DRIVES.contains(&driver) => {}
                _ => others.push(source()),
            }
        }
    }
    let mut chosen = if processors.is_empty() { others } else { processors };
    chosen.truncate(MAX_SENSORS);
    chosen
}
