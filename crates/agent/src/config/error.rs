//! What can be wrong with a configuration: each error names the place, what is allowed and what to
//! do. Nothing has been changed on the machine when one of these is returned.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use tidings_gossip::roster::RosterError;
use tidings_gossip::{IdentitiesError, KeyError, PublicKey, SignatureError};

use super::origin::{Origin, Place};
use crate::token::TokenError;

/// What a file holds that only its owner may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secret {
    /// The keys of the cluster.
    Keys,
    /// The token of scrapes.
    Token,
    /// The secret of the node.
    Identity,
}

impl Secret {
    /// What to do if somebody else knows it.
    fn renewal(self) -> &'static str {
        match self {
            Self::Keys => "generate new keys",
            Self::Token => "write another token",
            Self::Identity => "make another identity",
        }
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keys => "key",
            Self::Token => "token",
            Self::Identity => "identity",
        })
    }
}

/// One thing that is wrong with the configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The configuration file cannot be read.
    #[error("the configuration file {} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file named by `--config`.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The configuration file is not TOML.
    #[error("{place}: not valid TOML: {reason}")]
    Syntax {
        /// File, line and column.
        place: Place,
        /// What the parser expected.
        reason: String,
    },
    /// A key that does not exist.
    #[error("{place}: unknown key `{key}`{}", suggestion(*nearest))]
    UnknownKey {
        /// File, line and column of the key.
        place: Place,
        /// The key as written.
        key: String,
        /// The key that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A value of the wrong TOML type.
    #[error("{place}: `{key}` takes {expected}, not {found}; allowed is {allowed}")]
    WrongType {
        /// File, line and column of the value.
        place: Place,
        /// The key.
        key: &'static str,
        /// The types it takes.
        expected: &'static str,
        /// The type that was found.
        found: &'static str,
        /// The values it takes.
        allowed: &'static str,
    },
    /// A value that does not parse, or lies out of its range.
    #[error("{origin}: {reason}; allowed is {allowed}")]
    BadValue {
        /// Where the value was given, with the value.
        origin: String,
        /// What is wrong with it.
        reason: String,
        /// The values the key takes.
        allowed: String,
    },
    /// Values that are valid each by itself, but not together.
    #[error("{0}")]
    Conflict(String),
    /// A file that only its owner may read cannot be read.
    #[error("the {what} file {} cannot be read: {source}{}", path.display(), owner(source))]
    Unread {
        /// What it holds.
        what: Secret,
        /// The file named by `keys` or `scrape_token`.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Users other than the owner can read it.
    #[error(
        "the {what} file {} is open to others (mode {mode:04o}): restrict it to its owner with \
         `chmod 600 {}`, and {} if others may have read it",
        path.display(), path.display(), what.renewal()
    )]
    Exposed {
        /// What it holds.
        what: Secret,
        /// The file named by `keys` or `scrape_token`.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file has no token.
    #[error("the token file {}: {source}", path.display())]
    Token {
        /// The file named by `scrape_token`.
        path: PathBuf,
        /// What is wrong with it.
        source: TokenError,
    },
    /// The file is not a key file.
    #[error("the key file {}: {source}", path.display())]
    Keys {
        /// The file named by `keys`.
        path: PathBuf,
        /// Which line is wrong, and how.
        source: KeyError,
    },
    /// The file is not the secret of a node.
    #[error("the identity file {}: {source}", path.display())]
    Identity {
        /// The file named by `identity`.
        path: PathBuf,
        /// What is wrong with it.
        source: SignatureError,
    },
    /// The list of public keys cannot be read.
    #[error("the identities file {} cannot be read: {source}", path.display())]
    IdentitiesUnreadable {
        /// The file named by `identities`.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not a list of public keys.
    #[error("the identities file {}: {source}", path.display())]
    Identities {
        /// The file named by `identities`.
        path: PathBuf,
        /// What is wrong with it.
        source: IdentitiesError,
    },
    /// The list has another key of this node, or none.
    #[error(
        "the identities file {} {}: the others would refuse what this node says; its line is\n\
         {name} {key}",
        path.display(),
        if *is_other { format!("has another public key of {name}") } else { format!("does not name {name}") }
    )]
    NotIdentified {
        /// The file named by `identities`.
        path: PathBuf,
        /// The node.
        name: String,
        /// Its public key.
        key: Box<PublicKey>,
        /// Whether there is a line of it.
        is_other: bool,
    },
    /// An address beyond this machine, and no key.
    #[error(
        "{what} {address} is not a loopback address, and without a key nothing may leave this \
         machine: generate a key with `tidings keys generate --output FILE`, give the same file to \
         every node and name it with `--keys FILE`"
    )]
    NotLoopback {
        /// Which address it is, such as "the listening address".
        what: String,
        /// The address.
        address: SocketAddr,
    },
    /// The roster file cannot be read.
    #[error("the roster file {} cannot be read: {source}", path.display())]
    RosterUnreadable {
        /// The file named by `roster`.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The text is not a roster.
    #[error("{origin}: {source}")]
    Roster {
        /// The file, or the host list itself.
        origin: String,
        /// Which line is wrong, and how.
        source: RosterError,
    },
    /// The core rejects the combination of parameters.
    #[error("the protocol's parameters do not fit together: {0}")]
    Core(#[from] tidings_gossip::ConfigError),
}

/// Everything that is wrong with a configuration, one error per line; never empty.
#[derive(Debug)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, error) in self.0.iter().enumerate() {
            let separator = if place == 0 { "" } else { "\n" };
            write!(formatter, "{separator}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self(vec![error])
    }
}

impl ConfigError {
    /// The error of a value `text` of the key `key`, given at `origin`.
    pub(crate) fn bad_value(
        setting: &'static super::setting::Setting,
        origin: &Origin,
        text: &str,
        reason: String,
        allowed: &str,
    ) -> Self {
        let origin = match origin {
            Origin::Flag => format!("--{} {text}", setting.flag()),
            Origin::Environment => format!("{}={text}", setting.variable()),
            Origin::File(place) => format!("{place}: {} = {text}", setting.key),
            Origin::Default => format!("the default of {}, {text}", setting.key),
        };
        Self::BadValue { origin, reason, allowed: allowed.to_owned() }
    }
}

fn suggestion(nearest: Option<&'static str>) -> String {
    match nearest {
        Some(key) => format!(": did you mean `{key}`?"),
        None => ": `tidings-agent --help` lists the keys, as flags".to_owned(),
    }
}

/// The remedy where a file that is private belongs to another user.
fn owner(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => "; its owner has to be the user of the agent (`chown`)",
        _ => "",
    }
}
