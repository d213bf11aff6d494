//! Deaths between any two messages: a worker dies when so many of its messages have arrived, also
//! between the two contributions of one task, and each contribution counts once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tidings_primitives::Instant;
use tidings_recovery::{
    Array, Config, Contribution, Ending, FinishError, Kind, Loss, Message, Output, Participant,
    Place, Plan, Scheme,
};
use tidings_steal::{NoBoard, config};

const NOW: Instant = Instant::EPOCH;
const TASKS: u64 = 9;

/// Each task adds to two blocks of three, a bit for each contribution.
#[derive(Debug)]
struct Pairs;

impl Plan for Pairs {
    fn tasks(&self) -> u64 {
        TASKS
    }

    fn outputs(&self, task: u64) -> Vec<Place> {
        [task % 3, (task + 1) % 3].map(place).to_vec()
    }

    fn work_ns(&self, _task: u64) -> u64 {
        1_000_000
    }
}

fn place(block: u64) -> Place {
    Place { array: 0, block: block as u32 }
}

fn contributions(task: u64) -> Vec<Contribution> {
    let bit = |output: u64| vec![1 << (2 * task + output)];
    let of = |(output, place)| Contribution { place, words: bit(output) };
    (0..).zip(Pairs.outputs(task)).map(of).collect()
}

/// What is in a block in the end.
fn sum(block: u64) -> u64 {
    let all = (0..TASKS).flat_map(contributions).filter(|one| one.place == place(block));
    all.map(|one| one.words[0]).sum()
}

/// Participants and the messages between them.
struct World {
    participants: Vec<Option<Participant>>,
    mail: VecDeque<(u32, u32, Message)>,
    /// Of the first participant: how many of its messages have arrived.
    arrived: usize,
    endings: BTreeMap<u32, Ending>,
    /// Tasks that ran and were said to be started again.
    again: usize,
}

impl World {
    fn new(workers: u32, scheme: Scheme, array: &Array) -> Self {
        let steal = tidings_steal::Config::new(config::lifelines(), 20);
        let participants = (0..workers).map(|me| {
            let mut one = Participant::new(me, workers, &Config::new(steal, scheme), 1);
            assert_eq!(one.create(array.clone()), Some(0));
            Some(one)
        });
        let participants = participants.collect();
        let (mail, endings) = (VecDeque::new(), BTreeMap::new());
        Self { participants, mail, arrived: 0, endings, again: 0 }
    }

    fn of(&mut self, me: u32) -> &mut Participant {
        self.participants[me as usize].as_mut().expect("it lives")
    }

    fn living(&self) -> Vec<u32> {
        let all = (0..).zip(&self.participants);
        all.filter(|(_, one)| one.is_some()).map(|(me, _)| me).collect()
    }

    fn begin(&mut self) {
        for me in self.living() {
            self.of(me).begin("phase", Arc::new(Pairs), NOW).expect("no phase runs");
        }
        for me in self.living() {
            self.go_on(me);
        }
    }

    /// Runs one task, if there is one, and takes what goes out.
    fn go_on(&mut self, me: u32) {
        if let Some(task) = self.of(me).next_task(NOW, &NoBoard) {
            let added = contributions(task);
            self.again += usize::from(self.of(me).is_again());
            self.of(me).finished(added, 1_000_000, NOW).expect("it is declared");
        }
        while let Some(output) = self.of(me).poll_output() {
            match output {
                Output::Send { to, message } => self.mail.push_back((me, to, message)),
                Output::Done(ending) => assert_eq!(self.endings.insert(me, ending), None),
            }
        }
    }

    fn kill(&mut self, dead: u32) {
        self.participants[dead as usize] = None;
        self.endings.remove(&dead);
        self.mail.retain(|(from, to, _)| *from != dead && *to != dead);
        for me in self.living() {
            self.of(me).died(dead, NOW);
            self.go_on(me);
        }
    }

    /// Goes on until all have ended, or so many messages of the first participant have arrived.
    fn run(&mut self, most: usize) {
        for _ in 0..100_000 {
            if self.endings.len() == self.living().len() || self.arrived == most {
                return;
            }
            for me in self.living() {
                self.go_on(me);
            }
            if let Some((from, to, message)) = self.mail.pop_front() {
                let bytes = message.encode();
                let message = Message::decode(&bytes).expect("it was just encoded");
                self.of(to).receive(from, message, NOW);
                self.arrived += usize::from(from == 0);
                self.go_on(to);
            }
        }
        panic!("the phase does not end");
    }

    fn block(&self, block: u64) -> Option<u64> {
        let living = self.participants.iter().flatten();
        let mut found = living.filter_map(|one| one.block(place(block)).expect("it is not lost"));
        found.next().map(|words| words[0])
    }
}

fn array() -> Array {
    let (name, loss) = ("pairs".to_owned(), Loss::Recompute);
    Array { name, blocks: 3, words: 1, kind: Kind::Integers, copied: true, loss }
}

fn is_exact(world: &World, what: &str) {
    assert!(world.endings.values().all(|ending| *ending == Ending::Complete), "{what}");
    for block in 0..3 {
        assert_eq!(world.block(block), Some(sum(block)), "block {block}: {what}");
    }
}

/// One dies, and the others end the phase; how many tasks they start again.
fn run_on(world: &mut World, dead: u32) -> usize {
    world.kill(dead);
    world.run(usize::MAX);
    world.again
}

#[test]
fn a_death_between_any_two_messages_leaves_each_contribution_once() {
    for scheme in Scheme::ALL {
        let (mut moments, mut again) = (0, 0);
        for most in 0.. {
            let mut world = World::new(3, scheme, &array());
            world.begin();
            world.run(most);
            if world.arrived < most {
                break;
            }
            assert_eq!(world.again, 0, "{scheme}: nobody has died");
            again += run_on(&mut world, 0);
            is_exact(&world, &format!("{scheme}, after {most} messages"));
            moments += 1;
        }
        assert!(again > 0, "{scheme}: no task was started again");
        assert!(moments > 12, "{scheme}: {moments} moments");
    }
}

#[test]
fn two_at_once_and_one_in_the_recovery_are_survived() {
    for scheme in Scheme::ALL {
        for most in 0..12 {
            let mut world = World::new(4, scheme, &array());
            world.begin();
            world.run(most);
            world.kill(0);
            if most % 2 == 0 {
                world.kill(1);
            } else {
                world.arrived = 0;
                world.run(usize::MAX);
                world.kill(2);
            }
            world.run(usize::MAX);
            is_exact(&world, &format!("{scheme}, after {most} messages"));
        }
    }
}

#[test]
fn what_was_not_declared_is_an_error_with_the_task_and_the_block() {
    let mut world = World::new(1, Scheme::Lazy, &array());
    world.of(0).begin("phase", Arc::new(Pairs), NOW).unwrap();
    let task = world.of(0).next_task(NOW, &NoBoard).unwrap();
    let mut other = contributions(task);
    other[1].place = place((task + 2) % 3);
    let refused = world.of(0).finished(other, 1, NOW).unwrap_err();
    assert_eq!(refused, FinishError::Undeclared { task, place: place((task + 2) % 3) });
    let said = refused.to_string();
    assert!(said.contains(&format!("task {task}")) && said.contains("block"), "{said}");
    let twice = [contributions(task), contributions(task)].concat();
    assert!(matches!(world.of(0).finished(twice, 1, NOW), Err(FinishError::Undeclared { .. })));
    let long = vec![Contribution { place: place(task % 3), words: vec![0; 2] }];
    assert!(matches!(world.of(0).finished(long, 1, NOW), Err(FinishError::Length { .. })));
    world.of(0).finished(contributions(task), 1, NOW).unwrap();
    world.run(usize::MAX);
    is_exact(&world, "alone");
}

/// What all who live say of the block that is lost.
fn refused(array: &Array, dead: &[u32]) -> String {
    let mut world = World::new(4, Scheme::Lazy, array);
    world.begin();
    world.run(4);
    for one in dead {
        world.kill(*one);
    }
    world.run(usize::MAX);
    let Some(Ending::Refused(refusals)) = world.endings.values().next().cloned() else {
        panic!("{:?}", world.endings)
    };
    assert!(world.endings.values().all(|ending| *ending == Ending::Refused(refusals.clone())));
    let living = world.participants.iter().flatten();
    assert!(living.filter(|one| one.block(refusals[0].place).is_err()).count() == 1);
    refusals[0].to_string()
}

#[test]
fn a_block_of_which_nothing_is_left_is_refused_by_name() {
    let alone = refused(&Array { copied: false, loss: Loss::Refuse, ..array() }, &[1]);
    assert!(alone.contains("block 1 of array `pairs`"), "{alone}");
    assert!(alone.contains("it has no copy") && alone.contains("6 contributions"), "{alone}");
}

/// In the second phase nobody knows what a block was when it began.
#[test]
fn owner_and_copy_together_are_refused_once_the_content_is_not_known() {
    let mut world = World::new(4, Scheme::NonCollective, &array());
    world.begin();
    world.run(usize::MAX);
    world.endings.clear();
    world.begin();
    world.kill(0);
    world.kill(1);
    world.run(usize::MAX);
    for ending in world.endings.values() {
        let Ending::Refused(refusals) = ending else { panic!("{ending:?}") };
        let said = refusals[0].to_string();
        assert!(said.contains("block 0") && said.contains("its owner and its copy died"), "{said}");
        assert_eq!(refusals.len(), 1);
    }
    assert_eq!(world.endings.len(), 2);
}

/// Phases add to what is there; a death in the third loses nothing of the first two.
#[test]
fn phases_add_to_what_is_there_until_it_is_set_to_zero() {
    let mut world = World::new(3, Scheme::Collective, &array());
    for _ in 0..2 {
        world.begin();
        world.run(usize::MAX);
        world.endings.clear();
    }
    world.begin();
    world.kill(0);
    world.run(usize::MAX);
    assert!(world.endings.values().all(|ending| *ending == Ending::Complete));
    assert_eq!(world.block(0), Some(3 * sum(0)));
    for me in world.living() {
        world.of(me).zero(0);
    }
    world.endings.clear();
    world.begin();
    world.run(usize::MAX);
    is_exact(&world, "after zero");
}
