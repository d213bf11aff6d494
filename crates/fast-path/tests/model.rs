//! A lane, and a cell of a space, in a model of the machine: loom runs all interleavings of its two
//! sides, with loads and stores in each order that the memory model permits.
//!
//! The code is that of `lane.rs` and `space/cell.rs`, over loom's words in place of the machine's.
//! To validate the model, the same without its fences is shown to fail.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use tidings_fast_path::lane::{CALL_WORDS, Caller, Lane, Line, Outcome, Server, Word};
use tidings_fast_path::space::cell::{HEAD_WORDS, Parts};

/// A word; one that is not `FENCED` has fences that do nothing.
struct Modelled<const FENCED: bool>(AtomicU64);

impl<const FENCED: bool> Word for Modelled<FENCED> {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
    fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
    fn acquire() {
        if FENCED {
            fence(Ordering::Acquire);
        }
    }
    fn release() {
        if FENCED {
            fence(Ordering::Release);
        }
    }
}

/// The lines of a lane; those that are shared with nobody would only lengthen the search.
struct Memory<const FENCED: bool> {
    lines: Vec<Line<Modelled<FENCED>>>,
    done: Modelled<FENCED>,
}

impl<const FENCED: bool> Memory<FENCED> {
    fn new(lines: usize) -> Self {
        let word = || Modelled(AtomicU64::new(0));
        let line = |_| Line { words: std::array::from_fn(|_| word()), turn: word() };
        Self { lines: (0..lines).map(line).collect(), done: word() }
    }

    fn lane(&self) -> Lane<'_, Modelled<FENCED>> {
        Lane { lines: &self.lines, done: &self.done }
    }
}

/// How often each side looks: enough for both calls, if the other side has done its part.
const LOOKS: usize = 3;

/// A caller fires two calls through one line; the service doubles what is in them. Neither waits:
/// what one looks for and does not find, it looks for again only a few times, so that all orders
/// of their steps are few enough to be run.
fn check<const FENCED: bool>() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let memory = Arc::new(Memory::<FENCED>::new(1));
        let shared = Arc::clone(&memory);
        let service = loom::thread::spawn(move || {
            let (mut server, mut taken) = (Server::default(), 0);
            for _ in 0..LOOKS {
                if let Some(words) = server.next(shared.lane()) {
                    taken += 1;
                    assert_eq!(words, [taken; CALL_WORDS], "not the call that was fired");
                    server.finish(shared.lane(), 2 * taken);
                }
            }
            taken
        });
        let (mut caller, mut fired) = (Caller::default(), 0);
        for _ in 0..LOOKS {
            if fired < 2 && caller.fire(memory.lane(), &[fired + 1; CALL_WORDS]).is_some() {
                fired += 1;
            }
            if let Outcome::Done(result) = caller.outcome(memory.lane(), fired - 1) {
                assert_eq!(result, 2 * fired, "not the result of the call");
            }
        }
        let taken = service.join().expect("the service does not panic");
        assert!(taken <= fired && fired <= taken + 1, "not as many as fit one line");
    });
}

#[test]
fn calls_come_whole_in_order_and_with_their_results() {
    check::<true>();
}

#[test]
#[should_panic(expected = "not the")]
fn without_fences_they_do_not() {
    check::<false>();
}

/// A writer changes the two words of a cell twice, and may have died in the second change; a reader
/// looks twice.
fn check_cell<const FENCED: bool>(dies: bool) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let word = |_| Modelled::<FENCED>(AtomicU64::new(0));
        let words: Arc<Vec<_>> = Arc::new((0..HEAD_WORDS + 4).map(word).collect());
        let shared = Arc::clone(&words);
        let writer = loom::thread::spawn(move || {
            let cell = Parts::of(&shared).expect("two words");
            cell.write(&[1, 1]);
            if dies {
                // What a writer does until it is killed: the first copy becomes odd, then torn.
                shared[1].set(shared[1].get() + 1);
                Modelled::<FENCED>::release();
                shared[HEAD_WORDS].set(2);
                cell.mend();
            } else {
                cell.write(&[2, 2]);
            }
        });
        let cell = Parts::of(&words).expect("two words");
        for _ in 0..2 {
            let mut seen = [9, 9];
            if cell.look(&mut seen) {
                assert_eq!(seen[0], seen[1], "torn");
            }
        }
        writer.join().expect("it does not panic");
        let mut seen = [9, 9];
        assert!(cell.look(&mut seen), "nobody writes any more");
        assert_eq!(seen, if dies { [1, 1] } else { [2, 2] });
    });
}

#[test]
fn a_cell_is_read_whole() {
    check_cell::<true>(false);
}

#[test]
fn a_cell_whose_writer_died_is_read_whole_while_the_next_one_mends_it() {
    check_cell::<true>(true);
}

#[test]
#[should_panic(expected = "torn")]
fn without_fences_a_cell_is_not() {
    check_cell::<false>(false);
}
