//! The text of a campaign file: complaints name the file, the line and the remedy.

use std::path::Path;

use serde::de::DeserializeOwned;
use toml::Spanned;

use crate::ExperimentError;
use crate::scheduling::Scheduling;
use crate::wording;

/// A text and where it stands: where complaints about it are made.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The file.
    pub path: &'a Path,
    /// What stands in it.
    pub text: &'a str,
}

impl Source<'_> {
    /// A complaint about a place of the text.
    pub fn at(&self, offset: usize, reason: impl Into<String>) -> ExperimentError {
        let line = 1 + self.text[..offset.min(self.text.len())].matches('\n').count();
        ExperimentError::Campaign { path: self.path.to_owned(), line, reason: reason.into() }
    }

    /// A complaint about a value.
    pub fn refuse<T>(&self, value: &Spanned<T>, reason: impl Into<String>) -> ExperimentError {
        self.at(value.span().start, reason)
    }

    /// Refuses a value unless it lies in a range.
    ///
    /// # Errors
    /// [`ExperimentError::Campaign`].
    pub fn within<T: PartialOrd + Copy + std::fmt::Display>(
        &self,
        name: &str,
        value: &Spanned<T>,
        least: T,
        most: T,
    ) -> Result<T, ExperimentError> {
        let given = *value.get_ref();
        if given >= least && given <= most {
            return Ok(given);
        }
        Err(self.refuse(value, format!("{name} cannot be {given}: write {least} to {most}")))
    }
    /// Reads the text as TOML.
    ///
    /// # Errors
    /// [`ExperimentError::Campaign`] with the line where it is none, or has an unknown key.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ExperimentError> {
        toml::from_str(self.text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            self.at(start, wording::of_toml(error.message(), self.key_at(start)))
        })
    }

    /// The key of the value at a place, if both are on one line.
    fn key_at(&self, offset: usize) -> Option<&str> {
        let (before, _) = self.text.split_at_checked(offset)?;
        let line = before.rsplit('\n').next()?;
        let key = line.rsplit(['{', ',']).next()?.split_once('=')?.0.trim();
        (!key.is_empty()).then_some(key)
    }

    /// The folder of the file, where relative paths begin.
    pub fn folder(&self) -> &Path {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new("."))
    }

    /// How runs are scheduled, in words of a file.
    ///
    /// # Errors
    /// [`ExperimentError::Campaign`].
    pub fn scheduling(
        &self,
        given: Option<&Spanned<String>>,
    ) -> Result<Scheduling, ExperimentError> {
        let Some(given) = given else { return Ok(Scheduling::Normal) };
        scheduling(given.get_ref()).ok_or_else(|| {
            let all = "normal, fifo:1 to fifo:99, rr:1 to rr:99, or nice:-20 to nice:19";
            self.refuse(given, format!("scheduling is {all}"))
        })
    }

    /// A name that can be one of a file.
    ///
    /// # Errors
    /// [`ExperimentError::Campaign`].
    pub fn named(&self, name: &Spanned<String>) -> Result<String, ExperimentError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let given = name.get_ref();
        if !given.is_empty() && given.chars().all(plain) && !given.starts_with('.') {
            return Ok(given.clone());
        }
        Err(self.refuse(name, "a name is of letters, digits, `-`, `_` and `.`: it names files"))
    }
}

fn scheduling(text: &str) -> Option<Scheduling> {
    let real_time = |text: &str| text.parse().ok().filter(|priority| (1..=99).contains(priority));
    match text.split_once(':') {
        None => (text == "normal").then_some(Scheduling::Normal),
        Some(("fifo", priority)) => real_time(priority).map(Scheduling::Fifo),
        Some(("rr", priority)) => real_time(priority).map(Scheduling::RoundRobin),
        Some(("nice", niceness)) => {
            let niceness = niceness.parse().ok().filter(|niceness| (-20..=19).contains(niceness));
            niceness.map(Scheduling::Nice)
        }
        Some(_) => None,
    }
}
