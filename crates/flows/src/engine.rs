//! Messages as a sequence of events: one begins to move, one has arrived; between two events all
//! rates hold.
//!
//! Time is an argument: who uses the engine says when a message begins, reads arrivals in the order
//! of their times, and may let further messages begin at that time or later.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::links::{Links, Step};

/// How a message moves.
#[derive(Clone, Debug, PartialEq)]
pub enum Way {
    /// Over links that it shares, with this weight.
    Shared {
        /// Its part of a full link, beside those of others.
        weight: f64,
        /// Its links.
        steps: Vec<Step>,
    },
    /// At this rate, whatever else moves.
    Alone(f64),
}

/// A message that has arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// Its number, by the order in which messages were begun.
    pub message: u32,
    /// When its last byte arrived, in seconds.
    pub at_s: f64,
}

#[derive(Debug)]
struct Message {
    way: Option<Way>,
    flow: Option<u32>,
    left: f64,
    rate: f64,
    /// Until when `left` is right.
    since_s: f64,
    /// Which of its ends in the heap is meant.
    stamp: u32,
}

/// What is to happen: its time as bits, which are ordered as times are, the message and its stamp.
type Event = Reverse<(u64, u32, u32)>;

/// Messages on links.
#[derive(Debug)]
pub struct Engine {
    links: Links,
    now_s: f64,
    messages: Vec<Message>,
    /// The message of each flow.
    message_of: Vec<u32>,
    begins: BinaryHeap<Event>,
    ends: BinaryHeap<Event>,
    arrived: VecDeque<Arrival>,
    /// Ends that lie this near, as a part of the time, are one event.
    grain: f64,
    /// How often rates were computed.
    events: u64,
}

/// Ends that differ by rounding alone.
const ROUNDING: f64 = 1e-12;

impl Engine {
    /// Links with these capacities, on which nothing moves yet.
    pub fn new(capacities: &[f64]) -> Self {
        Self {
            links: Links::new(capacities),
            now_s: 0.0,
            messages: Vec::new(),
            message_of: Vec::new(),
            begins: BinaryHeap::new(),
            ends: BinaryHeap::new(),
            arrived: VecDeque::new(),
            grain: ROUNDING,
            events: 0,
        }
    }

    /// Takes ends for one event that lie this near, as a part of the time that has passed: fewer
    /// events, and times that are wrong by less than that.
    #[must_use]
    pub fn with_grain(mut self, grain: f64) -> Self {
        self.grain = grain.max(ROUNDING);
        self
    }

    /// How often rates were computed.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Lets a message begin to move at a time, or now if that is past; its number.
    pub fn begin(&mut self, at_s: f64, bytes: f64, way: Way) -> u32 {
        let number = self.messages.len() as u32;
        let at_s = at_s.max(self.now_s);
        self.messages.push(Message {
            way: Some(way),
            flow: None,
            left: bytes,
            rate: 0.0,
            since_s: at_s,
            stamp: 0,
        });
        self.begins.push(Reverse((at_s.to_bits(), number, 0)));
        number
    }

    /// The next message that arrives; `None` if nothing moves any more.
    pub fn next_arrival(&mut self) -> Option<Arrival> {
        loop {
            if let Some(arrival) = self.arrived.pop_front() {
                return Some(arrival);
            }
            self.share();
            let begin = self.begins.peek().map(time);
            let end = self.next_end();
            match (begin, end) {
                (None, None) => return None,
                (Some(begin), end) if end.is_none_or(|end| begin <= end) => {
                    self.now_s = begin;
                    self.begin_all(begin);
                }
                (_, Some(end)) => self.end_all(end),
                (Some(_), None) => unreachable!("a begin without an end comes first"),
            }
        }
    }

    /// The time of the next end that is meant.
    fn next_end(&mut self) -> Option<f64> {
        while let Some(event) = self.ends.peek() {
            let Reverse((_, message, stamp)) = *event;
            if self.messages[message as usize].stamp == stamp {
                return Some(time(event));
            }
            self.ends.pop();
        }
        None
    }

    fn begin_all(&mut self, now_s: f64) {
        while let Some(event) = self.begins.peek().filter(|event| time(event) <= now_s) {
            let Reverse((_, number, _)) = *event;
            self.begins.pop();
            let message = &mut self.messages[number as usize];
            let way = message.way.take().expect("a message begins once");
            if message.left <= 0.0 {
                self.arrived.push_back(Arrival { message: number, at_s: now_s });
                continue;
            }
            match way {
                Way::Alone(rate) => {
                    let at_s = now_s + message.left / rate;
                    self.ends.push(Reverse((at_s.to_bits(), number, message.stamp)));
                }
                Way::Shared { weight, steps } => {
                    let flow = self.links.open(weight, steps);
                    message.flow = Some(flow);
                    let place = flow as usize;
                    if place >= self.message_of.len() {
                        self.message_of.resize(place + 1, 0);
                    }
                    self.message_of[place] = number;
                }
            }
        }
    }

    /// Ends the messages whose time has come.
    fn end_all(&mut self, first_s: f64) {
        let last_s = first_s * (1.0 + self.grain);
        while let Some(end_s) = self.next_end().filter(|end_s| *end_s <= last_s) {
            let Some(Reverse((_, number, _))) = self.ends.pop() else { break };
            let message = &mut self.messages[number as usize];
            message.stamp = u32::MAX;
            if let Some(flow) = message.flow.take() {
                self.links.close(flow);
            }
            self.now_s = end_s;
            self.arrived.push_back(Arrival { message: number, at_s: end_s });
        }
    }

    /// Computes rates again where flows came or went, and when their messages will arrive.
    fn share(&mut self) {
        let affected = self.links.share().to_vec();
        self.events += u64::from(!affected.is_empty());
        for flow in affected {
            let number = self.message_of[flow as usize];
            let rate = self.links.rate(flow);
            let message = &mut self.messages[number as usize];
            if rate.to_bits() == message.rate.to_bits() {
                continue;
            }
            let moved = (self.now_s - message.since_s).max(0.0) * message.rate;
            message.left = (message.left - moved).max(0.0);
            message.since_s = self.now_s;
            message.rate = rate;
            message.stamp += 1;
            let at_s = self.now_s + message.left / rate;
            self.ends.push(Reverse((at_s.to_bits(), number, message.stamp)));
        }
    }
}

fn time(event: &Event) -> f64 {
    f64::from_bits(event.0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn over(links: &[u32]) -> Way {
        let steps = links.iter().map(|&link| Step { link, flows: 1.0 }).collect();
        Way::Shared { weight: 1.0, steps }
    }

    fn arrivals(engine: &mut Engine) -> Vec<(u32, f64)> {
        let next = || engine.next_arrival().map(|own| (own.message, own.at_s));
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_flow_has_what_another_leaves_and_all_after_that_has_ended() {
        // By hand: 30 and 10 bytes over a link of 2 bytes a second. Both get 1 until the small one
        // ends at 10 s; 20 bytes are left, and take 10 s more.
        let mut engine = Engine::new(&[2.0]);
        engine.begin(0.0, 30.0, over(&[0]));
        engine.begin(0.0, 10.0, over(&[0]));
        assert_eq!(arrivals(&mut engine), [(1, 10.0), (0, 20.0)]);
    }

    #[test]
    fn one_that_begins_later_slows_who_is_there() {
        // Alone for 5 s, then half of 2 bytes a second: 20 - 10 bytes take 10 s more.
        let mut engine = Engine::new(&[2.0, 9.0]);
        engine.begin(0.0, 20.0, over(&[0, 1]));
        engine.begin(5.0, 100.0, over(&[0]));
        assert_eq!(arrivals(&mut engine), [(0, 15.0), (1, 60.0)]);
    }

    #[test]
    fn what_is_empty_or_alone_waits_for_nobody() {
        let mut engine = Engine::new(&[1.0]);
        engine.begin(0.0, 8.0, over(&[0]));
        engine.begin(1.0, 0.0, over(&[0]));
        engine.begin(0.0, 8.0, Way::Alone(4.0));
        assert_eq!(arrivals(&mut engine), [(1, 1.0), (2, 2.0), (0, 8.0)]);
    }

    #[test]
    fn a_message_may_follow_an_arrival() {
        let mut engine = Engine::new(&[1.0]);
        engine.begin(0.0, 3.0, over(&[0]));
        let first = engine.next_arrival().expect("it arrives");
        engine.begin(first.at_s + 1.0, 2.0, over(&[0]));
        assert_eq!(arrivals(&mut engine), [(1, 6.0)]);
    }

    proptest! {
        #[test]
        fn a_link_that_all_cross_is_never_idle_and_carries_all_bytes(
            sizes in prop::collection::vec((1.0..1e6_f64, 0_u32..4), 1..20),
        ) {
            // Each flow has a second link, which is wide, beside the one that all share.
            let mut engine = Engine::new(&[1e3, 1e9, 1e9, 1e9, 1e9]);
            for (bytes, other) in &sizes {
                engine.begin(0.0, *bytes, over(&[0, 1 + other]));
            }
            let ends = arrivals(&mut engine);
            prop_assert_eq!(ends.len(), sizes.len());
            let all: f64 = sizes.iter().map(|own| own.0).sum();
            let last = ends.last().map_or(0.0, |own| own.1);
            prop_assert!((last / (all / 1e3) - 1.0).abs() < 1e-9, "{} and {}", last, all / 1e3);
            prop_assert!(ends.windows(2).all(|pair| pair[0].1 <= pair[1].1), "in order of time");
        }
    }
}
