//! Whether a server syncs what it acknowledges, as far as it lets others see.
//!
//! etcd 3.5 and later can be started with `--unsafe-no-fsync`. It then says so in its log only. But
//! it counts its syncs, and what it has applied, in the metrics that it serves beside its interface
//! over plain HTTP. One that applies commit after commit and syncs none of them does not sync. One
//! that shows no metrics is believed.
//!
//! Source: `server/storage/wal/wal.go` of etcd 3.5: without syncing, `sync` returns before it
//! counts.

use super::client::{Client, GRANT, REVOKE, Repeat};
use super::error::OpenError;
use super::metrics::{metrics, value};
use super::proto::{Grant, Granted, Lease, Nothing};

const SYNCS: &str = "etcd_disk_wal_fsync_duration_seconds_count";
const APPLIED: &str = "etcd_server_proposals_applied_total";

/// Times that it is looked at. A leader may apply what others have synced before it has.
const ROUNDS: u32 = 10;

/// What a server has counted since it was started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Counted {
    syncs: u64,
    applied: u64,
}

/// Looks at each server while there is something to sync.
pub(super) async fn check(client: &Client, servers: &[String]) -> Result<(), OpenError> {
    for server in servers {
        if syncs(client, server).await == Some(false) {
            return Err(unsynced(server));
        }
    }
    Ok(())
}

/// Whether a server syncs; `None` if it does not show it.
pub(super) async fn syncs(client: &Client, server: &str) -> Option<bool> {
    let begin = look(server).await?;
    for _ in 0..ROUNDS {
        write(client).await;
        if may_sync(begin, look(server).await) {
            return Some(true);
        }
    }
    Some(false)
}

pub(super) fn unsynced(server: &str) -> OpenError {
    OpenError::Unsynced { server: server.to_owned() }
}

/// Whether a server may sync, by what it has counted first and later. One that is silent now, is
/// behind, or was started again says nothing about its disk.
fn may_sync(begin: Counted, now: Option<Counted>) -> bool {
    now.is_none_or(|now| now.syncs != begin.syncs || now.applied <= begin.applied)
}

/// Makes a commit that leaves nothing: a session without keys. If it cannot be made there is
/// nothing to see.
async fn write(client: &Client) {
    let granted = client.call::<_, Granted>(GRANT, Grant { ttl: 60 }, Repeat::Undone).await;
    if let Ok(granted) = granted {
        let lease = Lease { id: granted.id };
        let _ = client.call::<_, Nothing>(REVOKE, lease, Repeat::Undone).await;
    }
}

async fn look(server: &str) -> Option<Counted> {
    counted(&metrics(server).await?)
}

fn counted(metrics: &str) -> Option<Counted> {
    Some(Counted { syncs: value(metrics, SYNCS)?, applied: value(metrics, APPLIED)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_are_found_among_the_metrics() {
        let metrics = "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n\
            # TYPE etcd_disk_wal_fsync_duration_seconds histogram\n\
            etcd_disk_wal_fsync_duration_seconds_bucket{le=\"+Inf\"} 9\n\
            etcd_disk_wal_fsync_duration_seconds_count 9\n\
            # TYPE etcd_server_proposals_applied_total gauge\n\
            etcd_server_proposals_applied_total 1.2e+06\n";
        assert_eq!(counted(metrics), Some(Counted { syncs: 9, applied: 1_200_000 }));
        assert_eq!(counted("HTTP/1.0 404 Not Found\r\n\r\n"), None);
    }

    /// A server was cut off between two looks, and was refused as one that does not sync.
    #[test]
    fn who_is_silent_or_started_again_is_believed() {
        let begin = Counted { syncs: 9, applied: 20 };
        let with = |syncs, applied| Some(Counted { syncs, applied });
        assert!(!may_sync(begin, with(9, 21)), "it applies and does not sync");
        for now in [None, with(10, 21), with(9, 20), with(3, 5)] {
            assert!(may_sync(begin, now), "{now:?}");
        }
    }
}
