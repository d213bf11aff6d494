//! A store with a client, for tests of workers with real processes.

#![allow(dead_code, unreachable_pub, reason = "no test program uses all of it")]

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tidings_tasks::member::Member;
use tidings_tasks::service::Options;
use tidings_tasks::session::Session;
use tidings_tasks::store::address::Address;
use tidings_tasks::work::{Report, Work};
use tidings_tasks::worker::{Event, Settings, Worker};
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Request, Submission};
use tidings_tasks_core::record::{Finished, Outcome};
use tidings_tasks_core::reign::Candidate;
use tidings_tasks_core::retry::{Cause, Retry};
use tokio::sync::mpsc;

/// A store, a client and a folder for the files of tasks.
pub struct Here {
    pub folder: tempfile::TempDir,
    pub member: Arc<Member>,
    pub client: Session,
    submitted: u64,
}

pub fn member(folder: &Path, name: &str) -> Arc<Member> {
    let (name, host) = (name.to_owned(), "here".to_owned());
    let candidate = Candidate { name, host, address: String::new(), session: None };
    let address = Address::File(folder.join("store"));
    Arc::new(Member::join(address, "test", candidate, Options::default()))
}

pub fn settings(folder: &Path, name: &str) -> Settings {
    Settings {
        name: name.to_owned(),
        host: "here".to_owned(),
        queues: Vec::new(),
        slots: 2,
        resources: Vec::new(),
        runtimes: BTreeMap::new(),
        scratch: folder.join("scratch"),
        depot: None,
        blobs: None,
        drain: Duration::from_secs(60),
        spare_after: None,
    }
}

impl Here {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let member = member(folder.path(), "here");
        let (client, _) = Session::open(member.clone(), "client", "here");
        Self { folder, member, client, submitted: 0 }
    }

    pub fn settings(&self) -> Settings {
        settings(self.folder.path(), "worker")
    }

    pub fn worker(&self) -> (Worker, mpsc::Receiver<Event>) {
        Worker::begin(self.member.clone(), self.settings())
    }

    /// Never tried again, whatever happens.
    pub async fn submit(&mut self, work: &Work) -> TaskId {
        let retry = Retry { signals: 0, memory: 0, losses: 1, ..Retry::default() };
        self.submit_with(work, retry).await
    }

    pub async fn submit_with(&mut self, work: &Work, retry: Retry) -> TaskId {
        self.submit_as(work, retry, &[]).await
    }

    /// Waits for other tasks.
    pub async fn submit_behind(&mut self, work: &Work, inputs: &[TaskId]) -> TaskId {
        self.submit_as(work, Retry::default(), inputs).await
    }

    async fn submit_as(&mut self, work: &Work, retry: Retry, inputs: &[TaskId]) -> TaskId {
        let id = TaskId::of("task", self.submitted);
        self.submitted += 1;
        let inputs = inputs.to_vec();
        let task = Submission { retry, inputs, ..Submission::new(id, "q", work.to_payload()) };
        let answer = self.client.ask(Request::Submit { tasks: vec![task] }).await.unwrap();
        assert_eq!(answer, Answer::Submitted(1));
        id
    }

    pub async fn outcome(&self, task: TaskId) -> Finished {
        match self.client.ask(Request::Wait { task }).await.unwrap() {
            Answer::Outcome(finished) => *finished,
            other => panic!("{other:?}"),
        }
    }

    pub async fn report(&self, task: TaskId) -> Report {
        match self.outcome(task).await.outcome {
            Outcome::Done(result) => Report::from_result(&result).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// The last failure of a task.
    pub async fn failure(&self, task: TaskId) -> (Cause, String) {
        let finished = self.outcome(task).await;
        assert_eq!(finished.outcome, Outcome::Failed);
        let last = finished.task.failures.last().unwrap();
        (last.cause, last.text.clone())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A pipe with a name: reading it waits for those that write, until all have ended.
    pub fn pipe(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        path
    }
}

/// What is written to a pipe until the last that has it open has ended.
pub async fn rest(pipe: std::fs::File) -> String {
    tokio::task::spawn_blocking(|| std::io::read_to_string(pipe).unwrap()).await.unwrap()
}

/// Opens a pipe once somebody writes to it, and reads a line.
pub async fn first_line(path: PathBuf) -> (String, std::fs::File) {
    let read = move || {
        let mut pipe = std::fs::File::open(path).unwrap();
        let (mut line, mut byte) = (String::new(), [0]);
        while pipe.read(&mut byte).unwrap() == 1 && byte != *b"\n" {
            line.push(char::from(byte[0]));
        }
        (line, pipe)
    };
    tokio::task::spawn_blocking(read).await.unwrap()
}

pub async fn next(events: &mut mpsc::Receiver<Event>, is_it: impl Fn(&Event) -> bool) -> Event {
    loop {
        let event = events.recv().await.unwrap();
        if is_it(&event) {
            return event;
        }
    }
}
