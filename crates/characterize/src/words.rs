//! Sizes, times and rates as people read them.

/// Bytes, in binary multiples where they are whole.
pub(crate) fn bytes(bytes: u64) -> String {
    for (unit, size) in [("MiB", 1_u64 << 20), ("KiB", 1 << 10)] {
        if bytes >= size && bytes % size == 0 {
            return format!("{} {unit}", bytes / size);
        }
    }
    format!("{bytes} B")
}

/// A time with three digits.
pub(crate) fn seconds(seconds: f64) -> String {
    scaled(seconds, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")])
}

/// Bytes a second with three digits.
pub(crate) fn rate(bytes_per_s: f64) -> String {
    scaled(bytes_per_s, &[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")])
}

/// A number of ranks, messages or bytes without digits that say nothing.
pub(crate) fn number(number: f64) -> String {
    scaled(number, &[(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")])
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let last = units[units.len() - 1];
    let (size, unit) = *units.iter().find(|(size, _)| value >= *size).unwrap_or(&last);
    let scaled = value / size;
    let digits = if scaled < 9.995 { 2 } else { usize::from(scaled < 99.95) };
    let text = format!("{scaled:.digits$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}").trim_end().to_owned()
}

/// A text of a table with commas.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A text that HTML and SVG show as it is.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_unit_that_fits() {
        assert_eq!(bytes(4), "4 B");
        assert_eq!((bytes(16_384), bytes(1 << 20)), ("16 KiB".to_owned(), "1 MiB".to_owned()));
        assert_eq!((seconds(2.8e-6), seconds(1.5)), ("2.8 µs".to_owned(), "1.5 s".to_owned()));
        assert_eq!((rate(425e6), rate(0.0)), ("425 MB/s".to_owned(), "0 B/s".to_owned()));
        assert_eq!((number(1_000.0), number(0.5)), ("1 k".to_owned(), "0.5".to_owned()));
    }
}
