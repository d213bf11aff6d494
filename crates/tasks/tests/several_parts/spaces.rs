//! Tuples of a store of several parts: where they lie, and templates that may find them in any.

use std::time::Duration;

use tidings_tasks::space::{Space, Spaces};
use tidings_tasks_core::message::Put;
use tidings_tasks_core::tuple::{
    Field, In, Out, Pattern, Statement, Template, Term, Tuple, Type, home,
};
use tokio::task::JoinSet;

use super::silent::Silent;
use super::*;

const TAKERS: usize = 8;

pub(crate) fn enter(member: &Arc<Member>, name: &str) -> Spaces {
    Spaces::new(open(member, name).0)
}

/// A tuple that is spread by its number.
pub(crate) fn token(number: i64) -> Tuple {
    Tuple::new(vec![Field::Int(number), "token".into()])
}

/// Any such tuple, of whichever part.
pub(crate) fn any() -> Template {
    Template(vec![Pattern::Any, Type::Text.into()])
}

fn named(number: i64) -> Template {
    Template(vec![Field::Int(number).into(), Pattern::Any])
}

/// How many tuples of a space lie in a part.
async fn count(store: &dyn Store, part: u16, space: &str) -> usize {
    let from = keys::tuples(Part(part));
    let page = store.scan(&from, from.after_prefix().as_ref(), 1_000).await.unwrap();
    let own = page.records.iter().filter(|record| {
        keys::tuple_of(Part(part), &record.key).is_some_and(|(name, _)| name == space)
    });
    own.count()
}

/// Numbers of which each is of the part of its place.
fn spread(parts: u16) -> Vec<i64> {
    let first_of = |part| (0..1_000).find(|n| home::part_of("s*", &token(*n), parts) == Part(part));
    (0..parts).map(|part| first_of(part).unwrap()).collect()
}

#[tokio::test]
async fn tuples_lie_where_the_names_of_their_spaces_say() {
    let (store, here) = here(3).await;
    let spaces = enter(&here, "a");
    let of_queue = format!("s@{}", queue(2, 3));
    for number in 0..30 {
        for name in ["s", &of_queue, "s*"] {
            spaces.space(name).put(token(number)).await.unwrap();
        }
    }
    let mut spread = Vec::new();
    for part in 0..3 {
        assert_eq!(count(&*store, part, "s").await, if part == 0 { 30 } else { 0 });
        assert_eq!(count(&*store, part, &of_queue).await, if part == 2 { 30 } else { 0 });
        spread.push(count(&*store, part, "s*").await);
    }
    assert_eq!(spread.iter().sum::<usize>(), 30);
    assert!(spread.iter().all(|count| *count > 0), "{spread:?}");
    // Who looks sees one store.
    let (session, _told) = open(&here, "looks");
    let (mut views, mut from) = (Vec::new(), None);
    loop {
        let asked = Request::Spaces { from, limit: 1 };
        let Answer::Spaces(some, next) = session.ask(asked).await.unwrap() else { panic!() };
        views.extend(some.into_iter().map(|view| (view.name, view.tuples)));
        from = next;
        if from.is_none() {
            break;
        }
    }
    let names = ["s", "s*", &*of_queue].map(|name| (name.to_owned(), 30));
    assert_eq!(views, names);
    for name in ["s", &of_queue, "s*"] {
        let (mut seen, mut from) = (BTreeSet::new(), None);
        loop {
            let asked = Request::Tuples { space: name.to_owned(), from, limit: 7 };
            let Answer::Tuples(some, next) = session.ask(asked).await.unwrap() else { panic!() };
            for view in some {
                assert!(seen.insert(view.number), "{name}: {} twice", view.number);
            }
            from = next;
            if from.is_none() {
                break;
            }
        }
        assert_eq!(seen.len(), 30, "{name}");
    }
}

#[tokio::test]
async fn a_template_finds_its_tuple_in_whichever_part_it_is() {
    let (_store, here) = here(4).await;
    let space = enter(&here, "a").space("s*");
    for number in spread(4) {
        for template in [any(), named(number)] {
            assert_eq!(space.try_read(template.clone()).await.unwrap(), None);
            space.put(token(number)).await.unwrap();
            assert_eq!(space.read(template.clone(), None).await.unwrap(), Some(token(number)));
            let pulled = space.try_pull(template.clone()).await.unwrap().unwrap();
            assert!(space.try_pull(template.clone()).await.unwrap().is_none());
            pulled.give_back().await.unwrap();
            let pulled = space.pull(template.clone(), None).await.unwrap().unwrap();
            assert_eq!(*pulled.tuple(), token(number));
            drop(pulled);
            let taken = space.take(template.clone(), None).await.unwrap();
            assert_eq!(taken, Some(token(number)), "what is dropped is there again");
            let limit = Some(Duration::from_millis(10));
            assert!(space.pull(template, limit).await.unwrap().is_none());
        }
    }
}

/// The coordinator of one part says nothing, as one does that has just died: what lies elsewhere is
/// found all the same, whichever part is asked first.
#[tokio::test]
async fn a_part_that_says_nothing_holds_nobody_up_who_finds_something_elsewhere() {
    let memory = Memory::default();
    parts::state(&memory, 3).await.unwrap();
    let here = held(Arc::new(Silent::new(memory, Part(1))));
    let (puts, space) = (enter(&here, "puts").space("s*"), enter(&here, "takes").space("s*"));
    let numbers = spread(3);
    for _ in 0..8 {
        for number in [numbers[0], numbers[2]] {
            puts.put(token(number)).await.unwrap();
            assert_eq!(space.try_read(any()).await.unwrap(), Some(token(number)));
            let pulled = space.try_pull(any()).await.unwrap().unwrap();
            assert_eq!(*pulled.tuple(), token(number));
            pulled.give_back().await.unwrap();
            let pulled = space.pull(any(), None).await.unwrap().unwrap();
            assert_eq!(*pulled.tuple(), token(number));
            pulled.consume().await.unwrap();
        }
    }
}

/// Whoever looks claims no more than what it takes, so others find the rest.
#[tokio::test]
async fn a_look_at_all_parts_claims_one_tuple() {
    let (_store, here) = here(4).await;
    let (puts, space) = (enter(&here, "puts").space("s*"), enter(&here, "takes").space("s*"));
    let other = enter(&here, "others").space("s*");
    // In all parts but one, which is asked first now and then.
    let numbers = spread(4);
    for round in 0..40_usize {
        let own: Vec<i64> = (1..4).map(|at| numbers[(round + at) % 4]).collect();
        for number in &own {
            puts.put(token(*number)).await.unwrap();
        }
        let mut pulled = vec![space.try_pull(any()).await.unwrap().unwrap()];
        for _ in 1..own.len() {
            pulled.push(other.try_pull(any()).await.unwrap().expect("nobody has more than one"));
        }
        for one in pulled {
            one.consume().await.unwrap();
        }
    }
}

/// Takers that wait in all parts, and tuples that come in any: whoever is told of more than one
/// gives the others back.
#[tokio::test]
async fn of_takers_in_all_parts_each_tuple_has_one() {
    let (_store, here) = here(4).await;
    let puts = enter(&here, "puts").space("s*");
    let takers: Vec<Space> =
        (0..TAKERS).map(|taker| enter(&here, &format!("taker-{taker}")).space("s*")).collect();
    for round in 0..200_i64 {
        // In turn one tuple that all try to get, and as many as there are takers who wait.
        let own = if round % 2 == 0 { 1 } else { TAKERS as i64 };
        let numbers = (0..own).map(|n| round * 100 + n);
        let mut tries = JoinSet::new();
        let take = |space: Space, limit| async move { space.pull(any(), limit).await.unwrap() };
        if own == 1 {
            puts.put(token(round * 100)).await.unwrap();
        }
        for space in &takers {
            let limit = (own == 1).then_some(Duration::ZERO);
            tries.spawn(take(space.clone(), limit));
        }
        if own > 1 {
            for number in numbers.clone() {
                puts.put(token(number)).await.unwrap();
            }
        }
        let pulled: Vec<_> = tries.join_all().await.into_iter().flatten().collect();
        assert_eq!(pulled.len() as i64, own, "in round {round}");
        let mut found: Vec<_> = pulled.iter().map(|one| format!("{:?}", one.tuple())).collect();
        let mut wanted: Vec<_> = numbers.map(|n| format!("{:?}", token(n))).collect();
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "in round {round}");
        for one in pulled {
            one.consume().await.unwrap();
        }
    }
    assert_eq!(puts.try_read(any()).await.unwrap(), None);
}

#[tokio::test]
async fn a_wait_in_all_parts_that_is_dropped_takes_nothing() {
    let (_store, here) = here(3).await;
    let (waiting, puts) = (enter(&here, "waits").space("s*"), enter(&here, "puts").space("s*"));
    for number in 0..100 {
        let waits = tokio::spawn({
            let space = waiting.clone();
            async move { space.pull(any(), None).await.map(drop) }
        });
        if number % 2 == 0 {
            tokio::task::yield_now().await;
        }
        let put = puts.put(token(number));
        waits.abort();
        put.await.unwrap();
        assert_eq!(puts.take(any(), None).await.unwrap(), Some(token(number)));
    }
}

#[tokio::test]
async fn what_a_session_has_of_any_part_is_there_again_when_it_ends() {
    let (_store, here) = here(4).await;
    let (session, _told) = open(&here, "ends");
    let (space, puts) = (Spaces::new(session.clone()).space("s*"), enter(&here, "puts"));
    let puts = puts.space("s*");
    let mut held = Vec::new();
    for number in spread(4) {
        puts.put(token(number)).await.unwrap();
        held.push(space.pull(any(), None).await.unwrap().unwrap());
    }
    assert_eq!(puts.try_read(any()).await.unwrap(), None);
    assert_eq!(session.ask(Request::Leave).await.unwrap(), Answer::Done);
    for number in spread(4) {
        assert_eq!(puts.take(named(number), None).await.unwrap(), Some(token(number)));
    }
}

#[tokio::test]
async fn a_statement_may_be_done_where_its_tuple_is() {
    let (_store, here) = here(4).await;
    let spaces = enter(&here, "a");
    let (from, to) = (spaces.space("from*"), spaces.space("to*"));
    for (number, consumes) in spread(4).into_iter().flat_map(|n| [(n, true), (n, false)]) {
        from.put(token(number)).await.unwrap();
        let mut statement = Statement { consumes, ..Statement::of_one("from*", any(), consumes) };
        let terms = vec![Term::Found(0, 0), "moved".into()];
        statement.outs.push(Out { space: "to*".to_owned(), terms });
        let found = spaces.execute(statement).await.unwrap().unwrap();
        assert_eq!(found[0].tuple, token(number));
        let moved = Tuple::new(vec![number.into(), "moved".into()]);
        assert_eq!(to.take(any(), None).await.unwrap(), Some(moved));
        // What is read stays, what is consumed is gone.
        let left = from.take(any(), Some(Duration::ZERO)).await.unwrap();
        assert_eq!(left, (!consumes).then(|| token(number)));
    }
}

#[tokio::test]
async fn what_lies_in_several_parts_is_refused_and_changes_nothing() {
    let (_store, here) = here(2).await;
    let spaces = enter(&here, "a");
    let other = format!("s@{}", queue(1, 2));
    spaces.space("s").put(token(1)).await.unwrap();
    spaces.space(&*other).put(token(2)).await.unwrap();
    let one = |space: &str| In { space: space.to_owned(), template: any(), is_pulled: true };
    let statement = Statement { ins: vec![one("s"), one(&other)], ..Statement::default() };
    let error = spaces.execute(statement).await.unwrap_err().to_string();
    assert!(error.contains("several parts") && error.contains("NAME@QUEUE"), "{error}");
    assert_eq!(spaces.space("s").try_read(any()).await.unwrap(), Some(token(1)));
    assert_eq!(spaces.space(&*other).try_read(any()).await.unwrap(), Some(token(2)));
    // A coordinator does not take what is another's.
    let (session, _told) = open(&here, "b");
    let place = tidings_tasks_core::message::Place { slot: 0, sequence: 0 };
    let empty = Box::new(Statement::default());
    session.ask(Request::Execute { place, statement: empty }).await.unwrap();
    let place = tidings_tasks_core::message::Place { slot: 0, sequence: 1 };
    let statement = Box::new(Statement::put(&other, &token(3)));
    let answer = session.ask(Request::Execute { place, statement }).await.unwrap();
    let Answer::Refused(refusal) = answer else { panic!("{answer:?}") };
    assert!(refusal.to_string().contains("in part 1 of the store"), "{refusal}");
}

/// A task of any part has the spaces of its queue: what it pulls and puts is in the commit by which
/// it ends.
#[tokio::test]
async fn a_task_has_the_spaces_of_its_queue() {
    let (_store, here) = here(2).await;
    let (client, _told) = open(&here, "client");
    let (worker, mut notices) = open(&here, "worker");
    offer(&worker, 1).await;
    let (puts, of_worker) = (enter(&here, "puts"), Spaces::new(worker.clone()));
    for part in 0..2 {
        let own = format!("s@{}", queue(part, 2));
        puts.space(&*own).put(token(1)).await.unwrap();
        let task = Submission::new(id(part), queue(part, 2), *b"x");
        assert_eq!(submit(&client, vec![task]).await, 1);
        let one = assigned(&mut notices).await;
        let of_task = of_worker.of_task(one.task, one.attempt);
        let pulled = of_task.space(&*own).pull(any(), None).await.unwrap().unwrap();
        assert_eq!(*pulled.tuple(), token(1));
        let elsewhere = format!("s@{}", queue(1 - part, 2));
        for (space, words) in [(&*elsewhere, "in another part"), ("s*", "may find its tuple")] {
            let error = of_task.space(space).try_pull(any()).await.unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("NAME@QUEUE"), "{error}");
        }
        let put = |space: &str| Put { space: space.to_owned(), tuple: token(2) };
        let with = |space: &str| match completion(&one) {
            Request::Complete { task, attempt, result, children, effects, .. } => {
                let puts = vec![put(space)];
                Request::Complete { task, attempt, result, children, effects, puts }
            }
            other => panic!("{other:?}"),
        };
        let answer = worker.ask(with(&elsewhere)).await.unwrap();
        let Answer::Refused(refusal) = answer else { panic!("{answer:?}") };
        assert!(refusal.to_string().contains("in another part"), "{refusal}");
        assert_eq!(worker.ask(with(&own)).await.unwrap(), Answer::Done);
        assert_eq!(puts.space(&*own).take(any(), None).await.unwrap(), Some(token(2)));
        assert_eq!(puts.space(&*own).try_read(any()).await.unwrap(), None);
    }
}
