//! Opening: whose store lies below a prefix, or making it where there is none.
//!
//! One record says so, in words, so that `etcdctl get` shows it. It is written by one transaction
//! that requires that nothing lies below the prefix; of two that make it at once one does.

use super::client::{Client, Repeat};
use super::error::{FORMAT, OpenError};
use super::proto::{Compare, EQUAL, OF_MOD_REVISION, Operation, Put, Range, Txn};
use super::space::Space;
use super::transaction::requested;
use super::{Place, synced};

/// What the record begins with, before the version, and before the name.
const FORMAT_NAME: &str = "tidings format ";
const CLUSTER: &str = "cluster ";

/// Finds the store of a cluster, or makes it.
pub(super) async fn open(
    client: &Client,
    space: &Space,
    place: &Place,
    cluster: &str,
) -> Result<(), OpenError> {
    let (key, range_end) = space.all();
    let nothing =
        Compare { result: EQUAL, target: OF_MOD_REVISION, key, mod_revision: Some(0), range_end };
    let put = Put { key: space.store(), value: record(cluster).into_bytes(), lease: 0 };
    let read = Range { key: space.store(), ..Range::default() };
    let txn = Txn {
        compare: vec![nothing],
        success: vec![requested(Operation::Put(put))],
        failure: vec![requested(Operation::Range(read))],
    };
    let unreachable = |why| OpenError::Unreachable { place: place.to_string(), why };
    let answer = client.txn(txn, Repeat::Always).await;
    let answer = answer.map_err(|failure| unreachable(failure.why()))?;
    if !answer.succeeded {
        let found = answer.responses.into_iter().next().and_then(|done| done.range);
        let found = found.and_then(|range| range.kvs.into_iter().next());
        let value = found.map(|found| found.value).unwrap_or_default();
        check(&value, place, cluster)?;
    }
    synced::check(client, &place.servers).await
}

fn record(cluster: &str) -> String {
    format!("{FORMAT_NAME}{FORMAT}\n{CLUSTER}{cluster}\n")
}

/// Whether the record that was found is that of the cluster.
fn check(found: &[u8], place: &Place, cluster: &str) -> Result<(), OpenError> {
    let place = place.to_string();
    let read = || {
        let text = core::str::from_utf8(found).ok()?;
        let (format, rest) = text.strip_prefix(FORMAT_NAME)?.split_once('\n')?;
        Some((format.parse::<u64>().ok()?, rest))
    };
    let Some((format, rest)) = read() else { return Err(OpenError::NoStore { place }) };
    if format != FORMAT {
        return Err(OpenError::Format { place, found: format });
    }
    let name = rest.strip_prefix(CLUSTER).and_then(|rest| rest.strip_suffix('\n'));
    match name {
        None => Err(OpenError::NoStore { place }),
        Some(name) if name == cluster => Ok(()),
        Some(name) => {
            let (found, wanted) = (name.to_owned(), cluster.to_owned());
            Err(OpenError::Cluster { place, found, wanted })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_store_of_the_cluster_is_taken() {
        let place: Place = "a/x".parse().unwrap();
        let checked = |found: &str| check(found.as_bytes(), &place, "prod");
        assert_eq!(checked(&record("prod")), Ok(()));
        let another = checked(&record("test")).unwrap_err().to_string();
        assert_eq!(
            another,
            "etcd://a:2379/x is the store of cluster `test`, not `prod`: name another prefix"
        );
        let later = checked("tidings format 2\nof the future");
        assert!(matches!(later, Err(OpenError::Format { found: 2, .. })), "{later:?}");
        for other in ["", "tidings format", "tidings format 1\n", "hello"] {
            assert!(matches!(checked(other), Err(OpenError::NoStore { .. })), "{other}");
        }
    }
}
