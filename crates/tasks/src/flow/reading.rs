//! Reading: what a version is, as soon as its task is done.

use std::sync::Arc;

use crate::inputs;
use crate::payloads::Payloads;
use crate::session::Session;

use super::error::FlowError;
use super::version::{Value, Version};

/// Reads a version, as soon as it is made; `shown` says in errors what it is. What nodes have lost
/// is made again, which is waited for.
///
/// # Errors
/// The task that makes it is not done, or what it has come to cannot be had.
pub async fn read(
    session: &Session,
    payloads: &Payloads,
    version: &Version,
    shown: impl Fn() -> String,
) -> Result<Value, FlowError> {
    match version {
        Version::Data(data) => Ok(Value::of_data(data)),
        Version::Made { task, part } => {
            let content = inputs::read(session, payloads, *task).await;
            let input = |source| FlowError::Input { instance: shown(), source };
            let value = Value::of(Arc::new(content.map_err(input)?), *part);
            value.map_err(|why| FlowError::Result { instance: shown(), why })
        }
    }
}
