//! The services of one process, by part.

use std::sync::Arc;

use tidings_tasks_core::id::Part;
use tokio::sync::watch;

use super::{Connection, Service};

/// The services of the parts that this process coordinates, as long as it does.
#[derive(Clone, Debug)]
pub struct Services(Arc<[watch::Receiver<Option<Service>>]>);

impl Services {
    /// Those that are there just then, of all parts in their order.
    pub(crate) fn of(parts: impl IntoIterator<Item = watch::Receiver<Option<Service>>>) -> Self {
        Self(parts.into_iter().collect())
    }

    /// The services of all parts.
    pub(crate) fn all(services: impl IntoIterator<Item = Service>) -> Self {
        Self::of(services.into_iter().map(|service| watch::channel(Some(service)).1))
    }

    /// That of a part, if this process coordinates it.
    pub(crate) fn get(&self, part: Part) -> Option<Service> {
        self.0.get(usize::from(part.0))?.borrow().clone()
    }

    /// A connection with the service of a part, if that is here and goes on.
    pub(crate) async fn connect(&self, part: Part) -> Option<Connection> {
        self.get(part)?.connect().await.ok()
    }

    /// Returns when all that was asked of them is committed, or they have ended.
    pub(crate) async fn settled(&self) {
        for part in 0..self.0.len() as u16 {
            if let Some(service) = self.get(Part(part)) {
                service.settled().await;
            }
        }
    }
}
