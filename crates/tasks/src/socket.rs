//! The socket of a service: other processes of the machine speak to the one that holds the store.
//!
//! It lies beside the store's file. Whoever may use the folder's file may use the socket: its mode
//! is 0600, and root gives it away on purpose only. What a process that was killed left behind is
//! replaced by the next holder of the store; the lock of the store says that there is one only.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidings_tasks_core::id::Part;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use crate::frame;
use crate::net::store::{self, offer::Offer};
use crate::service::Services;
use crate::spawn::boxed;
use crate::stream::{self, Remote};

/// The wait after nobody could be accepted.
const AGAIN: Duration = Duration::from_millis(50);

/// The socket of the store in this file.
pub fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".sock");
    name.into()
}

/// Listens at a path, in place of what an earlier holder left there.
///
/// # Errors
/// The socket cannot be made there.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Connects whoever comes with a service, or with the store that it has, for ever.
pub async fn serve(listener: UnixListener, services: Services, offer: Offer) {
    // They end with this: none keeps its store open.
    let mut serving = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = serving.join_next() => continue,
        };
        let Ok((stream, _)) = accepted else {
            // Out of files, or the peer is gone already: others may still come.
            tokio::time::sleep(AGAIN).await;
            continue;
        };
        serving.spawn(boxed(welcome(stream, services.clone(), offer.clone())));
    }
}

/// Serves whoever has come until either side ends.
async fn welcome(mut stream: UnixStream, services: Services, offer: Offer) -> io::Result<()> {
    let wants = frame::wanted(&mut stream, &[frame::HELLO, store::HELLO]).await?;
    let (reading, writing) = stream.into_split();
    if wants == store::HELLO {
        return offer.serve(reading, writing).await;
    }
    let Some(part) = frame::part_of(&wants) else { return Ok(()) };
    let connection = services.connect(part).await.ok_or(io::ErrorKind::NotConnected)?;
    stream::pump(reading, writing, connection).await
}

/// Connects to the service of a part that listens at this path.
///
/// # Errors
/// Nobody listens there, or in another version.
pub async fn connect(path: &Path, part: Part) -> io::Result<Remote> {
    let mut stream = UnixStream::connect(path).await?;
    frame::greet(&mut stream, &frame::hello_of(part)).await?;
    let (reading, writing) = stream.into_split();
    Ok(Remote::over(reading, writing))
}
