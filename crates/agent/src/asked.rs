//! What requests ask for behind the `?` of their path.
//!
//! A condition is that of the command line's `--where`, with its messages: there is one language,
//! and one place that reads it. What cannot be read is answered with 400 and the reason.

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Query};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::{Deserialize, Serialize};
use tidings_control::{NodeReport, Nodes};
use tidings_nodes::filter::Filter;

/// Why there is no answer: 400 with a reason.
type Refusal = (StatusCode, String);

/// Nodes for which a condition holds, all without one.
#[derive(Debug)]
pub(crate) struct Chosen(Option<Filter>);

/// The number of the first event that is wanted.
#[derive(Debug)]
pub(crate) struct From(pub(crate) u64);

/// The names of chosen nodes.
#[derive(Debug, Serialize)]
pub(crate) struct Names<'n> {
    names: Vec<&'n str>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Condition {
    #[serde(rename = "where")]
    condition: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Since {
    #[serde(default)]
    from: u64,
}

impl Chosen {
    /// Leaves only the chosen of `nodes`.
    pub(crate) fn keep(&self, nodes: &mut Vec<NodeReport>) {
        if let Some(filter) = &self.0 {
            nodes.retain(|node| filter.holds(node));
        }
    }
}

impl<'n> Names<'n> {
    /// The names of all `nodes`.
    pub(crate) fn of(nodes: &'n Nodes) -> Self {
        Self { names: nodes.nodes.iter().map(|node| node.name.as_str()).collect() }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Chosen {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let Query(asked) =
            Query::<Condition>::try_from_uri(&parts.uri).map_err(|reason| unread(&reason))?;
        let text = asked.condition.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let filter = text.map(Filter::parse).transpose();
        filter.map(Self).map_err(|error| refused(&format!("where: {error}")))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for From {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let Query(asked) =
            Query::<Since>::try_from_uri(&parts.uri).map_err(|reason| unread(&reason))?;
        Ok(Self(asked.from))
    }
}

fn unread(rejected: &QueryRejection) -> Refusal {
    refused(&rejected.body_text())
}

fn refused(reason: &str) -> Refusal {
    (StatusCode::BAD_REQUEST, format!("{reason}\n"))
}
