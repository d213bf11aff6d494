//! The agent's side of the board: where it is, when it is made, and how it follows the node.
//!
//! A board must be in memory: in the runtime directory if that is tmpfs, else in `/dev/shm` with a
//! link to it, since pages of a file on a disk are written back repeatedly, and a writer to such a
//! page waits meanwhile. If neither is in memory, the board is on the disk, and the log and the
//! status report that. After each batch of datagrams the members that changed are written, and
//! nothing else.
//!
//! A board is a service to readers, never a condition: if it cannot be made, the agent logs that,
//! continues without it, and tries again later. Invariants: at most one slot per member is written
//! in each turn of the loop; memory is that of the file, and none is allocated in between.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::statfs;
use rustix::process::geteuid;
use tidings_board::{News, Outline, State, WriteError, Writer, board_path};
use tidings_gossip::{Change, EntryState, EntryView, Instant, Node};

use crate::clock::Clock;
use crate::config::{BoardPlace, Settings};
use crate::large_pages;

/// The directory in memory, for when the runtime directory is not in memory.
const SHARED_MEMORY: &str = "/dev/shm";
/// The types of file systems in memory: tmpfs and ramfs.
const IN_MEMORY: [i64; 2] = [0x0102_1994, 0x8584_58F6];
/// Slots of the smallest board.
const LEAST_SLOTS: usize = 64;
/// How long the agent waits before it tries again to make a board.
const PAUSE: Duration = Duration::from_secs(60);

/// Keeps the board.
#[derive(Debug)]
pub(crate) struct Publisher {
    plan: Option<Plan>,
    writer: Option<Writer>,
    next_try: Instant,
    clock: Clock,
}

/// The board's settings.
#[derive(Debug)]
struct Plan {
    path: PathBuf,
    /// The link that readers open, if the file is elsewhere.
    link: Option<PathBuf>,
    /// Whether the file is in memory.
    in_memory: bool,
    /// Whether it is put on large pages.
    large_pages: bool,
    outline: Outline,
    max_slots: usize,
}

/// What happened to the board in a turn of the loop.
#[derive(Debug)]
pub(crate) enum Turn {
    /// Only entries were written, if anything.
    Usual,
    /// A file was made, of this many bytes.
    Made(usize),
}

impl Publisher {
    /// A publisher for these settings. Nothing is made yet.
    pub(crate) fn new(settings: &Settings, clock: Clock) -> Self {
        let outline = Outline {
            cluster: settings.cluster.clone(),
            observer: settings.name.clone(),
            slots: LEAST_SLOTS,
            payload_bytes: usize::from(settings.payload_room()),
            payload_schema: u32::from(tidings_gossip::payload::SCHEMA),
            unit: settings.interval,
        };
        let plan = site(settings).map(|(path, link)| {
            let max_slots = settings.max_nodes as usize;
            let directory = path.parent().filter(|parent| *parent != Path::new(""));
            let in_memory = is_in_memory(directory.unwrap_or(Path::new(".")));
            let large_pages = settings.large_pages;
            Plan { path, link, in_memory, large_pages, outline, max_slots }
        });
        Self { plan, writer: None, next_try: Instant::EPOCH, clock }
    }

    /// Where readers find it; `None` if it is off, or could not be made.
    pub(crate) fn path(&self) -> Option<&Path> {
        let plan = self.plan.as_ref().filter(|_| self.writer.is_some());
        plan.map(|plan| plan.link.as_deref().unwrap_or(&plan.path))
    }

    /// Whether its file is in memory; `None` if there is none.
    pub(crate) fn lies_in_memory(&self) -> Option<bool> {
        self.plan.as_ref().filter(|_| self.writer.is_some()).map(|plan| plan.in_memory)
    }

    /// Makes the next turn try again, if there is no board.
    pub(crate) fn try_again(&mut self) {
        self.next_try = Instant::EPOCH;
    }

    /// Updates the board from the node, and its heartbeat.
    ///
    /// # Errors
    /// If a file had to be made and could not: there is no board until a later turn makes one.
    pub(crate) fn publish(&mut self, now: Instant, node: &mut Node) -> Result<Turn, WriteError> {
        if self.plan.is_none() || (self.writer.is_none() && now < self.next_try) {
            return Ok(Turn::Usual);
        }
        let mut turn = Turn::Usual;
        if self.writer.is_none() {
            self.make(now, node, node.members() as usize)?;
            turn = Turn::Made(self.writer.as_ref().map_or(0, Writer::file_bytes));
        }
        loop {
            match self.write_changes(now, node) {
                Ok(None) => return Ok(turn),
                Ok(Some(wanted)) => self.make(now, node, wanted)?,
                Err(error) => {
                    self.withdraw(now);
                    return Err(error);
                }
            }
            turn = Turn::Made(self.writer.as_ref().map_or(0, Writer::file_bytes));
        }
    }

    /// Removes the board, until a later turn makes another.
    fn withdraw(&mut self, now: Instant) {
        let _ = self.leave(); // another error is reported
        self.next_try = now + PAUSE;
    }

    /// Makes a board of that many slots or more, in place of the present one, if any.
    fn make(&mut self, now: Instant, node: &mut Node, slots: usize) -> Result<(), WriteError> {
        let before = self.writer.take();
        let Some(plan) = self.plan.as_mut() else { return Ok(()) };
        plan.outline.slots = slots.next_power_of_two().max(LEAST_SLOTS).min(plan.max_slots);
        let made = Writer::create(&plan.path, &plan.outline).and_then(|writer| {
            let linked = plan.link.as_deref().map_or(Ok(()), |link| lay_link(link, &plan.path));
            match linked {
                Ok(()) => Ok(writer),
                Err(source) => {
                    let (path, bytes) =
                        (plan.link.clone().unwrap_or_default(), writer.file_bytes());
                    let _ = writer.leave(); // the first error is reported
                    Err(WriteError::Unwritable { path, bytes, source })
                }
            }
        });
        match made {
            Ok(writer) => {
                if plan.large_pages {
                    large_pages::put_board(&writer);
                }
                if let Some(before) = before {
                    before.replaced();
                }
                self.writer = Some(writer);
                node.note_changes();
                Ok(())
            }
            Err(error) => {
                // A board that lacks members would be worse than none.
                self.writer = before;
                self.withdraw(now);
                Err(error)
            }
        }
    }

    /// Writes what changed; returns the slots that are needed, if there are too few.
    fn write_changes(
        &mut self,
        now: Instant,
        node: &mut Node,
    ) -> Result<Option<usize>, WriteError> {
        let Some(writer) = self.writer.as_mut() else { return Ok(None) };
        while let Some(change) = node.poll_change(now) {
            let wanted = change.place as usize + 1;
            if wanted > writer.slots() {
                return Ok(Some(wanted));
            }
            write(writer, &change, now, self.clock)?;
        }
        writer.beat(self.clock.monotonic_ns(now));
        Ok(None)
    }

    /// Removes the board.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub(crate) fn leave(&mut self) -> io::Result<()> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        writer.leave()?;
        match self.plan.as_ref().and_then(|plan| plan.link.as_deref()) {
            Some(link) if link.is_symlink() => fs::remove_file(link),
            _ => Ok(()),
        }
    }
}

fn write(
    writer: &mut Writer,
    change: &Change<'_>,
    now: Instant,
    clock: Clock,
) -> Result<(), WriteError> {
    let slot = change.place as usize;
    let Some(view) = &change.entry else {
        writer.vacate(slot);
        return Ok(());
    };
    let news = news(view, now, clock);
    if change.card {
        writer.seat(slot, view.name, view.address.as_bytes(), &news)
    } else {
        writer.update(slot, &news)
    }
}

fn news<'a>(view: &EntryView<'a>, now: Instant, clock: Clock) -> News<'a> {
    News {
        state: match view.state {
            EntryState::Alive => State::Alive,
            EntryState::Suspected => State::Suspected,
            EntryState::Dead => State::Dead,
            EntryState::Left => State::Left,
            EntryState::Unheard => State::Unheard,
        },
        node_id: view.id.0,
        incarnation: view.incarnation,
        sequence: view.sequence.unwrap_or(0),
        birth_ns: view.age.map_or(0, |age| clock.monotonic_ns(now - age)),
        payload: view.payload,
    }
}

/// The path of the board, and the link to it; `None` if it is off.
fn site(settings: &Settings) -> Option<(PathBuf, Option<PathBuf>)> {
    let usual = board_path(&settings.runtime_dir);
    match &settings.board {
        BoardPlace::Off => None,
        BoardPlace::At(path) => Some((path.clone(), None)),
        BoardPlace::On => {
            clear(&usual);
            let shared = Path::new(SHARED_MEMORY);
            if is_in_memory(&settings.runtime_dir) || !is_in_memory(shared) {
                return Some((usual, None));
            }
            match getrandom::u64() {
                Ok(number) => {
                    Some((shared.join(format!("{}{number:016x}", prefix())), Some(usual)))
                }
                Err(_) => Some((usual, None)),
            }
        }
    }
}

/// The prefix of the names of this user's boards in shared memory.
fn prefix() -> String {
    format!("tidings-{}-", geteuid().as_raw())
}

fn is_in_memory(directory: &Path) -> bool {
    statfs(directory).is_ok_and(|found| IN_MEMORY.contains(&found.f_type))
}

/// Removes a board that a killed agent left in shared memory, and the link to it.
/// The runtime directory is this agent's alone, so the link is of an earlier run of it.
fn clear(link: &Path) {
    let Ok(target) = fs::read_link(link) else { return };
    let name = target.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let ours = fs::symlink_metadata(&target)
        .is_ok_and(|found| found.is_file() && found.uid() == geteuid().as_raw());
    if ours && target.parent() == Some(Path::new(SHARED_MEMORY)) && name.starts_with(&prefix()) {
        let _ = fs::remove_file(&target); // it only uses memory
    }
    let _ = fs::remove_file(link); // making another fails where this does
}

/// Makes a link, in place of any file there.
fn lay_link(link: &Path, target: &Path) -> io::Result<()> {
    if fs::read_link(link).is_ok_and(|there| there == target) {
        return Ok(());
    }
    let beside = link.with_extension("tmp");
    let _ = fs::remove_file(&beside); // left over by a crash, or missing
    symlink(target, &beside)?;
    fs::rename(&beside, link)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;
    use tidings_board::{Board, BoardError, Snapshot};
    use tidings_gossip::{Address, Config, Incarnation, KeyRing, Member};

    const LIMIT: Duration = Duration::from_secs(3_600);

    fn publisher(directory: &TempDir, max_slots: usize) -> Publisher {
        let outline = Outline {
            cluster: "tidings".into(),
            observer: "n0".into(),
            slots: LEAST_SLOTS,
            payload_bytes: 64,
            payload_schema: 1,
            unit: Duration::from_millis(256),
        };
        let path = directory.path().join("file");
        let link = Some(directory.path().join("board"));
        let plan =
            Some(Plan { path, link, in_memory: false, large_pages: true, outline, max_slots });
        Publisher { plan, writer: None, next_try: Instant::EPOCH, clock: Clock::start() }
    }

    fn member(n: usize) -> Member {
        let address = Address::from_bytes(&(n as u32).to_le_bytes()).expect("short");
        Member { name: format!("n{n}"), address }
    }

    fn node(members: usize) -> Node {
        let mut config = Config::default();
        config.max_nodes = 4_096;
        let roster: Vec<Member> = (0..members).map(member).collect();
        let (keys, life) = (KeyRing::open(&config.cluster), Incarnation::new(1));
        Node::new(config, keys, member(0), &roster, life, 7, Instant::EPOCH).expect("valid")
    }

    fn names(board: &Board) -> Vec<String> {
        let mut snapshot = Snapshot::new();
        board.snapshot(&mut snapshot).expect("readable");
        let mut names: Vec<String> = snapshot.entries().map(|e| e.name.to_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_board_follows_its_node_grows_with_it_and_ends_with_it() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut publisher = publisher(&directory, 4_096);
        let mut node = node(3);
        let now = publisher.clock.now();
        assert!(matches!(publisher.publish(now, &mut node), Ok(Turn::Made(_))));
        assert!(matches!(publisher.publish(now, &mut node), Ok(Turn::Usual)));
        let path = publisher.path().expect("on").to_owned();
        let small = Board::open(&path, LIMIT).expect("a fresh board");
        assert_eq!(names(&small), ["n0", "n1", "n2"]);
        let own = small.entry("n0").expect("readable").expect("itself");
        assert_eq!(own.state, State::Alive);
        assert!(own.age(tidings_board::now_ns()).expect("alive") < LIMIT);
        assert_eq!(small.entry("n1").expect("readable").map(|e| e.state), Some(State::Unheard));

        let roster: Vec<Member> = (0..100).filter(|n| *n != 1).map(member).collect();
        node.set_roster(&roster, now).expect("valid");
        assert!(matches!(publisher.publish(now, &mut node), Ok(Turn::Made(_))));
        assert!(matches!(small.check(), Err(BoardError::Replaced { .. })));
        let large = Board::open(&path, LIMIT).expect("the next one");
        assert_eq!((names(&large).len(), large.shape().slots()), (99, 128));
        publisher.leave().expect("removable");
        assert!(matches!(large.check(), Err(BoardError::Left { .. })));
        assert_eq!(fs::read_dir(directory.path()).expect("readable").count(), 0);
    }

    #[test]
    fn a_board_that_cannot_be_made_is_an_error_and_tried_again_in_a_minute() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut publisher = publisher(&directory, 4_096);
        let place = directory.path().join("missing");
        if let Some(plan) = publisher.plan.as_mut() {
            plan.path = place.join("file");
        }
        let mut node = node(3);
        let now = Instant::EPOCH;
        assert!(matches!(publisher.publish(now, &mut node), Err(WriteError::Unwritable { .. })));
        fs::create_dir(&place).expect("writable");
        let soon = now + PAUSE / 2;
        assert!(matches!(publisher.publish(soon, &mut node), Ok(Turn::Usual)));
        assert!(publisher.writer.is_none());
        publisher.try_again();
        assert!(matches!(publisher.publish(soon, &mut node), Ok(Turn::Made(_))));
        fs::remove_dir_all(&place).expect("writable");
        publisher.withdraw(now);
        fs::create_dir(&place).expect("writable");
        assert!(matches!(publisher.publish(now + PAUSE, &mut node), Ok(Turn::Made(_))));
        publisher.leave().expect("removable");
    }

    #[test]
    fn what_a_crash_left_in_shared_memory_is_removed_and_nothing_else() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let link = directory.path().join("board");
        let precious = directory.path().join("precious");
        fs::write(&precious, "precious").expect("writable");
        lay_link(&link, &precious).expect("writable");
        clear(&link);
        assert!(precious.exists() && !link.is_symlink());
        if !is_in_memory(Path::new(SHARED_MEMORY)) {
            return; // there never was one
        }
        let name = directory.path().file_name().expect("it has one").to_string_lossy().into_owned();
        let left = Path::new(SHARED_MEMORY).join(format!("{}{name}", prefix()));
        fs::write(&left, "old").expect("writable");
        lay_link(&link, &left).expect("writable");
        clear(&link);
        assert!(!left.exists() && !link.is_symlink());
    }
}
