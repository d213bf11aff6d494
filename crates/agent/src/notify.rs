//! Notifies a service manager that the agent is ready, or about to end, in systemd's protocol: one
//! datagram to the socket that `NOTIFY_SOCKET` names. Without the variable nothing happens.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use tracing::warn;

/// The agent is ready.
pub(crate) fn ready() {
    notify("READY=1");
}

/// The agent is leaving.
pub(crate) fn stopping() {
    notify("STOPPING=1");
}

fn notify(state: &str) {
    let Ok(name) = std::env::var("NOTIFY_SOCKET") else { return };
    if let Err(error) = send(&name, state) {
        warn!(socket = name, %error, "cannot notify the service manager");
    }
}

fn send(name: &str, state: &str) -> io::Result<()> {
    let address = match name.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(name)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_arrives_as_one_datagram() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("notify");
        let socket = UnixDatagram::bind(&path).expect("fresh");
        send(path.to_str().expect("utf-8"), "READY=1").expect("it listens");
        let mut buffer = [0; 32];
        let bytes = socket.recv(&mut buffer).expect("sent above");
        assert_eq!(&buffer[..bytes], b"READY=1");
    }
}
