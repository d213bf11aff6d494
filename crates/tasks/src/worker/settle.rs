//! Settling: a coordinator is told how a try has ended, until it has taken that or refused it for
//! good.

use std::time::Duration;

use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::{Answer, Refusal, Request};
use tidings_tasks_core::retry::Cause;

use crate::session::Session;

use super::settings::Event;
use super::shared::Shared;
use super::verdict::Verdict;

/// The wait before a store that was full is asked again.
const FULL: Duration = Duration::from_secs(1);

/// Tells the coordinator, then whoever listens to the worker.
pub(super) async fn settle(
    shared: &Shared,
    session: &Session,
    (task, attempt): (TaskId, Attempt),
    verdict: Verdict,
) {
    let Verdict { mut failure, detail, report, children, effects } = verdict;
    if failure.is_none() {
        let result = report.as_ref().map(|report| report.to_result()).unwrap_or_default();
        failure = match shared.payloads.shorten(task, result).await {
            Ok(result) => {
                let request = Request::Complete { task, attempt, result, children, effects };
                completed(session, (task, attempt), request).await
            }
            Err(error) => {
                let text = format!("its result could not be kept: {error}");
                fail(session, (task, attempt), Cause::Error, text.clone(), Vec::new()).await;
                Some((Cause::Error, text))
            }
        };
    } else if let Some((cause, text)) = &failure {
        fail(session, (task, attempt), *cause, text.clone(), detail).await;
    }
    let (cause, text) = failure.map_or((None, String::new()), |(cause, text)| (Some(cause), text));
    shared.tell(Event::Ended { task, attempt, cause, text, report });
}

/// Completes a try. Returns why it has failed after all, if it has.
async fn completed(
    session: &Session,
    of: (TaskId, Attempt),
    request: Request,
) -> Option<(Cause, String)> {
    let refusal = ask(session, request).await?;
    if matches!(refusal, Refusal::Superseded | Refusal::NoSession | Refusal::NoTask) {
        let text = "its result was refused: this try of the task was over".to_owned();
        return Some((Cause::Lost, text));
    }
    let text = format!("its result was refused: {refusal}");
    fail(session, of, Cause::Error, text.clone(), Vec::new()).await;
    Some((Cause::Error, text))
}

async fn fail(
    session: &Session,
    (task, attempt): (TaskId, Attempt),
    cause: Cause,
    text: String,
    detail: Vec<u8>,
) {
    // A refusal means that the try was over already.
    ask(session, Request::Fail { task, attempt, cause, text, detail }).await;
}

/// Asks until the store has room for it. Returns why it was refused, if it was.
async fn ask(session: &Session, request: Request) -> Option<Refusal> {
    loop {
        match session.ask(request.clone()).await {
            Ok(Answer::Refused(Refusal::Full(_))) => tokio::time::sleep(FULL).await,
            Ok(Answer::Refused(refusal)) => return Some(refusal),
            // Without a session nobody can be told; the coordinator finds out by its end.
            Ok(_) | Err(_) => return None,
        }
    }
}
