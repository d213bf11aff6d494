//! Ring and bell in a model of the machine: loom runs all interleavings of two processes, with
//! loads and stores in each order that the memory model permits.
//!
//! The code is that of `ring.rs` and `bell.rs`, over loom's words in place of the machine's. To
//! validate the model, the same without one of its orders is shown to fail.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use tidings_steal_host::bell;
use tidings_steal_host::machine::{Flag, Word};
use tidings_steal_host::ring::{Reader, Ring, Writer};

/// A word; one that is not `ORDERED` publishes relaxed, and its fence does nothing.
struct Modelled<const ORDERED: bool>(AtomicU64);

impl<const ORDERED: bool> Modelled<ORDERED> {
    fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }
}

impl<const ORDERED: bool> Word for Modelled<ORDERED> {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
    fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
    fn acquire(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
    fn release(&self, value: u64) {
        self.0.store(value, if ORDERED { Ordering::Release } else { Ordering::Relaxed });
    }
    fn add_bits(&self, bits: u64) {
        self.0.fetch_or(bits, Ordering::Release);
    }
    fn take_bits(&self) -> u64 {
        self.0.swap(0, Ordering::Acquire)
    }
    fn fence() {
        if ORDERED {
            fence(Ordering::SeqCst);
        }
    }
}

/// A flag.
struct Raised(AtomicBool);

impl Flag for Raised {
    fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
    fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
    fn lower(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

fn ring<const ORDERED: bool>(memory: &[Modelled<ORDERED>; 4]) -> Ring<'_, Modelled<ORDERED>> {
    let [tail, head, words @ ..] = memory;
    Ring { tail, head, words }
}

/// A ring of two words, through which three go, past the end of the counts.
fn check_ring<const ORDERED: bool>() {
    const AT: u64 = u64::MAX;
    loom::model(|| {
        let word = Modelled::<ORDERED>::new;
        let memory = Arc::new([word(AT), word(AT), word(0), word(0)]);
        let shared = Arc::clone(&memory);
        let thread = loom::thread::spawn(move || {
            let mut writer = Writer::at(AT);
            let mut left: &[u64] = &[1, 2, 3];
            while !left.is_empty() {
                let written = writer.write(ring(&shared), left).expect("an honest reader");
                left = &left[written..];
                loom::thread::yield_now();
            }
        });
        let (mut reader, mut got) = (Reader::at(AT), Vec::new());
        while got.len() < 3 {
            reader.read(ring(&memory), &mut got).expect("an honest writer");
            loom::thread::yield_now();
        }
        assert_eq!(got, [1, 2, 3], "not what was written");
        thread.join().expect("the writer does not panic");
    });
}

#[test]
fn words_come_whole_and_in_order() {
    check_ring::<true>();
}

#[test]
#[should_panic(expected = "not what was written")]
fn without_release_they_do_not() {
    check_ring::<false>();
}

/// One process rings while the other falls asleep, for as long as its flag is raised.
fn check_bell<const ORDERED: bool>() {
    let mut model = loom::model::Builder::new();
    model.max_branches = 200;
    model.check(|| {
        let news = Arc::new([Modelled::<ORDERED>::new(0)]);
        let flag = Arc::new(Raised(AtomicBool::new(false)));
        let (their_news, their_flag) = (Arc::clone(&news), Arc::clone(&flag));
        let ringer = loom::thread::spawn(move || bell::ring(&their_news[0], 1, &*their_flag));
        bell::sleep(&*news, &*flag, || {
            while flag.is_raised() {
                loom::thread::yield_now();
            }
        });
        ringer.join().expect("it does not panic");
        assert_eq!(news[0].take_bits(), 1);
    });
}

#[test]
fn a_bell_wakes_whoever_comes_first() {
    check_bell::<true>();
}

/// A sleeper that nobody wakes never ends, which loom counts.
#[test]
#[should_panic(expected = "maximum number of branches")]
fn without_fences_it_may_not() {
    check_bell::<false>();
}
