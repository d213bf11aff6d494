//! Where an etcd is, and where in it a store lies: `a:2379,b:2379/prefix`.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use super::space::MAX_PREFIX_BYTES;

/// The port of etcd for clients.
const PORT: &str = "2379";

/// Where a store lies if its address does not say.
const PREFIX: &str = "tidings";

/// The servers that an address may name.
pub const MAX_SERVERS: usize = 16;

/// The servers of an etcd, and what all keys of a store begin with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub(super) servers: Vec<String>,
    pub(super) prefix: String,
}

/// What names no place in an etcd.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlaceError {
    /// A server has no host, or its port is no number.
    #[error("a server is HOST:PORT or HOST, with at most 253 letters")]
    Server,
    /// None, or too many.
    #[error("name 1 to {MAX_SERVERS} servers, with commas between them")]
    Servers,
    /// It names a user.
    #[error(
        "users and passwords of etcd are not supported: let this host's network alone reach it"
    )]
    User,
    /// It is empty, has an empty part, or other characters.
    #[error(
        "a prefix has 1 to {MAX_PREFIX_BYTES} letters, digits, `-`, `_` and `.`, and `/` between \
         its parts"
    )]
    Prefix,
}

impl Place {
    /// The servers, `HOST:PORT` each.
    pub(crate) fn servers(&self) -> &[String] {
        &self.servers
    }
}

impl FromStr for Place {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let (servers, prefix) = text.split_once('/').unwrap_or((text, PREFIX));
        if servers.contains('@') {
            return Err(PlaceError::User);
        }
        let servers: Vec<_> = servers.split(',').map(server).collect::<Result<_, _>>()?;
        if servers.len() > MAX_SERVERS {
            return Err(PlaceError::Servers);
        }
        let part = |part: &str| !part.is_empty() && part.chars().all(is_usual);
        if prefix.len() > MAX_PREFIX_BYTES || !prefix.split('/').all(part) {
            return Err(PlaceError::Prefix);
        }
        Ok(Self { servers, prefix: prefix.to_owned() })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "etcd://{}/{}", self.servers.join(","), self.prefix)
    }
}

/// Characters of hosts and prefixes.
fn is_usual(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

/// A server with its port. An IPv6 address stands in brackets.
fn server(text: &str) -> Result<String, PlaceError> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (text, PORT),
    };
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_name = || (1..=253).contains(&host.len()) && host.chars().all(is_usual);
    let is_named = inner.map_or_else(is_name, |inner| inner.parse::<Ipv6Addr>().is_ok());
    let is_port = port.parse::<u16>().is_ok_and(|port| port > 0);
    (is_named && is_port).then(|| format!("{host}:{port}")).ok_or(PlaceError::Server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_servers_and_a_prefix() {
        for (text, servers, prefix) in [
            ("a", vec!["a:2379"], "tidings"),
            ("a:1,b.c:2/x/y-1", vec!["a:1", "b.c:2"], "x/y-1"),
            ("[::1]:4,[fe80::2]/x", vec!["[::1]:4", "[fe80::2]:2379"], "x"),
        ] {
            let place: Place = text.parse().unwrap();
            assert!(place.servers.iter().eq(&servers), "{place}");
            assert_eq!(place.prefix, prefix);
            let again = place.to_string();
            assert_eq!(again.strip_prefix("etcd://").unwrap().parse(), Ok(place));
        }
    }

    #[test]
    fn what_names_no_place_is_refused() {
        let long = "p".repeat(MAX_PREFIX_BYTES + 1);
        let many = vec!["a"; MAX_SERVERS + 1].join(",");
        for (text, error) in [
            ("", PlaceError::Server),
            ("a,,b", PlaceError::Server),
            ("a:b", PlaceError::Server),
            ("a:0", PlaceError::Server),
            ("[::g]:1", PlaceError::Server),
            (&many, PlaceError::Servers),
            ("me:secret@a", PlaceError::User),
            ("a/", PlaceError::Prefix),
            ("a/x//y", PlaceError::Prefix),
            ("a/x y", PlaceError::Prefix),
            (&format!("a/{long}"), PlaceError::Prefix),
        ] {
            assert_eq!(text.parse::<Place>(), Err(error), "{text}");
        }
    }
}
