//! Conditions, and what is written if they hold.

use std::sync::Arc;

use tidings_tasks_core::transaction::{CommitError, Expect, Revision};

use super::{Place, Txn, cases, conflict, get, key, put, revision, value};

cases![
    absent_holds_where_there_is_no_value,
    present_holds_where_there_is_one,
    at_holds_at_the_revision_of_the_value,
    at_does_not_hold_after_a_deletion,
    an_older_revision_conflicts,
    a_conflict_names_the_first_key_that_failed,
    all_is_written_or_nothing,
    keys_that_are_only_read_count,
    conditions_see_what_was_there_before,
    a_key_may_have_two_conditions,
    conditions_alone_give_the_present_revision,
    an_empty_transaction_gives_the_present_revision,
    all_writes_have_one_revision,
    each_commit_has_a_larger_revision,
    a_key_is_not_written_twice,
    too_many_operations_are_refused,
    too_many_bytes_are_refused,
    a_deletion_of_nothing_is_possible,
    a_key_can_be_made_again,
    the_same_value_is_a_new_revision,
];

async fn absent_holds_where_there_is_no_value(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let made = Txn::default().expect("a", Expect::Absent).put("a", "1").done(store).await;
    let again = Txn::default().expect("a", Expect::Absent).put("a", "2").commit(store).await;
    assert_eq!(again, conflict("a", Some(made)));
    assert_eq!(value(store, "a").await.unwrap(), b"1");
}

async fn present_holds_where_there_is_one(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let early = Txn::default().expect("a", Expect::Present).put("b", "1").commit(store).await;
    assert_eq!(early, conflict("a", None));
    put(store, "a", "1").await;
    Txn::default().expect("a", Expect::Present).put("b", "1").done(store).await;
    assert_eq!(value(store, "b").await.unwrap(), b"1");
}

async fn at_holds_at_the_revision_of_the_value(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let first = put(store, "a", "1").await;
    put(store, "b", "other keys do not count").await;
    let second = Txn::default().expect("a", Expect::At(first)).put("a", "2").done(store).await;
    assert_eq!(get(store, "a").await.unwrap().revision, second);
}

async fn at_does_not_hold_after_a_deletion(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let made = put(store, "a", "1").await;
    Txn::default().delete("a").done(store).await;
    let late = Txn::default().expect("a", Expect::At(made)).put("a", "2").commit(store).await;
    assert_eq!(late, conflict("a", None));
}

async fn an_older_revision_conflicts(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let first = put(store, "a", "1").await;
    let second = put(store, "a", "2").await;
    for wrong in [first, Revision(0), Revision(second.0 + 1)] {
        let late = Txn::default().expect("a", Expect::At(wrong)).put("a", "3").commit(store).await;
        assert_eq!(late, conflict("a", Some(second)));
    }
}

async fn a_conflict_names_the_first_key_that_failed(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let made = put(store, "c", "1").await;
    let transaction = Txn::default()
        .expect("a", Expect::Absent)
        .expect("c", Expect::Absent)
        .expect("b", Expect::Present)
        .put("d", "1");
    assert_eq!(transaction.commit(store).await, conflict("c", Some(made)));
}

async fn all_is_written_or_nothing(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let before = put(store, "a", "1").await;
    let transaction = Txn::default()
        .put("a", "2")
        .put("b", "2")
        .delete("c")
        .expect("a", Expect::At(before))
        .expect("z", Expect::Present);
    assert_eq!(transaction.commit(store).await, conflict("z", None));
    assert_eq!(value(store, "a").await.unwrap(), b"1");
    assert_eq!((get(store, "b").await, revision(store).await), (None, before));
}

async fn keys_that_are_only_read_count(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let epoch = put(store, "epoch", "1").await;
    let write = || Txn::default().expect("epoch", Expect::At(epoch)).put("task", "done");
    write().done(store).await;
    let next = put(store, "epoch", "2").await;
    assert_eq!(write().commit(store).await, conflict("epoch", Some(next)));
}

async fn conditions_see_what_was_there_before(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    Txn::default().put("a", "1").expect("a", Expect::Absent).done(store).await;
    Txn::default().delete("a").expect("a", Expect::Present).done(store).await;
    assert_eq!(get(store, "a").await, None);
}

async fn a_key_may_have_two_conditions(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let made = put(store, "a", "1").await;
    let both = Txn::default().expect("a", Expect::Present).expect("a", Expect::At(made));
    both.put("b", "1").done(store).await;
    let both = Txn::default().expect("a", Expect::Present).expect("a", Expect::Absent);
    assert_eq!(both.commit(store).await, conflict("a", Some(made)));
}

async fn conditions_alone_give_the_present_revision(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let made = put(store, "a", "1").await;
    let last = put(store, "b", "1").await;
    assert_eq!(Txn::default().expect("a", Expect::At(made)).commit(store).await, Ok(last));
    assert_eq!(
        Txn::default().expect("c", Expect::Present).commit(store).await,
        conflict("c", None)
    );
    assert_eq!(revision(store).await, last);
}

async fn an_empty_transaction_gives_the_present_revision(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let begin = revision(store).await;
    assert_eq!(Txn::default().commit(store).await, Ok(begin));
    let last = put(store, "a", "1").await;
    assert_eq!(Txn::default().commit(store).await, Ok(last));
}

async fn all_writes_have_one_revision(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let made = Txn::default().put("a", "1").put("b", "2").put("c", "3").done(store).await;
    for name in ["a", "b", "c"] {
        assert_eq!(get(store, name).await.unwrap().revision, made);
    }
    assert_eq!(revision(store).await, made);
}

async fn each_commit_has_a_larger_revision(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let mut last = revision(store).await;
    for round in 0..20 {
        let name = ["a", "b"][round % 2];
        let next = put(store, name, [round as u8]).await;
        assert!(next > last);
        last = next;
    }
}

async fn a_key_is_not_written_twice(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let begin = revision(store).await;
    for twice in [
        Txn::default().put("a", "1").put("a", "2"),
        Txn::default().put("a", "1").put("b", "1").delete("a"),
        Txn::default().delete("a").delete("a"),
    ] {
        let refused = twice.commit(store).await;
        assert!(matches!(refused, Err(CommitError::Invalid(_))), "{refused:?}");
    }
    assert_eq!((get(store, "b").await, revision(store).await), (None, begin));
}

async fn too_many_operations_are_refused(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let most = store.limits().operations;
    let many = |count: usize| {
        let mut transaction = Txn::default().expect("a", Expect::Absent);
        for number in 1..count {
            transaction = transaction.put(format!("{number:08}"), "");
        }
        transaction
    };
    let refused = many(most + 1).commit(store).await;
    assert!(matches!(refused, Err(CommitError::Invalid(_))), "{refused:?}");
    let begin = revision(store).await;
    assert!(many(most).done(store).await > begin);
    assert!(get(store, format!("{:08}", most - 1)).await.is_some());
}

async fn too_many_bytes_are_refused(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let most = store.limits().bytes;
    let begin = revision(store).await;
    let refused = Txn::default().put("a", vec![1; most]).commit(store).await;
    assert!(matches!(refused, Err(CommitError::Invalid(_))), "{refused:?}");
    assert_eq!(revision(store).await, begin);
    Txn::default().put("a", vec![1; most - 1]).done(store).await;
    assert_eq!(value(store, "a").await.unwrap().len(), most - 1);
}

async fn a_deletion_of_nothing_is_possible(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let deleted = Txn::default().delete("a").put("b", "1").done(store).await;
    assert_eq!(get(store, "b").await.unwrap().revision, deleted);
    Txn::default().delete("a").done(store).await;
    assert_eq!(store.get(&[key("a")]).await.unwrap().records, [None]);
}

async fn a_key_can_be_made_again(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let first = put(store, "a", "1").await;
    Txn::default().delete("a").expect("a", Expect::At(first)).done(store).await;
    let again = Txn::default().expect("a", Expect::Absent).put("a", "1").done(store).await;
    assert!(again > first);
    assert_eq!(get(store, "a").await.unwrap().revision, again);
}

async fn the_same_value_is_a_new_revision(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let first = put(store, "a", "1").await;
    let second = put(store, "a", "1").await;
    assert!(second > first);
    assert_eq!(get(store, "a").await.unwrap().revision, second);
}
