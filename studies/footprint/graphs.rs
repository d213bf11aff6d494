//! What graphs take that are streamed: of the process that submits them, and of the holder.
//!
//! Each task of a layer of 64 reads two of the layer before. No more than a window of tasks is
//! there that have not ended, so what both processes hold does not depend on how many tasks the
//! graph has. The store of each graph is a file of its own; records of ended tasks stay in it.

use std::time::Instant;

use serde_json::{Map, Value};
use tempfile::TempDir;
use tidings_studies::table::Made;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::Submission;

use crate::{PAYLOAD, Rows, SLOTS, Site, live, memory, through};

/// The graphs have so many tasks, as parts of the largest.
const PARTS: [u64; 3] = [100, 10, 1];

/// The tasks of a layer.
const LAYER: u64 = 64;

/// After how many ended tasks memory is read.
const LOOK: u64 = 1_000;

pub(crate) fn measure(tasks: u64) -> Made {
    let mut rows = Rows("what,count,value,unit\n".to_owned());
    for part in PARTS {
        let folder = TempDir::new().expect("a temporary directory");
        let site = Site { store: folder.path().join("store") };
        let runtime = tokio::runtime::Runtime::new().expect("threads can be started");
        runtime.block_on(stream((tasks / part).max(1), &site, &mut rows));
    }
    (rows.0, Map::<String, Value>::new())
}

/// The most memory of both processes, in bytes.
#[derive(Default)]
struct Most {
    holder: f64,
    here: f64,
}

async fn stream(tasks: u64, site: &Site, rows: &mut Rows) {
    let holder = site.holder();
    let (source, mut taker) = (site.client("submit"), site.taker("jobs", SLOTS).await);
    let (mut most, begun) = (Most::default(), Instant::now());
    let ended = |done: u64| {
        if done % LOOK == 0 || done == tasks {
            most.holder = most.holder.max(memory(holder.id()));
            most.here = most.here.max(memory(std::process::id()));
        }
    };
    through(&source, &mut taker, 0..tasks, task, ended).await;
    let seconds = begun.elapsed().as_secs_f64();
    assert_eq!(live(&source).await, 0);
    rows.add("done", tasks, tasks as f64 / seconds, "tasks/s");
    rows.add("holder", tasks, most.holder / 1e6, "MB");
    rows.add("submitter", tasks, most.here / 1e6, "MB");
    taker.member.leave().await;
    source.member.leave().await;
}

/// A task that reads two of the layer before, if there is one.
fn task(number: u64) -> Submission {
    let id = |number| TaskId::of("graph", number);
    let inputs = match number.checked_sub(LAYER) {
        Some(above) => vec![id(above), id(above / LAYER * LAYER + (above + 1) % LAYER)],
        None => Vec::new(),
    };
    Submission { inputs, ..Submission::new(id(number), "jobs", [1; PAYLOAD]) }
}
