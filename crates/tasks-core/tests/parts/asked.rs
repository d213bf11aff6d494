//! What a client is told of inputs in other parts, by two coordinators that nothing disturbs.

use tidings_primitives::Instant;
use tidings_tasks_core::coordinator::{Read, Reply};
use tidings_tasks_core::id::{Part, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::ledger::Ledger;
use tidings_tasks_core::message::{Answer, Call, Message, Refusal, Request, Submission};
use tidings_tasks_core::view::{InputState, Why};

use crate::seat::{CLIENT, Reigning, reign};

struct Two {
    ledger: Ledger,
    seats: [Reigning; 2],
    last: u64,
}

fn two(operations: usize) -> Two {
    let mut ledger = Ledger::default();
    let mut seat = |part| reign(&mut ledger, (Part(part), 2), (1, 0), operations, Instant::EPOCH);
    let seats = [seat(0), seat(1)];
    Two { ledger, seats, last: 0 }
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
        let (_, message) = self.seats[part].coordinator.poll_message().expect("an answer");
        let Message::Answer(of, answer) = message else { panic!("{message:?}") };
        assert_eq!(of, call);
        answer
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

#[test]
fn outputs_on_nodes_do_not_go_across() {
    let mut two = two(100);
    assert_eq!(two.submit(0, Submission { copies: 1, ..task(0, []) }), Ok(1));
    assert_eq!(two.submit(0, task(1, [])), Ok(1));
    let refused = two.submit(1, task(2, [0])).expect_err("its output stays on nodes");
    assert!(refused.contains("leaves its output on nodes"), "{refused}");
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
