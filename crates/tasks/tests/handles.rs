//! Large blobs by handle: mapped on the host of their owner, fetched from it elsewhere, there as
//! long as somebody needs them, and gone in words when their owner was killed.
//!
//! The owner that is killed is a child: this program again, asked for one "test" that does nothing
//! unless it was started with [`CHILD`].

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;
use tidings_primitives::{Key, KeyRing};
use tidings_tasks::handles::{Handles, ShareError};
use tidings_tasks::member::{Member, Network};
use tidings_tasks::net::endpoint::Endpoint;
use tidings_tasks::service::Options;
use tidings_tasks::session::Session;
use tidings_tasks::space::{Space, Spaces};
use tidings_tasks::store::address::Address;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Request, Submission};
use tidings_tasks_core::output::SharedBlob;
use tidings_tasks_core::reign::Candidate;
use tidings_tasks_core::tuple::{Field, Pattern, Template, Tuple, Type};

/// The address of the store, for a child, and its folder.
const CHILD: &str = "TIDINGS_HANDLES_CHILD";
const FOLDER: &str = "TIDINGS_HANDLES_FOLDER";

/// What a child prints when it has put its blob.
const PUT: &str = "it has put";

/// Bytes of a blob: more than one batch of pieces, and no multiple of any.
const BYTES: usize = 9_000_001;

fn content(number: u8) -> Vec<u8> {
    (0..BYTES).map(|at| (at / 7) as u8 ^ number).collect()
}

fn member(name: &str, host: &str, address: Address, listen: Option<&str>) -> Arc<Member> {
    let (name, host) = (name.to_owned(), host.to_owned());
    let candidate = Candidate { name, host, address: String::new(), session: None };
    let ring = KeyRing::new(&[Key::from_bytes([1; 32])]).unwrap();
    let network = Network { ring, listen: listen.map(|at| at.parse().unwrap()) };
    Arc::new(Member::join_over(network, address, "test", candidate, Options::default()))
}

/// A process on a host.
struct Party {
    member: Arc<Member>,
    session: Session,
    handles: Handles,
    space: Space,
    folder: PathBuf,
    _own: Option<TempDir>,
}

impl Party {
    async fn new(name: &str, host: &str, address: Address, folder: Option<&Path>) -> Self {
        let listen = matches!(address, Address::File(_)).then_some("127.0.0.1:0");
        let member = member(name, host, address, listen);
        let (session, _notices) = Session::open(member.clone(), name, host);
        let own = folder.is_none().then(|| tempfile::tempdir().unwrap());
        let folder = folder.map(Path::to_owned);
        let folder = folder.or_else(|| Some(own.as_ref()?.path().join("shared"))).unwrap();
        let handles = Handles::begin(&member, &session, host, &folder).await.unwrap();
        let space = Spaces::new(session.clone()).space("s");
        Self { member, session, handles, space, folder, _own: own }
    }

    /// One that holds a store, and where others reach it.
    async fn holder(folder: &Path) -> (Self, Address) {
        let file = Address::File(folder.join("store"));
        let holder = Self::new("holder", "here", file, None).await;
        let at: Endpoint = holder.member.reached().expect("it holds the store and listens");
        (holder, Address::Tcp(at))
    }

    async fn put(&self, blob: &SharedBlob) {
        self.space.put(Tuple::new(vec!["block".into(), blob.clone().into()])).await.unwrap();
    }

    /// The handle of a tuple, which is consumed.
    async fn take(&self) -> SharedBlob {
        let template = Template(vec![Pattern::Any, Type::Handle.into()]);
        let tuple = self.space.take(template, None).await.unwrap().unwrap();
        let Field::Handle(blob) = &tuple.fields()[1] else { panic!("{tuple:?}") };
        (**blob).clone()
    }

    /// The files of blobs that lie in its folder.
    fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.folder.join("data")).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

/// The inodes of the files that this process has mapped, by the addresses of the mappings.
fn mapped_inode(of: &[u8]) -> u64 {
    let address = of.as_ptr() as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let line = maps.lines().find(|line| {
        let (from, to) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        let number = |text| usize::from_str_radix(text, 16).unwrap();
        (number(from)..number(to)).contains(&address)
    });
    line.expect("a mapping").split_whitespace().nth(4).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_process_of_the_same_host_maps_the_file_of_the_owner() {
    let folder = tempfile::tempdir().unwrap();
    let (owner, at) = Party::holder(folder.path()).await;
    let held = owner.handles.put(&content(1)).unwrap();
    owner.put(held.blob()).await;
    let [file] = &owner.files()[..] else { panic!("one file") };
    let inode = file.metadata().unwrap().ino();
    assert_eq!(mapped_inode(&held), inode);

    // One with another folder, as that of another address of the store, and one with the same.
    let other = Party::new("other", "here", at.clone(), None).await;
    let same = Party::new("same", "here", at, Some(&owner.folder)).await;
    let blob = other.take().await;
    assert_eq!(blob, *held.blob());
    for reader in [&other, &same] {
        let got = reader.handles.get(&blob).await.unwrap();
        assert_eq!((mapped_inode(&got), got.moved_bytes()), (inode, 0), "no copy of it is made");
        assert!(*got == *content(1));
    }
    assert!(other.files().is_empty());
}

#[tokio::test]
async fn a_process_of_another_host_fetches_it_once() {
    let folder = tempfile::tempdir().unwrap();
    let (owner, at) = Party::holder(folder.path()).await;
    let there = Party::new("there", "there", at, None).await;
    for number in 0..3 {
        let held = owner.handles.put(&content(number)).unwrap();
        let got = there.handles.get(held.blob()).await.unwrap();
        assert_eq!((got.moved_bytes(), got.blob()), (BYTES as u64, held.blob()));
        assert!(*got == *content(number));
        assert_eq!(there.handles.get(held.blob()).await.unwrap().moved_bytes(), 0);
    }
    let empty = owner.handles.put(&[]).unwrap();
    assert!(there.handles.get(empty.blob()).await.unwrap().is_empty());
}

/// A blob whose name was drawn is mapped as others are, and comes sealed.
#[tokio::test]
async fn a_blob_without_a_hash_is_had_here_and_on_other_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let (owner, at) = Party::holder(folder.path()).await;
    let held = [1, 1].map(|number| {
        let draft = owner.handles.draft().unwrap();
        std::fs::write(draft.path(), content(number)).unwrap();
        draft.finish_unhashed().unwrap()
    });
    assert_ne!(held[0].blob(), held[1].blob(), "each has a name of its own");
    owner.put(held[0].blob()).await;
    let here = Party::new("other", "here", at.clone(), None).await;
    let there = Party::new("there", "there", at, None).await;
    let blob = here.take().await;
    assert_eq!(blob, *held[0].blob());
    for (reader, bytes) in [(&here, 0), (&there, BYTES as u64), (&there, 0)] {
        let got = reader.handles.get(&blob).await.unwrap();
        assert_eq!((got.moved_bytes(), *got == *content(1)), (bytes, true));
    }
}

#[tokio::test]
async fn it_stays_as_long_as_it_is_held_or_named() {
    let folder = tempfile::tempdir().unwrap();
    let (owner, at) = Party::holder(folder.path()).await;
    let there = Party::new("there", "there", at, None).await;
    let held = owner.handles.put(&content(1)).unwrap();
    let blob = held.blob().clone();
    assert_eq!(owner.handles.free().await.unwrap(), 0, "it is held");
    owner.put(&blob).await;
    drop(held);
    assert_eq!(owner.handles.free().await.unwrap(), 0, "a tuple names it");
    let got = there.handles.get(&there.take().await).await.unwrap();
    assert_eq!(owner.handles.free().await.unwrap(), BYTES as u64);
    assert!(owner.files().is_empty());
    assert!(*got == *content(1), "who has it keeps it");
    drop(got);
    assert_eq!(there.handles.free().await.unwrap(), BYTES as u64, "the copy goes as well");
    for reader in [&there, &owner] {
        let error = reader.handles.get(&blob).await.unwrap_err();
        assert!(matches!(error, ShareError::Gone { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("9000001 bytes that was put on here"), "{text}");
        assert!(text.contains("nobody held it and no tuple or task named it"), "{text}");
    }
}

/// Somebody may have taken its tuple just before.
#[tokio::test]
async fn a_process_that_ends_frees_nothing_beside_another() {
    let folder = tempfile::tempdir().unwrap();
    let (owner, at) = Party::holder(folder.path()).await;
    let same = Party::new("same", "here", at, Some(&owner.folder)).await;
    owner.put(owner.handles.put(&content(1)).unwrap().blob()).await;
    let blob = owner.take().await;
    assert_eq!(same.handles.free().await.unwrap(), 0);
    drop(same);
    assert!(*owner.handles.get(&blob).await.unwrap() == *content(1));
    assert_eq!(owner.handles.free().await.unwrap(), BYTES as u64, "nobody else is there");
}

#[tokio::test]
async fn a_task_that_names_it_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    let (owner, at) = Party::holder(folder.path()).await;
    let there = Party::new("there", "there", at, None).await;
    let task = TaskId::of("task", 1);
    let tasks = vec![Submission::new(task, "q", *b"it reads a handle")];
    owner.session.ask(Request::Submit { tasks }).await.unwrap();
    let held = [owner.handles.put(&content(1)).unwrap(), owner.handles.put(&content(2)).unwrap()];
    let blobs = [held[0].blob().clone(), held[1].blob().clone()];
    owner.handles.pin(&blobs[0], &[task]).await.unwrap();
    // Whoever submits may be on another host than the blob.
    there.handles.pin(&blobs[1], &[task]).await.unwrap();
    drop(held);
    assert_eq!(owner.handles.free().await.unwrap(), 0);
    assert!(*owner.handles.get(&blobs[1]).await.unwrap() == *content(2));
    let unknown = SharedBlob { hash: [3; 32], ..blobs[0].clone() };
    for party in [&owner, &there] {
        let error = party.handles.pin(&unknown, &[task]).await.unwrap_err();
        assert!(matches!(error, ShareError::Gone { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn child_that_puts_and_waits() {
    let Some(address) = std::env::var_os(CHILD) else { return };
    let address = address.to_str().unwrap().parse().unwrap();
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let name = format!("child-{}", std::process::id());
    let child = Party::new(&name, "there", address, Some(&folder)).await;
    let held = child.handles.put(&content(9)).unwrap();
    child.put(held.blob()).await;
    println!("{PUT}");
    std::future::pending::<()>().await;
}

/// An owner, once it has put a blob that a tuple names and that it holds.
fn child(at: &Address, folder: &Path) -> Child {
    let own = std::env::current_exe().expect("a running program has a path");
    let mut command = Command::new(own);
    command.args(["--exact", "child_that_puts_and_waits", "--nocapture", "--test-threads=1"]);
    command.env(CHILD, at.to_string()).env(FOLDER, folder);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    assert!(lines.any(|line| line.unwrap().contains(PUT)));
    child
}

#[tokio::test]
async fn a_blob_whose_owner_was_killed_is_gone_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, at) = Party::holder(folder.path()).await;
    let shared = folder.path().join("of-the-child");
    // The holder goes on while it is waited for.
    let (to, below) = (at.clone(), shared.clone());
    let begun = tokio::task::spawn_blocking(move || child(&to, &below));
    let mut child = begun.await.unwrap();
    let blob = reader.take().await;
    child.kill().unwrap();
    child.wait().unwrap();
    // Nobody listens there any more.
    let error = reader.handles.get(&blob).await.unwrap_err();
    assert!(matches!(error, ShareError::Gone { .. } | ShareError::Fetch { .. }), "{error:?}");
    assert!(error.to_string().contains("that was put on there"), "{error}");

    // Once its session has ended it is the coordinator who says so.
    let name = format!("child-{}", child.id());
    let (session, _notices) = Session::open(reader.member.clone(), &name, "there");
    assert_eq!(session.ask(Request::Leave).await.unwrap(), Answer::Done);
    let error = reader.handles.get(&blob).await.unwrap_err().to_string();
    assert!(error.contains("no process of that node that shares blobs is there"), "{error}");

    // Another process of that host serves the folder on, and frees what the child has held.
    let next = Party::new("next", "there", at, Some(&shared)).await;
    assert!(*reader.handles.get(&blob).await.unwrap() == *content(9));
    assert_eq!(next.handles.free().await.unwrap(), BYTES as u64);
    assert!(next.files().is_empty());
}
