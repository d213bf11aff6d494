//! What lies between hosts.

use super::shape::{Cable, Shape};

/// What lies between hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// Bits a second that a host can send, in millions, or, of a shape, that each link passes in
    /// each direction; without bound if absent.
    pub rate_mbit: Option<f64>,
    /// The same for links along X, Y and Z, where they differ.
    pub rates_mbit: Option<[f64; 3]>,
    /// How long a packet travels, or, of a shape, how long along each link, in microseconds.
    pub delay_us: f64,
    /// Share of packets that are lost, in per cent.
    pub loss_percent: f64,
    /// Links from host to host; one switch if absent.
    pub shape: Option<Shape>,
    /// Links of a shape that are otherwise than the others, each named once.
    pub links: Vec<OwnLink>,
}

/// A link that has a rate or a delay of its own, in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnLink {
    /// The two hosts, in any order.
    pub between: [u32; 2],
    /// Bits a second in millions; as of the others if absent.
    pub rate_mbit: Option<f64>,
    /// How long a packet travels, in microseconds; as along the others if absent.
    pub delay_us: Option<f64>,
}

impl Network {
    /// Bits a second that a link passes in each direction, in millions; without bound if absent.
    pub fn rate_of(&self, cable: &Cable) -> Option<f64> {
        let own = self.own(cable).and_then(|own| own.rate_mbit);
        own.or(self.rates_mbit.map(|rates| rates[cable.axis])).or(self.rate_mbit)
    }

    /// How long a packet travels along a link, in microseconds.
    pub fn delay_us_of(&self, cable: &Cable) -> f64 {
        self.own(cable).and_then(|own| own.delay_us).unwrap_or(self.delay_us)
    }

    fn own(&self, cable: &Cable) -> Option<&OwnLink> {
        self.links.iter().find(|own| cable.joins(own.between))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_is_named_has_its_own_values_and_the_rest_those_of_all() {
        let shape = Shape::new(&[4], true).expect("a ring of four");
        let network = Network {
            rates_mbit: Some([20.0, 1.0, 1.0]),
            delay_us: 100.0,
            links: vec![
                OwnLink { between: [1, 0], rate_mbit: Some(5.0), delay_us: None },
                OwnLink { between: [0, 3], rate_mbit: None, delay_us: Some(0.0) },
            ],
            shape: Some(shape),
            ..Network::default()
        };
        let of = |between| {
            let cable = shape.cable(between).expect("neighbours");
            (network.rate_of(&cable), network.delay_us_of(&cable))
        };
        assert_eq!(of([0, 1]), (Some(5.0), 100.0), "a rate of its own, the delay of all");
        assert_eq!(of([3, 0]), (Some(20.0), 0.0), "no delay, round the ring");
        assert_eq!(of([1, 2]), (Some(20.0), 100.0));
    }
}
