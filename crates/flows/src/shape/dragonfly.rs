//! A dragonfly: groups of chassis of routers. Routers of a chassis are linked all to all, routers
//! at the same place of all chassis of a group too, and each two groups by one link.
//!
//! Routes are minimal, as in SimGrid, whose link between groups i and j ends at router j of the
//! first chassis of group i. As there, a message that goes to another place of its group takes the
//! link to the chassis from the first one, wherever it was before.

use super::counts::{given, nodes_of};
use crate::error::FlowsError;

/// Links between two groups, and between two chassis, as Cray's Aries has them.
const BETWEEN_GROUPS: f64 = 4.0;
const BETWEEN_CHASSIS: f64 = 3.0;

/// A dragonfly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dragonfly {
    groups: u32,
    chassis: u32,
    routers: u32,
    each: u32,
    nodes: u32,
}

/// A router, by its place.
#[derive(Clone, Copy, PartialEq)]
struct Router {
    group: u32,
    chassis: u32,
    place: u32,
}

impl Dragonfly {
    /// The dragonfly of so many groups, chassis a group, routers a chassis and nodes a router.
    ///
    /// # Errors
    /// [`FlowsError`] for other than four counts, more groups than routers a chassis, or too many
    /// nodes.
    pub fn new(counts: &[u32]) -> Result<Self, FlowsError> {
        let [groups, chassis, routers, each] = match *counts {
            [groups, chassis, routers, each] if groups <= routers => {
                [groups, chassis, routers, each]
            }
            _ => {
                let remedy = "write groups, chassis a group, routers a chassis and nodes a router, \
                              not more groups than routers a chassis, as in 8,4,8,4";
                let given = given(counts);
                return Err(FlowsError::Shape { network: "dragonfly", given, remedy });
            }
        };
        Ok(Self { groups, chassis, routers, each, nodes: nodes_of("dragonfly", counts)? })
    }

    pub(super) fn nodes(&self) -> u32 {
        self.nodes
    }

    pub(super) fn counts(&self) -> [u32; 4] {
        [self.groups, self.chassis, self.routers, self.each]
    }

    /// The node that a link leaves, if it is the one up from a node.
    pub(super) fn begin_of(&self, link: u32) -> Option<u32> {
        (link < 2 * self.nodes && link % 2 == 0).then_some(link / 2)
    }

    pub(super) fn worst_hops(&self) -> u32 {
        let within = u32::from(self.chassis > 1) + u32::from(self.routers > 1);
        2 + if self.groups > 1 { 1 + 2 * within } else { within }
    }

    fn of_group(&self) -> u32 {
        self.chassis * self.routers
    }

    /// How many routers there are.
    fn all_routers(&self) -> u32 {
        self.groups * self.of_group()
    }

    /// Links of nodes, up and down; then of routers to places of the chassis, chassis and groups.
    pub(super) fn widths(&self) -> Vec<f64> {
        let all = self.all_routers() as usize;
        let mut widths = vec![1.0; 2 * self.nodes as usize + all * self.routers as usize];
        widths.resize(widths.len() + all * self.chassis as usize, BETWEEN_CHASSIS);
        widths.resize(widths.len() + (self.groups * self.groups) as usize, BETWEEN_GROUPS);
        widths
    }

    fn number(&self, router: Router) -> u32 {
        router.group * self.of_group() + router.chassis * self.routers + router.place
    }

    fn router(&self, node: u32) -> Router {
        let number = node / self.each;
        let rest = number % self.of_group();
        Router {
            group: number / self.of_group(),
            chassis: rest / self.routers,
            place: rest % self.routers,
        }
    }

    fn to_place(&self, from: Router, place: u32) -> u32 {
        2 * self.nodes + self.number(from) * self.routers + place
    }

    fn to_chassis(&self, from: Router, chassis: u32) -> u32 {
        let before = 2 * self.nodes + self.all_routers() * self.routers;
        before + self.number(from) * self.chassis + chassis
    }

    fn to_group(&self, from: u32, to: u32) -> u32 {
        let before = 2 * self.nodes + self.all_routers() * (self.routers + self.chassis);
        before + from * self.groups + to
    }

    pub(super) fn route(&self, from: u32, to: u32, route: &mut Vec<u32>) {
        let (mut at, target) = (self.router(from), self.router(to));
        route.push(2 * from);
        if at != target {
            if at.group != target.group {
                at = self.leave(at, target.group, route);
            }
            if at.place != target.place {
                route.push(self.to_place(at, target.place));
                at = Router { chassis: 0, place: target.place, ..at };
            }
            if at.chassis != target.chassis {
                route.push(self.to_chassis(at, target.chassis));
            }
        }
        route.push(2 * to + 1);
    }

    /// From a router to the first one of another group.
    fn leave(&self, mut at: Router, group: u32, route: &mut Vec<u32>) -> Router {
        if at.place != group {
            route.push(self.to_place(at, group));
            at.place = group;
        }
        if at.chassis != 0 {
            route.push(self.to_chassis(at, 0));
            at.chassis = 0;
        }
        route.push(self.to_group(at.group, group));
        Router { group, chassis: 0, place: at.group }
    }
}
