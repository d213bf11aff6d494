//! Links that flows share: weighted max-min fairness, by progressive filling.
//!
//! The rates of all flows grow together, each by its weight, until a link is full; its flows keep
//! their rates, and the others grow on. A link's level is what it has free by the sum of the
//! weights of its flows that still grow; the lowest level fills first, and levels only rise, so a
//! heap needs no order but the one it has.
//!
//! A step of a flow may stand for several equal flows on one link (see [`crate::symmetry`]): then
//! they are counted by it. When flows come or go, only those are shared out again that are
//! connected to them by links.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A link on the way of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The link.
    pub link: u32,
    /// How many flows like this one cross that link.
    pub flows: f64,
}

/// A flow on links.
#[derive(Debug, Default)]
struct Flow {
    weight: f64,
    rate: f64,
    steps: Vec<Step>,
    is_open: bool,
    /// The last sharing that saw it, and the last in which its rate was fixed.
    seen: u32,
    fixed: u32,
}

/// A link.
#[derive(Debug, Default)]
struct Link {
    capacity: f64,
    crossing: Vec<(u32, f64)>,
    /// What is left, and the weights that still grow, in the sharing that is on.
    free: f64,
    load: f64,
    growing: u32,
    seen: u32,
}

/// Links, and the flows on them.
#[derive(Debug)]
pub struct Links {
    all: Vec<Link>,
    flows: Vec<Flow>,
    /// Links whose flows have changed since the last sharing.
    touched: Vec<u32>,
    /// Flows that have ended, and whose places can be used again after the next sharing.
    closed: Vec<u32>,
    vacant: Vec<u32>,
    sharing: u32,
    affected: Vec<u32>,
}

impl Links {
    /// Links with these capacities, in bytes a second.
    pub fn new(capacities: &[f64]) -> Self {
        let link = |&capacity: &f64| Link { capacity, ..Link::default() };
        Self {
            all: capacities.iter().map(link).collect(),
            flows: Vec::new(),
            touched: Vec::new(),
            closed: Vec::new(),
            vacant: Vec::new(),
            sharing: 0,
            affected: Vec::new(),
        }
    }

    /// Puts a flow on links, each of which it names once; its rate is known after the next
    /// [`Links::share`].
    pub fn open(&mut self, weight: f64, steps: Vec<Step>) -> u32 {
        let place = self.vacant.pop().unwrap_or(self.flows.len() as u32);
        for step in &steps {
            self.all[step.link as usize].crossing.push((place, step.flows));
            self.touched.push(step.link);
        }
        let flow = Flow { weight, steps, is_open: true, ..Flow::default() };
        match self.flows.get_mut(place as usize) {
            Some(vacant) => *vacant = flow,
            None => self.flows.push(flow),
        }
        place
    }

    /// Takes a flow off its links.
    pub fn close(&mut self, flow: u32) {
        let own = &mut self.flows[flow as usize];
        own.is_open = false;
        self.touched.extend(own.steps.iter().map(|step| step.link));
        self.closed.push(flow);
    }

    /// What a flow gets, in bytes a second.
    pub fn rate(&self, flow: u32) -> f64 {
        self.flows[flow as usize].rate
    }

    /// Shares links out again where flows came or went; the flows whose rates may have changed.
    pub fn share(&mut self) -> &[u32] {
        self.affected.clear();
        if !self.touched.is_empty() {
            self.sharing += 1;
            let component = self.component();
            self.fill(&component);
        }
        for flow in self.closed.drain(..) {
            self.flows[flow as usize].steps = Vec::new();
            self.vacant.push(flow);
        }
        &self.affected
    }

    /// The links that are connected with touched ones by flows; the flows are left in `affected`.
    fn component(&mut self) -> Vec<u32> {
        let sharing = self.sharing;
        let mut found: Vec<u32> = Vec::new();
        for link in std::mem::take(&mut self.touched) {
            if std::mem::replace(&mut self.all[link as usize].seen, sharing) != sharing {
                found.push(link);
            }
        }
        let mut at = 0;
        while let Some(&link) = found.get(at) {
            at += 1;
            let flows = &self.flows;
            let mut crossing = std::mem::take(&mut self.all[link as usize].crossing);
            crossing.retain(|(flow, _)| flows[*flow as usize].is_open);
            for &(flow, _) in &crossing {
                let own = &mut self.flows[flow as usize];
                if std::mem::replace(&mut own.seen, sharing) == sharing {
                    continue;
                }
                self.affected.push(flow);
                for step in &own.steps {
                    let link = &mut self.all[step.link as usize];
                    if std::mem::replace(&mut link.seen, sharing) != sharing {
                        found.push(step.link);
                    }
                }
            }
            self.all[link as usize].crossing = crossing;
        }
        found
    }

    /// Progressive filling of some links, which no other flow crosses.
    fn fill(&mut self, component: &[u32]) {
        let mut lowest = BinaryHeap::with_capacity(component.len());
        for &number in component {
            let link = &mut self.all[number as usize];
            link.free = link.capacity;
            link.growing = link.crossing.len() as u32;
            let weight = |&(flow, times): &(u32, f64)| self.flows[flow as usize].weight * times;
            link.load = link.crossing.iter().map(weight).sum();
            if link.growing > 0 {
                lowest.push(Reverse((level(link).to_bits(), number)));
            }
        }
        while let Some(Reverse((bits, number))) = lowest.pop() {
            let link = &self.all[number as usize];
            if link.growing == 0 {
                continue;
            }
            let now = level(link);
            if now > f64::from_bits(bits) {
                lowest.push(Reverse((now.to_bits(), number)));
                continue;
            }
            self.fix(number, now);
        }
    }

    /// A link is full: its flows that still grow keep what they have.
    fn fix(&mut self, number: u32, level: f64) {
        let crossing = std::mem::take(&mut self.all[number as usize].crossing);
        for &(flow, _) in &crossing {
            let own = &mut self.flows[flow as usize];
            if std::mem::replace(&mut own.fixed, self.sharing) == self.sharing {
                continue;
            }
            own.rate = level * own.weight;
            for step in &own.steps {
                let link = &mut self.all[step.link as usize];
                link.free = (link.free - step.flows * own.rate).max(0.0);
                link.load = (link.load - step.flows * own.weight).max(0.0);
                link.growing -= 1;
            }
        }
        self.all[number as usize].crossing = crossing;
    }
}

/// What a flow of weight one would get if this link alone bounded it. What is left of sums that
/// cancel may be 0 by rounding: then the link bounds nothing but what is not free.
fn level(link: &Link) -> f64 {
    if link.load > 0.0 { link.free / link.load } else { f64::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Flows by weight and links, on links of these capacities.
    #[derive(Clone, Debug)]
    struct Case {
        capacities: Vec<f64>,
        flows: Vec<(f64, Vec<u32>)>,
    }

    fn steps(links: &[u32]) -> Vec<Step> {
        links.iter().map(|&link| Step { link, flows: 1.0 }).collect()
    }

    fn rates(case: &Case) -> Vec<f64> {
        let mut links = Links::new(&case.capacities);
        let flows: Vec<u32> =
            case.flows.iter().map(|(weight, own)| links.open(*weight, steps(own))).collect();
        links.share();
        flows.into_iter().map(|flow| links.rate(flow)).collect()
    }

    fn cases() -> impl Strategy<Value = Case> {
        (2_u32..9).prop_flat_map(|count| {
            let flow = (
                prop::sample::select(vec![1.0, 0.5, 3.0, 0.3]),
                prop::collection::btree_set(0..count, 1..4)
                    .prop_map(|own| own.into_iter().collect()),
            );
            (
                prop::collection::vec(0.5..20.0_f64, count as usize),
                prop::collection::vec(flow, 1..24),
            )
                .prop_map(|(capacities, flows)| Case { capacities, flows })
        })
    }

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
    }

    #[test]
    fn solutions_by_hand() {
        // A flow over both links and one on each: the first link, of 1, halves; the second, of 2,
        // leaves 1.5 to its own.
        let linear = Case {
            capacities: vec![1.0, 2.0],
            flows: vec![(1.0, vec![0, 1]), (1.0, vec![0]), (1.0, vec![1])],
        };
        assert_eq!(rates(&linear), [0.5, 0.5, 1.5]);
        // With a third of the weight the long one gets a quarter of the first link.
        let mut weighted = linear.clone();
        weighted.flows[0].0 = 1.0 / 3.0;
        let found = rates(&weighted);
        let expected = [0.25, 0.75, 1.75];
        assert!(found.iter().zip(expected).all(|(one, other)| near(*one, other)), "{found:?}");
        // Bertsekas and Gallager, figure 6.13: five flows, links of 1; a link of three flows fills
        // first, then one of two.
        let five = Case {
            capacities: vec![1.0; 4],
            flows: vec![
                (1.0, vec![0, 1]),
                (1.0, vec![0]),
                (1.0, vec![0]),
                (1.0, vec![1, 2]),
                (1.0, vec![3]),
            ],
        };
        let third = 1.0 / 3.0;
        let expected = [third, third, third, 2.0 * third, 1.0];
        assert!(rates(&five).iter().zip(expected).all(|(one, other)| near(*one, other)));
    }

    #[test]
    fn a_flow_that_stands_for_three_takes_three_parts() {
        let mut links = Links::new(&[4.0]);
        let three = links.open(1.0, vec![Step { link: 0, flows: 3.0 }]);
        let one = links.open(1.0, steps(&[0]));
        links.share();
        assert_eq!((links.rate(three), links.rate(one)), (1.0, 1.0));
    }

    proptest! {
        #[test]
        fn no_link_is_above_its_capacity_and_every_flow_has_a_bottleneck(case in cases()) {
            let rates = rates(&case);
            let carried = |link: usize| -> f64 {
                let own = case.flows.iter().zip(&rates);
                own.filter(|((_, links), _)| links.contains(&(link as u32))).map(|own| own.1).sum()
            };
            let share = |flow: usize| rates[flow] / case.flows[flow].0;
            for (link, capacity) in case.capacities.iter().enumerate() {
                prop_assert!(carried(link) <= capacity * (1.0 + 1e-9), "{link}: {rates:?}");
            }
            for (flow, (_, links)) in case.flows.iter().enumerate() {
                let is_bottleneck = |link: &u32| {
                    let most = (0..case.flows.len())
                        .filter(|other| case.flows[*other].1.contains(link))
                        .map(share)
                        .fold(0.0, f64::max);
                    let full = case.capacities[*link as usize] * (1.0 - 1e-9);
                    carried(*link as usize) >= full && share(flow) >= most * (1.0 - 1e-9)
                };
                prop_assert!(links.iter().any(is_bottleneck), "flow {flow}: {rates:?}");
            }
        }

        #[test]
        fn the_order_of_flows_changes_nothing(case in cases(), turn in 0_usize..24) {
            let mut turned = case.clone();
            let by = turn % turned.flows.len();
            turned.flows.rotate_left(by);
            let mut found = rates(&turned);
            found.rotate_right(by);
            for (one, other) in rates(&case).iter().zip(&found) {
                prop_assert!(near(*one, *other), "{one} and {other}");
            }
        }

        #[test]
        fn flows_that_come_and_go_leave_the_rates_of_those_that_stay(
            case in cases(),
            gone in prop::collection::vec(any::<bool>(), 24),
        ) {
            let mut links = Links::new(&case.capacities);
            let mut flows = Vec::new();
            for (weight, own) in &case.flows {
                flows.push(links.open(*weight, steps(own)));
                links.share();
            }
            let mut left = case.clone();
            left.flows.clear();
            let mut staying = Vec::new();
            for ((flow, own), gone) in flows.iter().zip(&case.flows).zip(gone) {
                if gone {
                    links.close(*flow);
                    links.share();
                } else {
                    staying.push(*flow);
                    left.flows.push(own.clone());
                }
            }
            for (flow, rate) in staying.into_iter().zip(rates(&left)) {
                prop_assert!(near(links.rate(flow), rate), "{} and {rate}", links.rate(flow));
            }
        }
    }
}
