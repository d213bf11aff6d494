//! The file of a graph as it is written, and places in it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use super::super::misplaced::GraphError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    copies: Option<Spanned<u32>>,
    queue: Option<Spanned<String>>,
    task: Spanned<BTreeMap<Spanned<String>, TaskText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskText {
    pub(super) command: Option<Vec<Spanned<String>>>,
    pub(super) shell: Option<Spanned<String>>,
    pub(super) each: Option<Spanned<Each>>,
    #[serde(default)]
    pub(super) after: Vec<Spanned<String>>,
    pub(super) need: Option<Spanned<String>>,
    #[serde(rename = "where")]
    pub(super) filter: Option<Spanned<String>>,
    pub(super) retries: Option<u16>,
    pub(super) timeout: Option<Spanned<String>>,
    pub(super) memory: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) priority: i16,
    pub(super) copies: Option<Spanned<u32>>,
    pub(super) queue: Option<Spanned<String>>,
}

/// The values of an array.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a list of texts, or numbers and ranges such as \"1-1000\"")]
pub(super) enum Each {
    Values(Vec<String>),
    Numbers(String),
}

/// A text, and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Source<'t> {
    pub(super) path: &'t Path,
    pub(super) text: &'t str,
}

impl Source<'_> {
    /// A complaint about a place of the text.
    pub(super) fn at(&self, offset: usize, reason: impl Into<String>) -> GraphError {
        let before = self.text.get(..offset).unwrap_or_default();
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count();
        GraphError { path: self.path.to_owned(), line, column, reason: reason.into() }
    }

    /// A complaint about a value.
    pub(super) fn refuse<T>(&self, value: &Spanned<T>, reason: impl Into<String>) -> GraphError {
        self.at(value.span().start, reason)
    }

    /// The tasks, in the order in which they stand there.
    pub(super) fn tasks(&self) -> Result<Vec<(Spanned<String>, TaskText)>, GraphError> {
        let file: FileText = toml::from_str(self.text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            self.at(start, error.message().replace('\n', ", "))
        })?;
        let mut tasks: Vec<(Spanned<String>, TaskText)> =
            file.task.into_inner().into_iter().collect();
        for (_, text) in &mut tasks {
            text.copies = text.copies.take().or_else(|| file.copies.clone());
            text.queue = text.queue.take().or_else(|| file.queue.clone());
        }
        tasks.sort_unstable_by_key(|(name, _)| name.span().start);
        Ok(tasks)
    }

    pub(super) fn parse<T>(
        &self,
        given: Option<&Spanned<String>>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, GraphError> {
        let parse =
            |one: &Spanned<String>| parse(one.get_ref()).map_err(|why| self.refuse(one, why));
        given.map(parse).transpose()
    }
}
