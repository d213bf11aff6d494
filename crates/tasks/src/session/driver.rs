//! The driver of a session: what keeps it alive with the coordinator of one part.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tidings_tasks_core::id::{Attempt, Part, TaskId};
use tidings_tasks_core::message::{Answer, Call, Message, Refusal, Request};
use tidings_tasks_core::outstanding::Outstanding;
use tokio::sync::{mpsc, watch};

use super::asked::{Asked, Asker, Assigned, Lapse, Notice};
use super::held::Held;
use crate::member::{Link, Member};
use crate::renewal::Renewal;

/// Requests that are sent before it is looked what has come, and messages that are taken before it
/// is looked what is to be sent.
const TOGETHER: usize = 64;

/// The wait before a request is sent again that a coordinator could not serve yet.
const AGAIN: Duration = Duration::from_millis(20);

/// The wait before a session that had ended is opened again: two of one name do not replace each
/// other all the time.
const LAPSED: Duration = Duration::from_millis(200);

/// Whose session it is, and with whom.
#[derive(Clone, Debug)]
pub(super) struct With {
    pub(super) member: Arc<Member>,
    pub(super) part: Part,
    pub(super) name: String,
    pub(super) host: String,
    /// What the session has in hand, of all parts.
    pub(super) held: Arc<Held>,
}

/// What keeps a session alive with the coordinator of one part.
pub(super) struct Driver {
    with: With,
    /// How many parts there are, once it is known; 0 before.
    parts: watch::Sender<u16>,
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
    /// Whether permits or tuples were asked for.
    claims: bool,
    notices: mpsc::Sender<Notice>,
    ended: Arc<OnceLock<String>>,
}

/// What a driver tells those who use the session.
pub(super) struct Tells {
    pub(super) parts: watch::Sender<u16>,
    pub(super) notices: mpsc::Sender<Notice>,
    pub(super) ended: Arc<OnceLock<String>>,
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
    pub(super) fn new(with: With, tells: Tells) -> Self {
        let Tells { parts, notices, ended } = tells;
        Self {
            with,
            parts,
            outstanding: Outstanding::default(),
            answers: BTreeMap::new(),
            holding: BTreeSet::new(),
            finishing: BTreeMap::new(),
            offer: None,
            keeps: None,
            claims: false,
            notices,
            ended,
        }
    }

    pub(super) async fn run(mut self, mut requests: mpsc::Receiver<Asked>) {
        if self.with.part != Part(0) {
            // The coordinator of the first part says how many there are; others may not be needed.
            let Some((request, asker)) = self.needed(&mut requests).await else { return };
            self.add(request, asker);
        }
        loop {
            let link = match self.with.member.link_of(self.with.part).await {
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

    /// The first request for which a session is needed. Without one there is nothing to keep alive
    /// or to leave.
    async fn needed(&mut self, requests: &mut mpsc::Receiver<Asked>) -> Option<Asked> {
        while let Some((request, asker)) = requests.recv().await {
            match request {
                Request::Keep { .. } => self.keeps = Some(request),
                Request::Heartbeat | Request::Leave => {}
                _ => return Some((request, asker)),
            }
            asker.tell(Answer::Done);
        }
        None
    }

    /// Says why, before those who wait see that it has ended.
    fn end(self, reason: String) {
        // It is set once, here.
        let _ = self.ended.set(reason);
    }

    async fn use_link(&mut self, mut link: Link, requests: &mut mpsc::Receiver<Asked>) -> Broken {
        let mut renewal = match self.begin(&mut link).await {
            Ok(renewal) => renewal,
            Err(broken) => return broken,
        };
        let mut again = None;
        loop {
            tokio::select! {
                message = link.receive() => match self.hear(&mut link, message).await {
                    Ok(false) => {}
                    Ok(true) => {
                        again.get_or_insert_with(|| tokio::time::Instant::now() + AGAIN);
                    }
                    Err(broken) => return broken,
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

    /// Takes a message, and those that have come with it. Returns whether something has to be sent
    /// again.
    async fn hear(&mut self, link: &mut Link, first: Option<Message>) -> Result<bool, Broken> {
        let (mut message, mut is_again) = (first.ok_or(Broken::Link)?, false);
        for left in (0..TOGETHER).rev() {
            if message == Message::Ended {
                // Those who do not listen to notices hold nothing.
                let _ = self.notices.send(Notice::Lapsed(self.lapse())).await;
                tokio::time::sleep(LAPSED).await;
                return Err(Broken::Link);
            }
            is_again |= self.told(message).await;
            // One that was taken is told: the last round takes none.
            let next = if left > 0 { link.arrived() } else { None };
            let Some(next) = next else { break };
            message = next;
        }
        Ok(is_again)
    }

    /// Sends a request, and others that wait already.
    async fn send_waiting(
        &mut self,
        link: &Link,
        first: Asked,
        requests: &mut mpsc::Receiver<Asked>,
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
        let (name, host) = (self.with.name.clone(), self.with.host.clone());
        let join = Request::Join { name, host, holding };
        let call = self.outstanding.number();
        if !link.send(call, join).await {
            return Err(Broken::Link);
        }
        let (ttl_ms, parts) = loop {
            match link.receive().await.ok_or(Broken::Link)? {
                Message::Answer(of, Answer::Joined(ttl_ms)) if of == call => break (ttl_ms, 1),
                Message::Answer(of, Answer::JoinedPart(ttl_ms, parts)) if of == call => {
                    break (ttl_ms, parts);
                }
                Message::Answer(of, Answer::Refused(refusal)) if of == call => {
                    return Err(refused(&refusal));
                }
                Message::Ended => return Err(Broken::Link),
                other => drop(self.told(other).await),
            }
        };
        self.parts.send_replace(parts);
        for offer in self.keeps.clone().into_iter().chain(self.offer.clone()) {
            let call = self.outstanding.number();
            link.send(call, offer).await;
        }
        if !self.send_all(link).await {
            return Err(Broken::Link);
        }
        Ok(Renewal::new(ttl_ms))
    }

    /// What is lost with the session.
    fn lapse(&self) -> Lapse {
        Lapse { tries: self.holding.iter().copied().collect(), is_of_claims: self.claims }
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
        self.claims |= matches!(request, Request::Acquire { .. } | Request::Execute { .. });
        let finishes = match &request {
            Request::Complete { task, attempt, .. }
            | Request::CompleteKept { task, attempt, .. }
            | Request::Fail { task, attempt, .. } => Some((*task, *attempt)),
            _ => None,
        };
        let call = self.outstanding.add(request);
        if let Some(held) = finishes {
            self.with.held.ends(held);
            self.finishing.insert(call, held);
        }
        self.answers.insert(call, answer);
        call
    }

    /// Takes a message. Returns whether something has to be sent again.
    async fn told(&mut self, message: Message) -> bool {
        let notice = match message {
            Message::Answer(call, answer) => return !self.answered(call, answer),
            Message::Assign { task, attempt, queue, payload, copies, need } => {
                if !self.holding.insert((task, attempt)) {
                    return false;
                }
                if let Some(need) = need {
                    self.with.held.begins((task, attempt), self.with.part, need);
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
            self.with.held.answered(held, &answer);
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
