//! Opening a store in the memory of processes: this one takes part before it has the store.

use std::sync::Arc;

use tidings_blocks::block::Reach;
use tidings_blocks::store::DistributedStore;
use tidings_blocks::table::Kinds;

use crate::blocks::{Blocks, BlocksError, Settings};
use crate::net::store::remote::RemoteStore;
use crate::socket;
use crate::store::address::{Address, OpenError};
use crate::store::block::BlockStore;
use crate::store::reach::Reached;

/// A store of this name, whose processes find each other in the store `views`.
pub(super) struct InMemory<'a> {
    pub(super) name: &'a str,
    pub(super) views: &'a Address,
}

impl InMemory<'_> {
    /// Takes part, and opens the store. The second result is this process among the others.
    ///
    /// # Errors
    /// It cannot be reached now, or not be had at all.
    pub(super) async fn open(
        &self,
        settings: Settings,
    ) -> Result<(BlockStore, Arc<Blocks>), OpenError> {
        let views = self.reach(&settings).await?;
        let kinds = Kinds::default().with(DistributedStore);
        let joined = Blocks::join_reached(views, kinds, settings).await;
        let blocks = Arc::new(joined.map_err(|error| self.failed(error))?);
        match BlockStore::open(blocks.clone(), self.name).await {
            Ok(store) => Ok((store, blocks)),
            Err(error) => {
                blocks.quit().await;
                Err(self.failed(error))
            }
        }
    }

    /// The store of the views. A file is held by a process that serves it and stays: this one may
    /// end before the others.
    async fn reach(&self, settings: &Settings) -> Result<Reached, OpenError> {
        let views = self.views;
        if let Address::File(path) = views {
            return match RemoteStore::behind(socket::beside(path)).await {
                Ok(store) => Ok(Reached { store: Arc::new(store), by: Reach::Through }),
                Err(lost) => Err(self.apart(format!(
                    "no process of this host holds {views} ({lost}); start `tidings worker \
                     --store {views}`"
                ))),
            };
        }
        views.reach(&settings.own).await.map_err(|error| self.apart(error.to_string()))
    }

    fn failed(&self, error: BlocksError) -> OpenError {
        match error {
            BlocksError::Store(why) => self.apart(why),
            BlocksError::Lost => self.apart(error.to_string()),
            BlocksError::Net(_) | BlocksError::Record(_) | BlocksError::Refused(_) => {
                OpenError::Refused { place: self.address(), why: error.to_string() }
            }
        }
    }

    fn apart(&self, why: String) -> OpenError {
        OpenError::Apart { place: self.address(), why }
    }

    fn address(&self) -> String {
        Address::Block { name: self.name.to_owned(), views: Box::new(self.views.clone()) }
            .to_string()
    }
}
