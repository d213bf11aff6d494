//! Payloads and results of any length, for those who submit tasks and those who do them.
//!
//! A record takes 16 KiB. What is longer is put as a blob, pinned under its task, and the record
//! gets a *stand-in*: [`MARK`] and the blob's handle in CBOR. No work and no report begins with the
//! mark, since no item in CBOR does; other bytes that happen to begin with it are made a blob too.
//! So a payload with the mark is a stand-in, and one without is itself.
//!
//! Invariant: a stand-in is sent only when its blob is durable and pinned. While a submission
//! waits, its pins are renewed, so that no wait is too long for the grace.

mod error;
mod nodes;
mod place;
mod stand_in;

use std::time::Duration;

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, MAX_INLINE_BYTES, Request, Submission};

use crate::blobs::{self, Handle};
use crate::session::Session;

pub use error::PayloadError;
pub(crate) use place::Brought;
pub use place::Payloads;
pub use stand_in::MARK;
pub(crate) use stand_in::stand_in;

/// The bytes of all payloads of one submission; of more, those above [`SHORT_BYTES`] are put as
/// blobs, so that any submission fits into a frame.
const SUBMISSION_BYTES: usize = 4 << 20;
const SHORT_BYTES: usize = 4_096;

/// The time after which the pins of a submission that waits are renewed.
const RENEWAL: Duration = Duration::from_secs(blobs::GRACE.as_secs() / 6);

impl Payloads {
    /// The bytes for a record of a task: themselves if they are short enough, else a stand-in for
    /// the blob that they are put as.
    ///
    /// # Errors
    /// There is no space for the blob, or no place.
    pub async fn shorten(&self, task: TaskId, bytes: Vec<u8>) -> Result<Vec<u8>, PayloadError> {
        self.shorten_to(MAX_INLINE_BYTES, task, bytes).await
    }

    async fn shorten_to(
        &self,
        most: usize,
        task: TaskId,
        bytes: Vec<u8>,
    ) -> Result<Vec<u8>, PayloadError> {
        if bytes.len() <= most && !bytes.starts_with(MARK) {
            return Ok(bytes);
        }
        let handle = self.put(task, bytes).await?;
        Ok(stand_in::of(&handle))
    }

    /// The bytes that a record of a task stands for.
    ///
    /// # Errors
    /// They are a blob that is not there, or is damaged.
    pub async fn whole(&self, bytes: Vec<u8>) -> Result<Vec<u8>, PayloadError> {
        match stand_in(&bytes)? {
            None => Ok(bytes),
            Some(handle) => Ok(self.get(handle).await?.to_vec()),
        }
    }

    /// Submits tasks whose payloads have any length. `named` are blobs, put before, that all of
    /// them name within their payloads. When this returns without an error all are there.
    ///
    /// # Errors
    /// There is no space or no place for what is long, or the session has ended.
    pub async fn submit(
        &self,
        session: &Session,
        mut tasks: Vec<Submission>,
        named: &[Handle],
    ) -> Result<Answer, PayloadError> {
        let ids: Vec<TaskId> = tasks.iter().map(|task| task.id).collect();
        let mut pins: Vec<(Handle, Vec<TaskId>)> =
            named.iter().map(|handle| (*handle, ids.clone())).collect();
        self.pin_all(&pins).await?;
        let bytes: usize = tasks.iter().map(|task| task.payload.len()).sum();
        let most = if bytes > SUBMISSION_BYTES { SHORT_BYTES } else { MAX_INLINE_BYTES };
        for task in &mut tasks {
            let payload = core::mem::take(&mut task.payload);
            task.payload = self.shorten_to(most, task.id, payload).await?;
            pins.extend(stand_in(&task.payload)?.map(|handle| (handle, vec![task.id])));
        }
        let asked = session.ask(Request::Submit { tasks });
        Ok(self.renewing(&pins, asked).await??)
    }

    /// Waits for the end of a task. A result is whole, whatever its length.
    ///
    /// # Errors
    /// The result is not there any more, or the session has ended.
    pub async fn outcome(&self, session: &Session, task: TaskId) -> Result<Answer, PayloadError> {
        match session.ask(Request::Wait { task }).await? {
            Answer::Outcome(finished) => {
                let finished = self.result(session, task, *finished, false).await?;
                Ok(Answer::Outcome(Box::new(finished)))
            }
            other => Ok(other),
        }
    }

    /// Renews pins as long as something waits.
    async fn renewing<T>(
        &self,
        pins: &[(Handle, Vec<TaskId>)],
        waits: impl Future<Output = T>,
    ) -> Result<T, PayloadError> {
        let mut waits = core::pin::pin!(waits);
        loop {
            tokio::select! {
                done = &mut waits => return Ok(done),
                () = tokio::time::sleep(RENEWAL), if !pins.is_empty() => {
                    self.pin_all(pins).await?;
                }
            }
        }
    }

    async fn pin_all(&self, pins: &[(Handle, Vec<TaskId>)]) -> Result<(), PayloadError> {
        for (handle, tasks) in pins {
            self.pin(*handle, tasks).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::blobs::Blobs;

    fn payloads() -> (tempfile::TempDir, Payloads) {
        let folder = tempfile::tempdir().unwrap();
        let payloads = Payloads::beside(&folder.path().join("store"));
        (folder, payloads)
    }

    #[tokio::test]
    async fn what_is_long_is_put_and_the_rest_stays() {
        let (folder, payloads) = payloads();
        let task = TaskId::of("task", 1);
        let short = payloads.shorten(task, vec![1; MAX_INLINE_BYTES]).await.unwrap();
        assert_eq!(short, vec![1; MAX_INLINE_BYTES]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no folder unasked");
        // Bytes that look like a stand-in come back as they are, however short.
        for content in [vec![2; MAX_INLINE_BYTES + 1], MARK.to_vec(), [MARK, b"x"].concat()] {
            let short = payloads.shorten(task, content.clone()).await.unwrap();
            assert!(short.len() < 64 && short != content);
            assert_eq!(payloads.whole(short).await.unwrap(), content);
        }
        assert_eq!(payloads.whole(b"abc".to_vec()).await.unwrap(), b"abc");
        let error = payloads.whole(MARK.to_vec()).await.unwrap_err();
        assert!(matches!(error, PayloadError::StandIn(_)), "{error}");
    }

    #[tokio::test]
    async fn a_store_without_a_folder_says_what_to_do() {
        let payloads = Payloads::nowhere();
        let error = payloads.shorten(TaskId::of("task", 1), vec![0; 20_000]).await.unwrap_err();
        assert!(error.to_string().contains("use file:PATH"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn pins_of_what_waits_are_renewed() {
        let (folder, payloads) = payloads();
        let task = TaskId::of("task", 1);
        let handle = payloads.put(task, vec![1; 20_000]).await.unwrap();
        let blobs = Blobs::open(&blobs::beside(&folder.path().join("store"))).unwrap();
        let pins = blobs.folder().join("pins");
        let pins = std::fs::read_dir(pins).unwrap().next().unwrap().unwrap().path();
        let pin = std::fs::File::open(pins.join(blobs::holder_of(task))).unwrap();
        pin.set_modified(SystemTime::now() - 2 * blobs::GRACE).unwrap();
        assert_eq!(blobs.holders(blobs::GRACE).unwrap().len(), 1);
        let held = [(handle, vec![task])];
        let renewed = payloads.renewing(&held, async {
            while !blobs.holders(blobs::GRACE).unwrap().is_empty() {
                tokio::time::sleep(RENEWAL / 4).await;
            }
        });
        renewed.await.unwrap();
    }
}
