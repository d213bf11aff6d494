//! Folding names back into a hostlist, for display.
//!
//! Neighbours that differ in one number only become a run; a run is written as one pattern. Only
//! neighbours are folded, so that reading the text gives the same names in the same order.

use super::hostlist::{Range, digits, number, push_number};

/// Writes names as a hostlist: `n[0001-8192],login1`. Names keep their order, so that neighbours
/// are folded only where [`parse`](super::parse) gives them back in that order. No names give an
/// empty text.
pub fn compress<S: AsRef<str>>(names: &[S]) -> String {
    let mut text = String::new();
    let mut runs = names.iter().map(AsRef::as_ref).peekable();
    while let Some(first) = runs.next() {
        if !text.is_empty() {
            text.push(',');
        }
        let Some(mut run) = runs.peek().and_then(|second| Run::between(first, second)) else {
            text.push_str(first);
            continue;
        };
        while runs.next_if(|name| run.take(name)).is_some() {}
        run.write(&mut text);
    }
    text
}

/// Names that differ in one number only, while they are folded.
struct Run<'t> {
    head: &'t str,
    tail: &'t str,
    ranges: Vec<Range>,
}

impl<'t> Run<'t> {
    /// A run that holds `first` and could take `second`: they differ in exactly one number.
    fn between(first: &'t str, second: &str) -> Option<Self> {
        let (a, b) = (first.as_bytes(), second.as_bytes());
        let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
        let head = a[..same].iter().rposition(|c| !c.is_ascii_digit()).map_or(0, |at| at + 1);
        let same = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
        let alike = &a[a.len() - same..];
        let digits = alike.iter().take_while(|c| c.is_ascii_digit()).count();
        let tail = same - digits;
        let mut run =
            Self { head: first.get(..head)?, tail: first.get(a.len() - tail..)?, ranges: vec![] };
        let differs = first != second && run.number_in(second).is_some();
        (differs && run.take(first)).then_some(run)
    }

    /// The number by which `name` belongs to the run, with its width.
    fn number_in(&self, name: &str) -> Option<(u64, usize)> {
        let digits = name.strip_prefix(self.head)?.strip_suffix(self.tail)?;
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if plain { Some((number(digits).ok()?, digits.len())) } else { None }
    }

    /// Takes `name` in, if it belongs to the run.
    fn take(&mut self, name: &str) -> bool {
        let Some((number, width)) = self.number_in(name) else {
            return false;
        };
        match self.ranges.last_mut() {
            Some(range) if number == range.last + 1 && width == range.width.max(digits(number)) => {
                range.last = number;
            }
            _ => self.ranges.push(Range { first: number, last: number, width }),
        }
        true
    }

    fn write(&self, text: &mut String) {
        text.push_str(self.head);
        for (index, range) in self.ranges.iter().enumerate() {
            text.push(if index == 0 { '[' } else { ',' });
            push_number(text, range.first, range.width);
            if range.last > range.first {
                text.push('-');
                push_number(text, range.last, range.width);
            }
        }
        text.push(']');
        text.push_str(self.tail);
    }
}
