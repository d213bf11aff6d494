//! `tidings keys`: makes cluster key files, and changes them without downtime.
//!
//! A key file has one key per line; the first seals what a node sends, all open what it receives.
//! So a key is exchanged in three steps, each copied to every node (a reload of the unit, or
//! SIGHUP, makes the agents read it again) before the next: `add` a key that all accept and none
//! uses, `promote` it so that all use it, and `drop` the old one. At no moment does a node receive
//! a datagram that it cannot open.
//!
//! A file is replaced as a whole: a reader finds the old keys or the new ones.

mod failure;
mod identity;
mod private;
mod steps;

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use tempfile::NamedTempFile;
use tidings_gossip::{Key, KeyRing};

use crate::output::Agent;
use crate::{Failure, output};
pub use failure::KeyFileError;
pub use steps::Step;

const AFTER_HELP: &str = concat!(
    "\
Examples:
  tidings keys generate --output cluster.key   a new key, readable by you alone
  tidings keys add cluster.key                 1. a second key: accepted, not used yet
  tidings keys promote cluster.key             2. used by all, the old one still accepted
  tidings keys drop cluster.key                3. the old one is gone
Between the steps, copy the file to every node and have each agent read it:
`systemctl reload tidings-agent`, or SIGHUP to an agent that is no unit of systemd.
`tidings keys status` asks all nodes which keys they hold, and says when the next step is safe.",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

const AFTER_STATUS: &str = concat!(
    "\
The local agent asks every member that it knows, so this is for operators. A key is shown by its
fingerprint, as `tidings keys show FILE` prints it; the first of a node is the one it seals with.
promote is safe when all nodes hold the same keys, drop when all seal with the same one. Dead nodes
are not asked: give them the file before they start again. A cluster with colonies is asked colony
by colony, on a node of each.

Exits with 0 if every node that lives has answered, or the step of --before is safe; else with 1.

Examples:
  tidings keys status
  tidings keys status --before promote && tidings keys promote cluster.key",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

const AFTER_IDENTITY: &str = concat!(
    "\
A node with the cluster's keys can speak in anybody's name, unless entries are signed:
  1. on each node make a secret, and name it in the configuration: identity = \"/etc/tidings/identity\"
  2. put the lines of all nodes into one file, the same on each node
  3. when all nodes sign, name it in the configuration: identities = \"/etc/tidings/identities\"
From then on a node takes no entry that the node it is about has not signed. The secret stays on its
node; the lines are no secret.

Examples:
  tidings keys identity /etc/tidings/identity
  pdsh -N -w n[01-64] tidings keys identity /etc/tidings/identity >identities",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings keys`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a new key: 32 random bytes, in base64
    Generate {
        /// Write it to this new file, readable by you alone, instead of standard output
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Replace the file if there is one
        #[arg(long, requires = "output")]
        force: bool,
    },
    /// Add a new key at the end of a file: accepted, not used yet
    Add {
        /// The key file
        file: PathBuf,
    },
    /// Make the last key of a file the first: used from now on
    Promote {
        /// The key file
        file: PathBuf,
    },
    /// Remove every key of a file but the first
    Drop {
        /// The key file
        file: PathBuf,
    },
    /// Print the fingerprints of a file's keys, a line each; the first is used
    Show {
        /// The key file
        file: PathBuf,
    },
    /// Make this node's own secret if there is none, and print the line by which others know it
    #[command(after_help = AFTER_IDENTITY)]
    Identity {
        /// The file of the secret, which the setting `identity` names
        file: PathBuf,
        /// The node's name [default: the host's name]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Ask all nodes which keys they hold, and say whether `promote` and `drop` are safe
    #[command(after_help = AFTER_STATUS)]
    Status(StatusOptions),
}

/// Options of `tidings keys status`.
#[derive(Debug, Args)]
struct StatusOptions {
    /// Exit with 1 unless this step is safe; without, unless every living node has answered
    #[arg(long, value_enum, value_name = "STEP")]
    before: Option<Step>,
    /// Print all as one JSON object
    #[arg(long)]
    json: bool,
}

/// Makes or changes a key file, or says what keys there are.
///
/// # Errors
/// [`Failure::KeyFile`], [`Failure::Keys`] or [`Failure::Output`].
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    match &options.action {
        Action::Generate { output: None, .. } => {
            output::print(&fresh_line().map_err(KeyFileError::Random)?)
        }
        Action::Generate { output: Some(path), force } => Ok(generate(path, *force)?),
        Action::Add { file } => Ok(add(file)?),
        Action::Promote { file } => Ok(change(file, |keys| keys.rotate_right(1))?),
        Action::Drop { file } => Ok(change(file, |keys| keys.truncate(1))?),
        Action::Show { file } => show(file),
        Action::Identity { file, name } => output::print(&identity::line(file, name.as_deref())?),
        Action::Status(StatusOptions { before, json }) => steps::run(agent, *before, *json),
    }
}

/// A new key as a line of a key file.
///
/// # Errors
/// What the system says if it gives no random bytes.
pub fn fresh_line() -> io::Result<String> {
    Ok(Key::from_bytes(private::secret()?).to_line() + "\n")
}

fn show(path: &Path) -> Result<(), Failure> {
    let path = path.to_owned();
    let read = fs::read_to_string(&path);
    let text = read.map_err(|source| KeyFileError::File { path: path.clone(), source })?;
    let ring = KeyRing::parse(&text).map_err(|source| KeyFileError::Keys { path, source })?;
    let lines: Vec<_> = ring.fingerprints().iter().map(|key| format!("{key}\n")).collect();
    output::print(&lines.concat())
}

fn generate(path: &Path, force: bool) -> Result<(), KeyFileError> {
    let line = fresh_line().map_err(KeyFileError::Random)?;
    if force {
        return replace(path, &line);
    }
    match private::create(path, &line) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(KeyFileError::Exists(path.to_owned()))
        }
        Err(source) => Err(KeyFileError::File { path: path.to_owned(), source }),
    }
}

fn add(path: &Path) -> Result<(), KeyFileError> {
    let mut text = read(path)?;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text += &fresh_line().map_err(KeyFileError::Random)?;
    check(path, &text)?;
    replace(path, &text)
}

fn change(path: &Path, rule: fn(&mut Vec<&str>)) -> Result<(), KeyFileError> {
    let text = read(path)?;
    let changed = rearranged(&text, rule).ok_or_else(|| KeyFileError::OneKey(path.to_owned()))?;
    check(path, &changed)?;
    replace(path, &changed)
}

fn read(path: &Path) -> Result<String, KeyFileError> {
    let read = fs::read_to_string(path);
    let text = read.map_err(|source| KeyFileError::File { path: path.to_owned(), source })?;
    check(path, &text)?;
    Ok(text)
}

fn check(path: &Path, text: &str) -> Result<(), KeyFileError> {
    match KeyRing::parse(text) {
        Ok(_) => Ok(()),
        Err(source) => Err(KeyFileError::Keys { path: path.to_owned(), source }),
    }
}

/// The text with its key lines reordered or removed; comments stay where they are.
/// `None` if there are not two keys.
fn rearranged(text: &str, rule: fn(&mut Vec<&str>)) -> Option<String> {
    let is_key = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let mut keys: Vec<&str> = text.lines().filter(is_key).collect();
    if keys.len() < 2 {
        return None;
    }
    rule(&mut keys);
    let mut keys = keys.into_iter();
    let lines =
        text.lines().filter_map(|line| if is_key(&line) { keys.next() } else { Some(line) });
    Some(lines.flat_map(|line| [line, "\n"]).collect())
}

/// Replaces the file at `path` as a whole, and keeps its owner and permissions.
fn replace(path: &Path, text: &str) -> Result<(), KeyFileError> {
    let failed = |source| KeyFileError::File { path: path.to_owned(), source };
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut file = NamedTempFile::new_in(directory).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    if let Ok(old) = fs::metadata(path) {
        let (uid, gid) = (Some(old.uid()), Some(old.gid()));
        fchown(file.as_file(), uid, gid).map_err(failed)?;
        file.as_file().set_permissions(old.permissions()).map_err(failed)?;
    }
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("the file").permissions().mode() & 0o777
    }

    #[test]
    fn a_new_key_file_is_private_and_never_overwritten_unasked() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let path = home.path().join("cluster.key");
        generate(&path, false).expect("a new file");
        assert_eq!(mode(&path), 0o600);
        let first = read(&path).expect("one key");
        assert!(matches!(generate(&path, false), Err(KeyFileError::Exists(_))));
        assert_eq!(read(&path).expect("untouched"), first);
        generate(&path, true).expect("replaced");
        assert_ne!(read(&path).expect("one key"), first);
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn three_steps_exchange_a_key_and_keep_comments_and_permissions() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let path = home.path().join("cluster.key");
        let old = fresh_line().expect("random bytes");
        fs::write(&path, format!("# ours\n{old}\n# end")).expect("writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("ours");
        assert!(matches!(change(&path, |keys| keys.truncate(1)), Err(KeyFileError::OneKey(_))));
        add(&path).expect("added");
        let text = read(&path).expect("two keys");
        let fresh = format!("{}\n", text.lines().last().expect("the added key"));
        assert_eq!(text, format!("# ours\n{old}\n# end\n{fresh}"));
        change(&path, |keys| keys.rotate_right(1)).expect("promoted");
        assert_eq!(read(&path).expect("two"), format!("# ours\n{fresh}\n# end\n{old}"));
        change(&path, |keys| keys.truncate(1)).expect("dropped");
        assert_eq!(read(&path).expect("one"), format!("# ours\n{fresh}\n# end\n"));
        assert_eq!(mode(&path), 0o640);
    }

    #[test]
    fn a_file_that_is_not_a_key_file_is_not_changed() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let path = home.path().join("cluster.key");
        fs::write(&path, "not a key\n").expect("writable");
        assert!(matches!(add(&path), Err(KeyFileError::Keys { .. })));
        assert_eq!(fs::read_to_string(&path).expect("there"), "not a key\n");
    }
}
