//! Representatives: made on first use, messages to them, and what is wrong with a block.

#![allow(clippy::unwrap_used, reason = "all of it is tests")]

mod world;

use std::any::Any;
use std::sync::{Arc, Mutex};

use tidings_blocks::counter::Counter;
use tidings_blocks::envelope::{Body, Envelope, Refusal};
use tidings_blocks::histogram::{Histogram, quantile};
use tidings_blocks::record::RecordError;
use tidings_blocks::table::Kinds;
use tidings_blocks::{Block, BlockId, Handler, Here, Node, Outbox, Unanswered};
use world::World;

fn counting() -> Kinds {
    Kinds::default().with(Counter).with(Histogram)
}

/// What a representative was told, in order.
struct Diary;

struct Told(Arc<Mutex<Vec<String>>>, Here);

struct Writer(Arc<Mutex<Vec<String>>>);

impl Told {
    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Block for Diary {
    const KIND: &'static str = "diary";
    const VERSION: u32 = 1;
    type Interface = Told;

    fn represent(&self, here: Here) -> (Box<Told>, Box<dyn Handler>) {
        let told = Arc::new(Mutex::new(Vec::new()));
        (Box::new(Told(Arc::clone(&told), here)), Box::new(Writer(told)))
    }
}

impl Writer {
    fn write(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }
}

impl Handler for Writer {
    fn called(&mut self, call: Box<dyn Any + Send>, out: &mut Outbox<'_>) {
        let text = *call.downcast::<String>().unwrap();
        out.send_to_others(text.as_bytes());
        out.send(out.own(), text.into_bytes());
    }

    fn received(&mut self, from: Node, message: &[u8], _out: &mut Outbox<'_>) {
        self.write(format!("{from}: {}", String::from_utf8_lossy(message)));
    }

    fn refused(&mut self, by: Node, why: &Refusal, _out: &mut Outbox<'_>) {
        self.write(format!("{by} refused: {why}"));
    }

    fn node_joined(&mut self, node: Node, _out: &mut Outbox<'_>) {
        self.write(format!("{node} joined"));
    }

    fn node_lost(&mut self, node: Node, _out: &mut Outbox<'_>) {
        self.write(format!("{node} lost"));
    }
}

fn diaries() -> Kinds {
    Kinds::default().with(Diary)
}

#[test]
fn a_message_makes_the_representative_that_it_is_for() {
    for seed in 0..50 {
        let mut world = World::of(seed, 3, diaries);
        let one = world.open::<Diary>(Node(1), "d").unwrap();
        one.1.call("hello".to_owned());
        world.run();
        let two = world.open::<Diary>(Node(2), "d").unwrap();
        let joined = ["1 joined", "2 joined", "3 joined"];
        assert_eq!(two.all(), [&joined[..], &["1: hello"]].concat(), "seed {seed}");
        assert_eq!(one.all(), [&joined[..], &["1: hello"]].concat(), "seed {seed}");
    }
}

#[test]
fn a_node_is_known_before_its_messages_and_not_heard_when_it_is_lost() {
    for seed in 0..200 {
        let mut world = World::of(seed, 2, diaries);
        let one = world.open::<Diary>(Node(1), "d").unwrap();
        assert!(one.all().is_empty());
        world.run();
        let third = world.join();
        world.open::<Diary>(third, "d").unwrap().1.call("early".to_owned());
        world.steps(12);
        world.kill(third);
        world.run();
        let told = one.all();
        let at = |text: &str| told.iter().position(|told| told == text);
        let (joined, lost) = (at("3 joined"), at("3 lost"));
        assert_eq!(joined.is_some(), lost.is_some(), "seed {seed}: {told:?}");
        if let Some(heard) = at("3: early") {
            assert!(joined.unwrap() < heard && heard < lost.unwrap(), "seed {seed}: {told:?}");
        }
        assert!(told.iter().filter(|told| *told == "3 joined").count() <= 1);
    }
}

#[test]
fn a_process_that_is_shut_out_is_told_and_answers_nobody() {
    let mut world = World::of(1, 3, counting);
    let count = world.open::<Counter>(Node(3), "c").unwrap();
    let waiting = count.sum();
    world.shut_out(Node(3));
    world.run();
    let mut later = count.sum();
    world.run();
    assert_eq!(later.now(), Some(Err(Unanswered)));
    drop(waiting);
}

#[test]
fn what_is_counted_anywhere_is_in_the_sum() {
    for seed in 0..50 {
        let mut world = World::of(seed, 5, counting);
        let mut expected = 0;
        for _ in 0..20 {
            let (node, more) = (world.any(), world.chance.below(100) as u64);
            world.open::<Counter>(node, "c").unwrap().add(more);
            expected += more;
        }
        let at = world.any();
        let mut sum = world.open::<Counter>(at, "c").unwrap().sum();
        world.run();
        let sum = sum.now().unwrap().unwrap();
        assert_eq!((&sum.counts[..], sum.nodes, sum.lost), (&[expected][..], 5, 0), "seed {seed}");
    }
}

#[test]
fn what_a_node_that_leaves_has_counted_stays() {
    let mut world = World::of(3, 4, counting);
    for node in 1..=4 {
        world.open::<Counter>(Node(node), "c").unwrap().add(10);
    }
    world.run();
    world.leave(Node(1));
    world.run();
    let mut sum = world.open::<Counter>(Node(4), "c").unwrap().sum();
    world.run();
    let sum = sum.now().unwrap().unwrap();
    assert_eq!((&sum.counts[..], sum.nodes, sum.lost), (&[40][..], 3, 0));
}

#[test]
fn a_sum_ends_whatever_dies_meanwhile() {
    for seed in 0..100 {
        let mut world = World::of(seed, 4, counting);
        for node in world.nodes() {
            world.open::<Counter>(node, "c").unwrap().add(1);
        }
        let mut sum = world.open::<Counter>(Node(1), "c").unwrap().sum();
        let steps = world.chance.below(12);
        world.steps(steps);
        world.cut(Node(1), Node(2));
        world.kill(Node(3));
        world.shut_out(Node(2));
        world.run();
        let sum = sum.now().unwrap().unwrap();
        assert!((2..=4).contains(&sum.counts[0]), "seed {seed}: {sum:?}");
        assert!(sum.counts[0] as usize == sum.nodes, "seed {seed}: {sum:?}");
    }
}

#[test]
fn a_histogram_has_the_values_of_all_nodes() {
    let mut world = World::of(9, 3, counting);
    for value in 0..3_000 {
        let values = world.open::<Histogram>(Node(value % 3 + 1), "h").unwrap();
        values.record(value);
    }
    let mut sum = world.open::<Histogram>(Node(2), "h").unwrap().sum();
    world.run();
    let bins = sum.now().unwrap().unwrap().counts;
    assert_eq!(bins.iter().sum::<u64>(), 3_000);
    assert!((2_700..=3_040).contains(&quantile(&bins, 0.9).unwrap()));
}

#[test]
fn a_program_that_does_not_know_a_block_says_so_to_those_who_ask() {
    let mut world = World::of(5, 2, counting);
    world.join_with(Kinds::default());
    world.run();
    let mut sum = world.open::<Counter>(Node(1), "c").unwrap().sum();
    world.run();
    let sum = sum.now().unwrap().unwrap();
    assert_eq!((sum.nodes, sum.unable), (2, 1));
    let why = world.refusal(Node(3), BlockId(1)).unwrap().to_string();
    assert!(why.contains("block 1 is a `counter`, which this program has not"), "{why}");
}

/// A counter of the next version of a program.
struct Next;

impl Block for Next {
    const KIND: &'static str = Counter::KIND;
    const VERSION: u32 = Counter::VERSION + 1;
    type Interface = <Counter as Block>::Interface;

    fn represent(&self, here: Here) -> (Box<Self::Interface>, Box<dyn Handler>) {
        Counter.represent(here)
    }
}

#[test]
fn another_version_and_another_kind_are_errors() {
    let mut world = World::of(5, 1, counting);
    let newer = world.join_with(Kinds::default().with(Next).with(Histogram));
    world.run();
    world.open::<Counter>(Node(1), "c").unwrap();
    let why = world.open::<Next>(newer, "c").unwrap_err().to_string();
    assert!(why.contains("of version 1, this program has version 2"), "{why}");
    let why = world.open::<Histogram>(newer, "c").unwrap_err();
    assert!(matches!(why, RecordError::Refused(Refusal::Other { .. })), "{why}");
    let id = world.open::<Counter>(Node(1), "c").unwrap().id();
    let why = world.table(Node(1)).get::<Histogram>(id).unwrap_err().to_string();
    assert!(why.contains("is a `counter`, and no `histogram`"), "{why}");
}

#[test]
fn a_message_for_an_unknown_block_is_refused() {
    let mut world = World::of(5, 2, diaries);
    let diary = world.open::<Diary>(Node(1), "d").unwrap();
    assert!(diary.all().is_empty());
    world.run();
    // As of a store that was replaced: the block of the sender is none of the receiver's.
    let made = tidings_blocks::record::Made {
        name: "x".to_owned(),
        kind: "diary".to_owned(),
        version: 1,
        since: 0,
    };
    world.table(Node(1)).enter(BlockId(77), &made).unwrap();
    let strange = world.table(Node(1)).get::<Diary>(BlockId(77)).unwrap().clone();
    strange.1.call("who are you?".to_owned());
    world.run();
    let told = strange.all().pop().unwrap();
    assert!(told.contains("2 refused: there is no block with the id 77"), "{told}");
    for id in [0, u32::MAX] {
        let why = world.table(Node(1)).get::<Diary>(BlockId(id)).unwrap_err();
        assert_eq!(why, Refusal::Unknown(BlockId(id)));
    }
}

#[test]
fn bytes_that_say_nothing_change_nothing() {
    let mut world = World::of(5, 2, counting);
    let count = world.open::<Counter>(Node(2), "c").unwrap();
    count.add(1);
    world.run();
    let bytes = [vec![], vec![0xff; 100], (0..255).collect(), vec![0x82, 0x09, 0x81, 0x00]];
    for message in bytes {
        let body = Body::Message(message);
        let (from, to, block) = (Node(1), Node(2), count.id());
        world.send(Envelope { from, to, block, body });
    }
    let mut sum = count.sum();
    world.run();
    assert_eq!(sum.now().unwrap().unwrap().counts, [1]);
}
