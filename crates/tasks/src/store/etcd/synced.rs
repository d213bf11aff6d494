//! Whether a server syncs what it acknowledges, as far as it lets others see.
//!
//! etcd 3.5 and later can be started with `--unsafe-no-fsync`. It then says so in its log only. But
//! it counts its syncs, and what it has applied, in the metrics that it serves beside its interface
//! over plain HTTP. One that applies commit after commit and syncs none of them does not sync. One
//! that shows no metrics is believed.
//!
//! Source: `server/storage/wal/wal.go` of etcd 3.5: without syncing, `sync` returns before it
//! counts.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::{Client, GRANT, REVOKE, Repeat};
use super::error::OpenError;
use super::proto::{Grant, Granted, Lease, Nothing};

const SYNCS: &str = "etcd_disk_wal_fsync_duration_seconds_count";
const APPLIED: &str = "etcd_server_proposals_applied_total";

/// The longest list of metrics that is read, in bytes. etcd's has some 100 KiB.
const MAX_METRICS_BYTES: u64 = 4 << 20;

/// How long a server may take to show its metrics.
const ANSWER: Duration = Duration::from_secs(2);

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
    'servers: for server in servers {
        let Some(begin) = look(server).await else { continue };
        for _ in 0..ROUNDS {
            write(client).await;
            if may_sync(begin, look(server).await) {
                continue 'servers;
            }
        }
        return Err(OpenError::Unsynced { server: server.clone() });
    }
    Ok(())
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
    let metrics = timeout(ANSWER, metrics(server)).await.ok()?.ok()?;
    counted(&metrics)
}

async fn metrics(server: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(server).await?;
    let request = format!("GET /metrics HTTP/1.0\r\nHost: {server}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(MAX_METRICS_BYTES).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn counted(metrics: &str) -> Option<Counted> {
    let value = |name: &str| {
        let mut lines = metrics.lines();
        let number = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        // Large numbers have an exponent.
        number.trim().parse::<f64>().ok().map(|number| number as u64)
    };
    Some(Counted { syncs: value(SYNCS)?, applied: value(APPLIED)? })
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
