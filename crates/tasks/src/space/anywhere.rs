//! Statements, and those whose tuple may lie in any part of a store.
//!
//! A statement goes to the part that can do it. If that may be any, what is there now is looked for
//! first. What is only read is asked of all parts at once. For a claim one part is asked, at
//! random: where tuples abound it has one, and takers are spread over the parts. If it has none, or
//! says nothing for a moment, the others are asked at once which of them have one, and one of those
//! for the claim. So a look takes three answers at most, however many parts there are, and a part
//! whose coordinator has just died holds up nobody who finds something elsewhere.
//!
//! If none has one, all are asked at once to claim the next that comes. Each coordinator looks and
//! waits in the same step, so nothing that is put in between is missed, and nobody polls. The first
//! answer counts. The others are withdrawn, and what was claimed meanwhile, a *surplus*, is given
//! back, whatever this process is doing then; if it dies, its session ends and so do its claims.
//!
//! A claim is made by one coordinator in one step. So there is no look that is followed by a take:
//! of several takers one has the tuple. (To ask which parts have one only says whom to ask next.)
//!
//! What else the statement does is a second commit in the part of its tuple, which is claimed by
//! then: a claim alone is what others may see at any time, since its owner may give it back.

use std::time::Duration;

use tidings_tasks_core::id::Part;
use tidings_tasks_core::message::Refusal;
use tidings_tasks_core::tuple::{Matched, Out, Route, Settled, Statement};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, timeout};

use super::error::SpaceError;
use super::pulled::Pulled;
use super::spaces::Spaces;

/// How long a claim is waited for in one part, before the others are asked, too.
const ALONE: Duration = Duration::from_millis(50);

/// How long a statement that may wait looks for what is there, before it waits in all parts.
const LOOK: Duration = Duration::from_millis(100);

impl Spaces {
    /// Does a statement: all of it in one commit. `None` if in the time that it has some in has
    /// found nothing; then nothing was changed.
    ///
    /// A statement whose tuple may lie in any part ([`Route::Any`]) is done where one is found:
    /// what it puts, and that what it has pulled is gone, is a second commit there. If this session
    /// ends in between, its tuple is there again and nothing was put.
    ///
    /// # Errors
    /// It is not acceptable, or what it settles is not claimed by this session.
    pub async fn execute(&self, statement: Statement) -> Result<Option<Vec<Matched>>, SpaceError> {
        let statement = Statement { owner: self.owner, ..statement };
        let parts = self.parts().await?;
        match statement.route(parts).map_err(Refusal::Invalid)? {
            Route::To(part) => self.execute_in(part, statement).await,
            Route::Any if statement.ins.is_empty() => self.execute_in(Part(0), statement).await,
            // The future of what is done in many parts is large, and seldom.
            Route::Any => Box::pin(execute(self, parts, statement)).await,
        }
    }
}

/// What the only in of a statement has found.
enum Found {
    Read(Matched),
    Claimed(Part, Pulled),
}

/// Does a statement with one in, and what lies where that finds its tuple.
async fn execute(
    spaces: &Spaces,
    parts: u16,
    statement: Statement,
) -> Result<Option<Vec<Matched>>, SpaceError> {
    let claims = statement.alters();
    if claims && spaces.owner.is_some() {
        return Err(Refusal::Invalid(OF_A_TASK.to_owned()).into());
    }
    let spaces = spaces.of_session();
    let mut wanted = Statement { wait_ms: Some(0), ..Statement::default() };
    wanted.ins.extend(statement.ins.iter().cloned());
    wanted.ins.iter_mut().for_each(|one| one.is_pulled = claims);

    let begun = Instant::now();
    let looks = look(&spaces, parts, &wanted);
    let found = match statement.wait_ms {
        Some(0) => looks.await?,
        // Whoever waits in all parts needs no answer of one that says nothing now.
        _ => timeout(LOOK, looks).await.ok().transpose()?.flatten(),
    };
    let found = match found {
        None if statement.wait_ms == Some(0) => None,
        None => {
            let left = |ms| Duration::from_millis(ms).saturating_sub(begun.elapsed());
            let wait_ms = statement.wait_ms.map(|ms| left(ms).as_millis() as u64);
            wait(&spaces, parts, &Statement { wait_ms, ..wanted }).await?
        }
        found => found,
    };
    match found {
        None => Ok(None),
        Some(Found::Read(matched)) => Ok(Some(vec![matched])),
        Some(Found::Claimed(part, pulled)) => finish(&spaces, part, pulled, &statement).await,
    }
}

/// What is there now in one of the parts.
async fn look(
    spaces: &Spaces,
    parts: u16,
    wanted: &Statement,
) -> Result<Option<Found>, SpaceError> {
    if !wanted.alters() {
        return wait(spaces, parts, wanted).await;
    }
    let first = Part(at_random(parts));
    let mut claim = Box::pin(ask(spaces.clone(), first, wanted.clone()));
    // Dropped before its answer has come, it is withdrawn, or gives back what it has.
    let answered = timeout(ALONE, &mut claim).await.ok().transpose()?;
    if let Some(Some(found)) = answered {
        return Ok(Some(found));
    }
    let others = (0..parts).map(Part).filter(|part| *part != first);
    match look_in(spaces, others, wanted).await? {
        None if answered.is_none() => claim.await,
        found => Ok(found),
    }
}

/// Claims what is there now in one of some parts: all are asked at once which of them have it.
async fn look_in(
    spaces: &Spaces,
    parts: impl Iterator<Item = Part>,
    wanted: &Statement,
) -> Result<Option<Found>, SpaceError> {
    let mut reading = wanted.clone();
    reading.ins.iter_mut().for_each(|one| one.is_pulled = false);
    let mut asked = JoinSet::new();
    for part in parts {
        let asks = ask(spaces.clone(), part, reading.clone());
        asked.spawn(async move { Ok::<_, SpaceError>(asks.await?.map(|_| part)) });
    }
    while let Some(answer) = asked.join_next().await {
        let Some(part) = answer_of(answer)? else { continue };
        // Another may have claimed it meanwhile.
        let found = ask(spaces.clone(), part, wanted.clone()).await?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// What comes first in one of the parts.
async fn wait(
    spaces: &Spaces,
    parts: u16,
    wanted: &Statement,
) -> Result<Option<Found>, SpaceError> {
    let mut asked = JoinSet::new();
    for part in (0..parts).map(Part) {
        asked.spawn(ask(spaces.clone(), part, wanted.clone()));
    }
    // Those that are dropped behind the first are withdrawn, or give back what they have.
    while let Some(answer) = asked.join_next().await {
        let found = answer_of(answer)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// What one of those says that were asked at once.
fn answer_of<T>(
    answer: Result<Result<Option<T>, SpaceError>, JoinError>,
) -> Result<Option<T>, SpaceError> {
    match answer {
        Ok(found) => found,
        Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
        // Nobody but whoever asks ends one.
        Err(_) => Ok(None),
    }
}

async fn ask(spaces: Spaces, part: Part, wanted: Statement) -> Result<Option<Found>, SpaceError> {
    let claims = wanted.alters();
    let found = spaces.execute_in(part, wanted).await?.into_iter().flatten().next();
    let of = |matched: Matched| {
        if claims {
            Found::Claimed(part, spaces.pulled(matched.number, matched.tuple))
        } else {
            Found::Read(matched)
        }
    };
    Ok(found.map(of))
}

/// What the statement does beside its claim. If that cannot be done the tuple is there again.
async fn finish(
    spaces: &Spaces,
    part: Part,
    pulled: Pulled,
    statement: &Statement,
) -> Result<Option<Vec<Matched>>, SpaceError> {
    let keeps = statement.claims() > 0;
    if keeps && statement.outs.is_empty() {
        return Ok(Some(vec![pulled.kept()]));
    }
    let puts = statement.puts(&[pulled.tuple()]).map_err(Refusal::Invalid)?;
    let out = |(out, tuple): (&Out, _)| {
        let Statement { outs, .. } = Statement::put(&out.space, &tuple);
        outs
    };
    let outs = statement.outs.iter().zip(puts).flat_map(out).collect();
    let (number, is_gone) = (pulled.number(), statement.consumes);
    let settled = if keeps { Vec::new() } else { vec![Settled { number, is_gone }] };
    spaces.execute_in(part, Statement { outs, settled, ..Statement::default() }).await?;
    Ok(Some(vec![pulled.kept()]))
}

/// One of so many at random; the first where the system has none.
fn at_random(count: u16) -> u16 {
    let mut bytes = [0; 2];
    // It only spreads those who ask.
    let _ = getrandom::fill(&mut bytes);
    u16::from_le_bytes(bytes) % count.max(1)
}

/// Why a task cannot pull from a spread space.
const OF_A_TASK: &str = "a task pulls what is consumed with its end from one part of the store, \
                         and this template may find its tuple in any: name its first field, or \
                         use a space of the task's queue (NAME@QUEUE)";
