//! Outputs that stay on nodes: fetched from one of these that have it, or made again.

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Refusal, Request};
use tidings_tasks_core::output::{Owner, Reached};
use tidings_tasks_core::record::{Finished, Outcome};

use crate::blobs::Handle;
use crate::net::blobs::Holders;
use crate::session::Session;
use crate::work::Report;

use super::error::PayloadError;
use super::place::{Brought, Payloads};
use super::stand_in::stand_in;

impl Payloads {
    /// Maps a blob that the record of a task names which is done. One that stays on nodes is
    /// fetched from one of these that have it; `None`: it lies with the store.
    pub(crate) async fn bring(
        &self,
        handle: Handle,
        from: Option<&[Reached]>,
    ) -> Result<Brought, PayloadError> {
        let (Some(from), Some(nodes)) = (from, &self.0.nodes) else {
            return self.file(handle).await;
        };
        if let Some(brought) = self.copied(handle).await {
            return Ok(brought);
        }
        let is_moved = if let Some(copier) = self.copier(handle).await {
            let owners = from.iter().map(|reached| Owner::Depot(reached.depot.id)).collect();
            copier.copy(handle, owners).await?.is_some()
        } else {
            let copies = self.copies(|blobs| Ok(blobs.clone())).await?;
            nodes.peers.fetch(from, handle, &copies).await?;
            true
        };
        self.among_copies(handle, if is_moved { handle.bytes } else { 0 }).await
    }

    /// Copies a content of a task to another node.
    pub(crate) async fn copy_to(
        &self,
        to: &Reached,
        content: &[u8],
        handle: Handle,
        task: TaskId,
    ) -> Result<(), PayloadError> {
        match &self.0.nodes {
            Some(nodes) => Ok(nodes.peers.send(to, content, handle, Holders::of(&[task])).await?),
            None => Err(PayloadError::NoPlace(handle.bytes)),
        }
    }

    /// How a task has ended, with its result as a whole, and if that is wanted with what it has
    /// printed, so that [`Payloads::get`] finds it. What stays on nodes is fetched; what they do
    /// not have any more is made again, which is waited for.
    ///
    /// # Errors
    /// It is not there any more, cannot be made again, or the session has ended.
    pub async fn result(
        &self,
        session: &Session,
        task: TaskId,
        mut finished: Finished,
        with_outputs: bool,
    ) -> Result<Finished, PayloadError> {
        loop {
            let Outcome::Done(result) = finished.outcome else { return Ok(finished) };
            if finished.kept.is_none() {
                finished.outcome = Outcome::Done(self.whole(result).await?);
                return Ok(finished);
            }
            let attempt = finished.task.attempt;
            finished.outcome = Outcome::Done(result);
            match self.fetched(session, task, finished, with_outputs).await {
                Err(PayloadError::Depot(error)) if !error.is_here() => {
                    session.ask(Request::Lost { task, attempt }).await?;
                }
                // It is made again.
                Err(PayloadError::Again) => {}
                fetched => return fetched,
            }
            finished = match session.ask(Request::Wait { task }).await? {
                Answer::Outcome(finished) => *finished,
                other => return Err(PayloadError::Answer(Box::new(other))),
            };
        }
    }

    /// As [`Payloads::result`], but what is lost is not made again.
    ///
    /// # Errors
    /// It is not there now, or the session has ended.
    pub async fn fetched(
        &self,
        session: &Session,
        task: TaskId,
        mut finished: Finished,
        with_outputs: bool,
    ) -> Result<Finished, PayloadError> {
        let Outcome::Done(result) = finished.outcome else { return Ok(finished) };
        let mut from = None;
        if finished.kept.is_some() {
            let reached = match session.ask(Request::Fetch { task }).await? {
                // It was made again meanwhile.
                Answer::Fetched(other, _) if other.task.attempt != finished.task.attempt => {
                    return Err(PayloadError::Again);
                }
                Answer::Fetched(_, from) => from,
                Answer::Refused(Refusal::State(_)) => return Err(PayloadError::Again),
                other => return Err(PayloadError::Answer(Box::new(other))),
            };
            from = Some(reached);
        }
        let from = from.as_deref();
        let whole = match stand_in(&result)? {
            None => result,
            Some(handle) => self.bring(handle, from).await?.mapped.to_vec(),
        };
        if with_outputs {
            let report = Report::from_result(&whole).ok();
            let outputs = report.iter().flat_map(|report| [&report.stdout, &report.stderr]);
            for handle in outputs.filter_map(|output| output.blob) {
                self.bring(handle, from).await?;
            }
        }
        finished.outcome = Outcome::Done(whole);
        Ok(finished)
    }
}
