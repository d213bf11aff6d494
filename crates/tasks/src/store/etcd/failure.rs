//! What it means that a call to etcd did not succeed.
//!
//! Only what is known not to have happened may be said not to have happened. So what etcd answers
//! is sorted by its words, of which the list is short, and all the rest is no knowledge.
//!
//! Source: `api/v3rpc/rpctypes/error.go` of etcd 3.4 and 3.5.

use std::error::Error;

use tonic::{Code, ConnectError, Status};

/// What helps an etcd that has no space left: version 3.4 refuses even transactions that delete.
pub(super) const MORE_SPACE: &str = "start its servers with a larger --quota-backend-bytes, then call \
                          `etcdctl alarm disarm`";

/// Why there is no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Failure {
    /// This server has done nothing: there was no connection, it has no leader, or it has too much
    /// to do. Another one, or the same in a moment, may do it.
    Elsewhere(String),
    /// There was no answer, or one that leaves open what was done.
    Unanswered(String),
    /// History up to here is gone.
    Compacted,
    /// There is no such revision yet.
    Future,
    /// The session has ended.
    NoLease,
    /// No space is left. Nothing was written.
    Full(String),
    /// The answer is longer than is taken.
    TooLong,
    /// It will not be done as it was asked: limits, permissions. Nothing was written.
    Refused(String),
}

impl Failure {
    /// What follows from a status that a server or the connection has given.
    pub(super) fn of(status: &Status) -> Self {
        let words = status.message();
        if was_not_sent(status) {
            return Self::Elsewhere(reason(status));
        }
        let own = words.strip_prefix("etcdserver: ").unwrap_or(words);
        match (status.code(), own) {
            (_, "no leader" | "too many requests" | "raft proposal dropped") => {
                Self::Elsewhere(words.into())
            }
            (Code::OutOfRange, "mvcc: required revision has been compacted") => Self::Compacted,
            (Code::OutOfRange, "mvcc: required revision is a future revision") => Self::Future,
            (Code::OutOfRange, words) if words.contains("message length too large") => {
                Self::TooLong
            }
            (Code::NotFound, "requested lease not found") => Self::NoLease,
            (Code::ResourceExhausted, "mvcc: database space exceeded") => {
                Self::Full(format!("{words}: {MORE_SPACE}"))
            }
            (Code::ResourceExhausted, words) if words.contains("larger than max") => {
                Self::Refused(words.into())
            }
            (
                Code::InvalidArgument
                | Code::PermissionDenied
                | Code::Unauthenticated
                | Code::Unimplemented,
                _,
            ) => Self::Refused(words.into()),
            _ => Self::Unanswered(reason(status)),
        }
    }

    /// In words.
    pub(super) fn why(self) -> String {
        match self {
            Self::Elsewhere(why) | Self::Unanswered(why) | Self::Full(why) | Self::Refused(why) => {
                why
            }
            Self::Compacted => "its history was compacted".into(),
            Self::Future => "it has no such revision yet".into(),
            Self::NoLease => "there is no such lease".into(),
            Self::TooLong => "its answer is too long".into(),
        }
    }
}

/// Whether there was no connection that could have carried the request.
fn was_not_sent(status: &Status) -> bool {
    let mut cause = status.source();
    while let Some(error) = cause {
        if error.is::<ConnectError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The innermost reason, which names what happened; the outer ones say "transport error".
fn reason(status: &Status) -> String {
    let mut innermost: Option<&dyn Error> = status.source();
    while let Some(deeper) = innermost.and_then(Error::source) {
        innermost = Some(deeper);
    }
    innermost.map_or_else(|| status.message().to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_not_known_leave_all_open() {
        for (code, words) in [
            (Code::Unavailable, "etcdserver: request timed out"),
            (
                Code::Unavailable,
                "etcdserver: request timed out, possibly due to previous leader failure",
            ),
            (Code::Unavailable, "etcdserver: server stopped"),
            (Code::Unavailable, "etcdserver: leader changed"),
            (Code::Unknown, "words of a later version"),
            (Code::DeadlineExceeded, "context deadline exceeded"),
        ] {
            let failure = Failure::of(&Status::new(code, words));
            assert_eq!(failure, Failure::Unanswered(words.into()));
        }
    }

    #[test]
    fn known_words_say_that_nothing_was_done() {
        let no_leader = Status::new(Code::Unavailable, "etcdserver: no leader");
        assert!(matches!(Failure::of(&no_leader), Failure::Elsewhere(_)));
        let lease = Status::new(Code::NotFound, "etcdserver: requested lease not found");
        assert_eq!(Failure::of(&lease), Failure::NoLease);
        let full =
            Status::new(Code::ResourceExhausted, "etcdserver: mvcc: database space exceeded");
        assert!(matches!(Failure::of(&full), Failure::Full(_)));
        let large = Status::new(Code::InvalidArgument, "etcdserver: request is too large");
        assert!(matches!(Failure::of(&large), Failure::Refused(_)));
    }
}
