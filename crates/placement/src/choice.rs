//! The choice: some of the candidates that have what is needed, by a policy.

use core::fmt;
use core::str::FromStr;

use tidings_primitives::Chance;

use crate::candidate::{Candidate, Need};
use crate::shortfall::Unsatisfied;

/// By what candidates are chosen among those that have what is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// Repeatedly draws two and takes the one less loaded. The default: almost as good as the least
    /// loaded, and callers that see the same nodes do not all choose the same.
    #[default]
    TwoChoices,
    /// The least loaded. For one caller at a time: many at once form a herd.
    LeastLoaded,
    /// Any, with equal probability, whatever their load.
    Spread,
    /// The most loaded that still have what is needed: idle nodes stay idle, and can be switched
    /// off or kept for work that needs a whole node.
    Pack,
}

impl Policy {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::TwoChoices, Self::LeastLoaded, Self::Spread, Self::Pack];

    /// Its name on command lines and in requests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TwoChoices => "two-choices",
            Self::LeastLoaded => "least-loaded",
            Self::Spread => "spread",
            Self::Pack => "pack",
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no policy of this name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no policy is called `{0}`: there are two-choices, least-loaded, spread and pack")]
pub struct UnknownPolicy(pub String);

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        let named = Self::ALL.into_iter().find(|policy| policy.name() == text);
        named.ok_or_else(|| UnknownPolicy(text.to_owned()))
    }
}

/// Picks `wanted` candidates that have what is needed; returns their places in the slice, the best
/// first. Equals are chosen between at random, from `seed`.
///
/// # Errors
/// [`Unsatisfied`], with which need failed and by how much.
pub fn pick(
    candidates: &[Candidate],
    wanted: usize,
    need: Need,
    policy: Policy,
    seed: u64,
) -> Result<Vec<usize>, Unsatisfied> {
    let fit = |&at: &usize| candidates[at].has(need);
    let mut fitting: Vec<usize> = (0..candidates.len()).filter(fit).collect();
    if fitting.len() < wanted {
        return Err(Unsatisfied::of(candidates, wanted, need));
    }
    Chance::new(seed).shuffle(&mut fitting);
    let usual = usual(candidates);
    let load = |at: usize| candidates[at].expected(usual);
    match policy {
        Policy::TwoChoices => return Ok(of_two(fitting, wanted, load)),
        Policy::LeastLoaded => fitting.sort_by(|&a, &b| load(a).total_cmp(&load(b))),
        Policy::Pack => fitting.sort_by(|&a, &b| load(b).total_cmp(&load(a))),
        Policy::Spread => {}
    }
    fitting.truncate(wanted);
    Ok(fitting)
}

/// From a shuffled list, repeatedly the better of the next two; the other waits for
/// its next turn.
fn of_two(mut shuffled: Vec<usize>, wanted: usize, load: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut picked = Vec::with_capacity(wanted);
    while picked.len() < wanted {
        let Some(one) = shuffled.pop() else { break };
        let better = match shuffled.pop() {
            Some(other) if load(other) < load(one) => {
                shuffled.insert(0, one);
                other
            }
            Some(other) => {
                shuffled.insert(0, other);
                one
            }
            None => one,
        };
        picked.push(better);
    }
    picked
}

/// The share of all processors that is busy.
fn usual(candidates: &[Candidate]) -> f64 {
    let all: f64 = candidates.iter().map(|candidate| candidate.cpus).sum();
    let busy: f64 = candidates.iter().map(|one| one.busy_cpus.min(one.cpus)).sum();
    if all > 0.0 { busy / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(count: u32) -> Vec<Candidate> {
        let node = |n| Candidate::idle(&format!("n{n}"), 8.0, 64).with_busy_cpus(f64::from(n % 9));
        (0..count).map(node).collect()
    }

    const NEED: Need = Need { cpus: 2.0, mem_bytes: 64 };

    #[test]
    fn a_picked_node_has_what_is_needed_and_is_picked_once() {
        let nodes = nodes(90);
        for policy in Policy::ALL {
            for seed in 0..20 {
                let mut picked = pick(&nodes, 40, NEED, policy, seed).expect("70 will do");
                assert!(picked.iter().all(|&at| nodes[at].has(NEED)), "{policy}");
                picked.sort_unstable();
                picked.dedup();
                assert_eq!(picked.len(), 40, "{policy}");
            }
        }
    }

    #[test]
    fn policies_do_what_their_names_say() {
        let nodes = nodes(90);
        let mean = |policy: Policy| {
            let picks = (0..200).flat_map(|seed| pick(&nodes, 5, NEED, policy, seed));
            let loads: Vec<f64> = picks.flatten().map(|at| nodes[at].busy_cpus).collect();
            loads.iter().sum::<f64>() / loads.len() as f64
        };
        let [two, least, spread, pack] = Policy::ALL.map(mean);
        // 0 to 6 processors are busy, each on ten nodes: 3 on average; the lesser of two, 2.
        assert!(least < 1e-9 && (pack - 6.0).abs() < 1e-9);
        assert!((spread - 3.0).abs() < 0.2 && (two - 2.0).abs() < 0.2, "{two} {spread}");
        assert_eq!("pack".parse(), Ok(Policy::Pack));
        assert!("best".parse::<Policy>().is_err());
    }
}
