//! From settings to the inputs of a node: reads the key file and the roster, and checks both
//! against the rule that without a key nothing may leave the machine.
//!
//! Reading is all that happens here; names are resolved later. SIGHUP does the same as a start,
//! so that a broken file is found before anything has changed.

use std::fs::{self, File};
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use tidings_gossip::roster::{self, RosterLine};
use tidings_gossip::{Identities, KeyRing, Signer};

use crate::config::{ConfigError, ConfigErrors, RosterSource, Secret, Settings};
use crate::token::Token;

/// Permission bits that a key file must not have.
const OTHERS: u32 = 0o077;
/// The most bytes of a key file, or of one with a token.
const PRIVATE_BYTES_MOST: u64 = 1 << 20;
/// The most bytes of a list of public keys: some 120 for each of the most nodes.
const IDENTITIES_BYTES_MOST: u64 = 128 << 20;

/// Settings with the files they name read.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) settings: Settings,
    pub(crate) keys: KeyRing,
    /// Empty when the node joins by seeds.
    pub(crate) roster: Vec<RosterLine>,
    /// What this node signs with, if it does.
    pub(crate) identity: Option<Identity>,
    /// What scrapes of other machines must show.
    pub(crate) token: Option<Token>,
}

/// What a node signs with, and whose signatures it asks for.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) signer: Signer,
    pub(crate) known: Option<Identities>,
}

/// Reads what `settings` name.
///
/// # Errors
/// Everything that is wrong.
pub(crate) fn prepare(settings: Settings) -> Result<Prepared, ConfigErrors> {
    let mut errors = Vec::new();
    let keys = match read_keys(&settings) {
        Ok(keys) => Some(keys),
        Err(error) => {
            errors.push(error);
            None
        }
    };
    let roster = read_roster(&settings).unwrap_or_else(|error| {
        errors.push(error);
        Vec::new()
    });
    let token = settings.scrape_token.as_deref().map(read_token).transpose();
    let token = token.unwrap_or_else(|error| {
        errors.push(error);
        None
    });
    let identity = read_identity(&settings).unwrap_or_else(|error| {
        errors.push(error);
        None
    });
    if keys.as_ref().is_some_and(|keys| !keys.is_secret()) {
        errors.extend(beyond_loopback(&settings, &roster));
    }
    match keys {
        Some(keys) if errors.is_empty() => Ok(Prepared { settings, keys, roster, identity, token }),
        _ => Err(ConfigErrors(errors)),
    }
}

fn read_keys(settings: &Settings) -> Result<KeyRing, ConfigError> {
    let Some(path) = &settings.keys else { return Ok(KeyRing::open(&settings.cluster)) };
    let text = read_private(path, Secret::Keys)?;
    KeyRing::parse(&text).map_err(|source| ConfigError::Keys { path: path.clone(), source })
}

fn read_token(path: &Path) -> Result<Token, ConfigError> {
    let text = read_private(path, Secret::Token)?;
    Token::parse(&text).map_err(|source| ConfigError::Token { path: path.to_owned(), source })
}

fn read_identity(settings: &Settings) -> Result<Option<Identity>, ConfigError> {
    let Some(path) = &settings.identity else { return Ok(None) };
    let text = read_private(path, Secret::Identity)?;
    let signer = Signer::parse(&text)
        .map_err(|source| ConfigError::Identity { path: path.clone(), source })?;
    let known = settings.identities.as_deref().map(|path| {
        let known = read_identities(path)?;
        let (name, key) = (settings.name.clone(), Box::new(signer.public()));
        let listed = known.get(&name);
        if listed != Some(*key) {
            let (path, is_other) = (path.to_owned(), listed.is_some());
            return Err(ConfigError::NotIdentified { path, name, key, is_other });
        }
        let most = settings.max_nodes as usize;
        if known.len() > most {
            let text = format!(
                "the identities file {} names {} nodes, more than max_nodes = {most}: raise it",
                path.display(),
                known.len()
            );
            return Err(ConfigError::Conflict(text));
        }
        Ok(known)
    });
    Ok(Some(Identity { signer, known: known.transpose()? }))
}

fn read_identities(path: &Path) -> Result<Identities, ConfigError> {
    let unreadable = |source| ConfigError::IdentitiesUnreadable { path: path.to_owned(), source };
    let text = read_bounded(path, IDENTITIES_BYTES_MOST).map_err(unreadable)?.1;
    Identities::parse(&text)
        .map_err(|source| ConfigError::Identities { path: path.to_owned(), source })
}

/// Reads a file that only its owner may read.
fn read_private(path: &Path, what: Secret) -> Result<String, ConfigError> {
    let unreadable = |source| ConfigError::Unread { what, path: path.to_owned(), source };
    let (mode, text) = read_bounded(path, PRIVATE_BYTES_MOST).map_err(unreadable)?;
    if mode & OTHERS != 0 {
        return Err(ConfigError::Exposed { what, path: path.to_owned(), mode: mode & 0o7777 });
    }
    Ok(text)
}

/// The mode and the text of a regular file of so many bytes at most.
fn read_bounded(path: &Path, most: u64) -> io::Result<(u32, String)> {
    // Opening a pipe would wait for a writer.
    let mut open = File::options();
    open.read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    let file = open.open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut text = String::new();
    file.take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        return Err(io::Error::other(format!("longer than {most} bytes")));
    }
    Ok((about.mode(), text))
}

fn read_roster(settings: &Settings) -> Result<Vec<RosterLine>, ConfigError> {
    let (text, origin) = match &settings.roster {
        None => return Ok(Vec::new()),
        Some(RosterSource::Hosts(text)) => (text.clone(), text.clone()),
        Some(RosterSource::File(path)) => {
            let text = fs::read_to_string(path)
                .map_err(|source| ConfigError::RosterUnreadable { path: path.clone(), source })?;
            (text, path.display().to_string())
        }
    };
    roster::parse(&text).map_err(|source| ConfigError::Roster { origin, source })
}

/// The literal addresses that need a key.
fn beyond_loopback(settings: &Settings, roster: &[RosterLine]) -> Vec<ConfigError> {
    let named = |what: &str, text: &str| Some((what.to_owned(), text.parse::<SocketAddr>().ok()?));
    let own = [
        Some(("the listening address".to_owned(), settings.listen)),
        settings.advertise.map(|address| ("the advertised address".to_owned(), address)),
    ];
    let seeds = settings.seeds.iter().map(|seed| named("the seed", &seed.place));
    let roster = roster.iter().map(|line| {
        named(&format!("the address of {} on the roster,", line.name), line.address.as_deref()?)
    });
    let all = own.into_iter().chain(seeds).chain(roster).flatten();
    let beyond = all.filter(|(_, address)| !is_loopback(address.ip()));
    beyond.map(|(what, address)| ConfigError::NotLoopback { what, address }).collect()
}

/// Whether datagrams to `ip` stay on this machine.
pub(crate) fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::settings_of;
    use std::os::unix::fs::PermissionsExt;

    const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n";

    fn prepared(flags: &[&str]) -> Result<Prepared, String> {
        prepare(settings_of(flags)).map_err(|errors| errors.to_string())
    }

    fn key_file(directory: &Path, text: &str, mode: u32) -> String {
        let path = directory.join("key");
        fs::write(&path, text).expect("a fresh directory is writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("own file");
        path.display().to_string()
    }

    #[test]
    fn without_a_key_only_loopback_is_allowed() {
        prepared(&[]).expect("the defaults stay on the machine");
        prepared(&["--listen", "[::1]:0", "--seed", "127.0.0.9:9616"]).expect("loopback");
        let flags = ["--listen", "0.0.0.0:9616", "--seed", "10.0.0.2:9616"];
        let message = prepared(&flags).expect_err("two addresses beyond");
        let remedy = "is not a loopback address, and without a key nothing may leave this machine: \
                      generate a key with `tidings keys generate --output FILE`, give the same \
                      file to every node and name it with `--keys FILE`";
        let expected =
            format!("the listening address 0.0.0.0:9616 {remedy}\nthe seed 10.0.0.2:9616 {remedy}");
        assert_eq!(message, expected);
        let message = prepared(&["--roster", "n1=10.0.0.1:9616"]).expect_err("beyond");
        assert!(message.starts_with("the address of n1 on the roster, 10.0.0.1:9616"), "{message}");
    }

    #[test]
    fn a_key_opens_the_network_if_it_is_kept_private() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = key_file(directory.path(), KEY, 0o600);
        let keys = prepared(&["--keys", &path]).expect("private").keys;
        assert!(keys.is_secret());
        key_file(directory.path(), KEY, 0o640);
        let message = prepared(&["--keys", &path]).expect_err("exposed");
        let expected = format!(
            "the key file {path} is open to others (mode 0640): restrict it to its owner with \
             `chmod 600 {path}`, and generate new keys if others may have read it"
        );
        assert_eq!(message, expected);
    }

    #[test]
    fn broken_key_files_are_named_and_never_quoted() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = key_file(directory.path(), &format!("{KEY}c2VjcmV0\n"), 0o600);
        let message = prepared(&["--keys", &path]).expect_err("the second line is short");
        assert!(message.starts_with(&format!("the key file {path}: line 2")), "{message}");
        assert!(!message.contains("c2Vj"), "{message}");
        let message = prepared(&["--keys", "/nowhere/key"]).expect_err("absent");
        assert!(message.starts_with("the key file /nowhere/key cannot be read"), "{message}");
    }

    /// Without a writer a pipe would be waited for without end.
    #[test]
    fn a_pipe_is_no_key_file() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("key");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).expect("a pipe");
        let error = read_private(&path, Secret::Keys).expect_err("no file").to_string();
        assert!(error.contains("not a regular file"), "{error}");
    }

    #[test]
    fn a_roster_is_read_from_a_file_or_in_place() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("roster");
        fs::write(&path, "n1=127.0.0.1:9616\nn2=127.0.0.1:9617\n").expect("writable");
        let path = path.display().to_string();
        assert_eq!(prepared(&["--roster", &path]).expect("valid").roster.len(), 2);
        assert_eq!(prepared(&["--roster", "n[1-3]"]).expect("valid").roster.len(), 3);
        let message = prepared(&["--roster", "n1,n1"]).expect_err("a duplicate");
        assert!(message.starts_with("n1,n1: "), "{message}");
    }
}
