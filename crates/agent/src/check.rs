//! `--check`: everything a start would find wrong, without starting anything.
//!
//! The configuration and the files it names have been read when this is called. What remains needs
//! the machine: the runtime directory, the ports, the names. Nothing is left behind.

use std::fmt::Write;
use std::path::Path;

use rustix::fs::{Access, access};
use tidings_gossip::Member;

use crate::clock::Clock;
use crate::home::{self, HomeError};
use crate::http;
use crate::prepare::Prepared;
use crate::resolve;
use crate::start::{StartError, bind, node, own_address, port_mismatch, reach};

/// Checks `prepared` against the machine, and describes the configuration in force.
///
/// # Errors
/// The first thing that would keep an agent from starting.
pub(crate) async fn check(prepared: &Prepared) -> Result<String, StartError> {
    let settings = &prepared.settings;
    writable(&settings.runtime_dir)?;
    let mut notes = String::new();
    let port = match home::holder(&settings.runtime_dir) {
        Some(pid) => {
            let _ = writeln!(
                notes,
                "note: an agent (process {pid}) runs with this runtime \
                directory, so the ports were not tried"
            );
            settings.listen.port()
        }
        None => ports(prepared).await?,
    };
    let members = resolve::roster(&prepared.roster, port, reach(prepared)).await?;
    let mut local = settings.listen;
    local.set_port(port);
    let address = own_address(settings, &members, local)?;
    let me = Member { name: settings.name.clone(), address: address.into() };
    drop(node(prepared, me, &members, 1, Clock::start())?);
    if let Some(mismatch) = port_mismatch(address, local) {
        let _ = writeln!(notes, "note: {mismatch}");
    }
    for seed in resolve::unresolvable(&settings.seeds, reach(prepared)).await {
        let _ = writeln!(notes, "note: the seed {seed}; a running agent tries again");
    }
    let _ = writeln!(notes, "the configuration is valid; this node announces {address}");
    Ok(settings.table() + "\n" + &notes)
}

/// Tries the ports, and gives them back.
async fn ports(prepared: &Prepared) -> Result<u16, StartError> {
    let socket = bind(prepared)?;
    if let Some(address) = prepared.settings.http {
        drop(http::bind(address).await?);
    }
    let local = socket.local_address();
    let what = "the socket's address";
    Ok(local.map_err(|source| StartError::System { what, source })?.port())
}

/// Whether the directory, or where it would be created, can be written.
fn writable(directory: &Path) -> Result<(), HomeError> {
    let existing = directory.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let refused = |source| HomeError::Unwritable { path: directory.to_owned(), source };
    if !existing.is_dir() {
        return Err(refused(std::io::ErrorKind::NotADirectory.into()));
    }
    access(existing, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| refused(error.into()))
}
