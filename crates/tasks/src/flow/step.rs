//! Steps: what one submission does with the instances, all of it or nothing.

use std::collections::BTreeSet;

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::tuple::Field;

use super::declared::{Appended, Declared, Then};
use super::error::FlowError;
use super::instances::{Instances, Place};
use super::job::{Body, Instance, Job};
use super::version::Version;

/// What a submission does: a job, and what becomes of its instances.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) job: Job,
    /// What it changes, in the order in which that was appended.
    changed: Vec<Place>,
    /// What it takes, and where that comes to.
    moved: Vec<(Place, Option<Place>)>,
}

impl Step {
    /// What a declared task does with these arguments. Nothing has changed yet.
    ///
    /// # Errors
    /// Arguments, keys or instances are not as they have to be.
    pub(super) fn of(
        instances: &Instances,
        declared: &Declared,
        arguments: Vec<Field>,
    ) -> Result<Self, FlowError> {
        declared.check(instances.flow(), &arguments)?;
        let (mut given, mut changed, mut moved) = (Vec::new(), Vec::new(), Vec::new());
        let mut apart = Apart::default();
        for appended in &declared.appended {
            let key = appended.computed(&appended.key, declared, &arguments)?;
            let version = instances.version(&appended.dependency, &key)?.clone();
            let place = appended.dependency.place(&key)?;
            match &appended.then {
                Then::Stays => {}
                Then::Changes => {
                    apart.own(&place, appended, &key)?;
                    changed.push(place);
                }
                Then::Ends => {
                    apart.own(&place, appended, &key)?;
                    moved.push((place, None));
                }
                Then::Moves(to) => {
                    apart.own(&place, appended, &key)?;
                    let to = appended.computed(to, declared, &arguments)?;
                    moved.push((place, Some(apart.comes(appended, &to)?)));
                }
            }
            let dependency = appended.dependency.name().to_owned();
            given.push(Instance { dependency, key, version });
        }
        apart.check(instances, &moved)?;
        let body = Body { arguments, instances: given, changes: changed.len() as u16 };
        let job = Job { function: declared.function().to_owned(), body };
        Ok(Self { job, changed, moved })
    }

    /// Lets the instances be what they are after it, which is this task.
    pub(super) fn apply(self, instances: &mut Instances, task: TaskId) {
        let is_one_of_several = self.changed.len() > 1;
        for (number, place) in (0..).zip(self.changed) {
            let part = is_one_of_several.then_some(number);
            instances.set(place, Version::Made { task, part });
        }
        let taken: Vec<_> =
            self.moved.into_iter().map(|(place, to)| (instances.take(&place), to)).collect();
        for moved in taken {
            if let (Some(version), Some(to)) = moved {
                instances.set(to, version);
            }
        }
    }
}

/// What a submission has to itself, and where it moves something to.
#[derive(Default)]
struct Apart {
    own: BTreeSet<Place>,
    coming: Vec<(Place, String)>,
}

impl Apart {
    /// It takes or changes an instance.
    fn own(&mut self, place: &Place, appended: &Appended, key: &[Field]) -> Result<(), FlowError> {
        if !self.own.insert(place.clone()) {
            return Err(FlowError::Twice(appended.dependency.shown(key)));
        }
        Ok(())
    }

    /// An instance comes to a key.
    fn comes(&mut self, appended: &Appended, key: &[Field]) -> Result<Place, FlowError> {
        let (place, shown) = (appended.dependency.place(key)?, appended.dependency.shown(key));
        if self.coming.iter().any(|(other, _)| *other == place) {
            return Err(FlowError::Together(shown));
        }
        self.coming.push((place.clone(), shown));
        Ok(place)
    }

    /// Where something comes to nothing is, unless that moves away.
    fn check(
        self,
        instances: &Instances,
        moved: &[(Place, Option<Place>)],
    ) -> Result<(), FlowError> {
        let leaving: BTreeSet<&Place> = moved.iter().map(|(place, _)| place).collect();
        for (place, shown) in self.coming {
            if !leaving.contains(&place) {
                instances.expect_room(&place, || shown)?;
            }
        }
        Ok(())
    }
}
