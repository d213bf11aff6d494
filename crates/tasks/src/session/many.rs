//! A session with the coordinators of several parts: which of them a request is for.
//!
//! | request | for |
//! |---|---|
//! | a submission | the part of each task's queue (`spread`) |
//! | how a try has ended or how far it is | the part that has assigned it |
//! | depots for copies of its output | the same |
//! | another one about a task | the part that has a record of it: where its family was found last, then the others |
//! | a semaphore | the part of its name |
//! | tuples of a space | the part where they lie, or all |
//! | a statement about tuples | whom `crate::space` says |
//! | keys of the users', depots | the first part |
//! | what is there | all (`merge`) |
//! | an offer | one after the other (`turns`) |

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use minicbor::bytes::ByteArray;
use tidings_tasks_core::id::{Attempt, FAMILY_BYTES, Part, TaskId};
use tidings_tasks_core::message::{Answer, Refusal, Request, Submission};
use tidings_tasks_core::tuple::Home;
use tidings_tasks_core::view::Why;
use tokio::sync::{mpsc, oneshot};

use super::asked::SessionEnded;
use super::held::Held;
use super::merge::{self, Recent};
use super::spread;
use super::turns::{Offered, Turns};
use super::way::{Way, Ways};
use crate::replies::Replies;

/// The families whose part is remembered; then all are forgotten, and found again.
const FAMILIES: usize = 4_096;

/// Offers that may wait.
const OFFERS: usize = 4;

/// The ways to the coordinators of all parts.
#[derive(Debug)]
pub(super) struct Many {
    ways: Arc<Ways>,
    held: Arc<Held>,
    families: Mutex<BTreeMap<[u8; FAMILY_BYTES], Part>>,
    offers: mpsc::Sender<Offered>,
    recent: tokio::sync::Mutex<Recent>,
}

impl Many {
    /// Those of a session of this name.
    pub(super) fn of(ways: Ways, held: Arc<Held>, name: &str) -> Arc<Self> {
        let ways = Arc::new(ways);
        let (offers, offered) = mpsc::channel(OFFERS);
        let first = Part::of(name, ways.parts());
        crate::spawn::spawn(Turns::new(Arc::downgrade(&ways), held.clone(), first).run(offered));
        Arc::new(Self {
            recent: tokio::sync::Mutex::new(Recent::of(ways.parts())),
            ways,
            held,
            families: Mutex::default(),
            offers,
        })
    }

    pub(super) fn parts(&self) -> u16 {
        self.ways.parts()
    }

    pub(super) fn way(&self, part: Part) -> &Way {
        self.ways.to(part)
    }

    /// Sends a request to whom it is for, until it is answered.
    pub(super) async fn ask(&self, request: Request) -> Result<Answer, SessionEnded> {
        match request {
            Request::Submit { tasks } => self.submit(tasks).await,
            Request::Complete { task, attempt, .. }
            | Request::CompleteKept { task, attempt, .. }
            | Request::Fail { task, attempt, .. }
            | Request::Progress { task, attempt, .. } => {
                self.way(self.part_of((task, attempt))).ask(request).await
            }
            Request::Depots { task: Some(task), .. } => {
                self.way(self.part_of_task(task)).ask(request).await
            }
            Request::Cancel { task }
            | Request::Withdraw { task }
            | Request::Revive { task }
            | Request::Wait { task }
            | Request::Show { task }
            | Request::Explain { task }
            | Request::Fetch { task }
            | Request::Lost { task, .. } => self.find(task, request).await,
            Request::SetPermits { ref semaphore, .. }
            | Request::Acquire { ref semaphore, .. }
            | Request::Release { ref semaphore, .. } => {
                self.way(Part::of(semaphore, self.parts())).ask(request).await
            }
            Request::Offer { .. } => self.offer(request).await,
            Request::Recent { after } => self.tell_recent(after).await,
            Request::Unknown { tasks } => self.unknown(tasks).await,
            Request::Unnamed { blobs } => self.unnamed(blobs).await,
            Request::Tuples { ref space, .. } => match Home::of(space, self.parts()) {
                Home::Of(part) => self.way(part).ask(request).await,
                Home::Spread => Ok(merge::all(self.ways.ask_all(&request).await?)),
            },
            Request::Forget { .. }
            | Request::Overview
            | Request::List { .. }
            | Request::Spaces { .. }
            | Request::Keep { .. }
            | Request::Leave
            | Request::Heartbeat => Ok(merge::all(self.ways.ask_all(&request).await?)),
            Request::Join { .. }
            | Request::AwaitReady { .. }
            | Request::Cede { .. }
            | Request::Read { .. }
            | Request::Keys { .. }
            | Request::Write { .. }
            | Request::Changes { .. }
            | Request::Execute { .. }
            | Request::GiveUp { .. }
            | Request::Depots { task: None, .. }
            | Request::Nodes { .. }
            | Request::Source { .. }
            | Request::Copied { .. }
            | Request::Locate { .. } => self.way(Part(0)).ask(request).await,
        }
    }

    /// Sends a request about a task, and goes on.
    pub(super) async fn post(
        self: &Arc<Self>,
        task: TaskId,
        request: Request,
        replies: &Replies,
    ) -> Result<(), SessionEnded> {
        let mut left = self.order(task);
        let first = left.remove(0);
        let asked = self.way(first).begin(request.clone()).await?;
        // Whoever waits keeps no session open that is not used any more.
        let (many, replies) = (Arc::downgrade(self), replies.clone());
        crate::spawn::spawn(async move {
            if let Some(answer) = follow(&many, task, (first, asked), (left, request)).await {
                replies.put(task, answer);
            }
        });
        Ok(())
    }

    /// Asks the parts for a task, one after the other, until one has it.
    async fn find(&self, task: TaskId, request: Request) -> Result<Answer, SessionEnded> {
        let mut last = Answer::Refused(Refusal::NoTask);
        for part in self.order(task) {
            last = self.way(part).ask(request.clone()).await?;
            if !is_absent(&last) {
                self.found(task, part);
                break;
            }
        }
        Ok(last)
    }

    /// The parts, that one first in which the task is most likely.
    fn order(&self, task: TaskId) -> Vec<Part> {
        let likely = self.families().get(&task.family()).copied().unwrap_or_default();
        let others = crate::parts::all(self.parts()).filter(|part| *part != likely);
        core::iter::once(likely).chain(others).collect()
    }

    /// A task is in this part.
    fn found(&self, task: TaskId, part: Part) {
        let mut families = self.families();
        if families.len() >= FAMILIES && !families.contains_key(&task.family()) {
            families.clear();
        }
        families.insert(task.family(), part);
    }

    /// Of which part a try is that the session has.
    fn part_of(&self, key: (TaskId, Attempt)) -> Part {
        self.held.part_of(key).unwrap_or_else(|| self.order(key.0)[0])
    }

    /// Of which part a task is that the session has.
    fn part_of_task(&self, task: TaskId) -> Part {
        self.held.part_of_task(task).unwrap_or_else(|| self.order(task)[0])
    }

    /// Submits tasks. If one part refuses its own, those of the same and of earlier waves may be
    /// there.
    async fn submit(&self, tasks: Vec<Submission>) -> Result<Answer, SessionEnded> {
        let waves = match spread::waves(tasks, self.parts()) {
            Ok(waves) => waves,
            Err(refusal) => return Ok(Answer::Refused(refusal)),
        };
        let mut new = 0;
        for wave in waves {
            for (part, tasks) in &wave {
                for task in tasks {
                    self.found(task.id, *part);
                }
            }
            let requests = wave.into_iter().map(|(part, tasks)| (part, Request::Submit { tasks }));
            for (_, answer) in self.ways.ask_each(requests.collect()).await? {
                match answer {
                    Answer::Submitted(count) => new += count,
                    other => return Ok(other),
                }
            }
        }
        Ok(Answer::Submitted(new))
    }

    /// The tries that have ended in any part after one.
    async fn tell_recent(&self, after: u64) -> Result<Answer, SessionEnded> {
        let mut recent = self.recent.lock().await;
        let answers = self.ways.ask_each(recent.requests()).await?;
        Ok(recent.take(answers, after))
    }

    async fn offer(&self, offer: Request) -> Result<Answer, SessionEnded> {
        let (sender, answer) = oneshot::channel();
        let why = || self.way(Part(0)).why();
        self.offers.send(Offered { offer, asker: sender }).await.map_err(|_| why())?;
        answer.await.map_err(|_| why())
    }

    /// Which of some tasks have a record in no part.
    async fn unknown(&self, mut tasks: Vec<TaskId>) -> Result<Answer, SessionEnded> {
        for part in crate::parts::all(self.parts()) {
            match self.way(part).ask(Request::Unknown { tasks: tasks.clone() }).await? {
                Answer::Unknown(left) => tasks = left,
                other => return Ok(other),
            }
        }
        Ok(Answer::Unknown(tasks))
    }

    /// Which of some blobs are named by tuples of no part. A tuple may be moved from a part that is
    /// asked later to one that was asked: so what none names is asked for once more.
    async fn unnamed(&self, mut blobs: Vec<ByteArray<32>>) -> Result<Answer, SessionEnded> {
        let all = || crate::parts::all(self.parts());
        for part in all().chain(all()) {
            match self.way(part).ask(Request::Unnamed { blobs: blobs.clone() }).await? {
                Answer::Unnamed(left) => blobs = left,
                other => return Ok(other),
            }
        }
        Ok(Answer::Unnamed(blobs))
    }

    fn families(&self) -> MutexGuard<'_, BTreeMap<[u8; FAMILY_BYTES], Part>> {
        // It only says where to look first.
        self.families.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer to a request about a task that was sent to one part, or else that of another one.
async fn follow(
    many: &Weak<Many>,
    task: TaskId,
    (part, asked): (Part, oneshot::Receiver<Answer>),
    (left, request): (Vec<Part>, Request),
) -> Option<Answer> {
    let (mut part, mut asked, mut left) = (part, asked, left.into_iter());
    loop {
        let answer = asked.await.ok()?;
        let many = many.upgrade()?;
        if !is_absent(&answer) {
            many.found(task, part);
            return Some(answer);
        }
        let Some(next) = left.next() else { return Some(answer) };
        (part, asked) = (next, many.way(next).begin(request.clone()).await.ok()?);
    }
}

/// Whether a part has no record of the task that it was asked about.
fn is_absent(answer: &Answer) -> bool {
    match answer {
        Answer::Refused(refusal) => *refusal == Refusal::NoTask,
        Answer::Explained(why, _) => **why == Why::Absent,
        _ => false,
    }
}
