//! A service and a board that is really written: hosts die, filters are evaluated, hosts do well or
//! badly. Sessions last for an hour here, so what happens is by the board alone.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tidings_board::{News, Outline, State, Writer, now_ns};
use tidings_gossip::payload::{self, NodeState};
use tidings_tasks::service::{Connection, Options, Service};
use tidings_tasks::store::memory::Memory;
use tidings_tasks_core::id::{Part, TaskId};
use tidings_tasks_core::message::{Answer, Call, Message, Request, Submission};
use tidings_tasks_core::reign::Candidate;
use tidings_tasks_core::view::Overview;

const HOSTS: [&str; 3] = ["n0", "n1", "n2"];
const PAYLOAD_BYTES: usize = 128;

/// A board of three nodes, maybe in a folder of its own.
struct Board {
    _folder: Option<TempDir>,
    path: PathBuf,
    writer: Writer,
    sequence: u32,
}

impl Board {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("board");
        Self { _folder: Some(folder), ..Self::at(path) }
    }

    fn at(path: PathBuf) -> Self {
        let outline = Outline {
            cluster: "test".into(),
            observer: HOSTS[0].into(),
            slots: HOSTS.len(),
            payload_bytes: PAYLOAD_BYTES,
            payload_schema: payload::SCHEMA.into(),
            // Who reads it accepts a writer that is silent for some of them.
            unit: Duration::from_secs(3_600),
        };
        let mut writer = Writer::create(&path, &outline).unwrap();
        for (slot, name) in HOSTS.into_iter().enumerate() {
            let payload = readings(4, 0.0);
            let news = news(State::Alive, slot, 1, &payload);
            writer.seat(slot, name, &[127, 0, 0, 1, 0, 9], &news).unwrap();
        }
        writer.beat(now_ns());
        Self { _folder: None, path, writer, sequence: 1 }
    }

    fn update(&mut self, slot: usize, state: State, cores: u16, busy_percent: f64) {
        self.sequence += 1;
        let payload = readings(cores, busy_percent);
        self.writer.update(slot, &news(state, slot, self.sequence, &payload)).unwrap();
        self.writer.beat(now_ns());
    }
}

fn news(state: State, slot: usize, sequence: u32, payload: &[u8]) -> News<'_> {
    let birth_ns = now_ns();
    News { state, node_id: slot as u32, incarnation: 1, sequence, birth_ns, payload }
}

fn readings(cores: u16, busy_percent: f64) -> [u8; PAYLOAD_BYTES] {
    let mut payload = [0; PAYLOAD_BYTES];
    let state = NodeState {
        cores: Some(cores),
        cpu_busy_percent: Some(busy_percent),
        ..NodeState::default()
    };
    state.encode(&mut payload).unwrap();
    payload
}

async fn service(board: Option<&Path>) -> Service {
    let options = Options {
        session_ttl: Duration::from_secs(3_600),
        board: board.map(Path::to_owned),
        ..Options::default()
    };
    let (name, host, address) = ("c".to_owned(), HOSTS[0].to_owned(), String::new());
    let candidate = Candidate { name, host, address, session: None };
    let begun =
        Service::begin(Arc::new(Memory::default()), Part(0), &candidate, options, false).await;
    let (service, running) = begun.unwrap();
    tokio::spawn(running);
    service
}

/// A session, and the number of its last request.
struct Party(Connection, u64);

impl Party {
    async fn join(service: &Service, host: &str, slots: u32) -> Self {
        let mut party = Self(service.connect().await.unwrap(), 0);
        let (name, host) = (format!("worker on {host}"), host.to_owned());
        party.ask(Request::Join { name, host, holding: Vec::new() }).await;
        let (queues, resources) = (Vec::new(), Vec::new());
        party.ask(Request::Offer { queues, slots, resources, ahead: 0, full: None }).await;
        party
    }

    async fn send(&mut self, request: Request) -> Call {
        self.1 += 1;
        self.0.send(Call(self.1), request).await.unwrap();
        Call(self.1)
    }

    /// The answer to a request. What is told meanwhile is not of interest.
    async fn ask(&mut self, request: Request) -> Answer {
        let call = self.send(request).await;
        loop {
            if let Message::Answer(of, answer) = self.0.receive().await.unwrap() {
                assert_eq!(of, call);
                return answer;
            }
        }
    }

    /// The next task that it is to do, and its attempt.
    async fn assigned(&mut self) -> (TaskId, u32) {
        loop {
            let message = self.0.receive().await.unwrap();
            if let Message::Assign { task, attempt, .. } = message {
                return (task, attempt.0);
            }
        }
    }

    async fn submit(&mut self, tasks: Vec<Submission>) {
        let new = tasks.len() as u32;
        assert_eq!(self.ask(Request::Submit { tasks }).await, Answer::Submitted(new));
    }

    async fn overview(&mut self) -> Overview {
        match self.ask(Request::Overview).await {
            Answer::Overview(overview) => *overview,
            other => panic!("{other:?}"),
        }
    }

    /// Waits until the board was looked at, in all it asks for.
    async fn until(&mut self, is_so: impl Fn(&Overview) -> bool) {
        while !is_so(&self.overview().await) {
            tokio::task::yield_now().await;
        }
    }
}

fn task(number: u64) -> Submission {
    Submission::new(TaskId::of("t", number), "q", [1])
}

#[tokio::test]
async fn the_task_of_a_host_that_dies_goes_elsewhere_at_once() {
    let mut board = Board::new();
    let service = service(Some(&board.path)).await;
    let mut first = Party::join(&service, "n1", 1).await;
    first.until(|seen| seen.board).await;
    let mut client = Party::join(&service, "n0", 0).await;
    client.submit(vec![task(1)]).await;
    assert_eq!(first.assigned().await, (task(1).id, 1));
    let mut second = Party::join(&service, "n2", 1).await;
    board.update(1, State::Dead, 4, 0.0);
    assert_eq!(second.assigned().await, (task(1).id, 2));
    assert_eq!(client.overview().await.counters.lost, 1);
}

#[tokio::test]
async fn a_task_goes_where_its_filter_holds() {
    let mut board = Board::new();
    board.update(2, State::Alive, 64, 0.0);
    let service = service(Some(&board.path)).await;
    let mut small = Party::join(&service, "n1", 8).await;
    let mut large = Party::join(&service, "n2", 8).await;
    small.until(|seen| seen.board).await;
    let filter = "cores >= 32".to_owned();
    let filtered = |number| Submission { filter: filter.clone(), ..task(number) };
    small.submit(vec![filtered(1)]).await;
    assert_eq!(large.assigned().await.0, task(1).id);
    // What held does not hold any more, and holds elsewhere.
    board.update(2, State::Alive, 2, 0.0);
    board.update(1, State::Alive, 48, 0.0);
    small.submit(vec![Submission { filter: "cores == 48".to_owned(), ..task(2) }]).await;
    assert_eq!(small.assigned().await.0, task(2).id);
    small.submit(vec![Submission { filter: "cores == 9".to_owned(), ..task(3) }]).await;
    small.until(|seen| seen.queues[0].unfit == 1).await;
}

#[tokio::test]
async fn a_busy_host_is_the_last_choice() {
    let mut board = Board::new();
    board.update(1, State::Alive, 4, 100.0);
    let service = service(Some(&board.path)).await;
    let mut busy = Party::join(&service, "n1", 8).await;
    let mut idle = Party::join(&service, "n2", 8).await;
    busy.until(|seen| seen.board).await;
    busy.submit((0..4).map(task).collect()).await;
    for _ in 0..4 {
        idle.assigned().await;
    }
}

#[tokio::test]
async fn without_a_board_tasks_with_a_filter_wait_and_others_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let service = service(Some(&folder.path().join("board"))).await;
    let mut worker = Party::join(&service, "n1", 8).await;
    let mut client = Party::join(&service, "n0", 0).await;
    let filter = "cores >= 1".to_owned();
    client.submit(vec![Submission { filter, ..task(1) }, task(2)]).await;
    assert_eq!(worker.assigned().await.0, task(2).id);
    let seen = client.overview().await;
    assert!(!seen.board);
    assert_eq!(seen.queues[0].unfit, 1);
}

/// A coordinator without an agent looked for a board every two seconds, also when it was idle.
#[tokio::test(start_paused = true)]
async fn a_board_that_comes_later_is_seen_without_being_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run/tidings/board");
    let make = || {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        Board::at(path.clone())
    };
    let board = make();
    let service = service(Some(&path)).await;
    let mut worker = Party::join(&service, "n1", 8).await;
    worker.until(|seen| seen.board).await;
    board.writer.leave().unwrap();
    while worker.overview().await.board {
        tokio::time::advance(Duration::from_millis(100)).await;
    }
    std::fs::remove_dir_all(folder.path().join("run")).unwrap();
    let _board = make();
    // Time goes on only while nobody has anything to do: while this asks, it does not.
    worker.until(|seen| seen.board).await;
}
