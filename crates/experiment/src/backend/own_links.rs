//! Links with values of their own, as a campaign file names them: by the two hosts between which
//! each lies.

use serde::Deserialize;
use toml::Spanned;

use super::bounds::{delay, rate};
use crate::ExperimentError;
use crate::hosts::{OwnLink, Shape};
use crate::text::Source;

/// One of the tables `links`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkText {
    between: Spanned<Vec<u32>>,
    rate_mbit: Option<Spanned<f64>>,
    delay_us: Option<Spanned<f64>>,
}

/// The links that are named, each of which is there, once, and has something of its own.
///
/// # Errors
/// [`ExperimentError::Campaign`] with the entry that cannot be.
pub(super) fn own_links(
    place: &Source<'_>,
    given: Option<&Spanned<Vec<Spanned<LinkText>>>>,
    shape: Option<Shape>,
) -> Result<Vec<OwnLink>, ExperimentError> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let Some(shape) = shape else {
        let reason = "links is of a torus or a mesh: name one, or remove links, since hosts on a \
                      switch have none from one to the next";
        return Err(place.refuse(given, reason));
    };
    let mut links: Vec<OwnLink> = Vec::new();
    for text in given.get_ref() {
        let link = own_link(place, text, shape)?;
        let [one, other] = link.between;
        let is_same = |own: &OwnLink| [[one, other], [other, one]].contains(&own.between);
        if links.iter().any(is_same) {
            let reason = format!(
                "the link between {one} and {other} is named twice: give it both values in one \
                 entry, which holds for both directions"
            );
            return Err(place.refuse(&text.get_ref().between, reason));
        }
        links.push(link);
    }
    Ok(links)
}

fn own_link(
    place: &Source<'_>,
    text: &Spanned<LinkText>,
    shape: Shape,
) -> Result<OwnLink, ExperimentError> {
    let own = text.get_ref();
    let given = own.between.get_ref().as_slice();
    let between = <[u32; 2]>::try_from(given).map_err(|_| {
        let reason = format!("{given:?} is no link: write two hosts, such as [0, 1]");
        place.refuse(&own.between, reason)
    })?;
    must_be_neighbours(shape, between).map_err(|reason| place.refuse(&own.between, reason))?;
    if own.rate_mbit.is_none() && own.delay_us.is_none() {
        let [one, other] = between;
        let reason = format!(
            "the link between {one} and {other} has nothing of its own: give it rate_mbit or \
             delay_us, or remove it"
        );
        return Err(place.refuse(text, reason));
    }
    let rate_mbit = rate(place, own.rate_mbit.as_ref())?;
    let delay_us = delay(place, own.delay_us.as_ref())?;
    Ok(OwnLink { between, rate_mbit, delay_us })
}

/// What is wrong with two hosts that have no link.
fn must_be_neighbours(shape: Shape, between: [u32; 2]) -> Result<(), String> {
    let last = shape.hosts() - 1;
    if let Some(stranger) = between.iter().find(|host| **host > last) {
        return Err(format!("there is no host {stranger}: the {shape} has hosts 0 to {last}"));
    }
    if shape.cable(between).is_some() {
        return Ok(());
    }
    let [one, other] = between;
    let neighbours: Vec<String> = shape.neighbours(one).iter().map(u32::to_string).collect();
    Err(format!(
        "hosts {one} and {other} have no link in the {shape}: {one} has links to {}",
        neighbours.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::backend::{Backend, BackendText};
    use crate::hosts::Network;

    /// The network of a backend with these keys, which stand on line 3 and after.
    fn network(keys: &str) -> Result<Network, String> {
        let text = format!("kind = \"hosts\"\nmpi = \"openmpi\"\n{keys}\n");
        let place = Source { path: Path::new("own.toml"), text: &text };
        let read = place.read::<BackendText>();
        let backend = read.and_then(|own| own.backend(&place, "hosts"));
        match backend.map_err(|error| error.to_string())? {
            Backend::Hosts(_, network) => Ok(network),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_link_is_named_by_its_hosts_and_has_a_rate_or_a_delay_or_both() {
        let own = network(
            "mesh = [4]\nrate_mbit = 20.0\nlinks = [\n  { between = [1, 0], rate_mbit = 4.5 },\n  \
             { between = [1, 2], delay_us = 500 },\n  \
             { between = [2, 3], rate_mbit = 9, delay_us = 0.0 },\n]",
        );
        let own = own.expect("right");
        let link = |between, rate_mbit, delay_us| OwnLink { between, rate_mbit, delay_us };
        let wanted = [
            link([1, 0], Some(4.5), None),
            link([1, 2], None, Some(500.0)),
            link([2, 3], Some(9.0), Some(0.0)),
        ];
        assert_eq!(own.links, wanted);
        assert_eq!((own.rate_mbit, own.delay_us.to_bits()), (Some(20.0), 0));
    }

    #[test]
    fn on_a_ring_of_two_the_one_link_is_that_between_both() {
        let own = network("torus = [2, 2]\nlinks = [{ between = [0, 2], delay_us = 5.0 }]");
        let own = own.expect("right");
        let of = |between| {
            let cable = own.shape.and_then(|shape| shape.cable(between)).expect("a link");
            own.delay_us_of(&cable)
        };
        assert_eq!(
            [of([2, 0]), of([0, 1]), of([1, 3])].map(f64::to_bits),
            [5.0_f64, 0.0, 0.0].map(f64::to_bits)
        );
    }

    #[test]
    fn what_is_no_link_of_its_own_is_refused_with_its_line_and_a_remedy() {
        let wrong = |entries: &str| format!("mesh = [4]\nlinks = [\n{entries}\n]");
        for (entries, wanted) in [
            (
                "{ between = [0, 2], rate_mbit = 1.0 }",
                "own.toml:5: hosts 0 and 2 have no link in the mesh of 4 x 1 x 1: 0 has \
                 links to 1",
            ),
            ("{ between = [1, 1], rate_mbit = 1.0 }", "1 has links to 0, 2"),
            (
                "{ between = [3, 4], rate_mbit = 1.0 }",
                "own.toml:5: there is no host 4: the mesh of 4 x 1 x 1 has hosts 0 to 3",
            ),
            (
                "{ between = [3], rate_mbit = 1.0 }",
                "own.toml:5: [3] is no link: write two hosts, such as [0, 1]",
            ),
            (
                "{ between = [0, -1], rate_mbit = 1.0 }",
                "own.toml:5: -1: write a whole number from 0 on",
            ),
            ("{ rate_mbit = 1.0 }", "own.toml:5: the key `between` is missing"),
            (
                "{ between = [0, 1] }",
                "own.toml:5: the link between 0 and 1 has nothing of its own: give it",
            ),
            ("{ between = [0, 1], rate = 1.0 }", "own.toml:5: unknown key `rate`: write"),
            (
                "{ between = [0, 1], rate_mbit = 1.0 },\n{ between = [1, 0], delay_us = 1.0 }",
                "own.toml:6: the link between 1 and 0 is named twice: give it both values",
            ),
            (
                "{ between = [0, 1], rate_mbit = 0.0 }",
                "own.toml:5: rate_mbit cannot be 0: write 0.1 to 100000",
            ),
            ("{ between = [0, 1], rate_mbit = nan }", "rate_mbit cannot be NaN"),
            (
                "{ between = [0, 1], delay_us = -1.0 }",
                "own.toml:5: delay_us cannot be -1: write 0 to 1000000",
            ),
        ] {
            let said = network(&wrong(entries)).expect_err(entries);
            assert!(said.contains(wanted), "{entries}: {said}");
        }
        let said =
            network("links = [{ between = [0, 1], rate_mbit = 1.0 }]").expect_err("a switch");
        assert!(said.contains("own.toml:3: links is of a torus or a mesh: name one"), "{said}");
    }

    #[test]
    fn other_backends_have_no_links() {
        let text = "kind = \"plain\"\nlinks = []\n";
        let place = Source { path: Path::new("own.toml"), text };
        let read = place.read::<BackendText>().expect("keys that there are");
        let said = read.backend(&place, "plain").expect_err("not here").to_string();
        assert!(
            said.contains("own.toml:2: links is no key of backend plain, but of hosts"),
            "{said}"
        );
    }
}
