//! Tuples are conserved: workers that move tuples, each by a pull and then a commit that consumes
//! it and puts it again, are killed at any point, 1,000 times between the two; commits get lost or
//! their answers do, coordinators are replaced, and what was not answered is sent again. After each
//! commit the space has as many tuples as at the beginning, and in the end the same ones.

use tidings_primitives::Chance;
use tidings_tasks_core::keys;
use tidings_tasks_core::message::{Answer, Call, Message, Peer, Place, Refusal, Request};
use tidings_tasks_core::record::decode;
use tidings_tasks_core::transaction::CommitError;
use tidings_tasks_core::tuple::{Field, Settled, Statement, Stored, Template, Tuple, Type};

use crate::stage::*;

const KILLS: usize = 1_000;
const WORKERS: usize = 8;
const TUPLES: i64 = 5;

struct Worker {
    peer: Peer,
    name: String,
    /// The next statement of its slot.
    sequence: u64,
    held: Option<(u64, Tuple)>,
    asked: Option<(Call, Request)>,
}

struct World {
    stage: Stage,
    chance: Chance,
    workers: Vec<Worker>,
    born: u64,
    epoch: u64,
    moved: usize,
}

fn tuple(number: i64) -> Tuple {
    Tuple::new(vec!["token".into(), Field::Int(number)])
}

impl World {
    fn new(seed: u64) -> Self {
        let mut stage = Stage::new();
        stage.pass(TTL * 2);
        let (chance, workers) = (Chance::new(seed), Vec::new());
        let mut world = Self { stage, chance, workers, born: 0, epoch: 1, moved: 0 };
        world.fill();
        for _ in 0..WORKERS {
            let born = world.born();
            world.workers.push(born);
        }
        world
    }

    fn fill(&mut self) {
        let stage = &mut self.stage;
        stage.join(CLIENT, "client", &[], 0);
        for sequence in 0..=TUPLES as u64 {
            let statement = match sequence {
                0 => Statement::default(),
                number => Statement::put("s", &tuple(number as i64)),
            };
            let place = Place { slot: 0, sequence };
            stage.request(CLIENT, Request::Execute { place, statement: Box::new(statement) });
            stage.settle();
        }
    }

    fn born(&mut self) -> Worker {
        self.born += 1;
        let (peer, name) = (Peer(1_000 + self.born), format!("w{}", self.born));
        self.stage.join(peer, &name, &[], 0);
        Worker { peer, name, sequence: 0, held: None, asked: None }
    }

    /// A worker that has nothing asked goes on.
    fn act(&mut self, at: usize) {
        let Worker { peer, sequence, ref held, ref asked, .. } = self.workers[at];
        if asked.is_some() {
            return;
        }
        let statement = match (sequence, held) {
            (0, _) => Statement::default(),
            (_, Some((number, tuple))) => {
                let settled = vec![Settled { number: *number, is_gone: true }];
                Statement { settled, ..Statement::put("s", tuple) }
            }
            (_, None) => {
                let template = Template(vec!["token".into(), Type::Int.into()]);
                Statement::of_one("s", template, true)
            }
        };
        let place = Place { slot: 0, sequence };
        let request = Request::Execute { place, statement: Box::new(statement) };
        let call = self.stage.request(peer, request.clone());
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
        for Worker { peer, name, asked, .. } in &self.workers {
            self.stage.join(*peer, name, &[], 0);
            if let Some((call, request)) = asked {
                self.stage.again(*peer, *call, request.clone());
            }
        }
    }

    /// The store does what is asked of it, or not, and answers, or not.
    fn commit(&mut self) {
        for (ticket, transaction) in self.stage.commits() {
            let answer = match self.chance.below(20) {
                0 => Err(CommitError::Unknown),
                1 => {
                    let _ = self.stage.ledger.commit(&transaction);
                    Err(CommitError::Unknown)
                }
                _ => self.stage.ledger.commit(&transaction),
            };
            self.stage.coordinator.handle_commit(self.stage.now, ticket, answer);
        }
        assert_eq!(self.stored().len(), TUPLES as usize, "after {} moves", self.moved);
    }

    fn pass(&mut self) {
        let said = self.stage.pass(TTL / 30);
        self.stage.messages.extend(said);
    }

    fn hear(&mut self) {
        for (peer, message) in core::mem::take(&mut self.stage.messages) {
            let Some(at) = self.workers.iter().position(|worker| worker.peer == peer) else {
                continue;
            };
            match message {
                Message::Answer(call, answer) => self.answered(at, call, answer),
                Message::Ended => self.kill(at),
                _ => {}
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
                self.moved += usize::from(worker.held.is_some());
                worker.held = found.into_iter().next().map(|one| (one.number, one.tuple));
            }
            Answer::Refused(Refusal::Elsewhere) => {
                self.stage.again(worker.peer, asked, request.clone());
                worker.asked = Some((asked, request));
            }
            // Its tuple is there again: it begins anew.
            Answer::Refused(Refusal::NoSession | Refusal::Lapsed | Refusal::NoClaim) => {
                self.kill(at);
            }
            other => panic!("{other:?} to {request:?}"),
        }
    }

    fn stored(&self) -> Vec<Stored> {
        let prefix = keys::tuples(PART);
        let page = self.stage.ledger.scan(&prefix, prefix.after_prefix().as_ref(), 1_000);
        page.records.iter().map(|record| decode(record).expect("a tuple")).collect()
    }
}

#[test]
fn a_thousand_kills_conserve_tuples() {
    let mut world = World::new(7);
    let mut kills = 0;
    while kills < KILLS {
        let at = world.chance.below(WORKERS);
        match world.chance.below(400) {
            0..=2 => {
                kills += usize::from(world.workers[at].held.is_some());
                world.kill(at);
            }
            3 => world.succeed(),
            4..=13 => world.pass(),
            14..=180 => world.act(at),
            181..=290 => world.commit(),
            _ => world.hear(),
        }
    }
    let names: Vec<String> = world.workers.iter().map(|one| format!("host-{}", one.name)).collect();
    for name in names {
        world.stage.coordinator.handle_host_lost(world.stage.now, &name);
    }
    world.stage.settle();
    world.stage.pass(TTL * 2);
    let mut left: Vec<i64> = Vec::new();
    for stored in world.stored() {
        assert_eq!(stored.claim, None, "a tuple of nobody is claimed");
        let Field::Int(number) = stored.tuple.fields()[1] else { panic!("{stored:?}") };
        left.push(number);
    }
    left.sort_unstable();
    assert_eq!(left, (1..=TUPLES).collect::<Vec<_>>());
    assert!(world.moved > KILLS, "the workers moved {} tuples", world.moved);
}
