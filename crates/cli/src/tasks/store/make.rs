//! Making a store: how many parts it has is stated before it is used.

use tidings_tasks::parts;
use tidings_tasks::store::address::Address;
use tidings_tasks::usual;

use super::super::client::Place;
use super::super::failure::TasksError;
use super::records::not_itself;

/// Makes a store of so many parts.
pub(super) async fn make(place: &Place, parts: u16) -> Result<(), TasksError> {
    match place.address {
        Address::Tcp(_) | Address::Memory => return Err(not_itself(place)),
        Address::Block { .. } => {
            let text = format!(
                "{}: a store in memory has one part; name one in a file or an etcd",
                place.address
            );
            return Err(TasksError::Usage(text));
        }
        _ => {}
    }
    let store = place.address.open(usual::CLUSTER).await?;
    parts::state(&*store, parts).await?;
    Ok(())
}
