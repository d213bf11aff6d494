//! Jobs: what the payload of a declared task says is to be done.
//!
//! It is a [call](What::Call) of a runtime of its own, so that whoever looks at tasks sees its
//! name, and no worker takes it: it is an item besides. Source: docs/reference/payload.md.

use minicbor::{Decode, Encode};
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::MAX_INPUTS;
use tidings_tasks_core::record::encode;
use tidings_tasks_core::tuple::{Field, MAX_FIELDS};

use crate::work::{What, Work, WorkLimits};

use super::key;
use super::version::Version;

/// The runtime of declared tasks.
const RUNTIME: &str = "flow";

/// What is to be done.
#[derive(Clone, PartialEq, Debug)]
pub struct Job {
    /// The function.
    pub function: String,
    /// What that is given.
    pub body: Body,
}

/// What a function is given.
#[derive(Clone, PartialEq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Body {
    /// Its arguments.
    #[n(0)]
    pub arguments: Vec<Field>,
    /// The instances, in the order in which they were appended.
    #[n(1)]
    pub instances: Vec<Instance>,
    /// How many of them it changes.
    #[n(2)]
    pub changes: u16,
}

/// An instance that a task is given.
#[derive(Clone, PartialEq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Instance {
    /// Of which dependency.
    #[n(0)]
    pub dependency: String,
    /// Under which key.
    #[n(1)]
    pub key: Vec<Field>,
    /// As what.
    #[n(2)]
    pub version: Version,
}

impl Job {
    /// The payload of a task that is to do it.
    pub fn to_payload(&self) -> Vec<u8> {
        let (name, body) = (self.function.clone(), encode(&self.body));
        let what = What::Call { runtime: RUNTIME.to_owned(), code: None, body, inputs: Vec::new() };
        Work { name, what, limits: WorkLimits::default() }.to_payload()
    }

    /// The job in a payload; none if it is of a task that was not declared.
    ///
    /// # Errors
    /// It is of one, and cannot be read; says why.
    pub fn from_payload(payload: &[u8]) -> Result<Option<Self>, String> {
        let (function, body) = match Work::from_payload(payload) {
            Ok(Work { name, what: What::Call { runtime, body, .. }, .. }) if runtime == RUNTIME => {
                (name, body)
            }
            _ => return Ok(None),
        };
        let read: Result<Body, _> = minicbor::decode(&body);
        let body = read.map_err(|error| {
            format!("the declared task is of another version of Tidings ({error})")
        })?;
        let keys = body.instances.iter().map(|one| one.key.len());
        let fields = keys.chain([body.arguments.len()]).max().unwrap_or(0);
        if body.instances.len() > MAX_INPUTS || fields > MAX_FIELDS {
            return Err("the declared task has more instances or fields than are possible".into());
        }
        Ok(Some(Self { function, body }))
    }

    /// The tasks that make what it is given, each once.
    pub fn inputs(&self) -> Vec<TaskId> {
        let mut inputs = Vec::new();
        for task in self.body.instances.iter().filter_map(|one| one.version.task()) {
            if !inputs.contains(&task) {
                inputs.push(task);
            }
        }
        inputs
    }

    /// Whether a result has all that it is to change; says what is missing.
    ///
    /// # Errors
    /// It changes several instances, and the result has not one version for each.
    pub fn check(&self, result: &[u8]) -> Result<(), String> {
        if self.body.changes < 2 {
            return Ok(());
        }
        let (function, changes) = (&self.function, self.body.changes);
        match super::version::parts(result) {
            Ok(parts) if parts.len() == usize::from(changes) => Ok(()),
            Ok(parts) => Err(format!(
                "{function} changes {changes} instances, and has made {} versions",
                parts.len()
            )),
            Err(_) => Err(format!(
                "{function} changes {changes} instances: its result is a version of each, and not \
                 other bytes"
            )),
        }
    }
}

impl core::fmt::Display for Instance {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&key::shown(&self.dependency, &self.key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: Vec<Field>, changes: u16) -> Job {
        Job { function: "f".into(), body: Body { arguments, instances: Vec::new(), changes } }
    }

    #[test]
    fn a_job_is_read_as_it_was_written_and_other_work_is_none() {
        let made = Version::Made { task: TaskId::of("a", 1), part: Some(1) };
        let instance = |version| Instance {
            dependency: "block".into(),
            key: vec!["a".into(), 3.into()],
            version,
        };
        let instances = vec![instance(made.clone()), instance(vec![1, 2].into()), instance(made)];
        let body = Body { arguments: vec![1.into()], instances, changes: 2 };
        let job = Job { function: "f".into(), body };
        assert_eq!(job.inputs(), [TaskId::of("a", 1)]);
        assert_eq!(job.body.instances[0].to_string(), "block(\"a\", 3)");
        let payload = job.to_payload();
        assert_eq!(Job::from_payload(&payload), Ok(Some(job)));
        assert_eq!(Job::from_payload(b"data"), Ok(None));
        let other = Work::command("true", vec!["true".into()]).to_payload();
        assert_eq!(Job::from_payload(&other), Ok(None));
    }

    #[test]
    fn a_job_that_is_damaged_or_too_large_is_said_to_be() {
        let job = |fields| of(vec![1.into(); fields], 0);
        let read = |fields| Job::from_payload(&job(fields).to_payload());
        assert!(read(16).is_ok() && read(17).unwrap_err().contains("than are possible"));
        let what = What::Call {
            runtime: RUNTIME.into(),
            code: None,
            body: vec![0xff],
            inputs: Vec::new(),
        };
        let work = Work { name: "f".into(), what, limits: WorkLimits::default() };
        let error = Job::from_payload(&work.to_payload()).unwrap_err();
        assert!(error.contains("another version of Tidings"), "{error}");
    }

    #[test]
    fn a_result_that_lacks_a_version_is_said_to() {
        let job = |changes| of(Vec::new(), changes);
        let [two, three] = [2, 3].map(|count| super::super::version::result(&vec!["x"; count]));
        assert_eq!((job(1).check(b"any"), job(2).check(&two)), (Ok(()), Ok(())));
        assert!(job(2).check(&three).unwrap_err().contains("has made 3 versions"));
        assert!(job(2).check(b"any").unwrap_err().contains("a version of each"));
    }
}
