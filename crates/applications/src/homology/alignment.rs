//! The best local alignment of two proteins, by affine gap costs: its score.
//!
//! A cell of the table is the best score of an alignment that ends at a residue of each. It follows
//! from the cells above, before and diagonally before, so one row of it is enough. A gap costs 11
//! for its first residue and 1 for each further one; residues score by BLOSUM62.
//!
//! Source: Smith and Waterman (1981); Gotoh (1982); Henikoff and Henikoff (1992) for BLOSUM62.

/// The twenty residues, in the order of the table's rows.
pub const RESIDUES: &[u8; 20] = b"ARNDCQEGHILKMFPSTWYV";

/// The first residue of a gap, and each further one.
const OPEN: i32 = 11;
const EXTEND: i32 = 1;

/// BLOSUM62 up to its diagonal.
#[rustfmt::skip]
const HALF: [&[i8]; 20] = [
    &[4],
    &[-1, 5],
    &[-2, 0, 6],
    &[-2, -2, 1, 6],
    &[0, -3, -3, -3, 9],
    &[-1, 1, 0, 0, -3, 5],
    &[-1, 0, 0, 2, -4, 2, 5],
    &[0, -2, 0, -1, -3, -2, -2, 6],
    &[-2, 0, 1, -1, -3, 0, 0, -2, 8],
    &[-1, -3, -3, -3, -1, -3, -3, -4, -3, 4],
    &[-1, -2, -3, -4, -1, -2, -3, -4, -3, 2, 4],
    &[-1, 2, 0, -1, -3, 1, 1, -2, -1, -3, -2, 5],
    &[-1, -1, -2, -3, -1, 0, -2, -3, -2, 1, 2, -1, 5],
    &[-2, -3, -3, -3, -2, -3, -3, -3, -1, 0, 0, -3, 0, 6],
    &[-1, -2, -2, -1, -3, -1, -1, -2, -2, -3, -3, -1, -2, -4, 7],
    &[1, -1, 1, 0, -1, 0, 0, 0, -1, -2, -2, 0, -1, -2, -1, 4],
    &[0, -1, 0, -1, -1, -1, -1, -2, -2, -1, -1, -1, -1, -2, -1, 1, 5],
    &[-3, -3, -4, -4, -2, -2, -3, -2, -2, -3, -2, -3, -1, 1, -4, -3, -2, 11],
    &[-2, -2, -2, -3, -2, -1, -2, -3, 2, -1, -1, -2, -1, 3, -3, -2, -2, 2, 7],
    &[0, -3, -3, -3, -1, -2, -2, -3, -3, 3, 1, -2, 1, -1, -2, -2, 0, -3, -1, 4],
];

/// What two residues score, by their numbers.
fn similarity(one: u8, other: u8) -> i32 {
    let (low, high) = (one.min(other), one.max(other));
    i32::from(HALF[usize::from(high)][usize::from(low)])
}

/// What the table needs of one column to go on in the next row.
#[derive(Clone, Copy)]
struct Cell {
    /// The best score of an alignment that ends here.
    best: i32,
    /// The best of one that ends here in a gap of the second protein.
    gap: i32,
}

/// The score of the best local alignment of two proteins, as numbers of [`RESIDUES`].
pub fn score(one: &[u8], other: &[u8]) -> i32 {
    let mut row = vec![Cell { best: 0, gap: 0 }; other.len()];
    let mut most = 0;
    for residue in one {
        let scores: [i32; 20] = core::array::from_fn(|at| similarity(*residue, at as u8));
        let (mut diagonal, mut before, mut gap_before) = (0, 0, 0);
        for (cell, other) in row.iter_mut().zip(other) {
            cell.gap = (cell.gap - EXTEND).max(cell.best - OPEN);
            gap_before = (gap_before - EXTEND).max(before - OPEN);
            let matched = diagonal + scores[usize::from(*other)];
            let best = matched.max(cell.gap).max(gap_before).max(0);
            diagonal = cell.best;
            (cell.best, before) = (best, best);
            most = most.max(best);
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<u8> {
        let number = |letter: u8| RESIDUES.iter().position(|one| *one == letter);
        text.bytes().map(|letter| number(letter).expect("a residue") as u8).collect()
    }

    fn of(one: &str, other: &str) -> i32 {
        score(&numbers(one), &numbers(other))
    }

    #[test]
    fn alignments_have_the_scores_that_one_adds_up_by_hand() {
        assert_eq!(of("", "W"), 0);
        assert_eq!(of("W", "W"), 11);
        assert_eq!(of("A", "W"), 0);
        // Local: what does not match on both sides is left out.
        assert_eq!(of("GGWWWGG", "PPWWWPP"), 33);
        // A gap of one residue, and of two.
        assert_eq!(of("WWWWWW", "WWWAWWW"), 66 - OPEN);
        assert_eq!(of("WWWWWW", "WWWAAWWW"), 66 - OPEN - EXTEND);
        assert_eq!(of("WWWAAWWW", "WWWWWW"), 66 - OPEN - EXTEND);
    }

    /// The definition: all alignments that end in a cell, by recursion without tables of gaps.
    #[test]
    fn it_is_the_best_of_all_alignments() {
        fn best(one: &[u8], other: &[u8], at: usize, to: usize) -> i32 {
            if at == 0 || to == 0 {
                return 0;
            }
            let gap = |length: usize| OPEN + EXTEND * (length as i32 - 1);
            let matched = best(one, other, at - 1, to - 1) + similarity(one[at - 1], other[to - 1]);
            let down = (1..=at).map(|length| best(one, other, at - length, to) - gap(length));
            let right = (1..=to).map(|length| best(one, other, at, to - length) - gap(length));
            down.chain(right).fold(matched.max(0), i32::max)
        }
        let (one, other) = (numbers("HEAGAW"), numbers("PAWHE"));
        let cells = (0..=one.len()).flat_map(|at| (0..=other.len()).map(move |to| (at, to)));
        let most = cells.map(|(at, to)| best(&one, &other, at, to)).max();
        assert_eq!(Some(score(&one, &other)), most);
    }

    #[test]
    fn scores_are_symmetric_and_a_protein_is_most_like_itself() {
        let (one, other) = ("MKTAYIAKQRQISFVKSHFSRQ", "MKTAYLAKQRISFVKSHWSRQ");
        assert_eq!(of(one, other), of(other, one));
        assert!(of(one, other) < of(one, one));
    }
}
