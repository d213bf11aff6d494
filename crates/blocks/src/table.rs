//! The translation table: from the id of a block to its representative here.
//!
//! Ids are counted, so the table is an array, in pages that are made when an id of theirs is first
//! used. Looking one up is two loads, two branches and a check of the type; nothing is locked. What
//! a message or an id in a record leads to is found so. Who keeps a [`Ref`] does not look up.

use core::any::Any;
use core::fmt;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::block::{Block, Here, Outlet, Reach, Represent};
use crate::envelope::Refusal;
use crate::id::{BlockId, MAX_BLOCKS, Node};
use crate::record::{self, Made};
use crate::reference::Ref;

const PAGE: usize = 256;
const PAGES: usize = MAX_BLOCKS as usize / PAGE + 1;

type Page = [OnceLock<Entry>; PAGE];

struct Entry {
    kind: &'static str,
    /// A [`Ref`] of that kind.
    reference: Box<dyn Any + Send + Sync>,
}

/// The kinds of blocks that a program knows.
#[derive(Default)]
pub struct Kinds(BTreeMap<&'static str, Box<dyn Kind>>);

impl Kinds {
    /// These, and one more. A kind that is named twice is the later one.
    #[must_use]
    pub fn with<B: Block>(mut self, block: B) -> Self {
        let block: Arc<dyn Represent<B::Interface>> = Arc::new(block);
        let (direct, through) = (Arc::clone(&block), block);
        self.0.insert(B::KIND, Box::new(Known::<B> { direct, through }));
        self
    }

    /// These, and a kind of which a process that has the store open itself makes another
    /// representative than one that speaks through such a process. Programs ask for `B` at both
    /// places.
    #[must_use]
    pub fn by_place<B: Block>(mut self, direct: B, through: impl Same<B>) -> Self {
        let (direct, through) = (Arc::new(direct), Arc::new(through));
        self.0.insert(B::KIND, Box::new(Known::<B> { direct, through }));
        self
    }
}

/// What may stand for a kind elsewhere: it has the same interface.
pub trait Same<B: Block>: Represent<B::Interface> + 'static {}

impl<B: Block, S: Represent<B::Interface> + 'static> Same<B> for S {}

/// A kind of blocks, whatever it is.
trait Kind: Send + Sync {
    fn version(&self) -> u32;
    fn refer(&self, here: Here) -> Entry;
    fn use_first(&self, entry: &Entry);
}

struct Known<B: Block> {
    direct: Arc<dyn Represent<B::Interface>>,
    through: Arc<dyn Represent<B::Interface>>,
}

impl<B: Block> Kind for Known<B> {
    fn version(&self) -> u32 {
        B::VERSION
    }

    fn refer(&self, here: Here) -> Entry {
        let block = match here.reach {
            Reach::Direct => &self.direct,
            Reach::Through => &self.through,
        };
        let reference = Box::new(Ref::<B>::new(Arc::clone(block), here));
        Entry { kind: B::KIND, reference }
    }

    fn use_first(&self, entry: &Entry) {
        if let Some(reference) = entry.reference.downcast_ref::<Ref<B>>() {
            let _: &B::Interface = reference;
        }
    }
}

/// The blocks that this process knows.
pub struct Table {
    pages: Box<[OnceLock<Box<Page>>]>,
    kinds: Kinds,
    node: Node,
    reach: Reach,
    outlet: Arc<dyn Outlet>,
}

impl Table {
    /// Without a block, for a process that has the store open itself.
    pub fn new(kinds: Kinds, node: Node, outlet: Arc<dyn Outlet>) -> Self {
        let pages = (0..PAGES).map(|_| OnceLock::new()).collect();
        Self { pages, kinds, node, reach: Reach::Direct, outlet }
    }

    /// The same, for a process that has the store in this way.
    #[must_use]
    pub fn reaching(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    /// Enters a block as its record says what it is.
    ///
    /// # Errors
    /// This program does not know such a block.
    pub fn enter(&self, id: BlockId, made: &Made) -> Result<(), Refusal> {
        let slot = self.slot(id).ok_or(Refusal::Unknown(id))?;
        let kind = self.kinds.0.get(made.kind.as_str());
        let kind = kind.ok_or_else(|| Refusal::Kind { id, kind: made.kind.clone() })?;
        record::check(id, made, &made.kind, kind.version())?;
        slot.get_or_init(|| {
            let outlet = Arc::clone(&self.outlet);
            let (node, since, reach) = (self.node, made.since, self.reach);
            kind.refer(Here { node, block: id, since, reach, outlet })
        });
        Ok(())
    }

    /// A block that was entered.
    ///
    /// # Errors
    /// It was not, or it is of another kind.
    #[inline]
    pub fn get<B: Block>(&self, id: BlockId) -> Result<&Ref<B>, Refusal> {
        let Some(entry) = self.entry(id) else { return Err(Refusal::Unknown(id)) };
        match entry.reference.downcast_ref() {
            Some(reference) => Ok(reference),
            None => Err(other::<B>(id, entry)),
        }
    }

    /// Makes the representative of a block that was entered, if there is none yet. Returns whether
    /// it was entered.
    pub fn use_first(&self, id: BlockId) -> bool {
        let Some(entry) = self.entry(id) else { return false };
        if let Some(kind) = self.kinds.0.get(entry.kind) {
            kind.use_first(entry);
        }
        true
    }

    #[inline]
    fn entry(&self, id: BlockId) -> Option<&Entry> {
        let at = id.0 as usize;
        self.pages.get(at / PAGE)?.get()?[at % PAGE].get()
    }

    fn slot(&self, id: BlockId) -> Option<&OnceLock<Entry>> {
        let at = id.0 as usize;
        let page = self.pages.get(at / PAGE)?;
        let page = page.get_or_init(|| Box::new([const { OnceLock::new() }; PAGE]));
        Some(&page[at % PAGE])
    }
}

#[cold]
fn other<B: Block>(id: BlockId, entry: &Entry) -> Refusal {
    Refusal::Other { id, kind: entry.kind.to_owned(), wanted: B::KIND.to_owned() }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({} kinds)", self.kinds.0.len())
    }
}

impl fmt::Debug for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
