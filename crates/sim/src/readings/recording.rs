//! Recordings: the readings of one node, a row a unit of time, as its agent published them.
//!
//! The file is CSV. Its first line says the form and the unit of time, its second names the
//! columns; then comes a row for each unit. An empty cell means that the reading is as in the row
//! above, `-` that it is absent. So an unchanged reading costs a comma, and a file of ten minutes
//! has some tens of KiB without any compression, can be read by eye, and shows a change as one.
//! The form is described in docs/reference/readings.md.
//!
//! Invariants: what is written is read as it was, bit by bit; a file of any origin gives a
//! recording or an error that names the line, and no memory but for rows that are there, up to
//! [`MAX_ROWS`].

use core::fmt::Write as _;

use tidings_gossip::payload::{Numbers, READINGS, Reading};

/// The most rows of a recording: three days at 256 ms.
pub const MAX_ROWS: usize = 1_000_000;

/// The most bytes of a line.
const MAX_LINE_BYTES: usize = 1_024;

/// What the first line begins with; the unit in milliseconds follows.
const FORM: &str = "# tidings readings 1, unit_ms ";

/// What a cell has of a reading that is absent.
const ABSENT: &str = "-";

/// The entry of one unit of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Its sequence: a gap is units that the recorder missed.
    pub sequence: u32,
    /// What it said.
    pub numbers: Numbers,
}

/// The readings of one node.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    unit_ms: u32,
    rows: Vec<Row>,
}

/// A text that is no recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct RecordingError {
    line: usize,
    what: &'static str,
}

/// Writes the lines of a recording one by one.
#[derive(Debug, Clone)]
pub struct Lines {
    last: Numbers,
    line: String,
}

impl Lines {
    /// The lines before the first row, and what writes the rows.
    pub fn begin(unit_ms: u32) -> (Self, String) {
        let mut head = format!("{FORM}{unit_ms}\nsequence");
        for reading in Reading::ALL {
            head.push(',');
            head.push_str(reading.name());
        }
        head.push('\n');
        (Self { last: [None; READINGS], line: String::new() }, head)
    }

    /// The line of the next row.
    pub fn row(&mut self, row: &Row) -> &str {
        self.line.clear();
        let _ = write!(self.line, "{}", row.sequence); // a String takes all
        for (last, now) in self.last.iter_mut().zip(row.numbers) {
            self.line.push(',');
            match now {
                _ if *last == now => {}
                Some(value) => {
                    let _ = write!(self.line, "{value}");
                }
                None => self.line.push_str(ABSENT),
            }
            *last = now;
        }
        self.line.push('\n');
        &self.line
    }
}

impl Recording {
    /// A recording of these rows.
    ///
    /// # Errors
    /// There is no row or unit, there are too many rows, their sequences do not ascend, or a
    /// reading is no number. The line is that of the file they would be written to.
    pub fn new(unit_ms: u32, rows: Vec<Row>) -> Result<Self, RecordingError> {
        let refused = |line, what| Err(RecordingError { line, what });
        if unit_ms == 0 {
            return refused(1, "the unit must be at least 1 ms");
        }
        if rows.is_empty() {
            return refused(3, "there is no row: record at least one unit");
        }
        if rows.len() > MAX_ROWS {
            return refused(3 + MAX_ROWS, "at most 1,000,000 rows are read: cut the file");
        }
        let ascends = |pair: &[Row]| pair[0].sequence < pair[1].sequence;
        if let Some(at) = rows.windows(2).position(|pair| !ascends(pair)) {
            return refused(at + 4, "sequences must ascend: a recording is of one incarnation");
        }
        let is_sound = |row: &Row| row.numbers.iter().flatten().all(|value| value.is_finite());
        if let Some(at) = rows.iter().position(|row| !is_sound(row)) {
            return refused(at + 3, "a reading must be a number, or `-`");
        }
        Ok(Self { unit_ms, rows })
    }

    /// Reads what [`Lines`] wrote, or a text of any origin. A last line without its end, as a
    /// recorder that was killed leaves it, is left out.
    ///
    /// # Errors
    /// It is no recording; the error names the line.
    pub fn parse(text: &str) -> Result<Self, RecordingError> {
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut lines = whole.lines().enumerate().map(|(at, line)| (at + 1, line));
        let head = lines.next().and_then(|(_, line)| line.strip_prefix(FORM));
        let unit_ms = head.and_then(|unit| unit.trim_end().parse().ok()).ok_or(RecordingError {
            line: 1,
            what: "a recording begins with `# tidings readings 1, unit_ms N`",
        })?;
        let (_, heading) = Lines::begin(unit_ms);
        let columns = heading.lines().nth(1).unwrap_or_default();
        if lines.next().is_none_or(|(_, line)| line != columns) {
            return Err(RecordingError { line: 2, what: "the columns are not those of form 1" });
        }
        let mut rows: Vec<Row> = Vec::new();
        for (line, text) in lines {
            let last = rows.last().map_or([None; READINGS], |row| row.numbers);
            rows.push(row(text, &last).map_err(|what| RecordingError { line, what })?);
            if rows.len() > MAX_ROWS {
                break; // `new` refuses it
            }
        }
        Self::new(unit_ms, rows)
    }

    /// The whole file.
    pub fn text(&self) -> String {
        let (mut lines, mut text) = Lines::begin(self.unit_ms);
        for row in &self.rows {
            text.push_str(lines.row(row));
        }
        text
    }

    /// Its rows; there is at least one.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The unit of time in seconds.
    pub fn unit_s(&self) -> f64 {
        f64::from(self.unit_ms) / 1e3
    }

    /// Units between the first row and the last that have none.
    pub fn missed(&self) -> usize {
        let span = self.rows[self.rows.len() - 1].sequence - self.rows[0].sequence;
        (span as usize + 1).saturating_sub(self.rows.len())
    }
}

/// A row of a file, after the readings of the row above.
fn row(text: &str, last: &Numbers) -> Result<Row, &'static str> {
    if text.len() > MAX_LINE_BYTES {
        return Err("a row has at most 1,024 bytes");
    }
    let mut cells = text.split(',');
    let sequence = cells.next().and_then(|cell| cell.parse().ok());
    let sequence = sequence.ok_or("a row begins with its sequence")?;
    let mut numbers = *last;
    for number in &mut numbers {
        match cells.next().ok_or("a row has 21 cells")? {
            "" => {}
            ABSENT => *number = None,
            cell => {
                *number = Some(cell.parse().map_err(|_| "a reading must be a number, or `-`")?);
            }
        }
    }
    if cells.next().is_some() {
        return Err("a row has 21 cells");
    }
    Ok(Row { sequence, numbers })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(load: Option<f64>, busy: f64) -> Numbers {
        let mut numbers = [None; READINGS];
        numbers[Reading::Load1.bit()] = load;
        numbers[Reading::CpuBusy.bit()] = Some(busy);
        numbers
    }

    fn recording() -> Recording {
        let rows = [(7, Some(0.25), 3.5), (8, Some(0.25), 3.5), (10, None, 100.0)];
        let rows =
            rows.map(|(sequence, load, busy)| Row { sequence, numbers: numbers(load, busy) });
        Recording::new(256, rows.to_vec()).expect("it is sound")
    }

    const GOLDEN: &str = "\
# tidings readings 1, unit_ms 256
sequence,kernel,cores,load1,load5,load15,cpu_busy_percent,mem_total_bytes,mem_available_bytes,\
swap_total_bytes,swap_used_bytes,disk_read_bytes_s,disk_write_bytes_s,net_rx_bytes_s,\
net_tx_bytes_s,temperature_c,power_w,uptime_s,psi_cpu_percent,psi_memory_percent,psi_io_percent
7,,,0.25,,,3.5,,,,,,,,,,,,,,
8,,,,,,,,,,,,,,,,,,,,
10,,,-,,,100,,,,,,,,,,,,,,
";

    #[test]
    fn golden_file() {
        assert_eq!(recording().text(), GOLDEN);
        assert_eq!(Recording::parse(GOLDEN), Ok(recording()));
        assert_eq!((recording().missed(), recording().unit_s()), (1, 0.256));
    }

    #[test]
    fn a_line_that_was_cut_off_is_left_out() {
        let cut = &GOLDEN[..GOLDEN.len() - 18];
        assert_eq!(
            Recording::parse(cut).expect("two rows are whole").rows(),
            &recording().rows()[..2]
        );
    }

    #[test]
    fn what_is_no_recording_is_refused_by_its_line() {
        let refused = |from: &str, to: &str| {
            let text = GOLDEN.replacen(from, to, 1);
            Recording::parse(&text).expect_err("it is none").to_string()
        };
        assert!(refused("readings 1", "readings 2").starts_with("line 1: a recording begins with"));
        assert!(refused("256", "0").starts_with("line 1: the unit"));
        assert!(refused("load1", "load").starts_with("line 2: the columns"));
        assert!(refused("8,,", "8,").starts_with("line 4: a row has 21 cells"));
        assert!(refused("8,,", "8,,,").starts_with("line 4: a row has 21 cells"));
        assert!(refused("8,,", "7,,").starts_with("line 4: sequences must ascend"));
        assert!(refused("8,,", "x,,").starts_with("line 4: a row begins with its sequence"));
        assert!(refused("3.5", "NaN").starts_with("line 3: a reading must be a number"));
        assert!(refused("3.5", "much").starts_with("line 3: a reading must be a number"));
        assert!(refused("3.5", &"1".repeat(2_000)).starts_with("line 3: a row has at most"));
        assert!(Recording::parse("").is_err());
        let head = GOLDEN.find("7,").expect("there is a row");
        let empty = Recording::parse(&GOLDEN[..head]).expect_err("no row").to_string();
        assert!(empty.starts_with("line 3: there is no row"), "{empty}");
    }
}
