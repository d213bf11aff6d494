//! Following whoever serves the store at a place of the network.

use std::time::Duration;

use tidings_tasks_core::id::Part;
use tokio::sync::watch;

use super::place::{FIRST_WAIT, LinkError, Place};
use crate::net::endpoint::Endpoint;
use crate::net::{Credentials, Failure, connect};
use crate::stream::Remote;

/// The longest wait for a process on another host.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Stays connected with whoever serves a part there, again and again, until nobody lets this
/// process in. A failure that is not `fatal` passes. When one that was connected is there no more,
/// while its host is, `ended` is called: its process has ended.
pub(super) async fn follow(
    (at, part): (&Endpoint, Part),
    own: &Credentials,
    sender: &watch::Sender<Place>,
    fatal: impl Fn(&Failure) -> bool,
    ended: impl Fn(),
) -> LinkError {
    let (mut wait, mut was_there) = (FIRST_WAIT, false);
    loop {
        match connect::connect(at, own, part).await {
            Ok(remote) => {
                (wait, was_there) = (FIRST_WAIT, true);
                stay(remote, Place::Away(at.clone()), sender).await;
            }
            Err(error) if fatal(&error.why) => return error.into(),
            Err(error) => {
                // A firewall may refuse too, but not after it has let a connection through.
                if was_there && matches!(error.why, Failure::Refused(_)) {
                    ended();
                }
                sender.send_replace(Place::Nowhere(Some(error.into())));
            }
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

/// Says that somebody serves there until the connection ends.
pub(super) async fn stay(mut remote: Remote, place: Place, sender: &watch::Sender<Place>) {
    sender.send_replace(place);
    while remote.receive().await.is_some() {}
    sender.send_replace(Place::Nowhere(None));
}
