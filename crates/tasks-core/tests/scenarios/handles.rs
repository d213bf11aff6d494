//! Handles in tuples: which blobs are named, from the moment at which a put is on its way, and
//! where their depots are reached.

use tidings_tasks_core::message::{Answer, Call, Peer, Refusal, Request};
use tidings_tasks_core::output::{Depot, MAX_FOLDER_BYTES, Reached, SharedBlob};
use tidings_tasks_core::tuple::{In, Out, Pattern, Statement, Template, Term, Tuple, Type};

use crate::spaces::{enter, execute};
use crate::stage::*;

const HASH: [u8; 32] = [7; 32];

fn blob() -> SharedBlob {
    SharedBlob { hash: HASH, bytes: 64 << 20, depot: depot() }
}

fn depot() -> Depot {
    Depot { id: 1, host: "host-a".to_owned() }
}

fn put() -> Statement {
    Statement::put("from", &Tuple::new(vec!["block".into(), blob().into()]))
}

fn of_block() -> Template {
    Template(vec!["block".into(), Pattern::Of(Type::Handle)])
}

/// Whether the coordinator says that a tuple names the blob.
fn is_named(stage: &mut Stage) -> bool {
    let call = stage.request(A, Request::Unnamed { blobs: vec![HASH.into(), [8; 32].into()] });
    stage.commits();
    let unnamed = stage.messages.iter().find_map(|(_, message)| match message {
        tidings_tasks_core::message::Message::Answer(of, Answer::Unnamed(blobs)) if *of == call => {
            Some(blobs.clone())
        }
        _ => None,
    });
    let unnamed = unnamed.expect("an answer");
    assert!(unnamed.contains(&[8; 32].into()), "nothing names the other");
    !unnamed.contains(&HASH.into())
}

fn answered(stage: &mut Stage, peer: Peer, request: Request) -> Answer {
    let call = stage.request(peer, request);
    let said = stage.settle();
    answer(&said, call).unwrap_or_else(|| panic!("{said:?}")).clone()
}

#[test]
fn a_blob_is_named_from_its_put_to_its_end() {
    let mut stage = Stage::new();
    enter(&mut stage, A, "a");
    assert!(!is_named(&mut stage));
    execute(&mut stage, A, 1, put());
    let commits = stage.commits();
    assert_eq!(commits.len(), 1);
    assert!(is_named(&mut stage), "its tuple is on its way");
    for (ticket, transaction) in commits {
        let answer = stage.ledger.commit(&transaction);
        stage.coordinator.handle_commit(stage.now, ticket, answer);
    }
    assert!(is_named(&mut stage));
    // It moves to another space, in one commit.
    let moves = Statement {
        ins: vec![In { space: "from".to_owned(), template: of_block(), is_pulled: true }],
        outs: vec![Out { space: "to".to_owned(), terms: vec![Term::Found(0, 1)] }],
        consumes: true,
        ..Statement::default()
    };
    execute(&mut stage, A, 2, moves);
    for (ticket, transaction) in stage.commits() {
        assert!(is_named(&mut stage), "it moves");
        let answer = stage.ledger.commit(&transaction);
        stage.coordinator.handle_commit(stage.now, ticket, answer);
        assert!(is_named(&mut stage), "it has moved");
    }
    // Whoever coordinates next knows it as well.
    stage.succeed(2);
    assert!(is_named(&mut stage));
    enter(&mut stage, B, "b");
    let template = Template(vec![Pattern::Of(Type::Handle)]);
    let take = Statement { consumes: true, ..Statement::of_one("to", template, true) };
    execute(&mut stage, B, 1, take);
    stage.settle();
    assert!(!is_named(&mut stage));
}

#[test]
fn a_put_that_is_refused_names_nothing() {
    let mut stage = Stage::new();
    enter(&mut stage, A, "a");
    execute(&mut stage, A, 1, put());
    for (ticket, _) in stage.commits() {
        let refused = Err(tidings_tasks_core::transaction::CommitError::Full("full".into()));
        stage.coordinator.handle_commit(stage.now, ticket, refused);
    }
    stage.settle();
    assert!(!is_named(&mut stage));
}

#[test]
fn too_many_are_refused() {
    let mut stage = Stage::new();
    let blobs = vec![HASH.into(); 1_001];
    let answer = answered(&mut stage, A, Request::Unnamed { blobs });
    assert!(matches!(answer, Answer::Refused(Refusal::Invalid(_))), "{answer:?}");
}

/// After a takeover nobody hears that a depot is gone whose session may still come back.
#[test]
fn a_depot_is_where_its_session_says() {
    let mut stage = Stage::new();
    let locate = || Request::Locate { depot: depot().id };
    let early: Call = stage.request(B, locate());
    let said = stage.settle();
    assert_eq!(answer(&said, early), None, "it may still come back");
    stage.join(A, "a", &[], 0);
    let folder = Some("/dev/shm/tidings-0/1".to_owned());
    let reached = Reached { depot: depot(), address: "host-a:7".to_owned(), folder };
    stage.request(A, Request::Keep { reached: reached.clone() });
    let said = stage.settle();
    assert_eq!(answer(&said, early), Some(&Answer::Located(Some(reached.clone()))));
    let long = Reached { folder: Some("f".repeat(MAX_FOLDER_BYTES + 1)), ..reached };
    let answer = answered(&mut stage, A, Request::Keep { reached: long });
    assert!(matches!(answer, Answer::Refused(Refusal::Invalid(_))), "{answer:?}");
    stage.pass(TTL);
    stage.pass(TTL);
    assert_eq!(answered(&mut stage, B, locate()), Answer::Located(None), "its session has ended");
}
