//! Serving a depot: others fetch blobs of a folder over connections of their own.

use std::sync::Arc;

use crate::blobs::Blobs;
use crate::member::Member;
use crate::net::NetError;
use crate::net::endpoint::Endpoint;
use crate::net::listen::{self, Served};

/// Listens at an address of this host. Returns where others reach it, and what serves the folder
/// there, for ever.
pub(crate) async fn begin(
    member: &Member,
    blobs: Arc<Blobs>,
    host: &str,
    at: &Endpoint,
) -> Result<(String, impl Future<Output = ()> + Send + use<>), NetError> {
    let listener = listen::listen(at, member.credentials(), host).await?;
    let address = listener.reached().to_string();
    let served = Served { blobs: Some(blobs), ..Served::default() };
    Ok((address, async move { listener.serve(served).await }))
}

/// Where a process of any store is to listen: where it would serve the store, or at the address by
/// which this host reaches the store; of a store on this host at all addresses, if there is a key
/// that keeps others out.
pub(crate) async fn usual(member: &Member) -> Endpoint {
    let host = match (member.listens_at(), member.own_address().await) {
        (Some(at), _) => at.host.clone(),
        (None, Ok(ip)) => ip.to_string(),
        (None, Err(_)) if member.credentials().ring.is_secret() => "0.0.0.0".to_owned(),
        (None, Err(_)) => "127.0.0.1".to_owned(),
    };
    Endpoint { host, port: 0 }
}
