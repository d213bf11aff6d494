//! Blocks: the driver of `tidings-blocks`, with a store, a clock and connections.
//!
//! A process *joins* with a store: it opens a session there, whose number is its own, says where it
//! listens, and takes part as soon as a view has it. Then it *opens* blocks by their names, and
//! calls them. Other processes connect with it over TCP, sealed with the cluster's key, as those of
//! a store of tasks do ([`net`](crate::net)).
//!
//! | file | what it holds |
//! |---|---|
//! | `registry` | ids and records of blocks in the store |
//! | `membership` | who takes part: the session, and views as they follow each other |
//! | `posts`, `event` | what is for that task: calls of this process, and what happens to it |
//! | `links` | connections with the others, each made by the later of both |
//! | `process` | the one task that runs handlers |
//!
//! **Who is lost** is decided by the view alone. It is replaced when a session has ended; when the
//! process of a node has ended, which those find out who were connected with it; and when the board
//! says that its host is dead. Whether that was true does not matter then: who is in no view any
//! more ends.

mod error;
mod event;
mod links;
mod membership;
mod posts;
mod process;
mod registry;
mod settings;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidings_blocks::block::{Outlet, Reach};
use tidings_blocks::envelope::Refusal;
use tidings_blocks::table::{Kinds, Table};
use tidings_blocks::{Block, BlockId, Node, Ref, View};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use self::event::Event;
use self::links::Links;
use self::membership::Membership;
use self::posts::Posts;
use self::process::Process;
use crate::net::listen;
use crate::store::Store;
use crate::store::reach::Reached;

pub use self::error::BlocksError;
pub use self::settings::Settings;

/// What has arrived and waits for handlers, in messages.
const ARRIVED: usize = 1_024;

/// The time in which the others confirm what a process that leaves has passed on.
const FAREWELL: Duration = Duration::from_secs(2);

/// This process among those that share blocks. Dropped, it is lost to the others.
pub struct Blocks {
    node: Node,
    store: Arc<dyn Store>,
    table: Arc<Table>,
    view: watch::Receiver<View>,
    events: mpsc::Sender<Event>,
    tasks: Vec<JoinHandle<()>>,
}

impl Blocks {
    /// Takes part, with the blocks that this program knows. Returns when a view has this process.
    /// Needs a runtime of tokio with time and I/O.
    ///
    /// # Errors
    /// The store cannot be reached, or this process cannot listen.
    pub async fn join(
        store: Arc<dyn Store>,
        kinds: Kinds,
        settings: Settings,
    ) -> Result<Self, BlocksError> {
        Self::join_reached(Reached { store, by: Reach::Direct }, kinds, settings).await
    }

    /// As [`Blocks::join`], with a store as it was [reached](crate::store::reach): of kinds with
    /// two implementations that one is used which is for this place.
    ///
    /// # Errors
    /// The store cannot be reached, or this process cannot listen.
    pub async fn join_reached(
        reached: Reached,
        kinds: Kinds,
        settings: Settings,
    ) -> Result<Self, BlocksError> {
        let Reached { store, by } = reached;
        let door = listen::listen(&settings.listen, &settings.own, &settings.host).await?;
        let (suspicion, suspicions) = mpsc::channel(64);
        let membership =
            Membership::come(store.clone(), &settings, door.reached(), suspicions).await?;
        let node = membership.node();
        let (posts, waiting) = Posts::begin();
        let outlet: Arc<dyn Outlet> = posts.clone();
        let table = Arc::new(Table::new(kinds, node, outlet).reaching(by));
        let (events, arriving) = mpsc::channel(ARRIVED);
        let (told, mut view) = watch::channel(View::default());
        let links = Links::new(node, settings.own.clone(), events.clone(), suspicion);
        let process = Process::new(node, store.clone(), table.clone(), links, told);
        let (peers, coming) = mpsc::channel(16);
        let tasks = vec![
            crate::spawn::spawn(process.run(posts, waiting, arriving)),
            crate::spawn::spawn(membership.run(events.clone())),
            crate::spawn::spawn(door.pass_on(&[links::HELLO], peers)),
            crate::spawn::spawn(links::welcome(coming, node, events.clone())),
        ];
        // From here on all of it ends with this, also where nobody waits for it any more.
        let blocks = Self { node, store, table, view: view.clone(), events, tasks };
        match view.wait_for(|view| view.has(node)).await {
            Ok(_) => Ok(blocks),
            Err(_) => Err(BlocksError::Lost),
        }
    }

    /// This process.
    pub fn node(&self) -> Node {
        self.node
    }

    /// Who takes part, now and from now on. It ends when this process is lost.
    pub fn view(&self) -> watch::Receiver<View> {
        self.view.clone()
    }

    /// The block of a name: made, if there is none. The representative is made on first use.
    ///
    /// # Errors
    /// The block is something else, or of another version; the name is none; the store cannot be
    /// reached.
    pub async fn open<B: Block>(&self, name: &str) -> Result<Ref<B>, BlocksError> {
        let id = registry::named(&*self.store, name, (B::KIND, B::VERSION)).await?;
        self.get(id).await
    }

    /// The block of an id.
    ///
    /// # Errors
    /// There is none, or as with [`Blocks::open`].
    pub async fn get<B: Block>(&self, id: BlockId) -> Result<Ref<B>, BlocksError> {
        if let Ok(known) = self.table.get::<B>(id) {
            return Ok(known.clone());
        }
        let made = registry::made(&*self.store, id).await?;
        let made = made.ok_or(Refusal::Unknown(id))?;
        self.table.enter(id, &made)?;
        Ok(self.table.get::<B>(id)?.clone())
    }

    /// Whether a block has begun that begins once: of which all may be lost later, and which does
    /// not begin again then.
    pub(crate) async fn has_begun(&self, id: BlockId) -> Result<bool, BlocksError> {
        registry::has_begun(&*self.store, id).await
    }

    /// Says so, unless that is unknown afterwards: then look again.
    pub(crate) async fn has_now_begun(&self, id: BlockId) -> Result<(), BlocksError> {
        registry::has_now_begun(&*self.store, id).await
    }

    /// The blocks that this process knows already, by their ids.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Leaves in order: representatives pass on what they have, as far as they do that. Returns
    /// when the others know.
    pub async fn leave(self) {
        self.quit().await;
    }

    /// Leaves in order, while others of this process may have it still.
    pub(crate) async fn quit(&self) {
        let (left, done) = oneshot::channel();
        if self.events.send(Event::Leave(left)).await.is_ok() {
            // It may be lost meanwhile, or the others may not answer.
            let _ = tokio::time::timeout(FAREWELL, done).await;
        }
        if let Err(error) = membership::leave(&*self.store, self.node).await {
            // Its session ends by itself.
            drop(error);
        }
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blocks(node {})", self.node)
    }
}
