//! What a server counts, as it shows it over plain HTTP beside its interface.
//!
//! Some servers show nothing, or elsewhere: then there is nothing to see.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The longest list of metrics that is read, in bytes. etcd's has some 100 KiB.
const MAX_METRICS_BYTES: u64 = 4 << 20;

/// How long a server may take to show its metrics.
const ANSWER: Duration = Duration::from_secs(2);

/// The metrics of a server.
pub(super) async fn metrics(server: &str) -> Option<String> {
    timeout(ANSWER, shown(server)).await.ok()?.ok()
}

async fn shown(server: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(server).await?;
    let request = format!("GET /metrics HTTP/1.0\r\nHost: {server}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(MAX_METRICS_BYTES).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// One of them, which has no labels.
pub(super) fn value(metrics: &str, name: &str) -> Option<u64> {
    let mut lines = metrics.lines();
    let number = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    // Large numbers have an exponent.
    number.trim().parse::<f64>().ok().map(|number| number as u64)
}
