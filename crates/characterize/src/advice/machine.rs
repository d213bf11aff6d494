//! The machine that advice is about: its nodes, places for ranks, network and costs.

use std::collections::BTreeMap;

use tidings_experiment::series::{Record, Series};
use tidings_flows::shape::Shape;

use super::costs::Costs;
use super::error::AdviceError;
use crate::point::{Characterisation, characterisation};
use crate::row::{Places, Row};

/// A machine that was characterised.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name in the series.
    pub name: String,
    /// The names of its nodes, in the order of their numbers.
    pub nodes: Vec<String>,
    /// Ranks on each node.
    pub each: u32,
    /// The network, if its shape is known.
    pub network: Option<Shape>,
    /// What messages cost.
    pub costs: Costs,
}

impl Machine {
    /// The machine of this name in a series, or the one there is. Machines of a series that have
    /// the same nodes are one.
    ///
    /// # Errors
    /// [`AdviceError`] if the name fits none or several, or something was not measured.
    pub fn of(
        series: &Series,
        records: &[Record],
        name: Option<&str>,
    ) -> Result<Self, AdviceError> {
        let mut places: BTreeMap<&str, Places> = BTreeMap::new();
        for record in records {
            for row in record.rows.iter().filter_map(Row::of) {
                let Row::Places(own) = row else { continue };
                let before = places.get(record.machine.as_str());
                if before.is_none_or(|before| before.node_of.len() <= own.node_of.len()) {
                    places.insert(&record.machine, own);
                }
            }
        }
        let chosen = chosen(series, &places, name)?;
        let own = records.iter().filter(|record| chosen.contains(&record.machine.as_str()));
        let own: Vec<Record> = own.cloned().collect();
        Self::of_one(chosen[0], &characterisation(series, &own))
    }

    /// The machine of a characterisation of one.
    ///
    /// # Errors
    /// [`AdviceError::NotMeasured`].
    pub fn of_one(name: &str, all: &Characterisation) -> Result<Self, AdviceError> {
        let lacking = AdviceError::NotMeasured { what: "place of any rank", test: "pair" };
        let places =
            all.places.as_ref().filter(|places| !places.names.is_empty()).ok_or(lacking)?;
        let nodes = places.names.clone();
        let mut ranks_of = vec![0_u32; nodes.len()];
        for &node in &places.node_of {
            // A row may say anything; what names no node says nothing.
            if let Some(count) = ranks_of.get_mut(node as usize) {
                *count += 1;
            }
        }
        Ok(Self {
            name: name.to_owned(),
            each: ranks_of.iter().copied().max().unwrap_or(1).max(1),
            network: network(places, nodes.len()),
            costs: Costs::of(&all.points, nodes.len())?,
            nodes,
        })
    }

    /// The same machine with another network.
    ///
    /// # Errors
    /// [`AdviceError::Network`] if that has not as many nodes.
    pub fn with_network(self, shape: Shape) -> Result<Self, AdviceError> {
        let (given, nodes) = (shape.nodes(), self.nodes.len());
        if given as usize != nodes {
            return Err(AdviceError::Network { kind: shape.kind(), given, nodes });
        }
        Ok(Self { network: Some(shape), ..self })
    }

    /// Places for ranks: on each node as many as were measured.
    pub fn slots(&self) -> usize {
        self.nodes.len() * self.each as usize
    }

    /// The node of a place.
    pub fn node_of(&self, slot: usize) -> usize {
        slot / self.each as usize
    }
}

/// The network that a row names, if it has as many nodes.
fn network(places: &Places, nodes: usize) -> Option<Shape> {
    let (kind, counts) = places.network()?;
    let shape = Shape::of_kind(kind, &counts)?.ok()?;
    (shape.nodes() as usize == nodes).then_some(shape)
}

/// The machines of this name, or all that are the same.
fn chosen<'a>(
    series: &'a Series,
    places: &BTreeMap<&'a str, Places>,
    name: Option<&str>,
) -> Result<Vec<&'a str>, AdviceError> {
    let known = || places.keys().copied().collect::<Vec<_>>().join(", ");
    let lacking = AdviceError::NotMeasured { what: "place of any rank", test: "pair" };
    let (&first, own) = places.iter().next().ok_or(lacking)?;
    if let Some(name) = name {
        let found = places.keys().copied().find(|known| *known == name);
        let given = name.to_owned();
        return found
            .map(|found| vec![found])
            .ok_or_else(|| AdviceError::UnknownMachine { given, known: known() });
    }
    let is_here = |name: &str| {
        let found = series.machines.iter().find(|machine| machine.name == name);
        found.is_some_and(|machine| machine.backend.is_here())
    };
    let alike = |(name, other): (&&str, &Places)| {
        other.names == own.names
            && other.network() == own.network()
            && is_here(name)
            && is_here(first)
    };
    if places.len() > 1 && !places.iter().all(alike) {
        return Err(AdviceError::SeveralMachines(known()));
    }
    Ok(places.keys().copied().collect())
}
