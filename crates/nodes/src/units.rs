//! Units of readings: how a typed quantity becomes a number and a number becomes readable.
//!
//! Every reading is kept in the one unit that its column's name ends with (`_bytes`, `_ms`, …).
//! A typed quantity may carry another unit of the same family (`8GiB`, `2s`); it is
//! scaled on the way in. On the way out a terminal gets rounded, scaled text; a pipe gets the
//! plain number. Prefixes follow IEC 80000-13: `KiB` is 1,024 bytes, `kB` is 1,000.

/// The unit a column is kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A bare number: a load, a count.
    Count,
    /// Bytes.
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
    /// Per cent of a whole.
    Percent,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Degrees Celsius.
    Celsius,
    /// Watts.
    Watts,
}

/// Byte units and their sizes in bytes.
const BYTES: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("PB", 1e15),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
    ("PiB", 1_125_899_906_842_624.0),
];

/// Time units and their lengths in milliseconds.
const TIMES_MS: &[(&str, f64)] =
    &[("ms", 1.0), ("s", 1e3), ("m", 60e3), ("h", 3.6e6), ("d", 86.4e6)];

impl Unit {
    /// The ending of a column name that names this unit, `""` for bare numbers.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Count => "",
            Self::Bytes => "_bytes",
            Self::BytesPerSecond => "_bytes_s",
            Self::Percent => "_percent",
            Self::Milliseconds => "_ms",
            Self::Seconds => "_s",
            Self::Celsius => "_c",
            Self::Watts => "_w",
        }
    }

    /// How many of this unit one `typed` unit is (`Seconds.scale("m")` is 60).
    ///
    /// An empty `typed` unit means this unit itself; `None` if the families differ.
    pub fn scale(self, typed: &str) -> Option<f64> {
        if typed.is_empty() {
            return Some(1.0);
        }
        match self {
            Self::Bytes => lookup(BYTES, typed),
            Self::BytesPerSecond => lookup(BYTES, typed.strip_suffix("/s").unwrap_or(typed)),
            Self::Milliseconds => lookup(TIMES_MS, typed),
            Self::Seconds => lookup(TIMES_MS, typed).map(|ms| ms / 1e3),
            Self::Percent => (typed == "%").then_some(1.0),
            Self::Celsius => matches!(typed, "C" | "°C").then_some(1.0),
            Self::Watts => (typed == "W").then_some(1.0),
            Self::Count => None,
        }
    }

    /// The units that may be typed for this one, for an error message.
    pub fn typed_units(self) -> &'static str {
        match self {
            Self::Count => "none",
            Self::Bytes => "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB",
            Self::BytesPerSecond => "B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s",
            Self::Percent => "%",
            Self::Milliseconds | Self::Seconds => "ms, s, m, h, d",
            Self::Celsius => "C",
            Self::Watts => "W",
        }
    }

    /// A unit to propose for a number that has none; empty where only one can be meant.
    pub fn example(self) -> &'static str {
        match self {
            Self::Bytes => "GiB",
            Self::BytesPerSecond => "MiB/s",
            Self::Milliseconds | Self::Seconds => "s",
            Self::Count | Self::Percent | Self::Celsius | Self::Watts => "",
        }
    }

    /// The value in readable form: rounded, scaled, with its unit.
    pub fn humanise(self, value: f64) -> String {
        match self {
            Self::Count => plain(round_to(value, 2)),
            Self::Bytes => bytes(value),
            Self::BytesPerSecond => format!("{}/s", bytes(value)),
            Self::Percent => format!("{value:.1} %"),
            Self::Milliseconds => time(value),
            Self::Seconds => time(value * 1e3),
            Self::Celsius => format!("{value:.0} °C"),
            Self::Watts => format!("{value:.1} W"),
        }
    }
}

/// The value to six decimals, without exponent and without a needless fraction.
pub fn plain(value: f64) -> String {
    format!("{}", round_to(value, 6))
}

/// The value rounded to this many decimals.
pub fn round_to(value: f64, decimals: i32) -> f64 {
    let scale = 10_f64.powi(decimals);
    let rounded = (value * scale).round() / scale;
    if rounded.is_finite() { rounded } else { value }
}

/// The bytes of a size such as `1.5GiB`, of any sign; `None` if it is no size.
pub fn size_bytes(text: &str) -> Option<f64> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    Some(number.trim().parse::<f64>().ok()? * Unit::Bytes.scale(unit.trim())?)
}

fn lookup(units: &[(&str, f64)], typed: &str) -> Option<f64> {
    units.iter().find(|(name, _)| *name == typed).map(|(_, size)| *size)
}

/// Bytes in the largest binary unit that leaves at least one of it, with three figures.
fn bytes(value: f64) -> String {
    const NAMES: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut scaled = value;
    let mut power = 0;
    while scaled.abs() >= 1023.5 && power + 1 < NAMES.len() {
        scaled /= 1024.0;
        power += 1;
    }
    let decimals = match scaled.abs() {
        _ if power == 0 => 0,
        small if small < 9.995 => 2,
        middle if middle < 99.95 => 1,
        _ => 0,
    };
    format!("{scaled:.decimals$} {}", NAMES[power])
}

/// A span of time in its two largest units, or with three figures under a minute.
fn time(ms: f64) -> String {
    if ms.abs() < 999.5 {
        return format!("{ms:.0} ms");
    }
    if ms.abs() < 59_950.0 {
        return format!("{:.1} s", ms / 1e3);
    }
    let seconds = (ms / 1e3).round();
    let minutes = (seconds / 60.0).floor();
    let (days, hours) = ((minutes / 1440.0).floor(), (minutes / 60.0).floor());
    if days >= 1.0 {
        return format!("{days} d {} h", hours - days * 24.0);
    }
    if hours >= 1.0 {
        return format!("{hours} h {} m", minutes - hours * 60.0);
    }
    format!("{minutes} m {} s", seconds - minutes * 60.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_units_scale_into_the_columns_unit() {
        let cases = [
            (Unit::Bytes, "GiB", Some(1_073_741_824.0)),
            (Unit::Bytes, "GB", Some(1e9)),
            (Unit::Bytes, "s", None),
            (Unit::BytesPerSecond, "MiB/s", Some(1_048_576.0)),
            (Unit::BytesPerSecond, "MiB", Some(1_048_576.0)),
            (Unit::Milliseconds, "m", Some(60_000.0)),
            (Unit::Seconds, "ms", Some(0.001)),
            (Unit::Percent, "%", Some(1.0)),
            (Unit::Count, "%", None),
            (Unit::Count, "", Some(1.0)),
        ];
        for (unit, typed, factor) in cases {
            assert_eq!(unit.scale(typed), factor, "{unit:?} {typed}");
        }
    }

    #[test]
    fn people_read_three_figures() {
        let cases = [
            (Unit::Bytes, 0.0, "0 B"),
            (Unit::Bytes, 1023.0, "1023 B"),
            (Unit::Bytes, 1024.0, "1.00 KiB"),
            (Unit::Bytes, 8.0 * 1_073_741_824.0, "8.00 GiB"),
            (Unit::Bytes, 123.4 * 1_048_576.0, "123 MiB"),
            (Unit::BytesPerSecond, 3400.0, "3.32 KiB/s"),
            (Unit::Milliseconds, 256.0, "256 ms"),
            (Unit::Milliseconds, 1800.0, "1.8 s"),
            (Unit::Seconds, 59.99, "1 m 0 s"),
            (Unit::Seconds, 3_725.0, "1 h 2 m"),
            (Unit::Seconds, 200_000.0, "2 d 7 h"),
            (Unit::Percent, 12.34, "12.3 %"),
            (Unit::Count, 1.5, "1.5"),
            (Unit::Count, 0.123_456, "0.12"),
            (Unit::Celsius, 51.6, "52 °C"),
        ];
        for (unit, value, text) in cases {
            assert_eq!(unit.humanise(value), text);
        }
    }

    #[test]
    fn plain_numbers_are_whole_where_they_can_be() {
        assert_eq!(plain(8_589_934_592.0), "8589934592");
        assert_eq!(plain(0.25), "0.25");
        assert_eq!(plain(251.684_000_000_000_03), "251.684");
    }
}
