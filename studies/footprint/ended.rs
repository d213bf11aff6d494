//! What tasks take that have ended: of the memory of the process that holds the store, of the disk,
//! and of the time until another process has taken the store over.
//!
//! More and more tasks pass through one store in a file, a window of them at a time, and all their
//! records are kept. A holder of its own sees each share of them; then it is killed, and the store
//! is taken over twice: as the killed one has left it, and as the next one has, in good order.

use std::time::Instant;

use serde_json::{Map, Value};
use tempfile::TempDir;
use tidings_studies::table::Made;

use crate::{Rows, SLOTS, Site, job, live, memory, start, through};

/// It is looked when so many have ended, as parts of all.
const PARTS: [u64; 3] = [100, 10, 1];

pub(crate) fn measure(tasks: u64) -> Made {
    let mut rows = Rows("what,count,value,unit\n".to_owned());
    let folder = TempDir::new().expect("a temporary directory");
    let site = Site { store: folder.path().join("store") };
    let runtime = tokio::runtime::Runtime::new().expect("threads can be started");
    let mut before = 0;
    for part in PARTS {
        let count = (tasks / part).max(before + 1);
        runtime.block_on(pass(before, count, &site, &mut rows));
        for end in ["killed", "left"] {
            let seconds = runtime.block_on(start(0, &site));
            rows.add(end, count, seconds, "s");
        }
        before = count;
    }
    (rows.0, Map::<String, Value>::new())
}

/// Has the tasks done that follow so many, and kills the holder that has seen them.
async fn pass(before: u64, count: u64, site: &Site, rows: &mut Rows) {
    let holder = site.holder();
    let (source, mut taker) = (site.client("submit"), site.taker("jobs", SLOTS).await);
    let begun = Instant::now();
    through(&source, &mut taker, before..count, job, |_| ()).await;
    let seconds = begun.elapsed().as_secs_f64();
    assert_eq!(live(&source).await, 0);
    rows.add("done", count, (count - before) as f64 / seconds, "tasks/s");
    rows.add("memory", count, memory(holder.id()) / 1e6, "MB");
    let bytes = std::fs::metadata(&site.store).expect("it is there").len();
    rows.add("file", count, bytes as f64 / 1e6, "MB");
    taker.member.leave().await;
    source.member.leave().await;
    drop(holder);
}
