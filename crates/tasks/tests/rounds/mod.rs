//! What spaces do over any engine: takers of one tuple, tuples that are moved while their holders
//! end, and statements as large as they may be.

#![allow(dead_code, reason = "each program of tests uses a part of it")]
#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

use std::sync::Arc;

use tidings_tasks::member::Member;
use tidings_tasks::service::Options;
use tidings_tasks::session::Session;
use tidings_tasks::space::{Space, Spaces};
use tidings_tasks::store::address::Address;
use tidings_tasks_core::message::Request;
use tidings_tasks_core::reign::Candidate;
use tidings_tasks_core::tuple::statement::MAX_PARTS;
use tidings_tasks_core::tuple::{Field, In, Out, Statement, Template, Term, Tuple, Type};
use tokio::task::JoinSet;

const TAKERS: usize = 8;

pub(crate) fn member(address: &Address, name: &str) -> Arc<Member> {
    let (name, host, own) = (name.to_owned(), "here".to_owned(), String::new());
    let candidate = Candidate { name, host, address: own, session: None };
    let options = Options { board: None, ..Options::default() };
    Arc::new(Member::join(address.clone(), "test", candidate, options))
}

/// The spaces of a new session.
pub(crate) fn enter(member: &Arc<Member>, name: &str) -> Spaces {
    Spaces::new(Session::open(member.clone(), name, "here").0)
}

pub(crate) fn space_of(space: &Space) -> Spaces {
    space.spaces().clone()
}

pub(crate) fn tuple(number: i64) -> Tuple {
    Tuple::new(vec!["token".into(), Field::Int(number)])
}

/// Any such tuple.
pub(crate) fn any() -> Template {
    Template(vec![Type::Text.into(), Type::Int.into()])
}

/// All of it.
pub(crate) async fn all(address: &Address, rounds: usize) {
    let member = member(address, "one");
    one_wins(&member, rounds).await;
    moved(&member, rounds.min(200)).await;
    as_large_as_may_be(&member).await;
}

/// Of several that try to pull the only tuple, exactly one has it.
async fn one_wins(member: &Arc<Member>, rounds: usize) {
    let puts = enter(member, "puts").space("one");
    let takers: Vec<Space> =
        (0..TAKERS).map(|taker| enter(member, &format!("taker-{taker}")).space("one")).collect();
    for round in 0..rounds as i64 {
        puts.put(tuple(round)).await.unwrap();
        let mut tries = JoinSet::new();
        for space in &takers {
            let space = space.clone();
            tries.spawn(async move { space.try_pull(any()).await.unwrap() });
        }
        let pulled: Vec<_> = tries.join_all().await.into_iter().flatten().collect();
        assert_eq!(pulled.len(), 1, "in round {round}");
        for one in pulled {
            assert_eq!(*one.tuple(), tuple(round));
            one.consume().await.unwrap();
        }
    }
    assert_eq!(puts.try_read(any()).await.unwrap(), None);
}

/// Sessions move tuples, and leave while they hold one.
async fn moved(member: &Arc<Member>, moves: usize) {
    const TUPLES: i64 = 3;
    let puts = enter(member, "fills").space("moved");
    for number in 0..TUPLES {
        puts.put(tuple(number)).await.unwrap();
    }
    let mut processes = JoinSet::new();
    for mover in 0..TAKERS {
        let member = member.clone();
        processes.spawn(async move {
            for life in 0..moves / TAKERS {
                let (session, _) =
                    Session::open(member.clone(), &format!("mover-{mover}-{life}"), "here");
                let spaces = Spaces::new(session.clone());
                let space = spaces.space("moved");
                let pulled = space.pull(any(), None).await.unwrap().unwrap();
                if life % 2 == 0 {
                    let mut statement = Statement::default();
                    statement.outs.push(space.out(pulled.tuple()));
                    pulled.consume_with(&mut statement);
                    spaces.execute(statement).await.unwrap();
                } else {
                    session.ask(Request::Leave).await.unwrap();
                }
            }
        });
    }
    processes.join_all().await;
    let mut left = Vec::new();
    for _ in 0..TUPLES {
        left.push(puts.take(any(), None).await.unwrap().unwrap());
    }
    left.sort_unstable_by_key(|tuple| format!("{tuple:?}"));
    assert_eq!(left, (0..TUPLES).map(tuple).collect::<Vec<_>>());
    assert_eq!(puts.try_read(any()).await.unwrap(), None);
}

/// A statement with as many parts of each kind as it may have is one commit of any engine.
async fn as_large_as_may_be(member: &Arc<Member>) {
    let spaces = enter(member, "large");
    let space = spaces.space("large");
    let mut statement = Statement { consumes: true, wait_ms: Some(0), ..Statement::default() };
    for number in 0..MAX_PARTS as i64 {
        space.put(tuple(number)).await.unwrap();
        space.put(tuple(100 + number)).await.unwrap();
        let template = Template(vec!["token".into(), Field::Int(number).into()]);
        let is_pulled = true;
        statement.ins.push(In { space: "large".to_owned(), template, is_pulled });
        let terms = vec!["moved".into(), Term::Found(number as u8, 1)];
        statement.outs.push(Out { space: "large".to_owned(), terms });
        let held = Template(vec!["token".into(), Field::Int(100 + number).into()]);
        space.pull(held, None).await.unwrap().unwrap().consume_with(&mut statement);
    }
    let found = spaces.execute(statement).await.unwrap().unwrap();
    assert_eq!(found.len(), MAX_PARTS);
    let token = Template(vec!["token".into(), Type::Int.into()]);
    assert_eq!(space.try_read(token).await.unwrap(), None);
    for number in 0..MAX_PARTS as i64 {
        let moved = space.take(any(), None).await.unwrap().unwrap();
        assert_eq!(moved, Tuple::new(vec!["moved".into(), Field::Int(number)]));
    }
}
