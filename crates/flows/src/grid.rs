//! A grid of ranks in two dimensions whose ends meet, as MPI_Dims_create and MPI_Cart_create make
//! it: the sides as alike as the number allows, the second coordinate fastest.

/// How many neighbours a rank has.
pub const NEIGHBOURS: usize = 4;

/// A grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    sides: [u32; 2],
}

impl Grid {
    /// The grid of so many ranks.
    pub fn of(ranks: u32) -> Self {
        let root = f64::from(ranks).sqrt().floor() as u32;
        let smaller = (1..=root.max(1)).rev().find(|side| ranks % side == 0).unwrap_or(1);
        Self { sides: [ranks / smaller, smaller] }
    }

    /// The neighbours of a rank: before and after it along each side.
    pub fn neighbours(self, rank: u32) -> [u32; NEIGHBOURS] {
        let [high, wide] = self.sides;
        let (row, column) = (rank / wide, rank % wide);
        let at = |row: u32, column: u32| (row % high) * wide + column % wide;
        [
            at(row + high - 1, column),
            at(row + 1, column),
            at(row, column + wide - 1),
            at(row, column + 1),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_as_alike_as_can_be_and_ends_meet() {
        assert_eq!(Grid::of(131_072).sides, [512, 256]);
        assert_eq!((Grid::of(54).sides, Grid::of(7).sides), ([9, 6], [7, 1]));
        assert_eq!(Grid::of(12).sides, [4, 3]);
        assert_eq!(Grid::of(12).neighbours(0), [9, 3, 2, 1]);
    }

    #[test]
    fn a_neighbours_neighbour_is_the_rank_itself() {
        let grid = Grid::of(24);
        for rank in 0..24 {
            let around = grid.neighbours(rank);
            for (side, neighbour) in around.iter().enumerate() {
                assert_eq!(grid.neighbours(*neighbour)[side ^ 1], rank);
            }
        }
    }
}
