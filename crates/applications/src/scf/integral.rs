//! Integrals of Gaussians: overlap, and the repulsion of two pairs of them.
//!
//! The product of two Gaussians is a Gaussian between them, so four become two, and the repulsion
//! of these depends on their distance by the Boys function F₀(t) = ∫₀¹ exp(−t u²) du. It is
//! tabulated: a Taylor polynomial from the nearest of 2,001 points is good to 4·10⁻¹³, and above
//! t = 28 F₀(t) = √(π/t)/2 to the last digit.
//!
//! By the inequality of Schwarz (ij|kl)² ≤ (ij|ij)·(kl|kl), which gives the bounds.
//!
//! Source: Boys (1950); Shavitt (1963) for the table; Häser and Ahlrichs (1989) for the bound.

use core::f64::consts::PI;

use super::basis::{Basis, Gaussian};
use super::matrix::Matrix;

/// Exponents of e below this are taken as −∞: what they give is below the rounding of any sum
/// here.
const NOTHING: f64 = -37.0;

/// Where the table ends, its distance between points, and the terms of its polynomials.
const END: f64 = 28.0;
const POINTS: usize = 2001;
const STEP: f64 = END / (POINTS - 1) as f64;
const TERMS: usize = 5;

/// The product of two Gaussians.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    centre: [f64; 3],
    exponent: f64,
    /// The logarithm of the factor by which their distance makes it smaller.
    fall: f64,
    norm: f64,
}

impl Pair {
    /// Of these two.
    pub fn new(one: &Gaussian, other: &Gaussian) -> Self {
        let exponent = one.exponent + other.exponent;
        let reduced = one.exponent * other.exponent / exponent;
        let mut centre = [0.0; 3];
        for (axis, place) in centre.iter_mut().enumerate() {
            let weighted = one.centre[axis] * one.exponent + other.centre[axis] * other.exponent;
            *place = weighted / exponent;
        }
        let fall = -reduced * squared_distance(&one.centre, &other.centre);
        Self { centre, exponent, fall, norm: one.norm * other.norm }
    }
}

/// The repulsion (ij|kl) of two pairs.
pub fn repulsion(boys: &Boys, left: &Pair, right: &Pair) -> f64 {
    let (sum, product) = (left.exponent + right.exponent, left.exponent * right.exponent);
    let distance = squared_distance(&left.centre, &right.centre);
    let height = 2.0 * PI.powf(2.5) / (product * sum.sqrt());
    let fall = exponential(left.fall + right.fall);
    height * fall * boys.at(product / sum * distance) * left.norm * right.norm
}

/// The overlap of two functions.
pub fn overlap(basis: &Basis, i: usize, j: usize) -> f64 {
    let pair = Pair::new(basis.function(i), basis.function(j));
    (PI / pair.exponent).powf(1.5) * exponential(pair.fall) * pair.norm
}

/// √(ij|ij) for each pair of functions.
pub fn bounds(basis: &Basis) -> Matrix {
    let boys = Boys::new();
    Matrix::of(basis.len(), |i, j| {
        // The same for (i, j) and (j, i), to the last bit.
        let pair = Pair::new(basis.function(i.min(j)), basis.function(i.max(j)));
        repulsion(&boys, &pair, &pair).sqrt()
    })
}

fn squared_distance(one: &[f64; 3], other: &[f64; 3]) -> f64 {
    one.iter().zip(other).map(|(one, other)| (one - other) * (one - other)).sum()
}

fn exponential(exponent: f64) -> f64 {
    if exponent < NOTHING { 0.0 } else { exponent.exp() }
}

/// The Boys function of order 0, as a table of those of orders 0 to 4.
#[derive(Debug)]
pub struct Boys(Vec<[f64; TERMS]>);

impl Boys {
    /// Makes the table.
    pub fn new() -> Self {
        Self((0..POINTS).map(|at| orders(STEP * at as f64)).collect())
    }

    /// F₀(t).
    pub fn at(&self, t: f64) -> f64 {
        if t >= END {
            return 0.5 * (PI / t).sqrt();
        }
        let point = ((t + 0.5 * STEP) / STEP) as usize;
        let x = STEP * point as f64 - t;
        let terms = &self.0[point];
        terms[0] + x * (terms[1] + x / 2.0 * (terms[2] + x / 3.0 * (terms[3] + x / 4.0 * terms[4])))
    }
}

impl Default for Boys {
    fn default() -> Self {
        Self::new()
    }
}

/// F₀(t) to F₄(t), by recursion down from an order so high that starting at 0 makes no
/// difference.
fn orders(t: f64) -> [f64; TERMS] {
    let (fall, mut value, mut orders) = ((-t).exp(), 0.0, [0.0; TERMS]);
    for order in (0..=200).rev() {
        value = (fall + 2.0 * t * value) / f64::from(2 * order + 1);
        if let Some(place) = orders.get_mut(order as usize) {
            *place = value;
        }
    }
    orders
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The integral itself, by Simpson's rule.
    fn integrated(t: f64) -> f64 {
        let steps = 2_000;
        let weight = |at: i32| match at {
            0 => 1.0,
            at if at == steps => 1.0,
            at => f64::from(2 + 2 * (at % 2)),
        };
        let value = |at: i32| (-t * (f64::from(at) / f64::from(steps)).powi(2)).exp();
        (0..=steps).map(|at| weight(at) * value(at)).sum::<f64>() / f64::from(3 * steps)
    }

    #[test]
    fn the_table_is_the_integral() {
        let boys = Boys::new();
        for t in [0.0, 1e-9, 0.007, 0.5, 1.234_567, 9.99, 27.993, 27.999, 28.0, 60.0] {
            let error = (boys.at(t) / integrated(t) - 1.0).abs();
            assert!(error < 1e-12, "{t}: {error}");
        }
    }

    #[test]
    fn functions_are_normalised() {
        let basis = Basis::line(4);
        for at in 0..basis.len() {
            assert!((overlap(&basis, at, at) - 1.0).abs() < 1e-12, "{at}");
        }
    }

    /// Two unit charges far from each other repel as points do.
    #[test]
    fn distant_charges_repel_by_their_distance() {
        let basis = Basis::line(16);
        let pair = |at| Pair::new(basis.function(at), basis.function(at));
        let value = repulsion(&Boys::new(), &pair(0), &pair(15 * 15));
        assert!((value - 1.0 / 60.0).abs() < 1e-12, "{value}");
    }

    #[test]
    fn no_integral_is_above_its_bound() {
        let (basis, boys) = (Basis::line(4), Boys::new());
        let bounds = bounds(&basis);
        for (i, j, k, l) in [(0, 1, 2, 3), (8, 22, 14, 37), (7, 59, 53, 8), (9, 10, 11, 12)] {
            let pair = |i, j| Pair::new(basis.function(i), basis.function(j));
            let value = repulsion(&boys, &pair(i, j), &pair(k, l));
            assert!(value <= bounds.at(i, j) * bounds.at(k, l) * (1.0 + 1e-12));
        }
    }
}
