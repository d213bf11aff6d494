//! A store beside its rules, with processes that come, die, are shut out and cut off: what was
//! acknowledged stays, one of several that saw the same writes, revisions rise, and nobody waits
//! for a change in vain.

#![allow(clippy::unwrap_used, reason = "all of it is tests")]

mod world;

use std::collections::{BTreeMap, BTreeSet};

use tidings_blocks::envelope::Refusal;
use tidings_blocks::store::{Answer, DistributedStore, Op, Sessions};
use tidings_blocks::table::Kinds;
use tidings_blocks::{Node, Ref, Reply, Unanswered};
use tidings_tasks_core::transaction::{CommitError, Expect, Key, Revision, Transaction, Write};
use world::World;

type Waiting = Reply<Result<Answer, Refusal>>;

fn kinds() -> Kinds {
    Kinds::default().with(DistributedStore)
}

fn store(world: &mut World, at: Node) -> Ref<DistributedStore> {
    world.open::<DistributedStore>(at, "s").unwrap()
}

fn key(name: impl AsRef<[u8]>) -> Key {
    Key::new(name.as_ref()).unwrap()
}

/// What a call is answered once nothing is on its way any more.
fn ask(world: &mut World, at: Node, op: Op) -> Answer {
    let mut reply = store(world, at).call(op);
    world.run();
    reply.now().unwrap().unwrap().unwrap()
}

/// A write of a key of its own, and of one that all want, of which the writer has seen a revision.
struct Commit {
    own: Key,
    seen: Option<Revision>,
    reply: Waiting,
}

struct Run {
    world: World,
    begun: u64,
    commits: Vec<Commit>,
    done: BTreeMap<Revision, Key>,
    /// What was seen of the key that all want when it was written.
    won: BTreeSet<Option<Revision>>,
    /// The last revision that each process has seen of it.
    seen: BTreeMap<Node, Option<Revision>>,
    reads: Vec<(Node, Waiting)>,
    waits: Vec<(Node, Reply<()>)>,
}

impl Run {
    fn begin(seed: u64) -> Self {
        let mut world = World::of(seed, 4, kinds);
        assert_eq!(ask(&mut world, Node(1), Op::Found), Answer::Done);
        let (commits, reads, waits) = (Vec::new(), Vec::new(), Vec::new());
        let (done, won) = (BTreeMap::new(), BTreeSet::new());
        Self { world, begun: 0, commits, done, won, seen: BTreeMap::new(), reads, waits }
    }

    fn call(&mut self) {
        let at = self.world.any();
        let store = store(&mut self.world, at);
        match self.world.chance.below(4) {
            0 => self.reads.push((at, store.call(Op::Get(vec![key("all")])))),
            1 => {
                let last = self.done.last_key_value().map_or(Revision(0), |(last, _)| *last);
                self.waits.push((at, store.changed(last)));
            }
            _ => {
                self.begun += 1;
                let own = key(format!("own/{}", self.begun));
                let seen = self.seen.get(&at).copied().flatten();
                let mut transaction = Transaction::default();
                transaction.expect(own.clone(), Expect::Absent);
                transaction.expect(key("all"), seen.map_or(Expect::Absent, Expect::At));
                transaction.put(own.clone(), &b"1"[..]);
                transaction.put(key("all"), own.as_bytes());
                let reply = store.call(Op::Commit(transaction));
                self.commits.push(Commit { own, seen, reply });
            }
        }
    }

    fn look(&mut self, said: &str) {
        let (done, won) = (&mut self.done, &mut self.won);
        self.commits.retain_mut(|Commit { own, seen, reply }| match reply.now() {
            None => true,
            Some(Err(Unanswered)) => false,
            Some(Ok(answer)) => {
                match answer.unwrap() {
                    Answer::Commit(Ok(revision)) => {
                        assert!(done.insert(revision, own.clone()).is_none(), "{said}");
                        assert!(won.insert(*seen), "{said}: two have written over {seen:?}");
                    }
                    Answer::Commit(Err(CommitError::Conflict { .. })) => {}
                    other => panic!("{said}: {other:?}"),
                }
                false
            }
        });
        let seen = &mut self.seen;
        self.reads.retain_mut(|(at, reply)| match reply.now() {
            None => true,
            Some(Err(Unanswered)) => false,
            Some(Ok(answer)) => {
                let Answer::Records(records, _) = answer.unwrap() else { panic!("{said}") };
                seen.insert(*at, records[0].as_ref().map(|record| record.revision));
                false
            }
        });
        self.waits.retain_mut(|(_, reply)| reply.now().is_none());
    }

    /// At the end all that was acknowledged is there, and all who wait hear of the last change.
    fn end(&mut self, said: &str) {
        self.world.heal();
        self.world.run();
        let at = self.world.any();
        let mut transaction = Transaction::default();
        transaction.put(key("last"), &b"1"[..]);
        ask(&mut self.world, at, Op::Commit(transaction));
        self.look(said);
        assert!(self.commits.is_empty() && self.reads.is_empty(), "{said}");
        let nodes = self.world.nodes();
        assert!(self.waits.iter().all(|(at, _)| !nodes.contains(at)), "{said}: one waits in vain");
        for (revision, own) in self.done.clone() {
            let answer = ask(&mut self.world, at, Op::Get(vec![own]));
            let Answer::Records(records, _) = answer else { panic!("{said}") };
            assert_eq!(records[0].as_ref().map(|found| found.revision), Some(revision), "{said}");
        }
    }
}

#[test]
fn a_store_serves_on_while_one_at_a_time_dies_and_others_join() {
    for seed in 0..200 {
        let mut run = Run::begin(seed);
        for change in 0..6 {
            let said = format!("seed {seed}, change {change}");
            for _ in 0..25 {
                run.call();
                let steps = run.world.chance.below(12);
                run.world.steps(steps);
                run.look(&said);
            }
            let (one, other) = (run.world.any(), run.world.any());
            match run.world.chance.below(4) {
                0 => drop(run.world.join()),
                1 if run.world.nodes().len() > 2 => run.world.kill(one),
                2 if run.world.nodes().len() > 2 => run.world.shut_out(one),
                _ => run.world.cut(one, other),
            }
            let steps = run.world.chance.below(200);
            run.world.steps(steps);
            run.call();
            run.world.heal();
            // Nobody else dies before there is another copy.
            run.world.run();
            run.look(&said);
        }
        assert!(run.done.len() > 5, "seed {seed}: {}", run.done.len());
        run.end(&format!("seed {seed}"));
    }
}

/// Both that have it die at a time, while others have older copies or none: nobody is answered by
/// one of these.
#[test]
fn a_store_that_was_lost_answers_nothing_more() {
    let mut lost = 0;
    for seed in 0..200 {
        let mut run = Run::begin(seed);
        for round in 0..8 {
            let said = format!("seed {seed}, round {round}");
            for _ in 0..6 {
                run.call();
                let steps = run.world.chance.below(20);
                run.world.steps(steps);
            }
            for _ in 0..run.world.chance.below(3) {
                let one = run.world.any();
                if run.world.nodes().len() > 1 {
                    run.world.kill(one);
                }
            }
            run.world.join();
            run.world.run();
            let at = run.world.any();
            if ask(&mut run.world, at, Op::Get(vec![])) == Answer::Nothing {
                lost += 1;
                run.world.join();
                run.world.run();
                for at in run.world.nodes() {
                    assert_eq!(ask(&mut run.world, at, Op::Open(1)), Answer::Nothing, "{said}");
                }
                break;
            }
            run.look(&said);
            if round == 7 {
                run.end(&said);
            }
        }
    }
    assert!((10..190).contains(&lost), "{lost} of 200: too few to show something");
}

#[test]
fn whoever_owns_the_store_is_asked_for_its_sessions() {
    let mut world = World::of(3, 3, kinds);
    assert_eq!(ask(&mut world, Node(1), Op::Found), Answer::Done);
    let mut asked: Vec<(Node, Reply<Sessions>)> = Vec::new();
    for at in world.nodes() {
        asked.push((at, store(&mut world, at).sessions(Some(0))));
    }
    world.run();
    assert!(asked.iter_mut().all(|(_, reply)| reply.now().is_none()));
    let Answer::Session(session) = ask(&mut world, Node(2), Op::Open(700)) else { panic!() };
    let held = Write::Put { key: key("held"), value: b"1"[..].into(), session: Some(session) };
    let held = Transaction { conditions: vec![], writes: vec![held] };
    assert!(matches!(ask(&mut world, Node(3), Op::Commit(held)), Answer::Commit(Ok(_))));
    let answered: Vec<(Node, Sessions)> =
        asked.iter_mut().filter_map(|(at, reply)| Some((*at, reply.now()?.unwrap()))).collect();
    let [(owner, sessions)] = &answered[..] else { panic!("{answered:?}") };
    assert_eq!((sessions.opened, sessions.beats[&session].ttl_ms), (1, 700));
    // The next owner is asked in its place, and knows of the session.
    world.kill(*owner);
    world.run();
    let answered = asked.iter_mut().filter_map(|(_, reply)| reply.now()?.ok());
    assert_eq!(answered.map(|sessions| sessions.beats.len()).collect::<Vec<_>>(), [1]);
    let at = world.any();
    assert_eq!(ask(&mut world, at, Op::Expire(session, 0)), Answer::Done);
    let Answer::Records(records, _) = ask(&mut world, at, Op::Get(vec![key("held")])) else {
        panic!()
    };
    assert_eq!(records, [None]);
}
