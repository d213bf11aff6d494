//! The laws of spaces, against a model: a list of tuples, of which the first that matches is taken.

use proptest::prelude::*;
use tidings_primitives::Instant;
use tidings_tasks_core::coordinator::{Coordinator, Read, Reply, Settings};
use tidings_tasks_core::id::{Epoch, Part};
use tidings_tasks_core::keys;
use tidings_tasks_core::ledger::Ledger;
use tidings_tasks_core::message::{Answer, Call, Message, Peer, Place, Request};
use tidings_tasks_core::reign::{self, Candidate};
use tidings_tasks_core::transaction::{Durability, Limits};
use tidings_tasks_core::tuple::index::Index;
use tidings_tasks_core::tuple::{
    Field, In, MAX_FIELDS, Pattern, Statement, Template, Term, Tuple, Type,
};

const PEER: Peer = Peer(1);

fn field() -> impl Strategy<Value = Field> {
    prop_oneof![
        (0..3_i64).prop_map(Field::Int),
        prop::sample::select(vec![0.0, -0.0, 1.0, f64::NAN]).prop_map(Field::Float),
        prop::sample::select(vec!["", "a", "b"]).prop_map(Field::from),
        prop::collection::vec(0..2_u8, 0..2).prop_map(Field::from),
        any::<bool>().prop_map(Field::Bool),
    ]
}

fn tuple() -> impl Strategy<Value = Tuple> {
    prop::collection::vec(field(), 1..4).prop_map(Tuple::new)
}

fn template() -> impl Strategy<Value = Template> {
    let types = vec![Type::Int, Type::Float, Type::Text, Type::Bytes, Type::Bool];
    let pattern = prop_oneof![
        3 => field().prop_map(Pattern::Is),
        1 => prop::sample::select(types).prop_map(Pattern::Of),
        1 => Just(Pattern::Any),
    ];
    prop::collection::vec(pattern, 1..4).prop_map(Template)
}

fn space() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["s", "t"]).prop_map(str::to_owned)
}

#[derive(Clone, Debug)]
enum Deed {
    Put(String, Tuple),
    Read(String, Template),
    Take(String, Template),
    /// Takes two, and puts the first field of the first.
    Pair((String, Template), (String, Template)),
}

fn deed() -> impl Strategy<Value = Deed> {
    let one = || (space(), template());
    prop_oneof![
        4 => (space(), tuple()).prop_map(|(space, tuple)| Deed::Put(space, tuple)),
        1 => one().prop_map(|(space, template)| Deed::Read(space, template)),
        3 => one().prop_map(|(space, template)| Deed::Take(space, template)),
        2 => (one(), one()).prop_map(|(one, other)| Deed::Pair(one, other)),
    ]
}

/// Tuples in their order, each in a space.
#[derive(Default)]
struct Model(Vec<(String, Tuple)>);

impl Model {
    fn all(&self, space: &str, template: &Template) -> Vec<usize> {
        let matches = |at: &usize| self.0[*at].0 == space && template.matches(&self.0[*at].1);
        (0..self.0.len()).filter(matches).collect()
    }

    /// Two different ones; if there are any, which does not matter.
    fn has_pair(&self, one: &(String, Template), other: &(String, Template)) -> bool {
        let (ones, others) = (self.all(&one.0, &one.1), self.all(&other.0, &other.1));
        ones.iter().any(|at| others.iter().any(|own| own != at))
    }

    /// Takes out the first tuple of a space that is equal to one.
    fn remove(&mut self, space: &str, tuple: &Tuple) {
        let at = self.0.iter().position(|(own, held)| own == space && held == tuple);
        self.0.remove(at.expect("what was found was there"));
    }
}

/// A coordinator over a store.
struct World {
    ledger: Ledger,
    coordinator: Coordinator,
    sequence: u64,
    call: u64,
}

impl World {
    fn new() -> Self {
        let mut ledger = Ledger::default();
        let coordinator = begin(&mut ledger, 1);
        let mut world = Self { ledger, coordinator, sequence: 0, call: 0 };
        world.join();
        world.execute(Statement::default());
        world
    }

    fn join(&mut self) {
        let (name, host) = ("a".to_owned(), "h".to_owned());
        self.ask(Request::Join { name, host, holding: Vec::new() });
    }

    fn execute(&mut self, statement: Statement) -> Answer {
        let alters = statement.alters() || self.sequence == 0;
        let place = Place { slot: 0, sequence: self.sequence };
        let statement = Box::new(Statement { wait_ms: Some(0), consumes: true, ..statement });
        let answer = self.ask(Request::Execute { place, statement });
        self.sequence += u64::from(alters && matches!(answer, Answer::Matched(_)));
        answer
    }

    fn ask(&mut self, request: Request) -> Answer {
        self.call += 1;
        let call = Call(self.call);
        self.coordinator.handle_request(Instant::EPOCH, PEER, call, request);
        loop {
            while let Some((ticket, read)) = self.coordinator.poll_read() {
                let reply = match read {
                    Read::Get(keys) => {
                        Reply::Records(keys.iter().filter_map(|key| self.ledger.get(key)).collect())
                    }
                    Read::Scan { from, end, limit } => {
                        Reply::Page(self.ledger.scan(&from, end.as_ref(), limit))
                    }
                };
                self.coordinator.handle_read(Instant::EPOCH, ticket, reply);
            }
            while let Some((_, message)) = self.coordinator.poll_message() {
                match message {
                    Message::Answer(of, answer) if of == call => return answer,
                    _ => {}
                }
            }
            let (ticket, transaction) = self.coordinator.poll_commit().expect("an answer");
            let answer = self.ledger.commit(&transaction);
            self.coordinator.handle_commit(Instant::EPOCH, ticket, answer);
        }
    }
}

fn begin(ledger: &mut Ledger, epoch: u64) -> Coordinator {
    let (name, host, address) = (format!("c{epoch}"), "h".to_owned(), String::new());
    let candidate = Candidate { name, host, address, session: None };
    let seen = ledger.get(&keys::role(Part(0)));
    let (take, _) = reign::take(Part(0), seen.as_ref(), &candidate).expect("a reign");
    let role = ledger.commit(&take).expect("nobody else wants it");
    let limits = Limits { operations: 128, bytes: 1 << 20, durability: Durability::Volatile };
    let settings = Settings { epoch: Epoch(epoch), role, limits, ..Settings::in_memory() };
    Coordinator::new(settings, Instant::EPOCH)
}

fn check(world: &mut World, model: &mut Model, deed: Deed) {
    match deed {
        Deed::Put(space, tuple) => {
            let answer = world.execute(Statement::put(&space, &tuple));
            assert_eq!(answer, Answer::Matched(Vec::new()));
            model.0.push((space, tuple));
        }
        Deed::Read(space, template) => {
            let first = model.all(&space, &template).first().map(|at| model.0[*at].1.clone());
            let answer = world.execute(Statement::of_one(&space, template, false));
            assert_eq!(found(answer), first);
        }
        Deed::Take(space, template) => {
            let first = model.all(&space, &template).first().copied();
            let answer = world.execute(Statement::of_one(&space, template, true));
            assert_eq!(found(answer), first.map(|at| model.0.remove(at).1));
        }
        Deed::Pair(one, other) => {
            let wanted = |(space, template): &(String, Template)| In {
                space: space.clone(),
                template: template.clone(),
                is_pulled: true,
            };
            let is_there = model.has_pair(&one, &other);
            let mut statement =
                Statement { ins: vec![wanted(&one), wanted(&other)], ..Statement::default() };
            statement.outs.push(tidings_tasks_core::tuple::Out {
                space: "s".to_owned(),
                terms: vec![Term::Found(0, 0)],
            });
            match world.execute(statement) {
                Answer::NoMatch => assert!(!is_there, "{one:?} {other:?} {:?}", model.0),
                Answer::Matched(found) => {
                    assert!(one.1.matches(&found[0].tuple) && other.1.matches(&found[1].tuple));
                    model.remove(&one.0, &found[0].tuple);
                    model.remove(&other.0, &found[1].tuple);
                    let put = Tuple::new(vec![found[0].tuple.fields()[0].clone()]);
                    model.0.push(("s".to_owned(), put));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

fn found(answer: Answer) -> Option<Tuple> {
    match answer {
        Answer::Matched(found) => Some(found[0].tuple.clone()),
        Answer::NoMatch => None,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn spaces_are_lists_from_which_the_first_that_matches_is_taken(
        deeds in prop::collection::vec(deed(), 1..60),
        takeover in 0..60_usize,
    ) {
        let (mut world, mut model) = (World::new(), Model::default());
        for (at, deed) in deeds.into_iter().enumerate() {
            if at == takeover {
                world.coordinator = begin(&mut world.ledger, 2);
                world.join();
            }
            check(&mut world, &mut model, deed);
        }
    }

    /// However many leading fields have places, the same tuples are found.
    #[test]
    fn an_index_finds_what_a_look_at_each_tuple_finds(
        tuples in prop::collection::vec(tuple(), 0..40),
        templates in prop::collection::vec(template(), 1..10),
        from in 0..40_u64,
    ) {
        for fields in [0, 1, MAX_FIELDS] {
            let mut index = Index::of_leading(fields);
            for (number, tuple) in (0..).zip(&tuples) {
                index.insert(number, "s".into(), tuple.clone());
            }
            for template in &templates {
                let all = (from..).zip(tuples.iter().skip(from as usize));
                let mut matching = all.filter(|(_, tuple)| template.matches(tuple));
                let first = matching.next().map(|(number, _)| number);
                prop_assert_eq!(index.first("s", template, from), first, "{:?}", template);
            }
        }
    }
}
