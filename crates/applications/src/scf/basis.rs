//! The functions that describe electrons: fifteen Gaussians for each beryllium atom.
//!
//! Nine are centred at the atom, with exponents from 1741 (close to the nucleus) to 0.06 (far from
//! it); six of exponent 0.3 lie around it along the axes. Wide functions overlap with those of the
//! next atoms and narrow ones do not, which is why costs differ so much. The input of the example
//! puts sixteen atoms in a line.

/// Exponents of the functions at an atom.
const EXPONENTS: [f64; 9] = [1741.0, 262.1, 60.33, 17.62, 5.933, 2.185, 0.859, 0.1806, 0.058_35];

/// Where the functions around an atom lie, in atomic units, and their exponent.
const REACH: f64 = 1.6;
const AROUND: f64 = 0.3;

/// From one atom to the next, in atomic units.
const DISTANCE: f64 = 4.0;

/// A Gaussian, normalised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaussian {
    /// Its centre.
    pub centre: [f64; 3],
    /// How fast it falls with the square of the distance.
    pub exponent: f64,
    /// The factor that makes its square integrate to 1.
    pub norm: f64,
}

impl Gaussian {
    fn new(centre: [f64; 3], exponent: f64) -> Self {
        Self { centre, exponent, norm: (2.0 * exponent / core::f64::consts::PI).powf(0.75) }
    }
}

/// The functions of some atoms.
#[derive(Clone, Debug)]
pub struct Basis(Vec<Gaussian>);

impl Basis {
    /// Atoms at the points of a grid of this many a side, z fastest. In all they must be a
    /// multiple of four, as blocks of twenty functions hold four thirds of an atom.
    ///
    /// # Panics
    /// If they are not.
    pub fn grid(sides: [usize; 3]) -> Self {
        let atoms: usize = sides.iter().product();
        assert!(atoms > 0 && atoms % 4 == 0, "{atoms} atoms are no multiple of four");
        let place = |at: usize| DISTANCE * at as f64;
        let [_, y, z] = sides;
        let atom = |at: usize| [place(at / (y * z)), place(at / z % y), place(at % z)];
        Self((0..atoms).flat_map(|at| functions(atom(at))).collect())
    }

    /// Atoms in a line.
    pub fn line(atoms: usize) -> Self {
        Self::grid([atoms, 1, 1])
    }

    /// How many functions there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A function by its number.
    pub fn function(&self, number: usize) -> &Gaussian {
        &self.0[number]
    }
}

/// The functions of an atom.
fn functions(atom: [f64; 3]) -> impl Iterator<Item = Gaussian> {
    let at = EXPONENTS.into_iter().map(move |exponent| Gaussian::new(atom, exponent));
    let around = (0..3).flat_map(move |axis| {
        [REACH, -REACH].map(|reach| {
            let mut centre = atom;
            centre[axis] += reach;
            Gaussian::new(centre, AROUND)
        })
    });
    at.chain(around)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_atom_has_fifteen_functions() {
        let basis = Basis::grid([2, 2, 1]);
        assert_eq!((basis.len(), basis.is_empty()), (60, false));
        let centre = |at: usize| basis.function(at).centre.map(|part| (10.0 * part).round() as i32);
        assert_eq!(centre(15), [0, 40, 0]);
        assert_eq!(centre(9), [16, 0, 0]);
        assert_eq!(centre(59), [40, 40, -16]);
    }

    #[test]
    #[should_panic(expected = "no multiple of four")]
    fn blocks_that_are_not_full_are_refused() {
        Basis::line(6);
    }
}
