//! Keys of the users': written with a completion or by request, and read.

use minicbor::bytes::ByteVec;
use tidings_tasks_core::id::Attempt;
use tidings_tasks_core::keys::MAX_EFFECT_KEY_BYTES;
use tidings_tasks_core::message::{
    Answer, Effect, MAX_EFFECTS, MAX_INLINE_BYTES, Refusal, Request,
};
use tidings_tasks_core::record::Outcome;
use tidings_tasks_core::view::KeyValue;

use crate::stage::*;

fn effect(key: &str, value: &str, expect: Option<u64>) -> Effect {
    let (key, value) = (key.as_bytes().to_vec(), Some(value.as_bytes().to_vec().into()));
    Effect { key, value, expect }
}

fn ask(stage: &mut Stage, request: Request) -> Answer {
    let call = stage.request(CLIENT, request);
    answer(&stage.settle(), call).cloned().expect("an answer")
}

fn write(stage: &mut Stage, effects: &[Effect]) -> Answer {
    ask(stage, Request::Write { effects: effects.to_vec() })
}

fn read(stage: &mut Stage, keys: &[&str]) -> Vec<(String, String, u64)> {
    let keys = keys.iter().map(|key| ByteVec::from(key.as_bytes().to_vec())).collect();
    match ask(stage, Request::Read { keys }) {
        Answer::Values(values, None) => values.iter().map(shown).collect(),
        other => panic!("{other:?}"),
    }
}

fn shown(one: &KeyValue) -> (String, String, u64) {
    let text = |bytes: &ByteVec| String::from_utf8(bytes.to_vec()).expect("text");
    (text(&one.key), text(&one.value), one.revision)
}

#[test]
fn what_is_written_is_read() {
    let mut stage = Stage::new();
    let effects = [effect("b", "2", None), effect("a/1", "", Some(0))];
    let Answer::Written(first) = write(&mut stage, &effects) else { panic!("it is written") };
    let owned = |key: &str, value: &str, at| (key.to_owned(), value.to_owned(), at);
    assert_eq!(
        read(&mut stage, &["none", "b", "a/1"]),
        [owned("a/1", "", first), owned("b", "2", first)]
    );
    let Answer::Written(next) = write(&mut stage, &[effect("b", "3", Some(first))]) else {
        panic!("it was at this revision")
    };
    assert!(next > first);
    let delete = Effect { value: None, ..effect("a/1", "", Some(first)) };
    assert!(matches!(write(&mut stage, &[delete]), Answer::Written(_)));
    assert_eq!(read(&mut stage, &["a/1", "b"]), [owned("b", "3", next)]);
}

#[test]
fn who_expects_what_is_no_longer_so_writes_nothing() {
    let mut stage = Stage::new();
    let Answer::Written(first) = write(&mut stage, &[effect("a", "1", Some(0))]) else { panic!() };
    let both = [effect("a", "2", Some(first + 7)), effect("b", "2", None)];
    let conflict = refused(Refusal::EffectConflict(Some(first)));
    assert_eq!(write(&mut stage, &both), conflict);
    assert_eq!(write(&mut stage, &[effect("a", "2", Some(0))]), conflict);
    let none = refused(Refusal::EffectConflict(None));
    assert_eq!(write(&mut stage, &[effect("c", "2", Some(first))]), none);
    assert_eq!(read(&mut stage, &["a", "b", "c"]), [("a".to_owned(), "1".to_owned(), first)]);
}

/// Both are requested before the store has answered: they cannot be in one commit.
#[test]
fn of_two_who_write_the_same_key_at_once_the_later_one_stays() {
    let mut stage = Stage::new();
    for value in ["1", "2"] {
        stage.request(CLIENT, Request::Write { effects: vec![effect("a", value, None)] });
    }
    stage.settle();
    assert_eq!(read(&mut stage, &["a"])[0].1, "2");
    assert_eq!(stage.coordinator.counters().recoveries, 0);
}

#[test]
fn a_try_that_is_no_longer_the_last_writes_nothing() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 1);
    stage.join(B, "b", &[], 1);
    stage.submit(&[task(1)]);
    let [(first, id, 1)] = assigned(&stage.settle())[..] else { panic!("one try") };
    let host = if first == A { "host-a" } else { "host-b" };
    stage.coordinator.handle_host_lost(stage.now, host);
    let [(second, _, 2)] = assigned(&stage.settle())[..] else { panic!("another try") };
    let done = |attempt: u32| {
        let effects = vec![effect("sum/1", &attempt.to_string(), None)];
        let (attempt, result, children) = (Attempt(attempt), Vec::new(), Vec::new());
        Request::Complete { task: id, attempt, result, children, effects, puts: Vec::new() }
    };
    let late = stage.request(first, done(1));
    let said = stage.settle();
    assert_eq!(answer(&said, late), Some(&refused(Refusal::Superseded)));
    assert_eq!(read(&mut stage, &["sum/1"]), []);
    let call = stage.request(second, done(2));
    let later = stage.request(first, done(1));
    let said = stage.settle();
    assert_eq!(answer(&said, call), Some(&Answer::Done));
    assert_eq!(answer(&said, later), Some(&refused(Refusal::Superseded)));
    assert_eq!(read(&mut stage, &["sum/1"])[0].1, "2");
}

#[test]
fn a_list_has_each_key_once_however_short_its_pages() {
    let mut stage = Stage::new();
    for number in 0..10 {
        write(&mut stage, &[effect(&format!("of/{number}"), "v", None)]);
    }
    write(&mut stage, &[effect("og", "v", None), effect("o", "v", None)]);
    for (prefix, count) in [("of/", 10), ("", 12), ("of/3", 1), ("p", 0)] {
        for limit in [0, 1, 3, u32::MAX] {
            let (mut all, mut from) = (Vec::new(), None);
            loop {
                let prefix = prefix.as_bytes().to_vec().into();
                let answer = ask(&mut stage, Request::Keys { prefix, from, limit });
                let Answer::Values(values, next) = answer else { panic!("{answer:?}") };
                all.extend(values.iter().map(|one| shown(one).0));
                from = next;
                if from.is_none() {
                    break;
                }
            }
            assert_eq!(all.len(), count, "{prefix:?} in pages of {limit}");
            assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}

#[test]
fn a_page_of_long_values_is_cut() {
    let mut stage = Stage::new();
    let long = "x".repeat(MAX_INLINE_BYTES);
    for number in 0..300 {
        write(&mut stage, &[effect(&format!("{number:03}"), &long, None)]);
    }
    let list = Request::Keys { prefix: Vec::new().into(), from: None, limit: 1_000 };
    let Answer::Values(values, Some(next)) = ask(&mut stage, list) else { panic!("no page") };
    assert!(values.len() < 300);
    assert_eq!(next.to_vec(), format!("{:03}", values.len()).into_bytes());
}

#[test]
fn what_is_outside_of_its_bounds_is_refused() {
    let mut stage = Stage::new();
    let many: Vec<Effect> = (0..=MAX_EFFECTS).map(|n| effect(&n.to_string(), "", None)).collect();
    let long = "k".repeat(MAX_EFFECT_KEY_BYTES + 1);
    let twice = vec![effect("a", "1", None), effect("a", "2", None)];
    let large = effect("a", &"x".repeat(MAX_INLINE_BYTES + 1), None);
    let bytes = |text: &str| ByteVec::from(text.as_bytes().to_vec());
    let keys = |prefix: &str, from: &str| Request::Keys {
        prefix: bytes(prefix),
        from: Some(bytes(from)),
        limit: 1,
    };
    let requests = [
        Request::Write { effects: many },
        Request::Write { effects: vec![effect("", "1", None)] },
        Request::Write { effects: vec![effect(&long, "1", None)] },
        Request::Write { effects: twice },
        Request::Write { effects: vec![large] },
        Request::Read { keys: vec![bytes("a"); MAX_EFFECTS + 1] },
        Request::Read { keys: vec![bytes("")] },
        keys(&long, &long),
        keys("b", "a"),
        keys("b", "c"),
    ];
    for request in requests {
        let answer = ask(&mut stage, request);
        assert!(matches!(answer, Answer::Refused(Refusal::Invalid(_))), "{answer:?}");
    }
}

#[test]
fn only_the_last_failure_has_a_detail_and_none_that_is_too_long() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 1);
    let mut one = task(1);
    (one.retry.errors, one.retry.backoff_ms) = (2, 0);
    stage.submit(&[one]);
    for (attempt, bytes) in [(1, 8), (2, 9), (3, 8_193)] {
        let said = stage.settle();
        assert_eq!(assigned(&said).len(), 1, "{said:?}");
        let details: Vec<usize> = failures(&stage).iter().map(Vec::len).collect();
        assert_eq!(details, [&[][..], &[8], &[0, 9]][attempt as usize - 1]);
        let (cause, text) = (tidings_tasks_core::retry::Cause::Error, "no".to_owned());
        let (task, attempt, detail) = (task(1).id, Attempt(attempt), vec![1; bytes]);
        stage.request(A, Request::Fail { task, attempt, cause, text, detail });
    }
    stage.settle();
    let finished = stage.finished(task(1).id).expect("it has failed");
    assert_eq!(finished.outcome, Outcome::Failed);
    assert!(finished.task.failures.iter().all(|one| one.detail.is_empty()));
}

fn failures(stage: &Stage) -> Vec<Vec<u8>> {
    let task = stage.live(task(1).id).expect("it has not ended");
    task.failures.into_iter().map(|one| one.detail).collect()
}
