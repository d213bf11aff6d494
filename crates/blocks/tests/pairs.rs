//! Maps and logs beside an oracle, with processes that come, die, are shut out and cut off.
//!
//! A key has one writer, which writes rising numbers, and any readers. What is read must be one
//! that may be there at some moment between the begin and the end of the read, and never older than
//! what an earlier read has seen (an atomic register: Lamport, 1986). A log has any writers: what
//! was answered stands at its number, once, and in the order of those that did not overlap.

#![allow(clippy::unwrap_used, reason = "all of it is tests")]

mod world;

use std::collections::BTreeMap;

use tidings_blocks::envelope::Refusal;
use tidings_blocks::log::{DistributedLog, Extract, Tape};
use tidings_blocks::map::{Answer, DistributedMap, Op, Shelf};
use tidings_blocks::pair::{Call, State};
use tidings_blocks::table::Kinds;
use tidings_blocks::{Block, Node, Ref, Reply};
use world::World;

fn kinds() -> Kinds {
    Kinds::default().with(DistributedMap { parts: 8 }).with(DistributedLog)
}

fn map(world: &mut World, at: Node) -> Ref<DistributedMap> {
    world.open::<DistributedMap>(at, "m").unwrap()
}

type Waiting<A> = Reply<Result<A, Refusal>>;

/// What is known of a key.
#[derive(Default)]
struct Register {
    /// The last number that was written, answered or not.
    begun: u64,
    /// The last number that is surely there.
    done: u64,
    /// The largest number that was read.
    read: u64,
    writer: Option<(Node, Waiting<Answer>)>,
    readers: Vec<(Waiting<Answer>, u64)>,
}

impl Register {
    fn at_least(&self) -> u64 {
        self.done.max(self.read)
    }
}

const KEYS: usize = 12;

struct Run {
    world: World,
    registers: Vec<Register>,
}

impl Run {
    fn begin(seed: u64) -> Self {
        let mut world = World::of(seed, 4, kinds);
        map(&mut world, Node(1));
        world.run();
        Self { world, registers: (0..KEYS).map(|_| Register::default()).collect() }
    }

    /// Begins a write or a read of some key, from any process.
    fn call(&mut self) {
        let key = self.world.chance.below(KEYS);
        let at = self.world.any();
        let (map, register) = (map(&mut self.world, at), &mut self.registers[key]);
        if self.world.chance.happens(0.5) {
            let begun_at = register.at_least();
            register.readers.push((map.call(&[key as u8], Op::Get(vec![key as u8])), begun_at));
        } else if register.writer.is_none() {
            register.begun += 1;
            let put = Op::Put(vec![key as u8], register.begun.to_be_bytes().to_vec());
            register.writer = Some((at, map.call(&[key as u8], put)));
        }
    }

    /// Looks at what was answered. A reply without an answer is that of a process that is gone.
    fn look(&mut self, said: &str) {
        for (key, register) in self.registers.iter_mut().enumerate() {
            let Register { begun, done, read, writer, readers } = register;
            if let Some((_, reply)) = writer {
                if let Some(answer) = reply.now() {
                    if let Ok(answer) = answer {
                        assert_eq!(answer, Ok(Answer::Done));
                        *done = *begun;
                    }
                    *writer = None;
                }
            }
            let mut seen = Vec::new();
            readers.retain_mut(|(reply, at_least)| {
                let answer = match reply.now() {
                    None => return true,
                    Some(Err(_)) => return false,
                    Some(Ok(answer)) => answer.unwrap(),
                };
                let number = match answer {
                    Answer::Absent => 0,
                    Answer::Value(bytes) => u64::from_be_bytes(bytes.try_into().unwrap()),
                    other => panic!("{other:?}"),
                };
                assert!(
                    (*at_least..=*begun).contains(&number),
                    "{said}: key {key} is {number}, and was at least {at_least} of {begun}"
                );
                seen.push(number);
                false
            });
            *read = seen.into_iter().chain([*read]).max().unwrap();
        }
    }

    /// A process has ended: what it had begun is never answered.
    fn gone(&mut self, node: Node) {
        for register in &mut self.registers {
            if register.writer.as_ref().is_some_and(|(writer, _)| *writer == node) {
                register.writer = None;
            }
        }
    }

    fn lost_parts(&mut self) -> usize {
        let nodes = self.world.nodes();
        nodes.iter().map(|node| map(&mut self.world, *node).lost_parts()).max().unwrap()
    }

    /// At the end all that was answered is there.
    fn end(&mut self, said: &str) {
        self.world.heal();
        self.world.run();
        self.look(said);
        let lost = self.lost_parts();
        assert_eq!(lost, 0, "{said}");
        for key in 0..KEYS {
            let at = self.world.any();
            let at_least = self.registers[key].at_least();
            let reply = map(&mut self.world, at).call(&[key as u8], Op::Get(vec![key as u8]));
            self.registers[key].readers.push((reply, at_least));
        }
        self.world.run();
        self.look(said);
        assert!(self.registers.iter().all(|register| register.readers.is_empty()), "{said}");
    }
}

#[test]
fn a_map_serves_on_while_one_at_a_time_dies_and_others_join() {
    for seed in 0..300 {
        let mut run = Run::begin(seed);
        for change in 0..6 {
            for _ in 0..30 {
                run.call();
                let steps = run.world.chance.below(12);
                run.world.steps(steps);
                run.look(&format!("seed {seed}, change {change}"));
            }
            let (one, other) = (run.world.any(), run.world.any());
            match run.world.chance.below(4) {
                0 => drop(run.world.join()),
                1 if run.world.nodes().len() > 2 => {
                    run.world.kill(one);
                    run.gone(one);
                }
                2 if run.world.nodes().len() > 2 => run.world.shut_out(one),
                _ => run.world.cut(one, other),
            }
            let steps = run.world.chance.below(200);
            run.world.steps(steps);
            for _ in 0..10 {
                run.call();
            }
            run.world.heal();
            // Nobody else dies before there is another copy.
            run.world.run();
            run.look(&format!("seed {seed}, change {change}"));
        }
        run.end(&format!("seed {seed}"));
    }
}

/// Any number may die at any time. What is lost then is said; if nothing is said, nothing is lost.
#[test]
fn what_is_lost_is_said() {
    let mut lost = 0;
    for seed in 0..300 {
        let mut run = Run::begin(seed);
        let mut is_lost = false;
        for change in 0..12 {
            for _ in 0..8 {
                run.call();
                let steps = run.world.chance.below(20);
                run.world.steps(steps);
            }
            let one = run.world.any();
            match run.world.chance.below(3) {
                0 => drop(run.world.join()),
                1 if run.world.nodes().len() > 1 => {
                    run.world.kill(one);
                    run.gone(one);
                }
                2 if run.world.nodes().len() > 1 => run.world.shut_out(one),
                _ => {}
            }
            if change % 4 == 3 {
                run.world.run();
                is_lost |= run.lost_parts() > 0;
                if is_lost {
                    break;
                }
                run.look(&format!("seed {seed}, change {change}"));
            }
        }
        lost += u32::from(is_lost);
        if !is_lost {
            run.end(&format!("seed {seed}"));
        }
    }
    assert!((1..250).contains(&lost), "{lost} of 300: too few to show something");
}

#[test]
fn a_process_that_comes_late_has_its_share() {
    let mut world = World::of(1, 2, kinds);
    let first = map(&mut world, Node(1));
    let puts: Vec<_> =
        (0..200_u8).map(|key| first.call(&[key], Op::Put(vec![key], vec![key; 10_000]))).collect();
    world.run();
    assert!(puts.into_iter().all(|mut put| put.now() == Some(Ok(Ok(Answer::Done)))));
    for _ in 0..4 {
        world.join();
    }
    world.run();
    world.kill(Node(1));
    world.run();
    world.kill(Node(2));
    world.run();
    let last = map(&mut world, Node(6));
    for key in 0..200 {
        let mut got = last.call(&[key], Op::Get(vec![key]));
        world.run();
        assert_eq!(got.now(), Some(Ok(Ok(Answer::Value(vec![key; 10_000])))));
    }
    assert_eq!(last.lost_parts(), 0);
}

#[test]
fn a_map_whose_processes_do_not_all_know_it_says_so() {
    let mut world = World::of(1, 1, kinds);
    world.join_with(Kinds::default());
    world.run();
    let mut get = map(&mut world, Node(1)).call(b"k", Op::Get(b"k".to_vec()));
    world.run();
    let why = get.now().unwrap().unwrap().unwrap_err().to_string();
    assert!(why.contains("is a `map`, which this program has not"), "{why}");
    world.kill(Node(2));
    world.run();
    let mut get = map(&mut world, Node(1)).call(b"k", Op::Get(b"k".to_vec()));
    world.run();
    assert_eq!(get.now(), Some(Ok(Ok(Answer::Absent))));
}

/// An append of a log: who, what, and what was done before it began.
struct Append {
    entry: Vec<u8>,
    after: u64,
    reply: Waiting<Extract>,
    number: Option<u64>,
}

fn append(world: &mut World, at: Node, entry: &[u8]) -> Waiting<Extract> {
    use tidings_blocks::log::Op;
    let log = world.open::<DistributedLog>(at, "l").unwrap();
    let _: &<DistributedLog as Block>::Interface = &log;
    world.call(at, log.id(), |asker| Call::<Tape> {
        part: 0,
        op: Op::Append(entry.to_vec()),
        asker,
    })
}

fn read_all(world: &mut World, at: Node) -> Extract {
    use tidings_blocks::log::Op;
    let log = world.open::<DistributedLog>(at, "l").unwrap();
    let _: &<DistributedLog as Block>::Interface = &log;
    let mut reply =
        world.call(at, log.id(), |asker| Call::<Tape> { part: 0, op: Op::Read(0), asker });
    world.run();
    reply.now().unwrap().unwrap().unwrap()
}

#[test]
fn an_entry_of_a_log_stands_once_at_its_number() {
    for seed in 0..200 {
        let mut world = World::of(seed, 4, kinds);
        let mut appends: Vec<Append> = Vec::new();
        let (mut count, mut done) = (0_u64, 0);
        for _ in 0..5 {
            for _ in 0..20 {
                count += 1;
                let (at, entry) = (world.any(), count.to_be_bytes().to_vec());
                let reply = append(&mut world, at, &entry);
                appends.push(Append { entry, after: done, reply, number: None });
                let steps = world.chance.below(20);
                world.steps(steps);
                for append in &mut appends {
                    if let Some(Ok(answer)) = append.reply.now() {
                        let number = answer.unwrap().first;
                        assert!(number >= append.after, "seed {seed}: {number}");
                        append.number = Some(number);
                        done = done.max(number + 1);
                    }
                }
            }
            let one = world.any();
            match world.chance.below(3) {
                0 => drop(world.join()),
                _ if world.nodes().len() < 3 => {}
                1 => world.kill(one),
                _ => world.shut_out(one),
            }
            world.run();
        }
        let at = world.any();
        let entries = read_all(&mut world, at).entries;
        let mut times: BTreeMap<&[u8], u32> = BTreeMap::new();
        for entry in &entries {
            *times.entry(entry).or_default() += 1;
        }
        assert!(times.values().all(|times| *times == 1), "seed {seed}");
        for Append { entry, number, .. } in &appends {
            let Some(number) = number else { continue };
            assert_eq!(&entries[*number as usize][..], entry, "seed {seed}");
        }
    }
}

#[test]
fn parts_are_copied_as_a_whole_or_by_what_is_missing() {
    // What the oracle compares with: a shelf that was restored from its pages is the same.
    let mut shelf = Shelf::default();
    for key in 0..2_000_u32 {
        shelf.apply(&Op::Put(key.to_be_bytes().to_vec(), vec![7; 500]));
    }
    let (mut copy, pages) = (Shelf::default(), shelf.pages());
    assert!(pages.len() > 3 && pages.iter().all(|page| copy.restore(page)));
    assert_eq!(copy, shelf);
    assert!(!copy.restore(b"\xff"));
}
