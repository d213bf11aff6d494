//! Company: whether this node is among others, as the operator expects.
//!
//! A node with a wrong key, name or seed sees no error: it just hears nobody. So it knows from
//! elsewhere that there should be others: from `min_members`, from the roster, from the number of
//! members that its last life knew (a file in the runtime directory), or from its seeds. It is
//! *alone* while none of them is alive here.
//!
//! Members that have said farewell are not expected any more. Deaths of some are no illness of this
//! node, so fewer members than expected make it unhealthy only below `min_members`, which the
//! operator sets.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidings_control::States;
use tidings_gossip::{EntryState, Instant, Node};

use crate::home;

/// The file in the runtime directory with the number of members.
const FILE: &str = "members";

/// How long the number must have been another before it is written.
const SETTLED: Duration = Duration::from_secs(10);

/// Looks within the time for which there may be nobody: a walk over all members each.
const LOOKS: u32 = 8;

/// The most that the file may say: more is damage.
const MOST: u32 = 1 << 24;

/// What this node knows of its company.
#[derive(Debug)]
pub(super) struct Company {
    path: PathBuf,
    /// What the operator, the roster or the last life says.
    expected: Option<u32>,
    /// The least number of living members that the operator asks for.
    least: Option<u32>,
    /// The number in the file.
    kept: Option<u32>,
    /// Another number, and since when.
    other: Option<(u32, Instant)>,
    /// How long there may be nobody.
    patience: Duration,
    /// When there were enough last; the start at first.
    accompanied: Instant,
    next_look: Instant,
    states: States,
    is_alone: bool,
    is_few: bool,
}

impl Company {
    /// Of a node with a runtime directory; `roster` members on its roster, or with seeds.
    pub(super) fn new(
        runtime_dir: &Path,
        least: Option<u32>,
        roster: Option<u32>,
        patience: Duration,
    ) -> Self {
        let path = runtime_dir.join(FILE);
        let kept = read(&path);
        Self {
            path,
            expected: least.or(roster).or(kept),
            least,
            kept,
            other: None,
            patience,
            accompanied: Instant::EPOCH,
            next_look: Instant::EPOCH,
            states: States { alive: 1, ..States::default() },
            is_alone: false,
            is_few: false,
        }
    }

    /// Another configuration applies; what the last life knew is then long known to be so or not.
    pub(super) fn set_expected(&mut self, least: Option<u32>, roster: Option<u32>) {
        self.least = least;
        self.expected = least.or(roster).or(self.kept);
    }

    /// How many members there should be, as far as anything says so; with a seed at least two.
    pub(super) fn expected(&self, seeds: usize) -> Option<u32> {
        self.expected.or((seeds > 0).then_some(2))
    }

    /// Whether nobody else is alive although others are expected.
    pub(super) fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// How many are alive, and how many the operator asks for, if those are too few.
    pub(super) fn lack(&self) -> Option<(u32, u32)> {
        let least = self.least.filter(|_| self.is_few)?;
        Some((self.states.alive, least))
    }

    /// Looks at the members, now and then; `seeds` of other nodes are known.
    pub(super) fn look(&mut self, now: Instant, node: &Node, seeds: usize) {
        if now >= self.next_look {
            self.next_look = now + self.patience / LOOKS;
            self.judge(now, count(node, now), seeds);
        }
    }

    fn judge(&mut self, now: Instant, states: States, seeds: usize) {
        self.states = states;
        let alive = states.alive + states.suspected;
        let all_left = states.left > 0 && states.dead + states.unheard == 0;
        let expects = self.expected(seeds).is_some_and(|expected| expected > 1) && !all_left;
        let few = self.least.is_some_and(|least| alive < least);
        let nobody = alive <= 1 && expects;
        if !nobody && !few {
            self.accompanied = now;
        }
        let late = now.saturating_since(self.accompanied) >= self.patience;
        (self.is_alone, self.is_few) = (nobody && late, few && late);
    }

    /// Writes how many members there are once the number has settled, so that the next life knows.
    ///
    /// # Errors
    /// The file cannot be written; it is tried again at the next number.
    pub(super) fn keep(&mut self, now: Instant) -> io::Result<()> {
        let alive = self.states.alive + self.states.suspected;
        // Of a node that is alone the last life knew more.
        if alive <= 1 || self.kept == Some(alive) {
            self.other = None;
            return Ok(());
        }
        match self.other {
            Some((other, since)) if other == alive => {
                if now.saturating_since(since) < SETTLED {
                    return Ok(());
                }
            }
            _ => {
                self.other = Some((alive, now));
                return Ok(());
            }
        }
        (self.kept, self.other) = (Some(alive), None);
        home::replace(&self.path, &format!("{alive}\n"))
    }
}

/// The number in the file; `None` if there is none, or it is damaged.
fn read(path: &Path) -> Option<u32> {
    let number = fs::read_to_string(path).ok()?.trim().parse().ok()?;
    (1..=MOST).contains(&number).then_some(number)
}

/// Members by state.
pub(super) fn count(node: &Node, now: Instant) -> States {
    let mut states = States::default();
    for view in node.entries(now) {
        *match view.state {
            EntryState::Alive => &mut states.alive,
            EntryState::Suspected => &mut states.suspected,
            EntryState::Dead => &mut states.dead,
            EntryState::Left => &mut states.left,
            EntryState::Unheard => &mut states.unheard,
        } += 1;
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    fn at(seconds: i64) -> Instant {
        Instant::from_micros(seconds * 1_000_000)
    }

    fn alive(alive: u32) -> States {
        States { alive, ..States::default() }
    }

    fn company(directory: &Path, least: Option<u32>, roster: Option<u32>) -> Company {
        Company::new(directory, least, roster, PATIENCE)
    }

    #[test]
    fn who_expects_nobody_is_never_alone() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut company = company(directory.path(), None, None);
        company.judge(at(100), alive(1), 0);
        assert_eq!((company.is_alone(), company.expected(0)), (false, None));
        company.judge(at(110), alive(1), 1);
        assert_eq!(
            (company.is_alone(), company.expected(1)),
            (true, Some(2)),
            "a seed is expected"
        );
    }

    #[test]
    fn alone_is_who_hears_nobody_for_long() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut company = company(directory.path(), None, Some(3));
        company.judge(at(9), alive(1), 0);
        assert!(!company.is_alone(), "others may be late");
        company.judge(at(10), alive(1), 0);
        assert!(company.is_alone());
        company.judge(at(11), alive(2), 0);
        assert!(!company.is_alone() && company.lack().is_none());
        let gone = States { alive: 1, dead: 2, ..States::default() };
        company.judge(at(21), gone, 0);
        assert!(company.is_alone(), "the dead are no company");
        company.judge(at(22), States { alive: 1, left: 2, ..States::default() }, 0);
        assert!(!company.is_alone(), "all have said farewell");
    }

    #[test]
    fn below_the_least_number_of_members_it_lacks_some() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut company = company(directory.path(), Some(4), Some(8));
        company.judge(at(10), alive(3), 0);
        assert_eq!((company.lack(), company.expected(0)), (Some((3, 4)), Some(4)));
        company.judge(at(11), alive(4), 0);
        assert_eq!(company.lack(), None);
    }

    #[test]
    fn the_next_life_expects_what_the_last_one_knew() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut first = company(directory.path(), None, None);
        for (second, number) in [(0, 2), (5, 3), (14, 3), (15, 3), (16, 1), (60, 1)] {
            first.judge(at(second), alive(number), 0);
            first.keep(at(second)).expect("writable");
        }
        let second = company(directory.path(), None, None);
        assert_eq!(second.expected(0), Some(3), "not that it was alone at last");
        fs::write(directory.path().join(FILE), "rubbish").expect("writable");
        assert_eq!(company(directory.path(), None, None).expected(0), None);
    }
}
