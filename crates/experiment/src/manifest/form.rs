//! The form of a manifest: docs/reference/manifest.schema.json in types, and what they cannot say.
//!
//! tests/manifests/vectors.json holds this form, the schema and the writer in Python together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::paths::names_a_path;

/// The version of the form.
pub const SCHEMA: u64 = 1;

/// Where a table comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: u64,
    /// Of the table, byte for byte, as its command wrote it.
    pub table_sha256: String,
    /// What made the table, in its order; nearly always one run.
    pub runs: Vec<Run>,
    /// What is particular to the table.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub facts: Map<String, Value>,
}

/// One run of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Makes the same again, from the root of the repository.
    pub command: String,
    /// Of chance; `None` where nothing is drawn.
    #[serde(deserialize_with = "Option::deserialize")]
    pub seed: Option<Seed>,
    /// Of the sources when the run began; `None` where there is no repository.
    #[serde(deserialize_with = "Option::deserialize")]
    pub commit: Option<String>,
    /// Why nothing can be published by this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<String>,
    /// When the run began, UTC; `None` in tables older than the form.
    #[serde(deserialize_with = "Option::deserialize")]
    pub date: Option<String>,
    /// Where it ran.
    pub machine: Machine,
    /// Of what the numbers depend on, in the words of each program.
    pub versions: BTreeMap<String, String>,
    /// How long it took; `None` where that was not recorded.
    #[serde(deserialize_with = "Option::deserialize")]
    pub wall_s: Option<f64>,
    /// Files that were read and are not of the repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    /// What is particular to the run.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub facts: Map<String, Value>,
}

/// A seed of chance, or all seeds of several runs in one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Seed {
    /// All is drawn from one.
    One(u64),
    /// One for each repetition.
    Each(Vec<u64>),
}

/// A machine; `None` is what was not recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The name that the kernel gives the processor.
    #[serde(deserialize_with = "Option::deserialize")]
    pub processor: Option<String>,
    /// What it executes: `x86_64`.
    #[serde(deserialize_with = "Option::deserialize")]
    pub architecture: Option<String>,
    /// Processors that the run could use.
    #[serde(deserialize_with = "Option::deserialize")]
    pub processors: Option<u64>,
    /// Memory of the machine.
    #[serde(deserialize_with = "Option::deserialize")]
    pub memory_mib: Option<u64>,
    /// The release of the kernel.
    #[serde(deserialize_with = "Option::deserialize")]
    pub kernel: Option<String>,
}

/// A file that was read and is not of the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Its name, without folders.
    pub name: String,
    /// Of its bytes.
    pub sha256: String,
    /// Where it can be had.
    pub source: String,
}

/// A text is no manifest: where, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct FormError {
    /// The field, as `runs.0.commit`.
    pub place: String,
    /// What is wrong with it.
    pub fault: String,
}

impl FormError {
    fn new(place: impl Into<String>, fault: impl Into<String>) -> Self {
        Self { place: place.into(), fault: fault.into() }
    }
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// [`FormError`] if it has not the form of the schema.
    pub fn parse(text: &str) -> Result<Self, FormError> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| FormError::new("text", error.to_string()))?;
        Self::of_value(value)
    }

    /// Takes a manifest that was read as JSON.
    ///
    /// # Errors
    /// [`FormError`] if it has not the form of the schema.
    pub fn of_value(value: Value) -> Result<Self, FormError> {
        no_paths("manifest", &value)?;
        let own: Self = serde_json::from_value(value)
            .map_err(|error| FormError::new("manifest", error.to_string()))?;
        if own.schema != SCHEMA {
            return Err(FormError::new("schema", format!("{} is not {SCHEMA}", own.schema)));
        }
        hexadecimal("table_sha256", &own.table_sha256, 64)?;
        if own.runs.is_empty() {
            return Err(FormError::new("runs", "there is none"));
        }
        own.runs.iter().enumerate().try_for_each(|(at, run)| run.check(&format!("runs.{at}")))?;
        Ok(own)
    }
}

impl Run {
    fn check(&self, place: &str) -> Result<(), FormError> {
        let fault = |field: &str, fault: &str| {
            Err(FormError::new(format!("{place}.{field}"), fault.to_owned()))
        };
        if self.command.is_empty() {
            return fault("command", "it is empty");
        }
        if self.trial.as_deref() == Some("") {
            return fault("trial", "it gives no reason");
        }
        if self.seed == Some(Seed::Each(Vec::new())) {
            return fault("seed", "the list is empty: say null");
        }
        if let Some(commit) = &self.commit {
            hexadecimal(&format!("{place}.commit"), commit, 40)?;
        }
        if self.date.as_deref().is_some_and(|date| !is_date(date)) {
            return fault("date", "it is not YYYY-MM-DDThh:mm:ssZ");
        }
        if [self.machine.processors, self.machine.memory_mib].contains(&Some(0)) {
            return fault("machine", "it has none of something");
        }
        if self.wall_s.is_some_and(|wall_s| wall_s < 0.0) {
            return fault("wall_s", "it is below zero");
        }
        let hash = |input: &Input| hexadecimal(&format!("{place}.inputs"), &input.sha256, 64);
        self.inputs.iter().try_for_each(hash)
    }
}

fn hexadecimal(place: &str, text: &str, digits: usize) -> Result<(), FormError> {
    let is_digit = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    if text.len() == digits && text.bytes().all(is_digit) {
        return Ok(());
    }
    Err(FormError::new(place, format!("`{text}` is not {digits} hexadecimal digits")))
}

fn is_date(text: &str) -> bool {
    let shape = text.bytes().map(|c| if c.is_ascii_digit() { b'0' } else { c });
    shape.eq(*b"0000-00-00T00:00:00Z")
}

/// Refuses a path of a machine anywhere.
fn no_paths(place: &str, value: &Value) -> Result<(), FormError> {
    match value {
        Value::String(text) if names_a_path(text) => {
            Err(FormError::new(place, format!("`{text}` names a path of a machine")))
        }
        Value::Array(values) => {
            let mut places = values.iter().enumerate();
            places.try_for_each(|(at, value)| no_paths(&format!("{place}.{at}"), value))
        }
        Value::Object(fields) => {
            let mut places = fields.iter();
            places.try_for_each(|(name, value)| no_paths(&format!("{place}.{name}"), value))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VECTORS: &str = include_str!("../../../../tests/manifests/vectors.json");

    /// The manifest of the vectors with one change.
    fn changed(vectors: &Value, case: &Value) -> Value {
        let mut whole = vectors["manifest"].clone();
        let pointer = case["set"].as_str().or(case["remove"].as_str()).expect("set or remove");
        let (parent, last) = pointer.rsplit_once('/').expect("a pointer begins with /");
        let parent = whole.pointer_mut(parent).and_then(Value::as_object_mut);
        let parent = parent.expect("the manifest has the place");
        match case.get("to") {
            Some(to) => parent.insert(last.to_owned(), to.clone()),
            None => parent.remove(last),
        };
        whole
    }

    #[test]
    fn the_form_is_that_of_the_vectors() {
        let vectors: Value = serde_json::from_str(VECTORS).expect("the vectors are JSON");
        for (kind, is_accepted) in [("accepted", true), ("refused", false)] {
            let cases = vectors[kind].as_array().expect("a list of cases");
            assert!(cases.len() > 10, "{kind}");
            for case in cases {
                let found = Manifest::of_value(changed(&vectors, case));
                assert_eq!(found.is_ok(), is_accepted, "{}: {found:?}", case["what"]);
            }
        }
        let whole = Manifest::of_value(vectors["manifest"].clone()).expect("it is one");
        let written = serde_json::to_string(&whole).expect("it can be written");
        assert_eq!(Manifest::parse(&written), Ok(whole));
    }
}
