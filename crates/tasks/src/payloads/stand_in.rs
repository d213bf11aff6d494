//! Stand-ins: what a record has in the place of a payload or result that is a blob.

use crate::blobs::Handle;

use super::error::PayloadError;

/// What a stand-in begins with.
pub const MARK: &[u8] = b"\xffblob";

/// The blob that these bytes stand for, if they are a stand-in.
pub(crate) fn stand_in(bytes: &[u8]) -> Result<Option<Handle>, PayloadError> {
    let handle = bytes.strip_prefix(MARK).map(minicbor::decode);
    handle.transpose().map_err(|error| PayloadError::StandIn(error.to_string()))
}

/// What stands in for a blob.
pub(super) fn of(handle: &Handle) -> Vec<u8> {
    [MARK, &tidings_tasks_core::record::encode(handle)].concat()
}
