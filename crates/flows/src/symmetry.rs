//! Flows that must have equal rates, found before any rate is computed: colours of flows and links
//! that are refined until none says more than the one before.
//!
//! At first a flow's colour is its size, weight and begin, a link's its capacity. In each round a
//! link gets a colour of its own and those of its flows, a flow one of its own and those of its
//! links, with their multiplicities. Where no round tells more apart, all flows of a colour see the
//! same on all of their links: so they have the same rate at each moment, and begin and end
//! together. One of them stands for all ([`crate::links::Step::flows`]).
//!
//! Colours are hashes of 64 bits. That two of a million different ones collide has a probability
//! below 10^-7, and the rates of the flows of both would then be computed as if they were alike.

/// Routes, one after the other: those of flow `f` are `links[starts[f]..starts[f + 1]]`.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// Where the links of each flow begin, and where the last ends.
    pub starts: Vec<u32>,
    /// The links of all flows.
    pub links: Vec<u32>,
}

impl Routes {
    /// No flow yet.
    pub fn new() -> Self {
        Self { starts: vec![0], links: Vec::new() }
    }

    /// Adds a flow.
    pub fn push(&mut self, links: &[u32]) {
        self.links.extend_from_slice(links);
        self.starts.push(self.links.len() as u32);
    }

    /// How many flows there are.
    pub fn flows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The links of a flow.
    pub fn of(&self, flow: usize) -> &[u32] {
        &self.links[self.starts[flow] as usize..self.starts[flow + 1] as usize]
    }
}

/// Classes of flows and links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classes {
    /// The class of each flow.
    pub of_flow: Vec<u32>,
    /// The class of each link.
    pub of_link: Vec<u32>,
}

/// The classes of flows, by what each is at first and by the links that it shares.
pub fn classes(routes: &Routes, flows: &[u64], links: &[u64]) -> Classes {
    let (mut flows, mut links) = (flows.to_vec(), links.to_vec());
    let mut told_apart = (0, 0);
    loop {
        let now = (distinct(&flows), distinct(&links));
        if now == told_apart {
            break;
        }
        told_apart = now;
        refine_links(routes, &flows, &mut links);
        refine_flows(routes, &links, &mut flows);
    }
    Classes { of_flow: numbered(&flows), of_link: numbered(&links) }
}

fn refine_links(routes: &Routes, flows: &[u64], links: &mut [u64]) {
    let mut sums = vec![0_u64; links.len()];
    for (flow, colour) in flows.iter().enumerate() {
        let own = mixed(*colour);
        for link in routes.of(flow) {
            let sum = &mut sums[*link as usize];
            *sum = sum.wrapping_add(own);
        }
    }
    for (link, sum) in links.iter_mut().zip(sums) {
        *link = colour(&[*link, sum]);
    }
}

fn refine_flows(routes: &Routes, links: &[u64], flows: &mut [u64]) {
    for (flow, own) in flows.iter_mut().enumerate() {
        let of_links = routes.of(flow).iter().map(|link| mixed(links[*link as usize]));
        *own = colour(&[*own, of_links.fold(0_u64, u64::wrapping_add)]);
    }
}

/// A colour that says all of these, in their order.
pub fn colour(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |all, own| mixed(all ^ mixed(*own)).rotate_left(23))
}

/// A hash of a number: the finaliser of SplitMix64.
fn mixed(number: u64) -> u64 {
    let mut own = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    own = (own ^ (own >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    own = (own ^ (own >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    own ^ (own >> 31)
}

fn sorted(colours: &[u64]) -> Vec<u64> {
    let mut sorted = colours.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted
}

fn distinct(colours: &[u64]) -> usize {
    sorted(colours).len()
}

/// Numbers from 0 in place of colours.
fn numbered(colours: &[u64]) -> Vec<u32> {
    let sorted = sorted(colours);
    colours.iter().map(|own| sorted.partition_point(|other| other < own) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(routes: &[&[u32]], links: usize) -> Classes {
        let mut all = Routes::new();
        for route in routes {
            all.push(route);
        }
        classes(&all, &vec![1; routes.len()], &vec![7; links])
    }

    fn alike(classes: &Classes, flows: [usize; 2]) -> bool {
        classes.of_flow[flows[0]] == classes.of_flow[flows[1]]
    }

    #[test]
    fn neighbours_on_a_ring_are_alike() {
        let found = of(&[&[0, 1], &[1, 2], &[2, 3], &[3, 0]], 4);
        assert!((1..4).all(|flow| alike(&found, [0, flow])), "{found:?}");
    }

    #[test]
    fn at_the_end_of_a_row_a_flow_is_another_one_than_in_its_middle() {
        // Links 0 to 3 have one flow, two, two and one; the second flow shares both of its links.
        let found = of(&[&[0, 1], &[1, 2], &[2, 3]], 4);
        assert!(alike(&found, [0, 2]) && !alike(&found, [0, 1]), "{found:?}");
        assert_eq!(found.of_link[0], found.of_link[3]);
    }

    #[test]
    fn what_differs_only_far_away_is_told_apart() {
        // Two rows of three flows; the last of the second shares with one more.
        let rows: [&[u32]; 7] = [&[0, 1], &[1, 2], &[2, 3], &[4, 5], &[5, 6], &[6, 7], &[7]];
        let found = of(&rows, 8);
        assert!(!alike(&found, [0, 3]), "{found:?}");
    }

    #[test]
    fn sizes_tell_flows_apart() {
        let mut routes = Routes::new();
        routes.push(&[0]);
        routes.push(&[1]);
        let found = classes(&routes, &[8, 9], &[7, 7]);
        assert_ne!(found.of_flow[0], found.of_flow[1]);
    }
}
