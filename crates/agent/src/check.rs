//! `--check`: finds every error that a start would find, without starting anything.
//!
//! The configuration and its files have been read when this is called. The rest needs the machine:
//! the runtime directory, the ports, the names. Nothing is left behind.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use rustix::process::geteuid;
use tidings_gossip::Member;

use crate::clock::Clock;
use crate::config;
use crate::control;
use crate::home::{self, HomeError};
use crate::http;
use crate::identity::{StartError, bind, node, others, own_address, port_mismatch, reach};
use crate::memory;
use crate::prepare::Prepared;
use crate::processor;
use crate::resolve;
use crate::scrape;

/// Checks `prepared` against the machine, and describes the effective configuration.
///
/// # Errors
/// The first error that would keep an agent from starting.
pub(crate) async fn check(prepared: &Prepared) -> Result<String, StartError> {
    let settings = &prepared.settings;
    let bound_bytes = memory::check(settings)?;
    let mut notes = String::new();
    if let Some(note) = usable(&settings.runtime_dir)? {
        let _ = writeln!(notes, "note: {note}");
    }
    control::nameable(&settings.runtime_dir)?;
    processor::cores(settings)?;
    for (name, meant) in config::misspelt_variables() {
        let _ = writeln!(
            notes,
            "note: the variable {name} is not a setting and is ignored; {meant} is"
        );
    }
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
    let looked = resolve::roster(&prepared.roster, port, reach(prepared)).await?;
    if let Some(complaint) = looked.complaint() {
        let _ = writeln!(notes, "note: {complaint}; a running agent tries again");
    }
    let members = looked.members;
    let mut local = settings.listen;
    local.set_port(port);
    let address = own_address(settings, &members, local, &others(prepared, &members).await)?;
    let me = Member { name: settings.name.clone(), address: address.into() };
    drop(node(prepared, me, &members, 1, Clock::start())?);
    if let Some(mismatch) = port_mismatch(address, local) {
        let _ = writeln!(notes, "note: {mismatch}");
    }
    for seed in resolve::unresolvable(&settings.seeds, reach(prepared)).await {
        let _ = writeln!(notes, "note: the seed {seed}; a running agent tries again");
    }
    let _ = writeln!(notes, "{}", settings.tolerances_text());
    let bound_mib = bound_bytes.div_ceil(1 << 20);
    let _ = writeln!(notes, "the agent uses at most {bound_mib} MiB of memory");
    let _ = writeln!(notes, "the configuration is valid; this node announces {address}");
    Ok(settings.table() + "\n" + &notes)
}

/// Tries the ports, and releases them.
async fn ports(prepared: &Prepared) -> Result<u16, StartError> {
    let socket = bind(prepared)?;
    if let Some(address) = prepared.settings.http {
        drop(http::bind(address, http::FLAG).await?);
    }
    if let Some(address) = prepared.settings.scrape {
        drop(scrape::bind(address).await?);
    }
    let local = socket.local_address();
    let what = "the socket's address";
    Ok(local.map_err(|source| StartError::System { what, source })?.port())
}

/// Whether the directory, or where it would be created, can be written: by writing there, since a
/// full disk or a file system such as /proc has the permissions and still rejects writes.
///
/// Root checks for the user to whom the directory belongs, as a unit of systemd gives it, and is
/// answered with a note of that.
fn usable(directory: &Path) -> Result<Option<String>, HomeError> {
    let existing = directory.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let refused = |source| HomeError::Unwritable { path: directory.to_owned(), source };
    if !existing.is_dir() {
        return Err(refused(std::io::ErrorKind::NotADirectory.into()));
    }
    let mut note = None;
    if existing == directory {
        let user = home::checked_for(directory)?;
        home::trust(directory, user)?;
        note = (user != geteuid().as_raw()).then(|| {
            format!(
                "the runtime directory {} is of the user {user}, for whose agent this was checked",
                directory.display()
            )
        });
    }
    let trial = existing.join(format!(".tidings-check-{}", std::process::id()));
    let mut file = File::create_new(&trial).map_err(refused)?;
    let written = file.write_all(b"trial\n");
    fs::remove_file(&trial).and(written).map_err(refused)?;
    Ok(note)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_written_is_left_as_it_was() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        usable(directory.path()).expect("an own directory");
        usable(&directory.path().join("a/b")).expect("it would be created");
        assert_eq!(fs::read_dir(directory.path()).expect("readable").count(), 0);
    }

    #[test]
    fn a_directory_that_only_looks_writable_is_rejected() {
        for place in ["/proc/tidings", "/dev/null/tidings", "/dev/null"] {
            let refused = usable(Path::new(place)).expect_err(place).to_string();
            let expected = format!("the runtime directory {place} cannot be written (");
            assert!(refused.starts_with(&expected), "{refused}");
        }
    }
}
