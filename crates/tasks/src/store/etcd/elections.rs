//! Elections: answers that do not come, since a leader has died or a server is frozen.
//!
//! A server passes what it is asked on to the leader. When that dies in between, the request is
//! lost with it, and the server says so after 7 s at the earliest. So who has waited for a while
//! reads something through all servers. Such a read needs a leader that most of them follow, and
//! its answer names that leader's term:
//!
//! * The server that was asked answers it under a later term. What it was asked before it has done
//!   by now, and has said so; or it never does.
//! * Another server answers it, under a later term or while the one that was asked is silent. Then
//!   there is nothing to wait for either.
//!
//! This says when to stop waiting, not what was done: that stays unknown.

use std::time::Duration;

use tokio::time::{sleep, timeout};
use tonic::transport::Channel;

use super::call::{RANGE, bytes_of, read, unary};
use super::failure::Failure;
use super::proto::{Range, RangeAnswer};

/// An answer that comes within this time is not asked after.
const USUAL: Duration = Duration::from_millis(400);

/// The wait before a server is asked again.
const AGAIN: Duration = Duration::from_millis(100);

/// How long a server is silent that counts as frozen, if others are not.
const SILENT: Duration = Duration::from_secs(2);

/// An answer that is on its way has come by then.
const LATE: Duration = Duration::from_millis(100);

/// Returns when no answer is to be expected any more of the server that was asked while the leader
/// of `term` led, and says why. 0 is a term that is not known.
pub(super) async fn none_comes(channels: &[Channel], asked: usize, term: u64) -> &'static str {
    let count = channels.len();
    let ask = |server: usize| term_of(&channels[server]);
    gives_none(ask, (asked % count, count), term).await
}

/// The same of one of so many servers, each of which names the term if it is asked.
async fn gives_none<F>(
    ask: impl Fn(usize) -> F,
    (own, count): (usize, usize),
    term: u64,
) -> &'static str
where
    F: Future<Output = Result<u64, Failure>>,
{
    sleep(USUAL).await;
    let others: Vec<usize> = (1..count).map(|next| (own + next) % count).collect();
    let is_later = |now: u64| term > 0 && now > term;
    let is_silent = async {
        while timeout(SILENT, ask(own)).await.is_ok() {
            sleep(AGAIN).await;
        }
        answers(&ask, &others, |_| true).await;
    };
    let itself = [own];
    let why = tokio::select! {
        () = answers(&ask, &itself, is_later) => "another leader was elected",
        () = answers(&ask, &others, is_later) => "another leader was elected",
        () = is_silent => "it is silent, and others are not",
    };
    sleep(LATE).await;
    why
}

/// Returns when one of these servers has answered under a term that is meant.
async fn answers<F>(ask: &impl Fn(usize) -> F, servers: &[usize], is_meant: impl Fn(u64) -> bool)
where
    F: Future<Output = Result<u64, Failure>>,
{
    loop {
        for &server in servers {
            match timeout(SILENT, ask(server)).await {
                Ok(Ok(now)) if is_meant(now) => return,
                _ => {}
            }
        }
        sleep(AGAIN).await;
    }
}

/// The term of the leader that most servers follow, asked of one of them.
async fn term_of(server: &Channel) -> Result<u64, Failure> {
    let range = Range { key: vec![0], limit: 1, keys_only: true, ..Range::default() };
    let answer: RangeAnswer = read(unary(server.clone(), RANGE, bytes_of(&range)).await?)?;
    Ok(answer.header.map_or(0, |header| header.term))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Much longer than anybody waits here.
    const LONG: Duration = Duration::from_secs(600);

    /// What is said of the first of some servers, asked under term 4: each answers with a term, or
    /// not at all.
    async fn said(terms: &[Option<u64>], known: u64) -> Option<&'static str> {
        let ask = async |server: usize| match terms[server] {
            Some(term) => Ok(term),
            None => core::future::pending().await,
        };
        timeout(LONG, gives_none(ask, (0, terms.len()), known)).await.ok()
    }

    #[tokio::test(start_paused = true)]
    async fn a_later_term_and_silence_of_one_end_the_wait() {
        let elected = Some("another leader was elected");
        assert_eq!(said(&[Some(5), None, None], 4).await, elected);
        assert_eq!(said(&[None, None, Some(5)], 4).await, elected);
        let silent = Some("it is silent, and others are not");
        assert_eq!(said(&[None, Some(4), Some(4)], 4).await, silent);
        assert_eq!(said(&[None, Some(5), None], 0).await, silent, "no term was known");
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_answer_is_waited_for() {
        assert_eq!(said(&[Some(4), Some(4), Some(4)], 4).await, None, "the disk may be slow");
        assert_eq!(said(&[None, None, None], 4).await, None, "this host may be cut off");
        assert_eq!(said(&[Some(5), None], 0).await, None, "no term was known");
        assert_eq!(said(&[None], 4).await, None, "there is no other to ask");
    }
}
