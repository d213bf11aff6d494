//! References: the way to the representative of this process.
//!
//! A reference is a pointer to a place, which is empty until the block is used. A call is one load
//! of that place, one branch that is always taken the same way, and the call itself: as much as a
//! call through a pointer to an object, and a load. Making the representative takes no lock that
//! another block needs.

use core::fmt;
use core::ops::Deref;
use std::sync::{Arc, OnceLock};

use crate::block::{Block, Here, Posted, Represent};
use crate::id::BlockId;

/// A block, as this process uses it. Its clones are the same.
pub struct Ref<B: Block>(Arc<Cell<B>>);

struct Cell<B: Block> {
    interface: OnceLock<Box<B::Interface>>,
    block: Arc<dyn Represent<B::Interface>>,
    here: Here,
}

impl<B: Block> Ref<B> {
    /// A reference without a representative, which is made by `block` on first use.
    pub fn new(block: Arc<dyn Represent<B::Interface>>, here: Here) -> Self {
        Self(Arc::new(Cell { interface: OnceLock::new(), block, here }))
    }

    /// The block.
    pub fn id(&self) -> BlockId {
        self.0.here.block
    }
}

impl<B: Block> Deref for Ref<B> {
    type Target = B::Interface;

    #[inline]
    fn deref(&self) -> &B::Interface {
        match self.0.interface.get() {
            Some(interface) => interface,
            None => self.0.first_use(),
        }
    }
}

impl<B: Block> Cell<B> {
    #[cold]
    fn first_use(&self) -> &B::Interface {
        self.interface.get_or_init(|| {
            let (interface, handler) = self.block.represent(self.here.clone());
            self.here.outlet.post(Posted::Made(self.here.block, handler));
            interface
        })
    }
}

impl<B: Block> Clone for Ref<B> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<B: Block> fmt::Debug for Ref<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ref({} {})", B::KIND, self.id())
    }
}
