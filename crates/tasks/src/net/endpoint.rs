//! Endpoints: where on a network a process listens.

use core::fmt;
use core::str::FromStr;
use std::net::IpAddr;

/// The longest name of a host, in bytes.
const MAX_HOST_BYTES: usize = 253;

/// A host, by name or number, and a port: `HOST:PORT`, `[::1]:7000` for a number of IPv6.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Endpoint {
    /// The host, without brackets.
    pub host: String,
    /// The port; to listen at 0 is to listen at any that is free.
    pub port: u16,
}

/// What is no endpoint.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is no HOST:PORT: write node1:7000, 10.0.0.1:7000 or [fe80::1]:7000")]
pub struct EndpointError(pub String);

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let error = || EndpointError(text.chars().take(2 * MAX_HOST_BYTES).collect());
        let (host, port) = text.rsplit_once(':').ok_or_else(error)?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_host = match bare {
            Some(bare) => bare.parse::<std::net::Ipv6Addr>().is_ok(),
            None => is_name(host),
        };
        let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
        if !is_host || !is_port {
            return Err(error());
        }
        let port = port.parse().map_err(|_| error())?;
        Ok(Self { host: bare.unwrap_or(host).to_owned(), port })
    }
}

fn is_name(host: &str) -> bool {
    let may = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    (1..=MAX_HOST_BYTES).contains(&host.len()) && host.bytes().all(may)
}

impl Endpoint {
    /// Where others reach a process that listens here: at this host unless it listens at all of its
    /// addresses.
    pub(super) fn reached(ip: IpAddr, port: u16, host: &str) -> Self {
        let host = if ip.is_unspecified() { host.to_owned() } else { ip.to_string() };
        Self { host, port }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            return write!(f, "[{}]:{}", self.host, self.port);
        }
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_read_as_they_are_written() {
        for text in ["node1:7000", "10.0.0.1:0", "a.b-c_d.example:65535", "[::1]:7000"] {
            let endpoint: Endpoint = text.parse().unwrap();
            assert_eq!(endpoint.to_string(), text);
        }
        let long = format!("{}:1", "h".repeat(254));
        for wrong in ["", "node1", ":7000", "a:", "a:65536", "a:+1", "::1:7000", "[a]:1", &long] {
            assert!(wrong.parse::<Endpoint>().is_err(), "{wrong}");
        }
        for wrong in ["a b:1", "a/b:1", "u@h:1", "ü:1"] {
            let error = wrong.parse::<Endpoint>().unwrap_err();
            assert!(error.to_string().contains("node1:7000"), "{error}");
        }
    }

    #[test]
    fn whoever_listens_everywhere_is_reached_by_its_name() {
        let reached = |ip: &str| Endpoint::reached(ip.parse().unwrap(), 7, "node1").to_string();
        assert_eq!(reached("0.0.0.0"), "node1:7");
        assert_eq!(reached("::"), "node1:7");
        assert_eq!(reached("::1"), "[::1]:7");
    }
}
