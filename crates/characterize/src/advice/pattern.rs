//! A pattern: which ranks send to which, over and over, as an application's exchange does.

use std::collections::BTreeMap;

use super::error::AdviceError;

/// More ranks than this are not advised about.
pub(super) const MOST_RANKS: u32 = 65_536;
/// More lines of a file are not read.
const MOST_LINES: usize = 1 << 20;
/// A message may be this many times as large as another.
const MOST_WEIGHT: f64 = 1e9;

/// A message from rank to rank, in each exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// Who sends.
    pub from: u32,
    /// Who receives.
    pub to: u32,
    /// Its size, in sizes of a message.
    pub weight: f64,
}

/// Which ranks send to which.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// Ranks of the application.
    pub ranks: usize,
    /// Messages of an exchange, in the order of their senders.
    pub messages: Vec<Message>,
    /// The sides of the grid that the ranks are, if they are one; the last changes fastest.
    pub grid: Option<Vec<u32>>,
}

impl Pattern {
    /// Ranks on a grid such as `8x4`, of which each sends to the next one in every direction, also
    /// around its ends unless it is open. Ranks are numbered as MPI_Cart_create does.
    ///
    /// # Errors
    /// [`AdviceError::Grid`].
    pub fn of_grid(given: &str, is_open: bool) -> Result<Self, AdviceError> {
        let refused = || AdviceError::Grid { given: given.to_owned(), most: MOST_RANKS };
        let sides: Result<Vec<u32>, _> = given.split('x').map(str::parse).collect();
        let sides = sides.map_err(|_| refused())?;
        let ranks = sides.iter().try_fold(1_u32, |product, side| product.checked_mul(*side));
        let ranks = ranks.filter(|ranks| (1..=MOST_RANKS).contains(ranks)).ok_or_else(refused)?;
        if !(2..=3).contains(&sides.len()) {
            return Err(refused());
        }
        let mut messages = Vec::new();
        for from in 0..ranks {
            let mut stride = 1;
            for &side in sides.iter().rev() {
                let at = from / stride % side;
                for (is_end, next) in
                    [(at + 1 == side, (at + 1) % side), (at == 0, (at + side - 1) % side)]
                {
                    let to = from - at * stride + next * stride;
                    if to != from && !(is_open && is_end) {
                        messages.push(Message { from, to, weight: 1.0 });
                    }
                }
                stride *= side;
            }
        }
        Ok(Self { ranks: ranks as usize, messages, grid: Some(sides) })
    }

    /// A file with a line for each message: who sends, who receives and, if messages differ, its
    /// size as a multiple of the others. What follows `#` is not read.
    ///
    /// # Errors
    /// [`AdviceError::Neighbours`] with the line.
    pub fn of_text(text: &str, file: &str) -> Result<Self, AdviceError> {
        let refused = |line: usize, reason: String| AdviceError::Neighbours {
            file: file.to_owned(),
            line: line + 1,
            reason,
        };
        let mut weights: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            if at >= MOST_LINES {
                return Err(refused(at, format!("more than {MOST_LINES} lines: name fewer")));
            }
            let words: Vec<&str> =
                line.split('#').next().unwrap_or_default().split_whitespace().collect();
            if words.is_empty() {
                continue;
            }
            let message = message(&words).map_err(|reason| refused(at, reason))?;
            *weights.entry((message.from, message.to)).or_insert(0.0) += message.weight;
        }
        let ranks = weights.keys().map(|(from, to)| from.max(to) + 1).max();
        let ranks = ranks.ok_or_else(|| {
            refused(0, "no message: write a line for each, such as `0 1`".to_owned())
        })?;
        let messages = weights.into_iter().map(|((from, to), weight)| Message { from, to, weight });
        Ok(Self { ranks: ranks as usize, messages: messages.collect(), grid: None })
    }

    /// The ranks that each rank sends to or receives from, with the size of what they exchange.
    pub fn partners(&self) -> Vec<Vec<(usize, f64)>> {
        let mut partners = vec![Vec::new(); self.ranks];
        for own in &self.messages {
            let (from, to) = (own.from as usize, own.to as usize);
            partners[from].push((to, own.weight));
            partners[to].push((from, own.weight));
        }
        partners
    }
}

/// The message of a line.
fn message(words: &[&str]) -> Result<Message, String> {
    let form = || "write who sends, who receives and, if you like, a size: `0 1` or `0 1 2.5`";
    if !(2..=3).contains(&words.len()) {
        return Err(form().to_owned());
    }
    let rank = |word: &str| {
        let rank: Option<u32> = word.parse().ok().filter(|rank| *rank < MOST_RANKS);
        rank.ok_or_else(|| format!("`{word}` is no rank from 0 to {}: {}", MOST_RANKS - 1, form()))
    };
    let (from, to) = (rank(words[0])?, rank(words[1])?);
    let weight: f64 = words.get(2).map_or(Ok(1.0), |word| word.parse()).map_err(|_| form())?;
    if from == to {
        return Err(format!("rank {from} sends to itself, which no placement changes: remove it"));
    }
    if !(weight > 0.0 && weight <= MOST_WEIGHT) {
        return Err(format!("{weight} is no size: write one above 0, {MOST_WEIGHT:e} at most"));
    }
    Ok(Message { from, to, weight })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(pattern: &Pattern, from: u32) -> Vec<u32> {
        pattern.messages.iter().filter(|own| own.from == from).map(|own| own.to).collect()
    }

    #[test]
    fn a_grid_has_a_neighbour_on_each_side() {
        let around = Pattern::of_grid("3x4", false).expect("a grid");
        assert_eq!((around.ranks, around.messages.len()), (12, 48));
        assert_eq!(edges(&around, 0), [1, 3, 4, 8], "the last side changes fastest");
        let open = Pattern::of_grid("3x4", true).expect("a grid");
        assert_eq!(edges(&open, 0), [1, 4]);
        assert_eq!(edges(&Pattern::of_grid("2x2x2", true).expect("a grid"), 7), [6, 5, 3]);
        for wrong in ["8", "0x4", "-1x4", "8x", "4x4x4x4", "70000x70000", "x", ""] {
            let said = Pattern::of_grid(wrong, false).expect_err(wrong).to_string();
            assert!(said.contains("such as 8x4"), "{said}");
        }
    }

    #[test]
    fn a_file_has_a_message_on_each_line_and_mistakes_are_named_by_line() {
        let text = "# ring\n0 1\n1 2 2.5 # large\n\n2 0\n0 1 3\n";
        let pattern = Pattern::of_text(text, "ring").expect("a file");
        assert_eq!(pattern.ranks, 3);
        assert_eq!(pattern.messages[0], Message { from: 0, to: 1, weight: 4.0 }, "both of them");
        assert_eq!(pattern.partners()[2], [(1, 2.5), (0, 1.0)]);
        for (text, line, said) in [
            ("", 1, "no message"),
            ("0 1\n0", 2, "who receives"),
            ("0 1 2 3", 1, "who receives"),
            ("0 65536", 1, "no rank from 0 to 65535"),
            ("0 -1", 1, "no rank"),
            ("0 1 inf", 1, "no size"),
            ("0 1 NaN", 1, "no size"),
            ("0 1 x", 1, "a size"),
            ("\n3 3", 2, "sends to itself"),
        ] {
            let refused = Pattern::of_text(text, "f").expect_err(text).to_string();
            assert!(refused.starts_with(&format!("f:{line}: ")), "{text}: {refused}");
            assert!(refused.contains(said), "{text}: {refused}");
        }
    }
}
