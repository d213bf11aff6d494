//! A knob: a file of the kernel with a value, and when two texts are the same value.
//!
//! The kernel writes values its own way: a list `1,0` is read as `0-1`, a mask without its zeros.

use std::io;

use serde::{Deserialize, Serialize};

use crate::interrupts;
use crate::machine::Machine;
use crate::set::CoreSet;

/// How a knob writes its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Cores as a list.
    List,
    /// Cores as a mask.
    Mask,
    /// As it is.
    Text,
    /// Controllers of groups: `+cpuset` or `-cpuset` is written, and a list of names is read.
    Controller,
}

/// A change of a knob's value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    /// The knob.
    pub path: String,
    /// How it writes values.
    pub form: Form,
    /// The value that it had.
    pub before: String,
    /// The value that it gets.
    pub after: String,
    /// For an interrupt its number and whose it is: after a restart another device may have it.
    pub interrupt: Option<(u32, String)>,
}

/// What has become of a knob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "state", content = "now")]
pub enum Held {
    /// It has the value that was set.
    Holds,
    /// It has the value from before.
    Before,
    /// Another program has given it this one.
    Drifted(String),
    /// It is not there any more, or is another device's.
    Gone,
}

impl Form {
    /// The value in one way of writing; what cannot be understood stays as it is.
    pub(crate) fn plain(self, text: &str) -> String {
        let text = text.trim();
        match self {
            Self::List if text.is_empty() => String::new(),
            Self::List => text.parse::<CoreSet>().map_or(text.to_owned(), |set| set.to_string()),
            Self::Mask => CoreSet::of_mask(text).map_or(text.to_owned(), |set| set.mask()),
            Self::Text => text.to_owned(),
            Self::Controller => {
                let has = text.split_whitespace().any(|name| name == "cpuset" || name == "+cpuset");
                if has { "+cpuset".to_owned() } else { "-cpuset".to_owned() }
            }
        }
    }
}

impl Value {
    /// What has become of it.
    pub fn held(&self, machine: &dyn Machine) -> Held {
        let Ok(now) = machine.read(&self.path) else { return Held::Gone };
        if let Some((number, name)) = &self.interrupt
            && interrupts::name(machine, *number) != *name
        {
            return Held::Gone;
        }
        let now = self.form.plain(&now);
        if now == self.form.plain(&self.after) {
            Held::Holds
        } else if now == self.form.plain(&self.before) {
            Held::Before
        } else {
            Held::Drifted(now)
        }
    }

    /// Sets it, and looks whether the kernel has taken it.
    pub(crate) fn set(&self, machine: &dyn Machine, value: &str) -> io::Result<()> {
        machine.write(&self.path, value)?;
        let now = self.form.plain(&machine.read(&self.path)?);
        if now == self.form.plain(value) {
            Ok(())
        } else {
            Err(io::Error::other(format!("it has `{now}` instead")))
        }
    }
}
