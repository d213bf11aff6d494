//! Requests of any kind in any order, with any answers of the store, and records of any bytes:
//! nothing panics, and what the store holds afterwards can be read and served.

use core::time::Duration;

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use tidings_primitives::Instant;
use tidings_tasks_core::coordinator::{Coordinator, Read, Reply, Settings};
use tidings_tasks_core::hosts::{Condition, Hosts, Rank};
use tidings_tasks_core::id::{Attempt, Epoch, Part, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::ledger::Ledger;
use tidings_tasks_core::message::{Call, Effect, Message, Peer, Place, Put, Request, Submission};
use tidings_tasks_core::name::Name;
use tidings_tasks_core::output::{Depot, Kept, Owner, Reached};
use tidings_tasks_core::record::{Finished, Reign, Task};
use tidings_tasks_core::reign::{self, Candidate};
use tidings_tasks_core::resources::Need;
use tidings_tasks_core::retry::{Cause, Retry};
use tidings_tasks_core::semaphore::Semaphore;
use tidings_tasks_core::transaction::{CommitError, Durability, Limits};
use tidings_tasks_core::tuple::{
    Field, In, Out, Pattern, Settled, Statement, Stored, Template, Term, Tuple,
};
use tidings_tasks_core::view::Which;

#[path = "../../../fuzz/src/stored.rs"]
#[allow(unreachable_pub, reason = "public in the fuzz crate")]
mod stored;

const PART: Part = Part(0);

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec![0, 255, 256, 600]).prop_map(|bytes| "n".repeat(bytes)),
    ]
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0..3_u64, 1 => Just(u64::MAX), 1 => Just(1 << 40)]
}

fn id() -> impl Strategy<Value = TaskId> {
    (0..6_u64).prop_map(|number| TaskId::of("t", number))
}

fn attempt() -> impl Strategy<Value = Attempt> {
    prop_oneof![5 => 0..4_u32, 1 => Just(u32::MAX)].prop_map(Attempt)
}

fn resources() -> impl Strategy<Value = Vec<(String, u64)>> {
    let names = vec!["cpus", "mem", "gpu", "", "a b"];
    let amount = prop_oneof![3 => 0..3_u64, 1 => Just(1_000), 1 => Just(u64::MAX)];
    let name = prop::sample::select(names).prop_map(str::to_owned);
    prop_oneof![3 => Just(Vec::new()), 4 => vec((name, amount), 0..20)]
}

fn submission() -> impl Strategy<Value = Submission> {
    let bytes = prop::sample::select(vec![0_usize, 10, 16 * 1024, 16 * 1024 + 1]);
    let filter = prop::sample::select(vec![0_usize, 0, 5, 1_024, 1_025]);
    let many = vec![TaskId::of("t", 0); 300];
    let inputs = prop_oneof![2 => Just(Vec::new()), 2 => vec(id(), 0..4), 1 => Just(many)];
    let needs = (resources(), filter, inputs);
    (id(), name(), name(), any::<i16>(), number(), bytes, any::<u16>(), needs).prop_map(
        |(id, queue, group, priority, delay_ms, bytes, most, (need, filter, inputs))| {
            let group = Name::from(group);
            let retry =
                Retry { errors: most, losses: most, backoff_ms: u32::MAX, ..Retry::default() };
            Submission {
                group,
                priority,
                delay_ms,
                retry,
                need: Need::new(need).unwrap_or_default(),
                filter: "f".repeat(filter),
                inputs,
                copies: u32::from(most) % 10,
                ..Submission::new(id, queue, vec![1; bytes])
            }
        },
    )
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![3 => vec(0..3_u8, 1), 1 => Just(vec![]), 1 => Just(vec![1; 600])]
}

fn effect() -> impl Strategy<Value = Effect> {
    (key(), prop::option::of(vec(any::<u8>(), 0..4)), prop::option::of(number()))
        .prop_map(|(key, value, expect)| Effect { key, value: value.map(Into::into), expect })
}

fn depot() -> impl Strategy<Value = Depot> {
    (0..3_u64, name()).prop_map(|(id, host)| Depot { id, host })
}

fn owner() -> impl Strategy<Value = Owner> {
    prop_oneof![Just(Owner::Store), (0..4_u64).prop_map(Owner::Depot)]
}

/// A request about outputs that stay on nodes.
fn of_outputs() -> impl Strategy<Value = Request> {
    let kept = (number(), vec(depot(), 0..10)).prop_map(|(bytes, depots)| Kept { bytes, depots });
    let address = prop::sample::select(vec![0, 9, 300, 301]).prop_map(|bytes| "a".repeat(bytes));
    let folder = prop::sample::select(vec![0, 4_096, 4_097]);
    let folder = prop::option::of(folder.prop_map(|bytes| "f".repeat(bytes)));
    let depots = (depot(), prop_oneof![0..4_u32, Just(u32::MAX)], prop::option::of(id()));
    let blobs = prop::sample::select(vec![0, 2, 1_001]);
    prop_oneof![
        3 => ((depot(), address), folder)
            .prop_map(|((depot, address), folder)| {
                Request::Keep { reached: Reached { depot, address, folder } }
            }),
        6 => (id(), attempt(), kept, vec(submission(), 0..2)).prop_map(
            |(task, attempt, kept, children)| {
                let (result, effects, puts) = (vec![1], Vec::new(), Vec::new());
                Request::CompleteKept { task, attempt, result, children, effects, kept, puts }
            }
        ),
        2 => id().prop_map(|task| Request::Fetch { task }),
        3 => (id(), attempt()).prop_map(|(task, attempt)| Request::Lost { task, attempt }),
        1 => depots.prop_map(|(own, count, task)| Request::Depots { own, count, task }),
        1 => (prop::option::of(0..4_u64), prop::option::of(any::<u64>()))
            .prop_map(|(after, known)| Request::Nodes { after, known }),
        1 => vec(id(), 0..8).prop_map(|tasks| Request::Unknown { tasks }),
        1 => (0..4_u64).prop_map(|depot| Request::Locate { depot }),
        2 => (vec(owner(), 0..10), prop::option::of(owner())).prop_map(|(owners, failed)| {
            Request::Source { blob: [7; 32].into(), owners, failed }
        }),
        2 => any::<bool>()
            .prop_map(|is_there| Request::Copied { blob: [7; 32].into(), is_there }),
        1 => blobs.prop_map(|count| Request::Unnamed { blobs: vec![[7; 32].into(); count] }),
        1 => vec(name(), 0..3).prop_map(|queues| Request::AwaitReady { queues }),
        1 => (0..3_u32).prop_map(|has| Request::Cede { has }),
    ]
}

/// A request about keys of the users'.
fn of_keys() -> impl Strategy<Value = Request> {
    let limit = prop_oneof![0..4_u32, Just(u32::MAX)];
    prop_oneof![
        vec(effect(), 0..3).prop_map(|effects| Request::Write { effects }),
        vec(key(), 0..3).prop_map(|keys| {
            Request::Read { keys: keys.into_iter().map(Into::into).collect() }
        }),
        (key(), prop::option::of(key()), limit).prop_map(|(prefix, from, limit)| {
            Request::Keys { prefix: prefix.into(), from: from.map(Into::into), limit }
        }),
        (key(), prop::option::of(number()))
            .prop_map(|(prefix, after)| Request::Changes { prefix: prefix.into(), after }),
    ]
}

/// A request about semaphores.
fn of_semaphores() -> impl Strategy<Value = Request> {
    let permits = || prop_oneof![0..4_u32, Just(u32::MAX)];
    prop_oneof![
        1 => (name(), permits())
            .prop_map(|(semaphore, permits)| Request::SetPermits { semaphore, permits }),
        2 => (name(), permits())
            .prop_map(|(semaphore, permits)| Request::Acquire { semaphore, permits }),
        1 => (name(), number())
            .prop_map(|(semaphore, call)| Request::Release { semaphore, acquired: Call(call) }),
    ]
}

fn request() -> impl Strategy<Value = Request> {
    let causes = vec![Cause::Error, Cause::Lost, Cause::Returned, Cause::Time, Cause::Gone];
    let cause = prop::sample::select(causes);
    let more = || prop_oneof![0..4_u32, Just(u32::MAX)];
    let slots = prop_oneof![0..4_u32, Just(u32::MAX)];
    let which = prop::sample::select(vec![Which::Live, Which::Failed, Which::Done, Which::All]);
    let full = prop::option::of(name());
    let detail = prop::sample::select(vec![0, 8_192, 8_193]).prop_map(|bytes| vec![1; bytes]);
    prop_oneof![
        2 => (name(), name(), vec((id(), attempt()), 0..3))
            .prop_map(|(name, host, holding)| Request::Join { name, host, holding }),
        1 => Just(Request::Heartbeat),
        1 => Just(Request::Leave),
        2 => (vec(name(), 0..3), slots.clone(), resources(), slots, full).prop_map(
            |(queues, slots, resources, ahead, full)| {
                Request::Offer { queues, slots, resources, ahead, full }
            }
        ),
        1 => Just(Request::Overview),
        1 => number().prop_map(|after| Request::Recent { after }),
        1 => vec(id(), 0..8).prop_map(|tasks| Request::Forget { tasks }),
        1 => id().prop_map(|task| Request::Show { task }),
        1 => id().prop_map(|task| Request::Explain { task }),
        1 => (id(), attempt(), any::<u16>(), "\\PC{0,150}").prop_map(
            |(task, attempt, thousandths, text)| {
                Request::Progress { task, attempt, thousandths, text }
            }
        ),
        1 => (prop::option::of(name()), which, prop::option::of(id()), more()).prop_map(
            |(queue, state, from, limit)| Request::List { queue, state, from, limit }
        ),
        3 => vec(submission(), 0..4).prop_map(|tasks| Request::Submit { tasks }),
        4 => (id(), attempt(), vec(submission(), 0..2), vec(effect(), 0..2), puts()).prop_map(
            |(task, attempt, children, effects, puts)| {
                Request::Complete { task, attempt, result: vec![1], children, effects, puts }
            }
        ),
        2 => (id(), attempt(), cause, name(), detail).prop_map(
            |(task, attempt, cause, text, detail)| {
                Request::Fail { task, attempt, cause, text, detail }
            }
        ),
        4 => of_keys(),
        1 => id().prop_map(|task| Request::Cancel { task }),
        1 => id().prop_map(|task| Request::Withdraw { task }),
        4 => of_outputs(),
        1 => id().prop_map(|task| Request::Revive { task }),
        1 => id().prop_map(|task| Request::Wait { task }),
        4 => of_semaphores(),
        8 => (place(), statement()).prop_map(|(place, statement)| {
            Request::Execute { place, statement: Box::new(statement) }
        }),
        1 => place().prop_map(|place| Request::GiveUp { place }),
        1 => (prop::option::of(name()), more())
            .prop_map(|(from, limit)| Request::Spaces { from, limit }),
        1 => (name(), prop::option::of(number()), more())
            .prop_map(|(space, from, limit)| Request::Tuples { space, from, limit }),
    ]
}

fn place() -> impl Strategy<Value = Place> {
    let sequence = prop_oneof![8 => 0..4_u64, 1 => Just(u64::MAX)];
    let slot = prop_oneof![8 => 0..2_u16, 1 => Just(u16::MAX)];
    (slot, sequence).prop_map(|(slot, sequence)| Place { slot, sequence })
}

/// Mostly the first statement of a slot, or one that may be done.
fn puts() -> impl Strategy<Value = Vec<Put>> {
    let fields = (0..2_i64, prop_oneof![8 => 1..3_usize, 1 => Just(17)]);
    let tuple = fields.prop_map(|(value, count)| Tuple::new(vec![Field::Int(value); count]));
    let put = (name(), tuple).prop_map(|(space, tuple)| Put { space, tuple }).boxed();
    prop_oneof![8 => vec(put.clone(), 0..3), 1 => vec(put, 17)]
}

fn statement() -> impl Strategy<Value = Statement> {
    let count = prop_oneof![8 => 1..3_usize, 1 => 15..18_usize];
    let fields = count.prop_flat_map(|count| vec((0..2_i64).prop_map(Field::Int), count));
    let pattern = prop_oneof![(0..2_i64).prop_map(Pattern::from), Just(Pattern::Any)];
    let one =
        (name(), vec(pattern, 0..3), any::<bool>()).prop_map(|(space, template, is_pulled)| In {
            space,
            template: Template(template),
            is_pulled,
        });
    let term = prop_oneof![4 => (0..2_i64).prop_map(Term::from), 1 => Just(Term::Found(0, 1))];
    let out = prop_oneof![
        3 => (name(), fields).prop_map(|(space, fields)| Out {
            space,
            terms: fields.into_iter().map(Term::Is).collect(),
        }),
        1 => (name(), vec(term, 0..3)).prop_map(|(space, terms)| Out { space, terms }),
    ];
    let settled = (prop_oneof![1..4_u64, Just(u64::MAX)], any::<bool>())
        .prop_map(|(number, is_gone)| Settled { number: (1 << 40) + number % 8, is_gone });
    let how = (any::<bool>(), prop::option::of((id(), attempt())), prop::option::of(number()));
    let whole = (vec(one, 0..3), vec(out, 0..3), vec(settled, 0..2), how).prop_map(
        |(ins, outs, settled, (consumes, owner, wait_ms))| Statement {
            ins,
            outs,
            settled,
            consumes,
            owner,
            wait_ms,
        },
    );
    prop_oneof![1 => Just(Statement::default()), 2 => whole]
}

/// Hosts as no board would show them.
fn hosts() -> impl Strategy<Value = Hosts> {
    let conditions = vec![Condition::Good, Condition::Slow, Condition::Doubtful];
    let load = prop_oneof![Just(0), Just(500), Just(u32::MAX)];
    let rank = (prop::sample::select(conditions), load)
        .prop_map(|(condition, load)| Rank { condition, load });
    let accepted = btree_set(name(), 0..3);
    (btree_map(name(), rank, 0..3), accepted)
        .prop_map(|(ranks, accepted)| Hosts { ranks, matches: [("f".repeat(5), accepted)].into() })
}

/// What happens next.
#[derive(Clone, Debug)]
enum Step {
    Request(u64, u64, Request),
    Gone(u64),
    HostLost(String),
    ProcessEnded(String),
    Hosts(Option<Hosts>),
    Sleep(u64),
    /// The store answers what it was asked, in this way.
    Answer(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => (0..4_u64, number(), request())
            .prop_map(|(peer, call, one)| Step::Request(peer, call, one)),
        1 => (0..4_u64).prop_map(Step::Gone),
        1 => name().prop_map(Step::HostLost),
        1 => name().prop_map(Step::ProcessEnded),
        1 => prop::option::of(hosts()).prop_map(Step::Hosts),
        2 => prop_oneof![0..2_000_u64, Just(1 << 40)].prop_map(Step::Sleep),
        10 => prop_oneof![6 => Just(0_u8), 4 => 1..8_u8].prop_map(Step::Answer),
    ]
}

struct World {
    ledger: Ledger,
    coordinator: Coordinator,
    now: Instant,
}

impl World {
    fn new() -> Self {
        let mut ledger = Ledger::default();
        let coordinator = reign(&mut ledger, 1);
        Self { ledger, coordinator, now: Instant::EPOCH }
    }

    /// The store answers all that it was asked.
    fn answer(&mut self, how: u8) {
        while let Some((ticket, read)) = self.coordinator.poll_read() {
            let reply = match read {
                _ if how == 1 => Reply::Lost,
                Read::Get(_) if how == 2 => Reply::Records(Vec::new()),
                Read::Get(keys) => {
                    Reply::Records(keys.iter().filter_map(|key| self.ledger.get(key)).collect())
                }
                Read::Scan { from, end, .. } => {
                    Reply::Page(self.ledger.scan(&from, end.as_ref(), 2))
                }
            };
            self.coordinator.handle_read(self.now, ticket, reply);
        }
        let mut commits = Vec::new();
        while let Some(commit) = self.coordinator.poll_commit() {
            commits.push(commit);
        }
        for (ticket, transaction) in commits {
            let answer = match how {
                1 => Err(CommitError::Lost(String::new())),
                3 => Err(CommitError::Unknown),
                4 => self.ledger.commit(&transaction).and(Err(CommitError::Unknown)),
                5 => Err(CommitError::Full(String::new())),
                6 => Err(CommitError::Invalid(String::new())),
                7 => {
                    let key = transaction.conditions.last().expect("the role").0.clone();
                    Err(CommitError::Conflict { key, revision: None })
                }
                _ => self.ledger.commit(&transaction),
            };
            self.coordinator.handle_commit(self.now, ticket, answer);
        }
        while self.coordinator.poll_message().is_some() {}
        if self.coordinator.is_deposed() {
            let epoch = self.ledger.revision().0;
            self.coordinator = reign(&mut self.ledger, epoch);
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Request(peer, call, request) => {
                self.coordinator.handle_request(self.now, Peer(peer), Call(call), request);
            }
            Step::Gone(peer) => self.coordinator.handle_gone(self.now, Peer(peer)),
            Step::Hosts(hosts) => {
                let filters: Vec<_> = self.coordinator.filters().into_iter().collect();
                assert!(filters.iter().all(|filter| !filter.is_empty()));
                self.coordinator.handle_hosts(self.now, hosts);
            }
            Step::HostLost(host) => self.coordinator.handle_host_lost(self.now, &host),
            Step::ProcessEnded(name) => self.coordinator.handle_process_ended(self.now, &name),
            Step::Sleep(ms) => {
                self.now = self.now + Duration::from_millis(ms);
                self.coordinator.handle_timeout(self.now);
                let next = self.coordinator.poll_timeout();
                assert!(next.is_none_or(|next| next > self.now), "it wakes for nothing");
            }
            Step::Answer(how) => self.answer(how),
        }
    }
}

fn reign(ledger: &mut Ledger, epoch: u64) -> Coordinator {
    let (name, host, address) = ("c".to_owned(), "h".to_owned(), String::new());
    let candidate = Candidate { name, host, address, session: None };
    let seen = ledger.get(&keys::role(PART));
    let (take, _) = reign::take(PART, seen.as_ref(), &candidate).expect("it can be read");
    let settings = Settings {
        part: PART,
        parts: 1,
        epoch: Epoch(epoch),
        role: ledger.commit(&take).expect("nobody else wants it"),
        limits: Limits { operations: 60, bytes: 100_000, durability: Durability::Synced },
        session_ttl: Duration::from_secs(1),
        detector: tidings_tasks_core::detector::Detector::Session,
        reconnect: Duration::from_millis(300),
        queue_capacity: 3,
        pipeline: 2,
        cached_bytes: 1_000,
        epoch_ms: 1_000,
    };
    Coordinator::new(settings, Instant::EPOCH)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_sequence_of_inputs_breaks_it(steps in vec(step(), 1..120)) {
        let mut world = World::new();
        for step in steps {
            world.step(step);
        }
        stored::check(&world.ledger, PART);
        for _ in 0..8 {
            world.answer(0);
            world.step(Step::Sleep(1_500));
        }
        world.answer(0);
        stored::check(&world.ledger, PART);
        prop_assert!(world.coordinator.is_serving(), "it serves again once the store answers");
    }

    #[test]
    fn any_bytes_are_a_record_or_an_error(bytes in vec(any::<u8>(), 0..400)) {
        drop(minicbor::decode::<Task>(&bytes));
        drop(minicbor::decode::<Finished>(&bytes));
        drop(minicbor::decode::<Semaphore>(&bytes));
        drop(minicbor::decode::<Stored>(&bytes));
        drop(minicbor::decode::<Reign>(&bytes));
        drop(minicbor::decode::<Request>(&bytes));
        drop(minicbor::decode::<Message>(&bytes));
    }
}
