//! Settling: a coordinator is told how a try has ended, until it has taken that or refused it for
//! good.

use std::time::Duration;

use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::{Answer, Refusal, Request};
use tidings_tasks_core::output::Kept;
use tidings_tasks_core::retry::Cause;

use crate::blobs::Handle;
use crate::payloads::{PayloadError, stand_in};
use crate::session::Session;
use crate::work::Report;

use super::room::{self, Patience, Short};
use super::settings::Event;
use super::shared::Shared;
use super::verdict::Verdict;

/// The wait before a store that was full is asked again.
const FULL: Duration = Duration::from_secs(1);

/// Tells the coordinator, then whoever listens to the worker. Without room for the result nobody is
/// told: that is returned.
pub(super) async fn settle(
    shared: &Shared,
    session: &Session,
    ((task, attempt), copies): ((TaskId, Attempt), u32),
    verdict: Verdict,
) -> Option<Short> {
    let Verdict { mut failure, detail, report, children, effects, puts, .. } = verdict;
    if failure.is_none() {
        let report = report.as_deref();
        failure = match finish(shared, session, (task, copies), report).await {
            Ok((result, None)) => {
                let request = Request::Complete { task, attempt, result, children, effects, puts };
                completed(session, (task, attempt), request).await
            }
            Ok((result, Some(kept))) => {
                let request =
                    Request::CompleteKept { task, attempt, result, children, effects, kept, puts };
                completed(session, (task, attempt), request).await
            }
            Err(Unkept::Short(short)) => return Some(short),
            Err(Unkept::Wrong(error)) => {
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
    None
}

/// Why a result is not kept.
enum Unkept {
    Short(Short),
    Wrong(PayloadError),
}

/// Keeps a result, once there is room for it.
async fn finish(
    shared: &Shared,
    session: &Session,
    of: (TaskId, u32),
    report: Option<&Report>,
) -> Result<(Vec<u8>, Option<Kept>), Unkept> {
    let patience = Patience::new();
    loop {
        let error = match keep(shared, session, of, report).await {
            Ok(kept) => return Ok(kept),
            Err(error) => error,
        };
        let bytes = report.map_or(0, |report| report.to_result().len() as u64);
        match Short::of_payload(&error, bytes) {
            Some(short) if !patience.lasts().await => return Err(Unkept::Short(short)),
            // Where the store has none for it, others have none either.
            None if !room::of_store(&error).await => return Err(Unkept::Wrong(error)),
            _ => {}
        }
    }
}

/// The result of a task for its record, and where its output lies if it stays on nodes: it is there
/// when this returns.
async fn keep(
    shared: &Shared,
    session: &Session,
    (task, copies): (TaskId, u32),
    report: Option<&Report>,
) -> Result<(Vec<u8>, Option<Kept>), PayloadError> {
    let result = report.map(Report::to_result).unwrap_or_default();
    let result = shared.place_of(copies).shorten(task, result).await?;
    let Some(depot) = shared.depot.as_ref().filter(|_| copies > 0) else {
        return Ok((result, None));
    };
    let outputs = report.into_iter().flat_map(|report| [&report.stdout, &report.stderr]);
    let mut handles: Vec<Handle> = outputs.filter_map(|output| output.blob).collect();
    handles.extend(stand_in(&result)?);
    if handles.is_empty() {
        return Ok((result, None)); // all of it is in the record
    }
    let bytes = handles.iter().map(|handle| handle.bytes).sum();
    let of = (task, &*handles);
    let depots = depot.copy(session, &shared.payloads, of, copies).await?;
    Ok((result, Some(Kept { bytes, depots })))
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
