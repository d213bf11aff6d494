//! The records of a store: what lies in it, whether that fits together, and how it moves to another
//! engine.
//!
//! These commands open the store themselves, so nobody else may hold it, and nothing changes while
//! they read. What is in a store that is in use is shown by `queue` and `task`.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use tidings_tasks::blobs::{self, Blobs};
use tidings_tasks::inspect::check::{Found, check};
use tidings_tasks::inspect::{Content, Pages, archive};
use tidings_tasks::parts;
use tidings_tasks::store;
use tidings_tasks::store::address::Address;
use tidings_tasks::store::medium;
use tidings_tasks::usual;
use tidings_tasks_core::id::Part;
use tidings_tasks_core::keys::{self, Letter};
use tidings_tasks_core::record::{Ended, decode};
use tidings_tasks_core::semaphore::{Grant, Semaphore};
use tidings_tasks_core::transaction::{Key, Record};
use tidings_tasks_core::view::Shown;

use super::super::client::{Place, block_on};
use super::super::failure::TasksError;
use super::super::kinds;
use super::super::space::tuples;
use super::servers;
use crate::Failure;
use crate::output;
use crate::table::{self, Align};

/// A key, as JSON.
#[derive(Serialize)]
struct KeyLine {
    key: String,
    kind: &'static str,
    bytes: usize,
    revision: u64,
}

/// What a check has found, as JSON.
#[derive(Serialize)]
struct FoundView {
    live: u64,
    ended: u64,
    staged: u64,
    semaphores: u64,
    tuples: u64,
    own: u64,
    blobs: u64,
    faults: Vec<FaultView>,
    faults_total: u64,
}

#[derive(Serialize)]
struct FaultView {
    key: String,
    what: String,
}

/// Opens a store that is there.
async fn open(place: &Place) -> Result<Arc<dyn store::Store>, TasksError> {
    match &place.address {
        Address::File(path) if !path.exists() => {
            let remedy = "name another one with --store";
            return Err(TasksError::NotFound(format!("{} has no store: {remedy}", path.display())));
        }
        Address::Tcp(_) | Address::Memory => return Err(not_itself(place)),
        _ => {}
    }
    let store = place.address.open(usual::CLUSTER).await?;
    if !matches!(place.address, Address::File(_)) {
        not_in_use(&*store).await?;
    }
    Ok(store)
}

/// What is named is a way to a store.
pub(super) fn not_itself(place: &Place) -> TasksError {
    TasksError::Usage(format!("{}: name the store itself, as file:PATH on its host", place.address))
}

/// Who opens a file is alone with it. Of a store that hosts share, the sign of its coordinator,
/// which goes with the coordinator's session, says whether it is in use.
async fn not_in_use(store: &dyn store::Store) -> Result<(), TasksError> {
    let (parts, _) = parts::of(store).await?;
    let signs: Vec<_> = (0..parts).map(|part| keys::lives(Part(part))).collect();
    let signs = store.get(&signs).await?.records;
    match signs.into_iter().flatten().next() {
        None => Ok(()),
        Some(sign) => {
            let name = String::from_utf8_lossy(&sign.value).into_owned();
            Err(TasksError::InUse { coordinator: name })
        }
    }
}

/// Lists keys.
pub(super) async fn list(
    place: &Place,
    prefix: Option<&Key>,
    json: bool,
) -> Result<(), TasksError> {
    let store = open(place).await?;
    let mut pages = match prefix {
        Some(prefix) => Pages::below(&*store, prefix.clone()),
        None => Pages::all(&*store),
    };
    while let Some(page) = pages.next().await? {
        let lines = page.records.iter().map(|record| KeyLine {
            key: record.key.to_string(),
            kind: kind(record),
            bytes: record.value.len(),
            revision: record.revision.0,
        });
        for line in lines {
            let text = if json {
                json!(line).to_string()
            } else {
                format!("{} {} {}", line.key, line.kind, line.bytes)
            };
            kinds::write_output(format!("{text}\n").as_bytes())?;
        }
    }
    Ok(())
}

/// What a record is.
fn kind(record: &Record) -> &'static str {
    match Content::of(record) {
        Ok(Content::Parts(_)) => "parts",
        Ok(Content::Letter(_, Letter::Bell)) => "bell",
        Ok(Content::Letter(_, Letter::Ended(_))) => "ended",
        Ok(Content::Letter(_, Letter::Wanted(..))) => "wanted",
        Ok(Content::Role(..)) => "role",
        Ok(Content::Fence(_)) => "fence",
        Ok(Content::Lives(_)) => "lives",
        Ok(Content::Staged(..)) => "staged",
        Ok(Content::Counted(..)) => "counted",
        Ok(Content::Task(..)) => "task",
        Ok(Content::Finished(..)) => "finished",
        Ok(Content::Semaphore(..)) => "semaphore",
        Ok(Content::Tuple(..)) => "tuple",
        Ok(Content::Past(..)) => "past",
        Ok(Content::Own) => "own",
        Ok(Content::Block(_)) => "block",
        Err(_) => "unreadable",
    }
}

/// Shows the record of a key.
pub(super) async fn show(place: &Place, key: &Key, raw: bool) -> Result<(), TasksError> {
    let store = open(place).await?;
    let found = store.get(std::slice::from_ref(key)).await?.records.pop().flatten();
    let record = found.ok_or_else(|| TasksError::NotFound(format!("{key} has no value")))?;
    if raw {
        return kinds::write_output(&record.value);
    }
    let text = json!({
        "key": key.to_string(),
        "kind": kind(&record),
        "revision": record.revision.0,
        "record": content(&record),
    });
    kinds::write_output(format!("{text:#}\n").as_bytes())
}

/// What a record says, as JSON.
fn content(record: &Record) -> Value {
    let shown = |id, shown: Shown| json!(kinds::TaskView::of(id, &shown));
    match Content::of(record) {
        Ok(Content::Task(_, id, task)) => shown(id, Shown::Live(*task)),
        Ok(Content::Finished(_, id, finished)) => shown(id, Shown::Finished(*finished)),
        Ok(Content::Role(_, reign)) => json!({
            "epoch": reign.epoch.0,
            "coordinator": reign.coordinator,
            "host": reign.host,
            "address": reign.address,
        }),
        Ok(Content::Semaphore(_, name, semaphore)) => semaphore_view(&name, &semaphore),
        Ok(Content::Tuple(_, space, stored)) => tuples::stored(&space, &stored),
        Ok(Content::Past(_, past)) => tuples::past(&past),
        Ok(Content::Staged(_, _, staged)) => {
            staged.tasks.into_iter().map(|(id, task)| shown(id, Shown::Live(task))).collect()
        }
        Ok(Content::Parts(parts)) => json!(parts),
        Ok(Content::Letter(part, letter)) => letter_view(record, part, letter),
        Ok(
            Content::Fence(_)
            | Content::Lives(_)
            | Content::Counted(..)
            | Content::Own
            | Content::Block(_),
        )
        | Err(_) => json!(record.value.escape_ascii().to_string()),
    }
}

/// What one part has told another.
fn letter_view(record: &Record, part: Part, letter: Letter) -> Value {
    match letter {
        Letter::Bell => json!({ "part": part.0 }),
        Letter::Wanted(task, by) => {
            json!({ "part": part.0, "task": task.to_string(), "waits": by.0 })
        }
        Letter::Ended(task) => match decode::<Ended>(record) {
            Ok(ended) => json!({
                "part": part.0,
                "task": task.to_string(),
                "of": ended.part.0,
                "known": ended.is_known,
            }),
            Err(error) => json!(error.to_string()),
        },
    }
}

fn semaphore_view(name: &str, semaphore: &Semaphore) -> Value {
    let grants = |grants: &[Grant]| -> Vec<Value> {
        let view = |grant: &Grant| json!({ "holder": grant.holder, "permits": grant.permits });
        grants.iter().map(view).collect()
    };
    json!({
        "name": name,
        "permits": semaphore.permits,
        "held": grants(&semaphore.held),
        "waiting": grants(&semaphore.waiting),
    })
}

/// Checks the servers of an etcd, and unless only they are asked for, that records and blobs fit
/// together.
pub(super) fn checked(place: &Place, json: bool, servers_only: bool) -> Result<(), Failure> {
    let etcd = servers::examined(place, servers_only)?;
    if let Some(warning) = medium::warning(&place.address) {
        output::complain(warning);
    }
    let found = (!servers_only).then(|| block_on(found(place))).transpose();
    let records = found.as_ref().ok().and_then(Option::as_ref);
    if json {
        let mut view = records.map_or_else(|| json!({}), |found| json!(FoundView::of(found)));
        if let Some(etcd) = &etcd {
            view["etcd"] = servers::view(etcd);
        }
        if etcd.is_some() || records.is_some() {
            output::print_json(&view)?;
        }
    } else {
        let servers = etcd.as_ref().map(servers::text).unwrap_or_default();
        output::print(&(servers + &records.map(text).unwrap_or_default()))?;
    }
    let unsound = found?.map_or(0, |found| found.faults_total);
    if unsound > 0 {
        return Err(TasksError::Unsound(unsound).into());
    }
    match etcd.map_or(0, |etcd| etcd.faults.len()) {
        0 => Ok(()),
        faults => Err(TasksError::Unfit(faults).into()),
    }
}

/// What the records say.
async fn found(place: &Place) -> Result<Found, TasksError> {
    let store = open(place).await?;
    let folder = folder_of(place).filter(|folder| folder.is_dir());
    let blobs = folder.map(|folder| Blobs::open(&folder)).transpose()?;
    Ok(check(&*store, blobs.as_ref()).await?)
}

fn text(found: &Found) -> String {
    let rows = [
        ("tasks that have not ended", found.live),
        ("tasks that have ended", found.ended),
        ("tasks that wait for their parent", found.staged),
        ("semaphores", found.semaphores),
        ("tuples", found.tuples),
        ("keys of tasks' own", found.own),
        ("blobs that are named", found.blobs),
        ("faults", found.faults_total),
    ];
    let rows: Vec<_> = rows.map(|(what, count)| vec![what.to_owned(), count.to_string()]).into();
    let mut text = table::render(&[("", Align::Left), ("", Align::Right)], &rows);
    for fault in &found.faults {
        text = text + &fault.key.to_string() + ": " + &fault.what + "\n";
    }
    text
}

impl FoundView {
    fn of(found: &Found) -> Self {
        let faults = found.faults.iter();
        Self {
            live: found.live,
            ended: found.ended,
            staged: found.staged,
            semaphores: found.semaphores,
            tuples: found.tuples,
            own: found.own,
            blobs: found.blobs,
            faults: faults
                .map(|fault| FaultView { key: fault.key.to_string(), what: fault.what.clone() })
                .collect(),
            faults_total: found.faults_total,
        }
    }
}

/// Where the blobs of a store are.
fn folder_of(place: &Place) -> Option<PathBuf> {
    match &place.address {
        Address::File(path) => Some(blobs::beside(path)),
        _ => None,
    }
}

/// Writes all records to a file.
pub(super) async fn export(place: &Place, file: &Path) -> Result<u64, TasksError> {
    let store = open(place).await?;
    let to = File::create_new(file)
        .map_err(|source| TasksError::File { path: file.to_owned(), source })?;
    let exported = archive::export(&*store, usual::CLUSTER, &mut BufWriter::new(&to)).await;
    let synced = exported.and_then(|count| Ok(to.sync_all().map(|()| count)?));
    if synced.is_err() {
        // What is not whole is of no use. The first error says why.
        let _ = fs::remove_file(file);
    }
    if let Some(folder) = folder_of(place).filter(|folder| folder.is_dir()) {
        output::complain(&format!(
            "blobs are not in it: copy the folder {} beside the new store",
            folder.display()
        ));
    }
    Ok(synced?)
}

/// Reads an archive into a new store. A file is made beside its place, and moved there as a whole.
pub(super) async fn import(place: &Place, file: &Path) -> Result<u64, TasksError> {
    let failed = |path: &Path, source| TasksError::File { path: path.to_owned(), source };
    let mut from = BufReader::new(File::open(file).map_err(|error| failed(file, error))?);
    let Address::File(path) = &place.address else {
        let store = open(place).await?;
        return Ok(archive::import(&*store, usual::CLUSTER, &mut from).await?);
    };
    if path.exists() {
        return Err(TasksError::Archive(archive::ArchiveError::NotEmpty));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let draft = tempfile::tempdir_in(folder).map_err(|error| failed(folder, error))?;
    let new = draft.path().join("store");
    let store = Address::File(new.clone()).open(usual::CLUSTER).await?;
    let count = archive::import(&*store, usual::CLUSTER, &mut from).await?;
    drop(store);
    // Nothing that came to be meanwhile is replaced.
    fs::hard_link(&new, path).map_err(|error| failed(path, error))?;
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| failed(folder, error))?;
    Ok(count)
}
