//! Sessions: a worker's or client's side, which outlives connections and coordinators.
//!
//! A [`Session`] asks and is answered; what happens in between, a link that breaks, a holder that
//! dies, a coordinator that begins again, it does not see: what was not answered is sent again to
//! whoever serves then, and tasks that it has in hand are named when it comes back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::{Answer, Call, Message, Refusal, Request};
use tidings_tasks_core::outstanding::Outstanding;
use tokio::sync::{mpsc, oneshot};

use crate::member::{Link, Member};
use crate::renewal::Renewal;
use crate::replies::Replies;

/// Requests that may wait to be sent, and assignments to be taken.
const QUEUE: usize = 1_024;

/// Requests that are sent before it is looked what has come.
const TOGETHER: usize = 64;

/// The wait before a request is sent again that a coordinator could not serve yet.
const AGAIN: Duration = Duration::from_millis(20);

/// The wait before a session that had ended is opened again: two of one name do not replace each
/// other all the time.
const LAPSED: Duration = Duration::from_millis(200);

/// A task that this session is to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assigned {
    /// Which task.
    pub task: TaskId,
    /// Which try: the completion names it.
    pub attempt: Attempt,
    /// Its queue.
    pub queue: String,
    /// What is to be done.
    pub payload: Vec<u8>,
    /// The nodes that are to have its output; 0: it lies with the store.
    pub copies: u32,
}

/// What a session is told without asking.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Notice {
    /// A task to do.
    Assigned(Assigned),
    /// This try of a task is no longer wanted. It is to be failed all the same, as soon as it has
    /// stopped.
    Stop(TaskId, Attempt),
    /// The session was silent for too long and had ended; it is opened again. Its permits are with
    /// others, and tries that it has in hand no longer count.
    Lapsed,
}

/// An open session. Its clones are the same session.
#[derive(Clone, Debug)]
pub struct Session {
    requests: mpsc::Sender<(Request, Asker)>,
    /// Why its driver has ended, if it has.
    ended: Arc<OnceLock<String>>,
}

/// Who is told an answer.
#[derive(Debug)]
enum Asker {
    One(oneshot::Sender<Answer>),
    Of(TaskId, Replies),
}

impl Asker {
    fn tell(self, answer: Answer) {
        // Whoever asked may have given up.
        match self {
            Self::One(asker) => drop(asker.send(answer)),
            Self::Of(task, replies) => replies.put(task, answer),
        }
    }
}

/// The session has ended: its process takes no part in the store any more.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the session has ended: {0}")]
pub struct SessionEnded(String);

impl Session {
    /// Opens a session under a name that no other session has, on a host as the board names it. The
    /// second result tells what it is to do.
    pub fn open(member: Arc<Member>, name: &str, host: &str) -> (Self, mpsc::Receiver<Notice>) {
        let (requests, waiting) = mpsc::channel(QUEUE);
        let (notices, told) = mpsc::channel(QUEUE);
        let ended = Arc::new(OnceLock::new());
        let driver = Driver {
            ended: ended.clone(),
            member,
            name: name.to_owned(),
            host: host.to_owned(),
            outstanding: Outstanding::default(),
            answers: BTreeMap::new(),
            holding: BTreeSet::new(),
            finishing: BTreeMap::new(),
            offer: None,
            keeps: None,
            notices,
        };
        tokio::spawn(driver.run(waiting));
        (Self { requests, ended }, told)
    }

    /// Sends a request until it is answered, however often links and coordinators change meanwhile.
    ///
    /// # Errors
    /// The store cannot be had, or the runtime is ending. Whether the request was served is
    /// unknown.
    pub async fn ask(&self, request: Request) -> Result<Answer, SessionEnded> {
        let (sender, answer) = oneshot::channel();
        if self.requests.send((request, Asker::One(sender))).await.is_err() {
            return Err(self.why());
        }
        answer.await.map_err(|_| self.why())
    }

    /// Sends a request about a task as [`Session::ask`] does, and goes on: the answer comes with
    /// others in a queue. That is for those who wait for many. When the session has ended
    /// ([`Session::closed`]) none comes any more.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn post(
        &self,
        task: TaskId,
        request: Request,
        replies: &Replies,
    ) -> Result<(), SessionEnded> {
        let asker = Asker::Of(task, replies.clone());
        self.requests.send((request, asker)).await.map_err(|_| self.why())
    }

    /// Waits until the session has ended, and says why.
    pub async fn closed(&self) -> SessionEnded {
        self.requests.closed().await;
        self.why()
    }

    fn why(&self) -> SessionEnded {
        SessionEnded(self.ended.get().map_or("the runtime is ending", String::as_str).to_owned())
    }
}

/// What keeps a session alive.
struct Driver {
    member: Arc<Member>,
    name: String,
    host: String,
    outstanding: Outstanding,
    answers: BTreeMap<Call, Asker>,
    /// Tasks in hand.
    holding: BTreeSet<(TaskId, Attempt)>,
    /// Requests whose answer ends one of them.
    finishing: BTreeMap<Call, (TaskId, Attempt)>,
    /// What was offered last: it is offered again when the session is opened again.
    offer: Option<Request>,
    /// Which depot its node keeps: that is said again as well.
    keeps: Option<Request>,
    notices: mpsc::Sender<Notice>,
    ended: Arc<OnceLock<String>>,
}

/// Why a link is given up.
enum Broken {
    /// The session is refused, for this reason.
    Refused(String),
    /// It has ended: another is needed.
    Link,
    /// Nobody uses the session any more.
    Unused,
}

impl Driver {
    async fn run(mut self, mut requests: mpsc::Receiver<(Request, Asker)>) {
        loop {
            let link = match self.member.link().await {
                Ok(link) => link,
                Err(error) => return self.end(error.to_string()),
            };
            match self.use_link(link, &mut requests).await {
                Broken::Link => tokio::time::sleep(AGAIN).await,
                Broken::Unused => return,
                Broken::Refused(reason) => return self.end(reason),
            }
        }
    }

    /// Says why, before those who wait see that it has ended.
    fn end(self, reason: String) {
        // It is set once, here.
        let _ = self.ended.set(reason);
    }

    async fn use_link(
        &mut self,
        mut link: Link,
        requests: &mut mpsc::Receiver<(Request, Asker)>,
    ) -> Broken {
        let mut renewal = match self.begin(&mut link).await {
            Ok(renewal) => renewal,
            Err(broken) => return broken,
        };
        let mut again = None;
        loop {
            tokio::select! {
                message = link.receive() => match message {
                    None => return Broken::Link,
                    Some(Message::Ended) => {
                        // Those who do not listen to notices hold nothing.
                        let _ = self.notices.send(Notice::Lapsed).await;
                        tokio::time::sleep(LAPSED).await;
                        return Broken::Link;
                    }
                    Some(message) => {
                        if self.told(message).await {
                            again.get_or_insert_with(|| tokio::time::Instant::now() + AGAIN);
                        }
                    }
                },
                request = requests.recv() => match request {
                    None => {
                        let call = self.outstanding.number();
                        link.send(call, Request::Leave).await;
                        return Broken::Unused;
                    }
                    Some(first) => {
                        if !self.send_waiting(&link, first, requests).await {
                            return Broken::Link;
                        }
                        renewal.sent();
                    }
                },
                () = renewal.due() => {
                    let call = self.outstanding.number();
                    if !link.send(call, Request::Heartbeat).await {
                        return Broken::Link;
                    }
                    renewal.sent();
                }
                () = until(again) => {
                    again = None;
                    if !self.send_all(&link).await {
                        return Broken::Link;
                    }
                }
            }
        }
    }

    /// Sends a request, and others that wait already.
    async fn send_waiting(
        &mut self,
        link: &Link,
        first: (Request, Asker),
        requests: &mut mpsc::Receiver<(Request, Asker)>,
    ) -> bool {
        let mut next = Some(first);
        let mut left = TOGETHER;
        while let Some((request, asker)) = next {
            let call = self.add(request.clone(), asker);
            if !link.send(call, request).await {
                return false;
            }
            left -= 1;
            next = if left > 0 { requests.try_recv().ok() } else { None };
        }
        true
    }

    /// Opens the session over a new link and sends all that is outstanding.
    async fn begin(&mut self, link: &mut Link) -> Result<Renewal, Broken> {
        let holding = self.holding.iter().copied().collect();
        let join = Request::Join { name: self.name.clone(), host: self.host.clone(), holding };
        let call = self.outstanding.number();
        if !link.send(call, join).await {
            return Err(Broken::Link);
        }
        let ttl_ms = loop {
            match link.receive().await.ok_or(Broken::Link)? {
                Message::Answer(of, Answer::Joined(ttl_ms)) if of == call => break ttl_ms,
                Message::Answer(of, Answer::Refused(refusal)) if of == call => {
                    return Err(refused(&refusal));
                }
                Message::Ended => return Err(Broken::Link),
                other => drop(self.told(other).await),
            }
        };
        for offer in self.keeps.clone().into_iter().chain(self.offer.clone()) {
            let call = self.outstanding.number();
            link.send(call, offer).await;
        }
        if !self.send_all(link).await {
            return Err(Broken::Link);
        }
        Ok(Renewal::new(ttl_ms))
    }

    async fn send_all(&self, link: &Link) -> bool {
        for (call, request) in self.outstanding.all() {
            if !link.send(call, request.clone()).await {
                return false;
            }
        }
        true
    }

    fn add(&mut self, request: Request, answer: Asker) -> Call {
        if let Request::Offer { .. } = &request {
            self.offer = Some(request.clone());
        }
        if let Request::Keep { .. } = &request {
            self.keeps = Some(request.clone());
        }
        let finishes = match &request {
            Request::Complete { task, attempt, .. }
            | Request::CompleteKept { task, attempt, .. }
            | Request::Fail { task, attempt, .. } => Some((*task, *attempt)),
            _ => None,
        };
        let call = self.outstanding.add(request);
        if let Some(held) = finishes {
            self.finishing.insert(call, held);
        }
        self.answers.insert(call, answer);
        call
    }

    /// Takes a message. Returns whether something has to be sent again.
    async fn told(&mut self, message: Message) -> bool {
        let notice = match message {
            Message::Answer(call, answer) => return !self.answered(call, answer),
            Message::Assign { task, attempt, queue, payload, copies } => {
                if !self.holding.insert((task, attempt)) {
                    return false;
                }
                Notice::Assigned(Assigned { task, attempt, queue, payload, copies })
            }
            Message::Stop { task, attempt } => Notice::Stop(task, attempt),
            Message::Ended => return false,
        };
        // Those who do not listen to notices have none to expect.
        let _ = self.notices.send(notice).await;
        false
    }

    /// Takes an answer. Returns whether the request is done with.
    fn answered(&mut self, call: Call, answer: Answer) -> bool {
        if !self.outstanding.answered(call, &answer) {
            return !self.answers.contains_key(&call);
        }
        if let Some(held) = self.finishing.remove(&call) {
            self.holding.remove(&held);
        }
        if let Some(asked) = self.answers.remove(&call) {
            asked.tell(answer);
        }
        true
    }
}

/// What follows when a session is refused.
fn refused(refusal: &Refusal) -> Broken {
    match refusal {
        Refusal::Elsewhere => Broken::Link,
        other => Broken::Refused(other.to_string()),
    }
}

async fn until(moment: Option<tokio::time::Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => core::future::pending().await,
    }
}
