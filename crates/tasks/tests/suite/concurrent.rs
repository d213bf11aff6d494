//! Many clients at once: the store acts as if they came one after the other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use tidings_tasks::store::Store;
use tidings_tasks_core::transaction::{CommitError, Expect, Revision};

use super::{Place, Txn, cases, clients, get, key, put, value};

cases![
    a_counter_counts_every_increment_once,
    one_of_many_claims_wins,
    sums_are_kept_by_transfers,
    a_register_is_linearizable,
    revisions_of_commits_differ,
];

const CLIENTS: usize = 8;

/// Adds one; the revision at which it did.
async fn increment(store: &dyn Store, name: &str) -> Revision {
    loop {
        let found = get(store, name).await.expect("it was made");
        let count = u64::from_be_bytes(found.value[..].try_into().expect("8 bytes")) + 1;
        let next = Txn::default().expect(name, Expect::At(found.revision));
        match next.put(name, count.to_be_bytes()).commit(store).await {
            Ok(revision) => return revision,
            Err(CommitError::Conflict { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

async fn a_counter_counts_every_increment_once(place: Arc<dyn Place>) {
    const ROUNDS: usize = 20;
    let store = place.open().await;
    put(&*store, "count", 0_u64.to_be_bytes()).await;
    let made = clients(&store, CLIENTS, |_, store| async move {
        let mut made = Vec::new();
        for _ in 0..ROUNDS {
            made.push(increment(&*store, "count").await);
        }
        made
    })
    .await;
    let mut made = made.concat();
    made.sort_unstable();
    made.dedup();
    assert_eq!(made.len(), CLIENTS * ROUNDS);
    let count = (CLIENTS * ROUNDS) as u64;
    assert_eq!(value(&*store, "count").await.unwrap(), count.to_be_bytes());
}

async fn one_of_many_claims_wins(place: Arc<dyn Place>) {
    const TASKS: usize = 50;
    let store = place.open().await;
    let won = clients(&store, CLIENTS, |client, store| async move {
        let mut won = Vec::new();
        for task in 0..TASKS {
            let name = format!("held/{task}");
            let claim = Txn::default().expect(&name, Expect::Absent).put(&name, [client as u8]);
            match claim.commit(&*store).await {
                Ok(_) => won.push(task),
                Err(CommitError::Conflict { key: found, revision: Some(_) }) => {
                    assert_eq!(found, key(&name));
                }
                Err(error) => panic!("{error}"),
            }
        }
        (client, won)
    })
    .await;
    assert_eq!(won.iter().map(|(_, tasks)| tasks.len()).sum::<usize>(), TASKS);
    for (client, tasks) in won {
        for task in tasks {
            assert_eq!(value(&*store, format!("held/{task}")).await.unwrap(), [client as u8]);
        }
    }
}

async fn sums_are_kept_by_transfers(place: Arc<dyn Place>) {
    const ACCOUNTS: usize = 4;
    let store = place.open().await;
    let names: Vec<_> = (0..ACCOUNTS).map(|account| key(format!("account/{account}"))).collect();
    for name in &names {
        Txn::default().put(name.as_bytes(), [100]).done(&*store).await;
    }
    let all = names.clone();
    clients(&store, CLIENTS, move |client, store| {
        let names = all.clone();
        async move {
            for round in 0..20 {
                let snapshot = store.get(&names).await.unwrap();
                let found: Vec<_> = snapshot.records.into_iter().flatten().collect();
                let sum: u64 = found.iter().map(|record| u64::from(record.value[0])).sum();
                assert_eq!(sum, 100 * ACCOUNTS as u64);
                let (from, to) = (&found[client % ACCOUNTS], &found[(client + round) % ACCOUNTS]);
                if from.key == to.key || from.value[0] == 0 || to.value[0] == u8::MAX {
                    continue;
                }
                let transfer = Txn::default()
                    .expect(from.key.as_bytes(), Expect::At(from.revision))
                    .expect(to.key.as_bytes(), Expect::At(to.revision))
                    .put(from.key.as_bytes(), [from.value[0] - 1])
                    .put(to.key.as_bytes(), [to.value[0] + 1]);
                let answer = transfer.commit(&*store).await;
                assert!(matches!(answer, Ok(_) | Err(CommitError::Conflict { .. })), "{answer:?}");
            }
        }
    })
    .await;
}

/// What a client did with the register, and when.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) begin: Instant,
    /// None of a write of which nobody knows whether it was made: it may be made at any time.
    pub(crate) end: Option<Instant>,
    /// The last commit that it can have seen, or its own.
    pub(crate) revision: Revision,
    /// What it read or wrote.
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) writes: bool,
}

/// Revisions are an order of all operations. It is one that explains them if each read gives the
/// last write up to its revision, and if nothing that ended before another began comes after it.
pub(crate) fn assert_linearizable(history: &[Operation]) {
    let writes = history.iter().filter(|operation| operation.writes);
    let states: BTreeMap<Revision, Option<Vec<u8>>> =
        writes.map(|write| (write.revision, write.value.clone())).collect();
    for read in history.iter().filter(|operation| !operation.writes) {
        let last = states.range(..=read.revision).next_back().and_then(|(_, value)| value.clone());
        assert_eq!(read.value, last, "at {:?}", read.revision);
    }
    let mut begun: Vec<_> = history.iter().collect();
    begun.sort_by_key(|operation| operation.begin);
    let mut ended: Vec<_> = history.iter().filter(|operation| operation.end.is_some()).collect();
    ended.sort_by_key(|operation| operation.end);
    let mut ended = ended.into_iter().peekable();
    // Of those that were over, the one that comes last.
    let mut before: Option<&Operation> = None;
    for later in begun {
        while let Some(over) = ended.next_if(|over| over.end < Some(later.begin)) {
            if before.is_none_or(|before| before.revision < over.revision) {
                before = Some(over);
            }
        }
        let Some(earlier) = before else { continue };
        let ordered = if later.writes {
            earlier.revision < later.revision
        } else {
            earlier.revision <= later.revision
        };
        assert!(ordered, "{earlier:?} was over before {later:?}");
    }
}

async fn a_register_is_linearizable(place: Arc<dyn Place>) {
    let store = place.open().await;
    let history = clients(&store, CLIENTS, |client, store| async move {
        let mut history = Vec::new();
        for round in 0..40_u8 {
            let begin = Instant::now();
            let writes = (client + usize::from(round)) % 3 == 0;
            let (revision, value) = if writes {
                let value = vec![client as u8, round];
                let delete = round % 7 == 0;
                let write = Txn::default();
                let write = if delete { write.delete("r") } else { write.put("r", &value) };
                (write.done(&*store).await, (!delete).then_some(value))
            } else {
                let mut snapshot = store.get(&[key("r")]).await.unwrap();
                let value = snapshot.records.remove(0).map(|record| record.value.into_vec());
                (snapshot.revision, value)
            };
            let end = Some(Instant::now());
            history.push(Operation { begin, end, revision, value, writes });
        }
        history
    })
    .await;
    assert_linearizable(&history.concat());
}

async fn revisions_of_commits_differ(place: Arc<dyn Place>) {
    let store = place.open().await;
    let made = clients(&store, CLIENTS, |client, store| async move {
        let mut made = Vec::new();
        for round in 0..50_u8 {
            made.push(put(&*store, &format!("own {client}"), [round]).await);
        }
        assert!(made.is_sorted());
        made
    })
    .await;
    let mut made = made.concat();
    made.sort_unstable();
    made.dedup();
    assert_eq!(made.len(), CLIENTS * 50);
}
