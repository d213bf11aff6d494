//! Values: the arguments of a source, or those of an array, in about the bytes that they are
//! written in. A run has up to ten million of them.

use std::io;

/// Texts in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Values {
    /// One behind the other, and where each ends.
    Texts { all: String, ends: Vec<usize> },
    /// Ranges of numbers.
    Numbers(Vec<Numbers>),
}

/// Numbers of one range: the first one, and each that is a step further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Numbers {
    first: u32,
    step: u32,
    /// How many values there are up to its end, with those of the ranges before it.
    end: usize,
}

impl<'t> FromIterator<&'t str> for Values {
    fn from_iter<I: IntoIterator<Item = &'t str>>(texts: I) -> Self {
        let (mut all, mut ends) = (String::new(), Vec::new());
        for text in texts {
            all.push_str(text);
            ends.push(all.len());
        }
        Self::Texts { all, ends }
    }
}

impl Values {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Texts { ends, .. } => ends.len(),
            Self::Numbers(ranges) => ranges.last().map_or(0, |range| range.end),
        }
    }

    /// The one of this place, from 0; the empty text behind the last.
    pub(super) fn get(&self, at: usize) -> String {
        match self {
            Self::Texts { all, ends } => {
                let start = at.checked_sub(1).map_or(Some(0), |before| ends.get(before).copied());
                let text = start.zip(ends.get(at)).and_then(|(start, end)| all.get(start..*end));
                text.unwrap_or_default().to_owned()
            }
            Self::Numbers(ranges) => {
                let range = ranges.partition_point(|range| range.end <= at);
                let before = range.checked_sub(1).map_or(0, |before| ranges[before].end);
                let number = |range: &Numbers| range.first + range.step * (at - before) as u32;
                ranges.get(range).map_or_else(String::new, |range| number(range).to_string())
            }
        }
    }
}

/// The numbers of `1-1000`, `0-15:4` or `1,3,5-7`, as Slurm's `--array` has them; none if the text
/// is something else.
///
/// # Errors
/// There are more than `most`: so many, at least.
pub(super) fn numbers(text: &str, most: usize) -> Result<Option<Values>, usize> {
    let mut ranges = Vec::new();
    let mut end = 0;
    for part in text.split(',') {
        let Some((first, last, step)) = range(part) else { return Ok(None) };
        end += ((last - first) / step) as usize + 1;
        if end > most {
            return Err(end);
        }
        ranges.push(Numbers { first, step, end });
    }
    Ok(Some(Values::Numbers(ranges)))
}

/// First, last and step of a range.
fn range(part: &str) -> Option<(u32, u32, u32)> {
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let (range, step) = match part.split_once(':') {
        Some((range, step)) => (range, number(step)?),
        None => (part, 1),
    };
    let (first, last) = match range.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(range)?, number(range)?),
    };
    (step > 0 && first <= last).then_some((first, last, step))
}

/// The lines of a text in UTF-8, each of at most `longest` bytes. A last newline ends the last one.
///
/// # Errors
/// The number, from 1, of a line that is longer or no text.
pub(super) fn lines(mut bytes: Vec<u8>, longest: usize) -> Result<Values, usize> {
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    } else if bytes.is_empty() {
        return Ok(Values::Texts { all: String::new(), ends: Vec::new() });
    }
    let mut ends = Vec::new();
    let mut start = 0;
    for line in bytes.split(|byte| *byte == b'\n') {
        if line.len() > longest || std::str::from_utf8(line).is_err() {
            return Err(ends.len() + 1);
        }
        start += line.len();
        ends.push(start);
    }
    bytes.retain(|byte| *byte != b'\n');
    // Each line is a text, so all of them are one.
    let all = String::from_utf8(bytes).map_err(|_| ends.len())?;
    Ok(Values::Texts { all, ends })
}

/// All bytes of a reader.
pub(super) fn read(mut reader: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(values: &Values) -> Vec<String> {
        (0..values.len()).map(|at| values.get(at)).collect()
    }

    #[test]
    fn texts_are_what_they_were_made_of() {
        let texts = ["a b", "", "ü", ""];
        let values: Values = texts.into_iter().collect();
        assert_eq!((values.len(), all(&values)), (4, texts.map(str::to_owned).to_vec()));
        assert_eq!(values.get(4), "");
    }

    #[test]
    fn numbers_are_those_of_their_ranges() {
        for (text, expected) in [
            ("1-3", "1 2 3"),
            ("0-15:4", "0 4 8 12"),
            ("1,3,5-7", "1 3 5 6 7"),
            ("9", "9"),
            ("4294967295", "4294967295"),
        ] {
            let values = numbers(text, 10).unwrap().unwrap();
            assert_eq!(all(&values).join(" "), expected);
            assert_eq!(values.get(values.len()), "");
        }
        for text in ["", "3-1", "1-9:0", "a", "-1", "1-", "1--3", "1,"] {
            assert_eq!(numbers(text, 10), Ok(None), "{text}");
        }
        assert_eq!(numbers("1-7,8-11", 10), Err(11));
        assert_eq!(numbers("0-4294967295", 10), Err(1 << 32));
    }

    #[test]
    fn lines_are_cut_at_newlines() {
        for (text, expected) in
            [("", &[][..]), ("a b\n", &["a b"]), ("a\n\nb", &["a", "", "b"]), ("\n", &[""])]
        {
            assert_eq!(all(&lines(text.as_bytes().to_vec(), 10).unwrap()), expected, "{text:?}");
        }
        assert_eq!(lines(b"fine\n\xff\n".to_vec(), 10), Err(2));
        assert_eq!(lines(b"fine\nlonger\n".to_vec(), 5), Err(2));
    }
}
