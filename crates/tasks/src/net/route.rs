//! Routes: the address by which this host reaches others, which is one by which others reach it.
//!
//! The system knows it without anything being sent: a socket for datagrams that is connected has
//! the address from which they would go.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::{UdpSocket, lookup_host};

/// The address of this host on the way to one of these servers, `HOST:PORT`. One of loopback only
/// if all of them are on this host.
///
/// # Errors
/// No server has a name that can be looked up, or an address that can be reached: the last reason.
pub(crate) async fn own_address(servers: &[String]) -> io::Result<IpAddr> {
    let mut result = Err(io::ErrorKind::NotFound.into());
    for server in servers {
        match towards(server).await {
            Ok(own) if !own.is_loopback() => return Ok(own),
            Ok(own) => result = Ok(own),
            Err(error) if result.is_err() => result = Err(error),
            Err(_) => {}
        }
    }
    result
}

async fn towards(server: &str) -> io::Result<IpAddr> {
    let mut result = Err(io::ErrorKind::NotFound.into());
    for address in lookup_host(server).await? {
        result = from(address).await;
        if result.is_ok() {
            break;
        }
    }
    result
}

async fn from(there: SocketAddr) -> io::Result<IpAddr> {
    let any: IpAddr = match there {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(there).await?;
    Ok(socket.local_addr()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_on_this_host_is_reached_from_loopback() {
        let own = own_address(&["127.0.0.1:1".into(), "127.1.2.3:1".into()]).await.unwrap();
        assert!(own.is_loopback(), "{own}");
        // One that cannot be looked up does not matter beside one that can.
        let own = own_address(&["no host:1".into(), "127.0.0.1:1".into()]).await.unwrap();
        assert!(own.is_loopback(), "{own}");
        assert!(own_address(&["no host:1".into()]).await.is_err());
    }
}
