//! The pulse: a thread that says to all others that this process lives, whatever its worker does.
//!
//! A process that is stopped says nothing, whoever stopped it, and so does one whose host is gone
//! or cut off. The thread also asks a [`Watch`] for what is known from elsewhere.
//!
//! Who was stopped itself does not decide about others at once: the pulse notes when it was late.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::Waker;

use crate::line::Line;

/// What is known of deaths from elsewhere, such as from an agent.
pub trait Watch: Send {
    /// Who is dead, by number. It is asked when the process has joined, and then once a beat in a
    /// thread of its own; who was said to be dead once is dead for good.
    fn dead(&mut self) -> Vec<u32>;
}

/// What the thread tells the worker.
#[derive(Debug)]
struct Shared {
    origin: Instant,
    /// When the thread was late last, in microseconds since the origin.
    late_us: AtomicU64,
    dead: Mutex<Vec<u32>>,
}

/// The thread, which ends with this.
#[derive(Debug)]
pub(crate) struct Pulse {
    shared: Arc<Shared>,
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Pulse {
    /// Begins.
    pub(crate) fn begin(
        lines: Vec<Arc<Line>>,
        beat: Duration,
        silence: Duration,
        watch: Option<(Box<dyn Watch>, Waker)>,
    ) -> std::io::Result<Self> {
        let (stop, stopped) = sync_channel(0);
        let origin = Instant::now();
        let dead = Mutex::new(Vec::new());
        let shared = Arc::new(Shared { origin, late_us: AtomicU64::new(0), dead });
        let told = Arc::clone(&shared);
        let mut watch = watch;
        // What it knows now is older than the job; what it says later is news.
        if let Some((watch, waker)) = &mut watch {
            shared.note_dead(&watch.dead(), waker);
        }
        let body = move || {
            let mut last = Instant::now();
            while stopped.recv_timeout(beat) == Err(RecvTimeoutError::Timeout) {
                let now = Instant::now();
                if now.saturating_duration_since(last) > silence / 2 {
                    told.note_late(now);
                }
                last = now;
                for line in &lines {
                    line.beat();
                }
                if let Some((watch, waker)) = &mut watch {
                    told.note_dead(&watch.dead(), waker);
                }
            }
        };
        let thread = std::thread::Builder::new().name("steal-pulse".to_owned()).spawn(body)?;
        Ok(Self { shared, stop: Some(stop), thread: Some(thread) })
    }

    /// When this process was stopped last, as far as is known.
    pub(crate) fn late(&self) -> Instant {
        let late_us = self.shared.late_us.load(Ordering::Relaxed);
        self.shared.origin + Duration::from_micros(late_us)
    }

    /// Who is dead, as far as is known from elsewhere and was not said before.
    pub(crate) fn dead(&self) -> Vec<u32> {
        core::mem::take(&mut self.shared.dead.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Shared {
    fn note_late(&self, now: Instant) {
        let late = now.saturating_duration_since(self.origin);
        self.late_us.store(late.as_micros() as u64, Ordering::Relaxed);
    }

    fn note_dead(&self, dead: &[u32], waker: &Waker) {
        if dead.is_empty() {
            return;
        }
        self.dead.lock().unwrap_or_else(PoisonError::into_inner).extend(dead);
        // The worker looks at it at its next turn, if not now.
        let _ = waker.wake();
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic in it was reported when it happened
        }
    }
}
