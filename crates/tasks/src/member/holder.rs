//! The holder of an embedded store: whoever can open the file serves it; all others wait until they
//! can, and follow meanwhile. A store on another host, named by where it is served, is followed
//! only.

use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use tidings_tasks_core::id::Part;
use tidings_tasks_core::reign::Candidate;
use tokio::net::UnixListener;
use tokio::sync::watch;

use super::away;
use super::place::{FAREWELL, FIRST_WAIT, LONGEST_WAIT, LinkError, Place, until_left};
use crate::blobs::{self, Blobs};
use crate::keeper;
use crate::net::endpoint::Endpoint;
use crate::net::listen::{self, Listener, Served};
use crate::net::store::offer::Offer;
use crate::net::{Credentials, Failure, NetError};
use crate::parts::{self, PartsError};
use crate::service::{Options, Service, ServiceError, Services};
use crate::socket;
use crate::store::Store;
use crate::store::address::{Address, OpenError};
use crate::store::embedded;

/// What holds the store, or waits until it can.
pub(super) struct Holder {
    pub(super) address: Address,
    pub(super) own: Credentials,
    pub(super) listen: Option<Endpoint>,
    pub(super) candidate: Candidate,
    pub(super) options: Options,
    pub(super) sender: watch::Sender<Place>,
    pub(super) leaving: watch::Receiver<bool>,
}

impl Holder {
    pub(super) async fn run(self) {
        let taking_part = async {
            match &self.address {
                Address::Tcp(at) => {
                    let fatal = |failure: &Failure| !failure.is_passing();
                    // Another one takes the store's file by itself.
                    away::follow((at, Part(0)), &self.own, &self.sender, fatal, || ()).await
                }
                _ => self.hold().await,
            }
        };
        let ended = tokio::select! {
            ended = taking_part => ended,
            () = self.given_up() => LinkError::Ended,
        };
        self.sender.send_replace(Place::Failed(ended));
    }

    /// Returns when it is to end, and what it was asked is committed.
    async fn given_up(&self) {
        until_left(&self.leaving).await;
        let place = self.sender.borrow().clone();
        if let Place::Here(services, _) = place {
            let _ = tokio::time::timeout(FAREWELL / 2, services.settled()).await;
        }
    }

    /// Holds the store whenever it can, until that is of no use any more.
    async fn hold(&self) -> LinkError {
        let (mut wait, mut held_by) = (FIRST_WAIT, None);
        loop {
            match self.address.open(&self.own.cluster).await {
                Ok(store) => {
                    wait = FIRST_WAIT;
                    let has_ended = held_by.take().is_some_and(has_ended);
                    // What has ended it is found out by opening it again, unless it never began.
                    match self.serve(store, has_ended).await {
                        Err(Unserved::Listen(error)) => return error.into(),
                        Err(Unserved::Parts(why @ PartsError::Unreadable)) => {
                            return LinkError::Parts { place: self.address.to_string(), why };
                        }
                        _ => {}
                    }
                    self.sender.send_replace(Place::Nowhere(None));
                }
                Err(OpenError::File(embedded::OpenError::Held { pid, .. })) => {
                    held_by = pid;
                    if self.follow().await {
                        wait = FIRST_WAIT;
                    }
                }
                Err(error) => return Arc::new(error).into(),
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// Serves the store until the service ends. Its holder before may be known to have ended.
    async fn serve(&self, store: Arc<dyn Store>, has_ended: bool) -> Result<(), Unserved> {
        let mut candidate = self.candidate.clone();
        let far = match &self.listen {
            Some(at) => Some(listen::listen(at, &self.own, &candidate.host).await?),
            None => None,
        };
        if let Some(far) = &far {
            candidate.address = format!("tcp://{}", far.reached());
        }
        let offer = Offer::of_blocks(store.clone());
        let (parts, _) = parts::of(&*store).await?;
        let (mut all, mut running) = (Vec::new(), Vec::new());
        for part in parts::all(parts) {
            let options = self.options.clone();
            let begun = Service::begin(store.clone(), part, &candidate, options, has_ended);
            let (service, run) = begun.await?;
            all.push(service);
            running.push(Box::pin(run));
        }
        let services = Services::all(all);
        let near = self.socket().map(|path| socket::listen(&path));
        let reached = far.as_ref().map(|far| far.reached().clone());
        self.sender.send_replace(Place::Here(services.clone(), reached));
        tokio::select! {
            () = until_one_ends(&mut running) => {}
            () = serve_near(near, services.clone(), offer.clone()) => {}
            () = self.serve_away(far, services, offer) => {}
            () = self.keep(store, parts) => {}
        }
        Ok(())
    }

    async fn serve_away(&self, listener: Option<Listener>, services: Services, offer: Offer) {
        let Some(listener) = listener else { return core::future::pending().await };
        let folder = self.blobs();
        let opened = crate::spawn::spawn_blocking(move || Blobs::open(&folder?).ok()).await;
        let served = Served {
            services: Some(services),
            blobs: opened.ok().flatten().map(Arc::new),
            store: Some(offer),
        };
        listener.serve(served).await;
    }

    async fn keep(&self, store: Arc<dyn Store>, parts: u16) {
        match self.blobs() {
            Some(folder) => keeper::keep(store, parts, folder).await,
            None => core::future::pending().await,
        }
    }

    /// Stays connected with the holder until it ends. Returns whether there was one.
    async fn follow(&self) -> bool {
        let Some(path) = self.socket() else { return false };
        let Ok(remote) = socket::connect(&path, Part(0)).await else { return false };
        away::stay(remote, Place::There(path), &self.sender).await;
        true
    }

    fn socket(&self) -> Option<PathBuf> {
        match &self.address {
            Address::File(path) => Some(socket::beside(path)),
            _ => None,
        }
    }

    fn blobs(&self) -> Option<PathBuf> {
        match &self.address {
            Address::File(path) => Some(blobs::beside(path)),
            _ => None,
        }
    }
}

/// Why a store that was opened is not served.
#[derive(Debug, thiserror::Error)]
enum Unserved {
    /// Nobody listens where others were told to come.
    #[error(transparent)]
    Listen(#[from] NetError),
    /// How many parts the store has is not known.
    #[error(transparent)]
    Parts(#[from] PartsError),
    /// A role was not taken.
    #[error(transparent)]
    Service(#[from] ServiceError),
}

/// Runs the services of all parts until one of them ends. They are not tasks of the runtime: when
/// this is dropped the store is free.
async fn until_one_ends<F: Future>(running: &mut [Pin<Box<F>>]) {
    core::future::poll_fn(|context| {
        let is_over = running.iter_mut().any(|one| one.as_mut().poll(context).is_ready());
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// Serves the other processes of the host.
async fn serve_near(listening: Option<io::Result<UnixListener>>, services: Services, offer: Offer) {
    match listening {
        Some(Ok(listener)) => socket::serve(listener, services, offer).await,
        // Other processes cannot come; this one can.
        Some(Err(_)) | None => core::future::pending().await,
    }
}

/// Whether no process of this machine has this number. One that has may be another by now: then
/// nothing is known.
fn has_ended(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}
