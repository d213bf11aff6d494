//! Posts: the way from the threads that call blocks to the one task that runs handlers.

use std::sync::{Arc, Mutex, PoisonError};

use tidings_blocks::BlockId;
use tidings_blocks::block::{Outlet, Posted};
use tokio::sync::mpsc;

/// Calls that may wait for handlers.
const CALLS: usize = 65_536;

/// What is posted in this process, on its way to the handlers.
pub(super) struct Posts {
    /// Representatives: few, and none is ever dropped.
    made: Mutex<Vec<Posted>>,
    calls: mpsc::Sender<Posted>,
}

impl Posts {
    /// An empty one, and where its calls come out.
    pub(super) fn begin() -> (Arc<Self>, mpsc::Receiver<Posted>) {
        let (calls, waiting) = mpsc::channel(CALLS);
        (Arc::new(Self { made: Mutex::default(), calls }), waiting)
    }

    /// The representatives that were made since this was last asked.
    pub(super) fn made(&self) -> Vec<Posted> {
        std::mem::take(&mut *self.made.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Outlet for Posts {
    fn post(&self, posted: Posted) {
        let call = match posted {
            Posted::Made(..) => {
                self.made.lock().unwrap_or_else(PoisonError::into_inner).push(posted);
                // It is taken with the next call, or with this.
                Posted::Call(BlockId(0), Box::new(()))
            }
            call @ Posted::Call(..) => call,
        };
        // A call that finds no place is dropped, and who waits for its answer hears that.
        let _ = self.calls.try_send(call);
    }
}
