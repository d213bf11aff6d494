//! Agents that all together get a twentieth of a processor, for forty units of time.
//!
//! How old their news becomes meanwhile is measured by `studies/faults/run`; here it counts that
//! nobody takes another for dead.

use tidings_experiment::agents::{Boards, Site};
use tidings_experiment::hosts::Hosts;
use tidings_experiment::quota::Quota;

use super::{HOSTS, all};

const PERCENT: f64 = 5.0;
/// Looks at the boards; between two of them the first agent makes a round.
const ROUNDS: usize = 40;

#[test]
fn a_twentieth_of_a_processor_for_all_kills_nobody() {
    let quota = Quota::new();
    let site = Site::new(Hosts::new(HOSTS), &["--interval", "256ms"]);
    for host in all() {
        quota.admit(site.agent(host).process());
    }
    let mut boards = Boards::of(&site, &all());
    quota.limit(PERCENT);
    for _ in 0..ROUNDS {
        let round = boards.round();
        site.cluster
            .until("a starved agent makes a round", |_| (boards.round() != round).then_some(()));
        assert_eq!(boards.look().estranged, 0);
    }
    assert!(quota.throttled().0 > 0, "a quota that is never used up is none");
    quota.lift();
    site.until_all_know(&all());
    site.assert_nobody_died(&all());
}
