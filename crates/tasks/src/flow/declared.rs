//! Declared tasks: a function, and which instances it reads, takes and changes.

use core::fmt;
use std::sync::Arc;

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{MAX_INPUTS, Submission};
use tidings_tasks_core::tuple::{Field, Type};

use crate::items;

use super::error::FlowError;
use super::fields::{FromFields, IntoFields};
use super::instances::{self, Dependency};
use super::key;

/// Computes a key of the arguments of a task; none if they are of other types.
type KeyOf = Box<dyn Fn(&[Field]) -> Option<Vec<Field>> + Send + Sync>;

/// A task of a flow. Made by [`Flow::task_declare`](super::Flow::task_declare).
///
/// The keys of its instances are computed of its arguments. The function is given the instances in
/// the order in which they were appended; its result is what becomes of those that it changes.
#[derive(Debug)]
pub struct Declared {
    flow: Arc<str>,
    function: String,
    arguments: Vec<Type>,
    pub(super) appended: Vec<Appended>,
    template: Submission,
}

/// A dependency of a declared task.
pub(super) struct Appended {
    pub(super) dependency: Dependency,
    pub(super) key: KeyOf,
    pub(super) then: Then,
}

/// What becomes of an instance that a task has.
pub(super) enum Then {
    /// It stays as it is.
    Stays,
    /// It moves on to another key.
    Moves(KeyOf),
    /// It ends.
    Ends,
    /// It is what the task makes of it.
    Changes,
}

impl Declared {
    pub(super) fn of(
        flow: Arc<str>,
        function: &str,
        arguments: &[Type],
    ) -> Result<Self, FlowError> {
        instances::check_declaration(function, arguments)?;
        let submission = Submission::new(TaskId::from_bytes([0; 16]), String::new(), Vec::new());
        let template = Submission { need: items::need(), ..submission };
        let (function, arguments) = (function.to_owned(), arguments.to_vec());
        Ok(Self { flow, function, arguments, appended: Vec::new(), template })
    }

    /// The function.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// The types of its arguments.
    pub fn arguments(&self) -> &[Type] {
        &self.arguments
    }

    /// How each of these tasks is submitted: its priority, its group, its filter, after which
    /// failures it is tried again, what it [needs](items::need_of). Id, queue, payload and inputs
    /// are the flow's, and there is no delay.
    pub fn template(&mut self) -> &mut Submission {
        &mut self.template
    }

    /// Lets it read an instance, beside others.
    ///
    /// # Errors
    /// The dependency is of another flow, the arguments are of other types, or there are too many.
    pub fn append_read_dependency<A: FromFields, K: IntoFields>(
        &mut self,
        dependency: &Dependency,
        key: impl Fn(A) -> K + Send + Sync + 'static,
    ) -> Result<(), FlowError> {
        self.append::<A, K>(dependency, key, Then::Stays)
    }

    /// Lets it take an instance, which moves on `to` another key of its dependency, as in a
    /// systolic array: nothing is copied or computed for that.
    ///
    /// # Errors
    /// As of [`append_read_dependency`](Self::append_read_dependency).
    pub fn append_migrate_dependency<A: FromFields, K: IntoFields, T: IntoFields>(
        &mut self,
        dependency: &Dependency,
        key: impl Fn(A) -> K + Send + Sync + 'static,
        to: impl Fn(A) -> T + Send + Sync + 'static,
    ) -> Result<(), FlowError> {
        self.append::<A, K>(dependency, key, Then::Moves(boxed(to)))
    }

    /// Lets it take an instance, which ends with that.
    ///
    /// # Errors
    /// As of [`append_read_dependency`](Self::append_read_dependency).
    pub fn append_last_dependency<A: FromFields, K: IntoFields>(
        &mut self,
        dependency: &Dependency,
        key: impl Fn(A) -> K + Send + Sync + 'static,
    ) -> Result<(), FlowError> {
        self.append::<A, K>(dependency, key, Then::Ends)
    }

    /// Lets it change an instance, as in a reduction: its result is the next version.
    ///
    /// # Errors
    /// As of [`append_read_dependency`](Self::append_read_dependency).
    pub fn append_inout_dependency<A: FromFields, K: IntoFields>(
        &mut self,
        dependency: &Dependency,
        key: impl Fn(A) -> K + Send + Sync + 'static,
    ) -> Result<(), FlowError> {
        self.append::<A, K>(dependency, key, Then::Changes)
    }

    fn append<A: FromFields, K: IntoFields>(
        &mut self,
        dependency: &Dependency,
        key: impl Fn(A) -> K + Send + Sync + 'static,
        then: Then,
    ) -> Result<(), FlowError> {
        dependency.check_flow(&self.flow)?;
        if !A::is_of(&self.arguments) {
            let (task, dependency) = (self.function.clone(), dependency.name().to_owned());
            return Err(FlowError::Arguments { task, dependency });
        }
        if self.appended.len() == MAX_INPUTS {
            return Err(FlowError::Many(self.function.clone()));
        }
        let (dependency, key) = (dependency.clone(), boxed(key));
        self.appended.push(Appended { dependency, key, then });
        Ok(())
    }

    /// Whether a flow can submit it with these arguments.
    pub(super) fn check(&self, flow: &Arc<str>, arguments: &[Field]) -> Result<(), FlowError> {
        instances::check_flow(&self.function, &self.flow, flow)?;
        let wrong = |wrong| FlowError::Fields { what: self.function.clone(), wrong };
        key::check(arguments, &self.arguments).map_err(wrong)
    }

    /// A submission as this is submitted.
    pub(super) fn submission(
        &self,
        id: TaskId,
        queue: &str,
        payload: Vec<u8>,
        inputs: Vec<TaskId>,
    ) -> Submission {
        let queue = queue.into();
        Submission { id, queue, payload, inputs, delay_ms: 0, ..self.template.clone() }
    }
}

fn boxed<A: FromFields, K: IntoFields>(key: impl Fn(A) -> K + Send + Sync + 'static) -> KeyOf {
    Box::new(move |arguments| A::from_fields(arguments).map(|read| key(read).into_fields()))
}

impl Appended {
    /// Computes a key of the arguments that were checked.
    pub(super) fn computed(
        &self,
        key: &KeyOf,
        declared: &Declared,
        arguments: &[Field],
    ) -> Result<Vec<Field>, FlowError> {
        key(arguments).ok_or_else(|| FlowError::Arguments {
            task: declared.function.clone(),
            dependency: self.dependency.name().to_owned(),
        })
    }
}

impl fmt::Debug for Appended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let then = match self.then {
            Then::Stays => "read",
            Then::Moves(_) => "migrate",
            Then::Ends => "last",
            Then::Changes => "inout",
        };
        write!(f, "{then} {}", self.dependency.name())
    }
}
