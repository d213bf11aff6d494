//! A value that tasks alter in place: a tuple (name, key, version, value) is pulled by a task, and
//! what it has made of it is put in the commit by which it ends. Workers are killed at any point,
//! 1,000 times while a task has the tuple; commits get lost or their answers do, coordinators are
//! replaced, and what was not answered is sent again. After each commit there is one tuple for each
//! key, its version is the number of tasks that have ended, and its value their sum.

use std::collections::{BTreeMap, BTreeSet};

use tidings_primitives::Chance;
use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::message::{
    Answer, Call, Message, Peer, Place, Put, Refusal, Request, Submission,
};
use tidings_tasks_core::record::decode;
use tidings_tasks_core::retry::Retry;
use tidings_tasks_core::transaction::{CommitError, Transaction};
use tidings_tasks_core::tuple::{Field, Pattern, Statement, Stored, Template, Tuple, Type};

use crate::stage::*;

const KILLS: usize = 1_000;
const WORKERS: usize = 6;
const CELLS: u64 = 3;

/// A version and a value.
type Content = (i64, i64);

#[derive(Default)]
struct Worker {
    name: String,
    peer: u64,
    /// The next statement of its slot.
    sequence: u64,
    task: Option<(u64, Attempt)>,
    held: Option<Content>,
    asked: Option<(Call, Request)>,
}

struct World {
    stage: Stage,
    chance: Chance,
    workers: Vec<Worker>,
    born: u64,
    epoch: u64,
    /// What was submitted, by id.
    submitted: BTreeMap<TaskId, u64>,
    /// What of it has not ended.
    open: BTreeSet<u64>,
    /// Of each key, what the tasks that have ended have made.
    expected: BTreeMap<u64, Content>,
}

fn cell(key: u64, (version, value): Content) -> Tuple {
    Tuple::new(vec!["cell".into(), Field::Int(key as i64), version.into(), value.into()])
}

fn content(tuple: &Tuple) -> (u64, Content) {
    let number = |at: usize| match tuple.fields()[at] {
        Field::Int(number) => number,
        _ => panic!("{tuple:?}"),
    };
    (number(1) as u64, (number(2), number(3)))
}

impl World {
    fn new(seed: u64) -> Self {
        let mut stage = Stage::new();
        stage.pass(TTL * 2);
        stage.join(CLIENT, "client", &[], 0);
        for sequence in 0..=CELLS {
            let statement = match sequence {
                0 => Statement::default(),
                key => Statement::put("s", &cell(key - 1, (0, 0))),
            };
            let place = Place { slot: 0, sequence };
            stage.request(CLIENT, Request::Execute { place, statement: Box::new(statement) });
            stage.settle();
        }
        let expected = (0..CELLS).map(|key| (key, (0, 0))).collect();
        let (chance, workers, submitted) = (Chance::new(seed), Vec::new(), BTreeMap::new());
        let open = BTreeSet::new();
        let mut world =
            Self { stage, chance, workers, born: 0, epoch: 1, submitted, open, expected };
        for _ in 0..WORKERS {
            let born = world.born();
            world.workers.push(born);
        }
        world
    }

    fn born(&mut self) -> Worker {
        self.born += 1;
        let (peer, name) = (1_000 + self.born, format!("w{}", self.born));
        self.stage.join(Peer(peer), &name, &[], 1);
        Worker { name, peer, ..Worker::default() }
    }

    /// How many tasks have ended.
    fn ended(&self) -> usize {
        self.expected.values().map(|(version, _)| *version as usize).sum()
    }

    /// Submits what has not ended, since that may not have arrived, and more if it is little.
    fn submit(&mut self) {
        if self.open.len() < 2 * WORKERS {
            let first = self.submitted.len() as u64;
            let new = (first..first + 8).map(|number| (task(number).id, number));
            self.open.extend(new.clone().map(|(_, number)| number));
            self.submitted.extend(new);
        }
        let retry = Retry { losses: u16::MAX, ..Retry::default() };
        let again = |number: &u64| Submission { retry, ..task(*number) };
        let tasks: Vec<_> = self.open.iter().map(again).collect();
        self.stage.submit(&tasks);
    }

    /// A worker that has nothing asked goes on.
    fn act(&mut self, at: usize) {
        let Worker { peer, sequence, task, held, ref asked, .. } = self.workers[at];
        if asked.is_some() {
            return;
        }
        let execute = |statement| {
            let place = Place { slot: 0, sequence };
            Request::Execute { place, statement: Box::new(statement) }
        };
        let request = match (sequence, task, held) {
            (0, ..) => execute(Statement::default()),
            (_, None, _) => return,
            (_, Some((number, attempt)), None) => {
                let key = Field::Int((number % CELLS) as i64);
                let rest = [Type::Int.into(), Type::Int.into()];
                let named = [Pattern::from("cell"), key.into()];
                let template = Template([named, rest].concat());
                let owner = Some((TaskId::of("t", number), attempt));
                execute(Statement { owner, ..Statement::of_one("s", template, true) })
            }
            (_, Some((number, attempt)), Some((version, value))) => {
                let tuple = cell(number % CELLS, (version + 1, value + number as i64));
                let puts = vec![Put { space: "s".to_owned(), tuple }];
                let (result, children, effects) = (Vec::new(), Vec::new(), Vec::new());
                let task = TaskId::of("t", number);
                Request::Complete { task, attempt, result, children, effects, puts }
            }
        };
        let call = self.stage.request(Peer(peer), request.clone());
        self.workers[at].asked = Some((call, request));
    }

    fn kill(&mut self, at: usize) {
        let name = format!("host-{}", self.workers[at].name);
        self.stage.coordinator.handle_host_lost(self.stage.now, &name);
        self.workers[at] = self.born();
    }

    /// Another coordinator; whoever lives comes to it, and asks again.
    fn succeed(&mut self) {
        self.epoch += 1;
        self.stage.succeed(self.epoch);
        for Worker { peer, name, task, asked, .. } in &self.workers {
            let holding: Vec<_> =
                task.iter().map(|(number, attempt)| (TaskId::of("t", *number), *attempt)).collect();
            self.stage.join(Peer(*peer), name, &holding, 1);
            if let Some((call, request)) = asked {
                self.stage.again(Peer(*peer), *call, request.clone());
            }
        }
    }

    /// The store does what is asked of it, or not, and answers, or not.
    fn commit(&mut self) {
        for (ticket, transaction) in self.stage.commits() {
            let chance = self.chance.below(100);
            let mut answer = Err(CommitError::Unknown);
            if chance > 0 {
                let committed = self.stage.ledger.commit(&transaction);
                if committed.is_ok() {
                    self.committed(&transaction);
                }
                if chance > 1 {
                    answer = committed;
                }
            }
            self.stage.coordinator.handle_commit(self.stage.now, ticket, answer);
            self.check();
        }
    }

    /// Counts the tasks that a commit ends.
    fn committed(&mut self, transaction: &Transaction) {
        let ended = keys::all_finished(PART);
        for write in &transaction.writes {
            if !write.key().as_bytes().starts_with(ended.as_bytes()) {
                continue;
            }
            let id = keys::id_of(write.key()).expect("a task");
            let number = self.submitted[&id];
            assert!(self.open.remove(&number), "task {number} ends once");
            let (version, value) = self.expected.get_mut(&(number % CELLS)).expect("a cell");
            (*version, *value) = (*version + 1, *value + number as i64);
        }
    }

    fn check(&self) {
        let prefix = keys::tuples(PART);
        let page = self.stage.ledger.scan(&prefix, prefix.after_prefix().as_ref(), 1_000);
        let stored = page.records.iter().map(|record| decode(record).expect("a tuple"));
        let all: Vec<_> = stored.map(|one: Stored| content(&one.tuple)).collect();
        let by_key: BTreeMap<_, _> = all.iter().copied().collect();
        assert_eq!((by_key, all.len()), (self.expected.clone(), CELLS as usize));
    }

    fn pass(&mut self) {
        self.stage.now = self.stage.now + TTL / 30;
        self.stage.coordinator.handle_timeout(self.stage.now);
    }

    fn hear(&mut self) {
        for (peer, message) in core::mem::take(&mut self.stage.messages) {
            let Some(at) = self.workers.iter().position(|one| Peer(one.peer) == peer) else {
                continue;
            };
            match message {
                Message::Answer(call, answer) => self.answered(at, call, answer),
                Message::Assign { task, attempt, .. } => {
                    let task = Some((self.submitted[&task], attempt));
                    if self.workers[at].task != task {
                        (self.workers[at].task, self.workers[at].held) = (task, None);
                    }
                }
                // The try is over: its worker is another one from now on.
                Message::Ended | Message::Stop { .. } => self.kill(at),
            }
        }
    }

    fn answered(&mut self, at: usize, call: Call, answer: Answer) {
        let worker = &mut self.workers[at];
        let Some((asked, request)) = worker.asked.take_if(|(asked, _)| *asked == call) else {
            return;
        };
        match answer {
            Answer::Matched(found) => {
                worker.sequence += 1;
                worker.held = found.first().map(|one| content(&one.tuple).1);
            }
            Answer::Done => (worker.task, worker.held) = (None, None),
            Answer::Refused(Refusal::Elsewhere) => {
                self.stage.again(Peer(worker.peer), asked, request.clone());
                worker.asked = Some((asked, request));
            }
            // Its tuple is there again: it begins anew.
            Answer::Refused(_) => self.kill(at),
            other => panic!("{other:?} to {request:?}"),
        }
    }
}

#[test]
fn a_thousand_kills_leave_each_value_as_the_ended_tasks_have_made_it() {
    let mut world = World::new(11);
    let mut kills = 0;
    while kills < KILLS {
        let at = world.chance.below(WORKERS);
        match world.chance.below(400) {
            0..=9 => {
                kills += usize::from(world.workers[at].held.is_some());
                world.kill(at);
            }
            10 => world.succeed(),
            11..=14 => world.submit(),
            15..=40 => world.pass(),
            41..=180 => world.act(at),
            181..=290 => world.commit(),
            _ => world.hear(),
        }
    }
    assert!(world.ended() > KILLS / 4, "{} tasks ended", world.ended());
}
