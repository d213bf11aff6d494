//! Ranges of keys, page by page.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidings_tasks::store::Store;
use tidings_tasks_core::transaction::{Record, Revision};

use super::{Place, Txn, cases, clients, key, list, put};

cases![
    keys_are_ordered_as_their_bytes,
    a_range_ends_before_its_end,
    a_range_without_end_goes_to_the_last_key,
    a_prefix_of_ff_has_no_end,
    an_empty_range_has_no_records,
    pages_are_all_of_a_range_once,
    pages_of_large_values_are_all_of_a_range,
    a_page_may_begin_after_a_key,
    a_page_is_of_one_revision,
    deleted_keys_are_not_listed,
    list_then_watch_makes_one_picture,
];

async fn keys_are_ordered_as_their_bytes(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let ordered: [&[u8]; 9] =
        [b"\0", b"a", b"a\0", b"a\0\0", b"a\x01", b"a\xff", b"a\xff\xff", b"b", b"\xff"];
    for name in [4, 0, 8, 2, 6, 1, 7, 3, 5].map(|place| ordered[place]) {
        Txn::default().put(name, name).done(store).await;
    }
    let page = store.scan(&key(b"\0"), None, 100).await.unwrap();
    assert!(page.records.iter().map(|record| record.key.as_bytes()).eq(ordered));
    assert!(page.records.iter().map(|record| &record.value[..]).eq(ordered));
    let inside = list(store, b"a").await;
    assert!(inside.iter().map(|record| record.key.as_bytes()).eq(ordered[1..7].iter().copied()));
}

async fn a_range_ends_before_its_end(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    for name in ["a", "b", "c", "d"] {
        put(store, name, name).await;
    }
    let page = store.scan(&key("b"), Some(&key("d")), 100).await.unwrap();
    assert!(page.records.iter().map(|record| &record.value[..]).eq([b"b", b"c"]));
    assert_eq!(page.next, None);
}

async fn a_range_without_end_goes_to_the_last_key(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    for name in ["a", "b", "\u{7f}"] {
        put(store, name, name).await;
    }
    let page = store.scan(&key("b"), None, 100).await.unwrap();
    assert_eq!((page.records.len(), page.next), (2, None));
}

async fn a_prefix_of_ff_has_no_end(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    for name in [&b"\xfe\xff"[..], b"\xff", b"\xff\xff", b"\xff\0"] {
        Txn::default().put(name, "").done(store).await;
    }
    assert_eq!(list(store, b"\xff").await.len(), 3);
    assert_eq!(list(store, b"\xff\xff").await.len(), 1);
    assert_eq!(list(store, b"\xfe").await.len(), 1);
}

async fn an_empty_range_has_no_records(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let last = put(store, "m", "1").await;
    for (from, end) in [("a", "b"), ("n", "z"), ("m", "m"), ("z", "a")] {
        let page = store.scan(&key(from), Some(&key(end)), 10).await.unwrap();
        assert_eq!((page.records, page.next, page.revision), (vec![], None, last));
    }
}

async fn pages_are_all_of_a_range_once(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    for count in 0..7_u8 {
        for number in 0..count {
            put(store, &format!("{count}/{number}"), [number]).await;
        }
        let found = list(store, format!("{count}/").as_bytes()).await;
        assert!(found.iter().map(|record| record.value[0]).eq(0..count));
    }
}

async fn pages_of_large_values_are_all_of_a_range(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    for number in 0..12_u8 {
        put(store, &format!("large/{number:02}"), vec![number; 700_000]).await;
    }
    let (mut from, mut found) = (key("large/"), Vec::new());
    loop {
        let page = store.scan(&from, None, 100).await.unwrap();
        assert!(!page.records.is_empty());
        found.extend(page.records.iter().map(|record| (record.value[0], record.value.len())));
        let Some(next) = page.next else { break };
        from = next;
    }
    assert!(found.into_iter().eq((0..12).map(|number| (number, 700_000))));
}

async fn a_page_may_begin_after_a_key(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    for name in ["a", "a\0", "b"] {
        put(store, name, name).await;
    }
    let page = store.scan(&key("a").successor(), None, 1).await.unwrap();
    assert_eq!(page.records[0].key, key("a\0"));
    assert_eq!(page.next, Some(key("b")));
}

async fn a_page_is_of_one_revision(place: Arc<dyn Place>) {
    let store = place.open().await;
    let empty = store.scan(&key("pair"), None, 10).await.unwrap();
    assert!(empty.records.is_empty());
    clients(&store, 3, |client, store| async move {
        for round in 0..100_u8 {
            if client == 0 {
                Txn::default().put("pair/a", [round]).put("pair/b", [round]).done(&*store).await;
                continue;
            }
            let page = store.scan(&key("pair/"), None, 10).await.unwrap();
            let [a, b] = &page.records[..] else { continue };
            assert_eq!((&a.value, a.revision), (&b.value, b.revision));
            assert!(a.revision <= page.revision);
        }
    })
    .await;
}

async fn deleted_keys_are_not_listed(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    for name in ["a1", "a2", "a3"] {
        put(store, name, "").await;
    }
    Txn::default().delete("a2").done(store).await;
    let found = list(store, b"a").await;
    assert!(found.iter().map(|record| &record.key).eq(&[key("a1"), key("a3")]));
}

/// What a reader holds who has listed, and then watched until it has seen `last`.
async fn picture(store: &dyn Store, last: Revision) -> BTreeMap<Vec<u8>, (Vec<u8>, Revision)> {
    let entry = |record: &Record| {
        (record.key.as_bytes().to_vec(), (record.value.to_vec(), record.revision))
    };
    let (mut from, mut held, mut begin) = (key("k/"), BTreeMap::new(), None);
    loop {
        let page = store.scan(&from, Some(&key("k0")), 3).await.unwrap();
        held.extend(page.records.iter().map(entry));
        begin = begin.or(Some(page.revision));
        tokio::task::yield_now().await;
        let Some(next) = page.next else { break };
        from = next;
    }
    let mut seen = begin.expect("there is a page");
    let mut watch = store.watch(b"k/", seen).await.unwrap();
    while seen < last {
        let batch = watch.next().await.unwrap();
        for event in batch.events {
            let name = event.key.as_bytes().to_vec();
            let is_news = held.get(&name).is_none_or(|(_, revision)| event.revision > *revision);
            match event.value {
                Some(value) if is_news => drop(held.insert(name, (value.into(), event.revision))),
                None if is_news => drop(held.remove(&name)),
                _ => {}
            }
        }
        seen = batch.revision;
    }
    held
}

async fn list_then_watch_makes_one_picture(place: Arc<dyn Place>) {
    let store = place.open().await;
    for number in 0..20 {
        put(&*store, &format!("k/{number:02}"), "begin").await;
    }
    let writer = |store: Arc<dyn Store>| async move {
        for round in 0..100_u64 {
            let name = format!("k/{:02}", round * 7 % 20);
            let change = if round % 5 == 3 {
                Txn::default().delete(&name)
            } else {
                Txn::default().put(&name, round.to_be_bytes())
            };
            change.done(&*store).await;
        }
        // This is the last, so that readers know when they have seen all.
        put(&*store, "k/end", "").await
    };
    let results = clients(&store, 3, move |client, store| async move {
        if client == 0 {
            return (writer(store).await, BTreeMap::new());
        }
        let mut watch = store.watch(b"k/end", Revision(0)).await.unwrap();
        // One reader lists while all changes, the other when it is over.
        let last = if client == 1 { Revision(0) } else { watch.next().await.unwrap().revision };
        let early = picture(&*store, last).await;
        let end = if client == 1 { watch.next().await.unwrap().revision } else { last };
        let seen = picture(&*store, end).await;
        assert!(!early.is_empty());
        (end, seen)
    })
    .await;
    let listed = list(&*store, b"k/").await;
    let listed: BTreeMap<_, _> = listed
        .into_iter()
        .map(|record| (record.key.as_bytes().to_vec(), (record.value.into(), record.revision)))
        .collect();
    assert!(results[1..].iter().all(|(end, seen)| *end == results[0].0 && *seen == listed));
}
