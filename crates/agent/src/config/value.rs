//! From text to value: one small parser per kind of value, each with an error for a wrong text.
//!
//! The parsers return only the reason; the [`Reader`] adds the place and what is allowed, so that
//! a message never lacks either.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use tracing_subscriber::filter::{LevelFilter, Targets};

use super::error::ConfigError;
use super::layers::{Layer, Written};
use super::origin::Origin;
use super::readers::Readers;
use super::service::{Priority, ServiceCores};
use super::setting;

/// A parser's answer: the value, or what is wrong with the text.
type Parsed<T> = Result<T, String>;

/// The format of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs: one JSON object a line.
    Json,
}

/// Where the board lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoardPlace {
    /// In the runtime directory, or in shared memory with a link there.
    On,
    /// No board is written.
    Off,
    /// In this file.
    At(PathBuf),
}

/// Where the roster comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RosterSource {
    /// A file of names.
    File(PathBuf),
    /// A host list given in place.
    Hosts(String),
}

/// Reads values out of the merged layer and collects their errors.
pub(crate) struct Reader<'a> {
    layer: &'a Layer,
    errors: Vec<ConfigError>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(layer: &'a Layer) -> Self {
        Self { layer, errors: Vec::new() }
    }

    pub(crate) fn into_errors(self) -> Vec<ConfigError> {
        self.errors
    }

    /// A value that is always present. After an error it is a placeholder, so that the rest can
    /// still be checked; the caller discards it with the others.
    pub(crate) fn required<T: StandIn>(&mut self, key: &str, parse: fn(&str) -> Parsed<T>) -> T {
        self.optional(key, parse).unwrap_or_else(T::stand_in)
    }

    /// A value that may be absent.
    pub(crate) fn optional<T>(&mut self, key: &str, parse: fn(&str) -> Parsed<T>) -> Option<T> {
        self.list(key, parse).pop()
    }

    /// All values of a list, without the wrong ones.
    pub(crate) fn list<T>(&mut self, key: &str, parse: fn(&str) -> Parsed<T>) -> Vec<T> {
        let Some(written) = self.layer.get(key) else { return Vec::new() };
        let mut values = Vec::new();
        for text in &written.texts {
            match parse(text.trim()) {
                Ok(value) => values.push(value),
                Err(reason) => self.refuse(key, written, text, reason),
            }
        }
        values
    }

    /// A path; one from a file is taken relative to that file.
    pub(crate) fn path(&mut self, key: &str) -> Option<PathBuf> {
        let written = self.layer.get(key)?;
        let text = written.texts.first()?;
        if text.is_empty() {
            self.refuse(key, written, text, "an empty path".to_owned());
            return None;
        }
        Some(base(&written.origin).join(text))
    }

    /// The place of the board.
    pub(crate) fn board(&mut self, key: &str) -> BoardPlace {
        let text = self.layer.get(key).and_then(|written| written.texts.first());
        match text.map(String::as_str) {
            Some("on") => BoardPlace::On,
            None | Some("off") => BoardPlace::Off,
            Some(text) if text.contains('/') && !text.ends_with('/') => {
                self.path(key).map_or(BoardPlace::Off, BoardPlace::At)
            }
            Some(text) => {
                let reason = "neither on, off nor the path of a file".to_owned();
                if let Some(written) = self.layer.get(key) {
                    self.refuse(key, written, text, reason);
                }
                BoardPlace::Off
            }
        }
    }

    /// A roster: a file if there is one of that name or the text contains a slash, else a host
    /// list.
    pub(crate) fn path_or_text(&mut self, key: &str) -> Option<RosterSource> {
        let path = self.path(key)?;
        let text = self.layer.get(key)?.texts.first()?;
        if text.contains('/') || path.is_file() {
            return Some(RosterSource::File(path));
        }
        Some(RosterSource::Hosts(text.clone()))
    }

    fn refuse(&mut self, key: &str, written: &Written, text: &str, reason: String) {
        let setting = setting::find(key).expect("only keys of the table are read");
        let allowed = setting.allowed;
        self.errors.push(ConfigError::bad_value(setting, &written.origin, text, reason, allowed));
    }
}

fn base(origin: &Origin) -> &Path {
    match origin {
        Origin::File(place) => place.path.parent().unwrap_or(Path::new("")),
        _ => Path::new(""),
    }
}

/// A value to continue with after an error; it is never used.
pub(crate) trait StandIn {
    fn stand_in() -> Self;
}

macro_rules! stand_ins {
    ($($kind:ty = $value:expr),* $(,)?) => {
        $(impl StandIn for $kind { fn stand_in() -> Self { $value } })*
    };
}

stand_ins! {
    String = "stand-in".to_owned(),
    u64 = 4096,
    bool = false,
    Duration = Duration::from_secs(1),
    SocketAddr = SocketAddr::from(([127, 0, 0, 1], 0)),
    Option<SocketAddr> = None,
    Option<Duration> = None,
    Option<tidings_gossip::ColonyId> = None,
    LogFormat = LogFormat::Text,
    ServiceCores = ServiceCores::Any,
    Priority = Priority::Normal,
    Readers = Readers::All,
    tidings_gossip::Window = tidings_gossip::Window::Entries(1),
    tidings_gossip::Strategy = tidings_gossip::Strategy::Uniform,
    tidings_gossip::Capacity = tidings_gossip::Capacity::Full,
}

pub(crate) fn name(text: &str) -> Parsed<String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    match text.as_bytes() {
        [] => Err("an empty name".to_owned()),
        bytes if bytes.len() > 63 => Err(format!("a name of {} characters", bytes.len())),
        [first, ..] if !first.is_ascii_alphanumeric() => Err("a wrong first character".to_owned()),
        bytes if !bytes.iter().copied().all(fits) => Err("a wrong character".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

pub(crate) fn socket_address(text: &str) -> Parsed<SocketAddr> {
    text.parse().map_err(|_| match text.parse::<std::net::IpAddr>() {
        Ok(_) => "an address without a port".to_owned(),
        Err(_) => "not an IP address with a port".to_owned(),
    })
}

pub(crate) fn host_and_port(text: &str) -> Parsed<String> {
    let Some((host, port)) = text.rsplit_once(':') else {
        return Err("a host without a port".to_owned());
    };
    if port.parse::<u16>().is_ok_and(|port| port != 0) && !host.is_empty() {
        Ok(text.to_owned())
    } else {
        Err("not a host with a port from 1 to 65535".to_owned())
    }
}

/// An address, or `off`.
pub(crate) fn scrape_address(text: &str) -> Parsed<Option<SocketAddr>> {
    if text == "off" { Ok(None) } else { socket_address(text).map(Some) }
}

/// A loopback address, or `off`.
pub(crate) fn http_address(text: &str) -> Parsed<Option<SocketAddr>> {
    match scrape_address(text)? {
        Some(address) if !address.ip().is_loopback() => Err(format!(
            "{} is not a loopback address, and the pages have no access control: serve the metrics \
             to others with `scrape`, the page through a proxy that asks who it is",
            address.ip()
        )),
        address => Ok(address),
    }
}

pub(crate) fn interval(text: &str) -> Parsed<Duration> {
    duration(text, Duration::from_millis(1), Duration::from_secs(3600))
}

pub(crate) fn forget_after(text: &str) -> Parsed<Duration> {
    duration(text, Duration::ZERO, Duration::from_secs(365 * 86_400))
}

/// A duration, or `off`.
pub(crate) fn death_after(text: &str) -> Parsed<Option<Duration>> {
    if text == "off" {
        return Ok(None);
    }
    duration(text, Duration::from_millis(10), Duration::from_secs(3600)).map(Some)
}

pub(crate) fn age(text: &str) -> Parsed<Duration> {
    duration(text, Duration::from_micros(1), Duration::from_secs(365 * 86_400))
}

pub(crate) fn share(text: &str) -> Parsed<f64> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        Ok(_) => Err(format!("{text} is out of range")),
        Err(_) => Err("not a number".to_owned()),
    }
}

pub(crate) fn collect_interval(text: &str) -> Parsed<Duration> {
    duration(text, Duration::from_millis(50), Duration::from_secs(3600))
}

fn duration(text: &str, least: Duration, most: Duration) -> Parsed<Duration> {
    let value = humantime::parse_duration(text).map_err(|error| match text.parse::<f64>() {
        Ok(_) => "a duration needs a unit: ms, s, min, h".to_owned(),
        Err(_) => format!("not a duration ({error})"),
    })?;
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(format!("{} is out of range", humantime::format_duration(value)))
}

/// A value of `min_members`: `None` for 0.
pub(super) fn least_members(text: &str) -> Result<Option<u32>, String> {
    let least = integer::<0, 1_048_576>(text)? as u32;
    Ok((least > 0).then_some(least))
}

pub(crate) fn integer<const LEAST: u64, const MOST: u64>(text: &str) -> Parsed<u64> {
    match text.parse::<i128>() {
        Ok(value) if (i128::from(LEAST)..=i128::from(MOST)).contains(&value) => Ok(value as u64),
        Ok(_) => Err("out of range".to_owned()),
        Err(_) => Err("not an integer".to_owned()),
    }
}

pub(crate) fn buffer(text: &str) -> Parsed<u64> {
    integer::<65_536, 268_435_456>(text)
}

pub(crate) fn switch(text: &str) -> Parsed<bool> {
    text.parse().map_err(|_| "neither true nor false".to_owned())
}

pub(crate) fn log_format(text: &str) -> Parsed<LogFormat> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err("no such format".to_owned()),
    }
}

pub(crate) fn log_filter(text: &str) -> Parsed<String> {
    let known = |part: &str| part.contains('=') || part.parse::<LevelFilter>().is_ok();
    match text.parse::<Targets>() {
        Ok(_) if text.split(',').all(|part| known(part.trim())) => Ok(text.to_owned()),
        _ => Err("no such level".to_owned()),
    }
}

pub(crate) fn from_str<T: FromStr<Err: Display>>(text: &str) -> Parsed<T> {
    text.parse().map_err(|error: T::Err| error.to_string())
}
