//! What keys and values may be, and reading several at once.

use std::sync::Arc;

use tidings_tasks_core::transaction::{Expect, MAX_KEY_BYTES};

use super::{Place, Txn, cases, clients, conflict, get, key, put, value};

cases![
    a_value_of_no_bytes_is_a_value,
    a_value_may_have_a_mebibyte,
    keys_and_values_may_have_any_bytes,
    a_key_may_have_the_full_length,
    records_come_in_the_order_asked_for,
    a_snapshot_is_of_one_revision,
    what_was_acknowledged_is_read,
];

async fn a_value_of_no_bytes_is_a_value(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let made = put(store, "a", "").await;
    assert_eq!(value(store, "a").await.unwrap(), b"");
    let again = Txn::default().expect("a", Expect::Absent).commit(store).await;
    assert_eq!(again, conflict("a", Some(made)));
}

async fn a_value_may_have_a_mebibyte(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let large: Vec<u8> = (0..1 << 20).map(|n| (n % 251) as u8).collect();
    put(store, "large", &large).await;
    put(store, "small", "1").await;
    assert_eq!(value(store, "large").await.unwrap(), large);
    put(store, "large", "2").await;
    assert_eq!(value(store, "large").await.unwrap(), b"2");
}

async fn keys_and_values_may_have_any_bytes(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let all: Vec<u8> = (0..=255).collect();
    for name in [&all[..], b"\0", b"\xff", b"\0\0", b"\xff\xff", b"\xff\0", "ß/\n".as_bytes()] {
        Txn::default().expect(name, Expect::Absent).put(name, name).done(store).await;
        assert_eq!(value(store, name).await.unwrap(), name);
    }
}

async fn a_key_may_have_the_full_length(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let (name, shorter) = ([b'k'; MAX_KEY_BYTES], [b'k'; MAX_KEY_BYTES - 1]);
    Txn::default().put(name, "long").put(shorter, "shorter").done(store).await;
    assert_eq!(value(store, name).await.unwrap(), b"long");
    assert_eq!(value(store, shorter).await.unwrap(), b"shorter");
}

async fn records_come_in_the_order_asked_for(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    put(store, "a", "1").await;
    let last = put(store, "b", "2").await;
    let names = ["b", "none", "a", "b"];
    let snapshot = store.get(&names.map(key)).await.unwrap();
    let values = snapshot.records.iter().map(|record| record.as_ref().map(|r| &r.value[..]));
    let expected: [Option<&[u8]>; 4] = [Some(b"2"), None, Some(b"1"), Some(b"2")];
    assert!(values.eq(expected));
    assert_eq!(snapshot.revision, last);
}

async fn a_snapshot_is_of_one_revision(place: Arc<dyn Place>) {
    let store = place.open().await;
    clients(&store, 3, |client, store| async move {
        for round in 0..100_u8 {
            if client == 0 {
                Txn::default().put("left", [round]).put("right", [round]).done(&*store).await;
                continue;
            }
            let snapshot = store.get(&["left", "right"].map(key)).await.unwrap();
            let [left, right] = &snapshot.records[..] else { panic!("two were asked for") };
            let pair = |side: &Option<tidings_tasks_core::transaction::Record>| {
                side.as_ref().map(|record| (record.value.clone(), record.revision))
            };
            assert_eq!(pair(left), pair(right));
            assert!(pair(left).is_none_or(|(_, revision)| revision <= snapshot.revision));
        }
    })
    .await;
}

async fn what_was_acknowledged_is_read(place: Arc<dyn Place>) {
    let store = place.open().await;
    clients(&store, 4, |client, store| async move {
        let name = format!("own {client}");
        for round in 0..50_u8 {
            let made = put(&*store, &name, [round]).await;
            let found = get(&*store, &name).await.expect("it was written");
            assert_eq!((&found.value[..], found.revision), (&[round][..], made));
        }
    })
    .await;
}
