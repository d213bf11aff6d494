//! What a client is told of inputs in other parts, by two coordinators that nothing disturbs.

use tidings_primitives::Instant;
use tidings_tasks_core::coordinator::{Read, Reply};
use tidings_tasks_core::id::{Attempt, Part, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::ledger::Ledger;
use tidings_tasks_core::message::{Answer, Call, Message, Refusal, Request, Submission};
use tidings_tasks_core::output::{Depot, Kept};
use tidings_tasks_core::retry::Cause;
use tidings_tasks_core::view::{InputState, Why};

use crate::seat::{CLIENT, Reigning, WORKER, reign};

struct Two {
    ledger: Ledger,
    seats: [Reigning; 2],
    last: u64,
    /// What the worker of each was given and has not begun.
    given: [Vec<(TaskId, Attempt)>; 2],
}

fn two(operations: usize) -> Two {
    let mut ledger = Ledger::default();
    let mut seat = |part| reign(&mut ledger, (Part(part), 2), (1, 0), operations, Instant::EPOCH);
    let seats = [seat(0), seat(1)];
    Two { ledger, seats, last: 0, given: [const { Vec::new() }; 2] }
}

impl Two {
    /// Both do what there is to do.
    fn settle(&mut self) {
        for (part, seat) in (0..).zip(&mut self.seats) {
            let (ledger, now) = (&mut self.ledger, Instant::EPOCH);
            let inbox = keys::inbox(Part(part));
            let events = ledger.changes(inbox.as_bytes(), seat.seen).expect("all is held");
            seat.seen = ledger.revision();
            seat.coordinator.handle_inbox(now, &events);
            loop {
                if let Some((ticket, read)) = seat.coordinator.poll_read() {
                    let reply = match read {
                        Read::Get(keys) => {
                            Reply::Records(keys.iter().filter_map(|key| ledger.get(key)).collect())
                        }
                        Read::Scan { from, end, limit } => {
                            Reply::Page(ledger.scan(&from, end.as_ref(), limit))
                        }
                    };
                    seat.coordinator.handle_read(now, ticket, reply);
                } else if let Some((ticket, transaction)) = seat.coordinator.poll_commit() {
                    let answer = ledger.commit(&transaction);
                    seat.coordinator.handle_commit(now, ticket, answer);
                } else {
                    break;
                }
            }
        }
    }

    fn ask(&mut self, part: usize, request: Request) -> Answer {
        self.settle();
        self.last += 1;
        let call = Call(self.last);
        self.seats[part].coordinator.handle_request(Instant::EPOCH, CLIENT, call, request);
        self.settle();
        let answers = self.told(part);
        let [(of, answer)] = &answers[..] else { panic!("{answers:?}") };
        assert_eq!(*of, call);
        answer.clone()
    }

    /// What a part has answered; what it gives out is noted.
    fn told(&mut self, part: usize) -> Vec<(Call, Answer)> {
        let mut answers = Vec::new();
        while let Some((_, message)) = self.seats[part].coordinator.poll_message() {
            match message {
                Message::Answer(of, answer) => answers.push((of, answer)),
                Message::Assign { task, attempt, .. } => self.given[part].push((task, attempt)),
                other => panic!("{other:?}"),
            }
        }
        answers
    }

    /// A worker with room for one task joins each part.
    fn join(&mut self) {
        for part in 0..2 {
            let (queues, resources) = (Vec::new(), Vec::new());
            let (name, host) = ("w".to_owned(), "h".to_owned());
            let join = Request::Join { name, host, holding: Vec::new() };
            let offer = Request::Offer { queues, slots: 1, resources, ahead: 0, full: None };
            for (call, request) in [(Call(1_000), join), (Call(1_001), offer)] {
                let coordinator = &mut self.seats[part].coordinator;
                coordinator.handle_request(Instant::EPOCH, WORKER, call, request);
            }
            self.settle();
            self.told(part);
        }
    }

    /// The tries that the worker of a part was given since the last time.
    fn work(&mut self, part: usize) -> Vec<(TaskId, Attempt)> {
        // A letter of one is read by the other.
        self.settle();
        self.settle();
        self.told(part);
        core::mem::take(&mut self.given[part])
    }

    fn submit(&mut self, part: usize, task: Submission) -> Result<u32, String> {
        match self.ask(part, Request::Submit { tasks: vec![task] }) {
            Answer::Submitted(new) => Ok(new),
            Answer::Refused(Refusal::Invalid(reason)) => Err(reason),
            other => panic!("{other:?}"),
        }
    }
}

fn task(number: u64, inputs: impl IntoIterator<Item = u64>) -> Submission {
    let id = |number| TaskId::of("t", number);
    let inputs = inputs.into_iter().map(id).collect();
    Submission { inputs, ..Submission::new(id(number), "q", [7; 10]) }
}

#[test]
fn an_input_is_found_in_whichever_part_it_is() {
    let mut two = two(100);
    assert_eq!(two.submit(0, task(0, [])), Ok(1));
    assert_eq!(two.submit(1, task(1, [0])), Ok(1));
    let id = TaskId::of("t", 1);
    let answer = two.ask(1, Request::Explain { task: id });
    let missing = vec![(TaskId::of("t", 0), InputState::Abroad)];
    assert_eq!(answer, Answer::Explained(Box::new(Why::Inputs(1, missing)), vec![]));
    let refused = two.submit(1, task(3, [2])).expect_err("no part knows it");
    assert!(refused.contains("which is not known"), "{refused}");
}

/// A task of part 0 leaves its output on a node, and one of part 1 reads it: when that node is gone
/// it is made again, and the reader waits for that.
#[test]
fn an_output_on_a_node_is_read_from_another_part_and_made_again_when_it_is_lost() {
    let mut two = two(100);
    two.settle();
    two.join();
    assert_eq!(two.submit(0, Submission { copies: 1, ..task(0, []) }), Ok(1));
    assert_eq!(two.submit(1, task(1, [0])), Ok(1));
    let (made, reads) = (TaskId::of("t", 0), TaskId::of("t", 1));
    let kept = |attempt| Request::CompleteKept {
        task: made,
        attempt: Attempt(attempt),
        result: vec![1],
        children: Vec::new(),
        effects: Vec::new(),
        kept: Kept { bytes: 1 << 20, depots: vec![Depot { id: 7, host: "h".to_owned() }] },
        puts: Vec::new(),
    };
    // The other coordinator has never heard of the depot, which has no session with it.
    assert_eq!(two.work(0), [(made, Attempt(1))]);
    assert_eq!(two.work(1), []);
    assert_eq!(two.ask(0, kept(1)), Answer::Done);
    assert_eq!(two.work(1), [(reads, Attempt(1))]);
    for again in 1..4 {
        let lost = Request::Lost { task: made, attempt: Attempt(again) };
        assert_eq!(two.ask(0, lost), Answer::Done);
        let (text, detail) = ("an input is gone".to_owned(), Vec::new());
        let (task, attempt, cause) = (reads, Attempt(again), Cause::Gone);
        let ends = Request::Fail { task, attempt, cause, text, detail };
        // In turn it is made again before the reader has ended its try, and after that.
        if again % 2 == 0 {
            assert_eq!(two.ask(1, ends.clone()), Answer::Done);
            assert_eq!(two.work(1), [], "it waits");
        }
        assert_eq!(two.work(0), [(made, Attempt(again + 1))], "it is made again");
        assert_eq!(two.ask(0, kept(again + 1)), Answer::Done);
        if again % 2 == 1 {
            assert_eq!(two.ask(1, ends), Answer::Done);
        }
        assert_eq!(two.work(1), [(reads, Attempt(again + 1))]);
    }
    // As long as it is read its record stays, and no longer.
    let forget = Request::Forget { tasks: vec![made] };
    assert_eq!(two.ask(0, forget.clone()), Answer::Forgotten(0));
    let (result, children, effects) = (vec![1], Vec::new(), Vec::new());
    let (task, attempt, puts) = (reads, Attempt(4), Vec::new());
    let done = Request::Complete { task, attempt, result, children, effects, puts };
    assert_eq!(two.ask(1, done), Answer::Done);
    assert_eq!(two.ask(0, forget), Answer::Forgotten(1));
}

#[test]
fn a_task_whose_output_stays_on_nodes_waits_for_its_own_part_alone() {
    let mut two = two(100);
    assert_eq!(two.submit(0, task(1, [])), Ok(1));
    let kept = Submission { copies: 1, ..task(3, [1]) };
    let refused = two.submit(1, kept).expect_err("its output stays on nodes");
    assert!(refused.contains("waits for tasks of other parts"), "{refused}");
    assert_eq!(two.submit(1, task(2, [1])), Ok(1));
}

#[test]
fn a_task_has_as_many_inputs_of_other_parts_as_a_commit_carries() {
    let mut two = two(14);
    for number in 0..5 {
        assert_eq!(two.submit(0, task(number, [])), Ok(1));
    }
    let refused = two.submit(1, task(5, 0..5)).expect_err("too many");
    assert!(refused.contains("at most 4 are possible"), "{refused}");
    assert_eq!(two.submit(1, task(5, 0..4)), Ok(1));
}
