//! Instances: what there is of each dependency, by its keys.
//!
//! Invariant: an instance has one version at a time, and all keys are of the types that their
//! dependency is declared with.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidings_tasks_core::tuple::{Field, MAX_FIELDS, Type};

use crate::work::MAX_NAME_BYTES;

use super::error::FlowError;
use super::key;
use super::version::Version;

/// A kind of data. Made by [`Flow::dependency_declare`](super::Flow::dependency_declare).
#[derive(Clone, Debug)]
pub struct Dependency(Arc<Kind>);

#[derive(Debug)]
struct Kind {
    flow: Arc<str>,
    number: usize,
    name: String,
    fields: Vec<Type>,
}

/// Where an instance lies: the number of its dependency, and the name of its key.
pub(super) type Place = (usize, Vec<u8>);

/// All instances of a flow.
#[derive(Debug)]
pub(super) struct Instances {
    flow: Arc<str>,
    dependencies: Vec<Dependency>,
    versions: BTreeMap<Place, Version>,
}

impl Dependency {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The types of the fields of its keys.
    pub fn fields(&self) -> &[Type] {
        &self.0.fields
    }

    /// How one of its instances is named for people.
    pub(super) fn shown(&self, key: &[Field]) -> String {
        key::shown(&self.0.name, key)
    }

    /// Where the instance under a key lies, or what is wrong with the key.
    pub(super) fn place(&self, key: &[Field]) -> Result<Place, FlowError> {
        let wrong = |wrong| FlowError::Fields { what: self.0.name.clone(), wrong };
        key::check(key, &self.0.fields).map_err(wrong)?;
        Ok((self.0.number, key::name(key)))
    }

    /// Whether a flow has declared it.
    ///
    /// # Errors
    /// Another one has.
    pub(super) fn check_flow(&self, flow: &Arc<str>) -> Result<(), FlowError> {
        check_flow(&self.0.name, &self.0.flow, flow)
    }
}

/// Whether what a flow has declared is used by that flow.
pub(super) fn check_flow(what: &str, by: &Arc<str>, flow: &Arc<str>) -> Result<(), FlowError> {
    if Arc::ptr_eq(by, flow) {
        return Ok(());
    }
    let [by, not_by] = [by, flow].map(|name| (**name).to_owned());
    Err(FlowError::OtherFlow { what: what.to_owned(), by, not_by })
}

/// Whether something can have a name, and so many fields.
pub(super) fn check_declaration(name: &str, fields: &[Type]) -> Result<(), FlowError> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains('\0') {
        return Err(FlowError::Name(name.chars().take(80).collect()));
    }
    if fields.len() > MAX_FIELDS {
        let wrong =
            format!("declared with {} fields; at most {MAX_FIELDS} are possible", fields.len());
        return Err(FlowError::Fields { what: name.to_owned(), wrong });
    }
    Ok(())
}

impl Instances {
    /// None yet, of a flow.
    pub(super) fn of(flow: Arc<str>) -> Self {
        Self { flow, dependencies: Vec::new(), versions: BTreeMap::new() }
    }

    /// The name of the flow, one and the same for all that it declares.
    pub(super) fn flow(&self) -> &Arc<str> {
        &self.flow
    }

    /// Declares a kind of data.
    pub(super) fn declare(&mut self, name: &str, fields: &[Type]) -> Result<Dependency, FlowError> {
        check_declaration(name, fields)?;
        if self.dependencies.iter().any(|one| one.name() == name) {
            return Err(FlowError::Declared(name.to_owned()));
        }
        let (flow, number) = (self.flow.clone(), self.dependencies.len());
        let kind = Kind { flow, number, name: name.to_owned(), fields: fields.to_vec() };
        let dependency = Dependency(Arc::new(kind));
        self.dependencies.push(dependency.clone());
        Ok(dependency)
    }

    /// Lets an instance be there that is not.
    pub(super) fn put(
        &mut self,
        dependency: &Dependency,
        key: &[Field],
        version: Version,
    ) -> Result<(), FlowError> {
        dependency.check_flow(&self.flow)?;
        let place = dependency.place(key)?;
        self.expect_room(&place, || dependency.shown(key))?;
        self.versions.insert(place, version);
        Ok(())
    }

    /// What an instance is now.
    pub(super) fn version(
        &self,
        dependency: &Dependency,
        key: &[Field],
    ) -> Result<&Version, FlowError> {
        dependency.check_flow(&self.flow)?;
        let version = self.versions.get(&dependency.place(key)?);
        version.ok_or_else(|| FlowError::Missing(dependency.shown(key)))
    }

    /// Whether nothing lies at a place.
    ///
    /// # Errors
    /// Something does.
    pub(super) fn expect_room(
        &self,
        place: &Place,
        shown: impl FnOnce() -> String,
    ) -> Result<(), FlowError> {
        if self.versions.contains_key(place) {
            return Err(FlowError::Occupied(shown()));
        }
        Ok(())
    }

    /// Lets an instance be this from now on.
    pub(super) fn set(&mut self, place: Place, version: Version) {
        self.versions.insert(place, version);
    }

    /// Takes an instance away.
    pub(super) fn take(&mut self, place: &Place) -> Option<Version> {
        self.versions.remove(place)
    }
}
