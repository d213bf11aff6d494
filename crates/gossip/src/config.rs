//! A node's parameters, each with its unit, range, default, and what it costs.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use crate::colony::id::{ColonyConfig, MAX_COLONIES};
use crate::dissemination::strategy::Strategy;
use crate::error::{ConfigError, ParseError};
use crate::wire;
use crate::wire::header::{CHANGES_VERSION, HIGHEST_VERSION, LOWEST_VERSION};
use crate::wire::window::Reads;

/// The largest payload a cluster may agree on, in bytes.
pub const MAX_PAYLOAD_BYTES: u16 = 1024;
/// The largest datagram, in bytes: the most that UDP carries over IPv4.
pub const MAX_DATAGRAM_BYTES: u16 = 65_507;
/// The largest number of nodes that a node can be configured to have room for.
pub const MAX_NODES: u32 = 1 << 20;

/// The least size of datagrams in a colony: a reply must fit into one.
const LEAST_COLONY_DATAGRAM_BYTES: u16 = 1024;

/// How many of its newest entries a node sends each unit of time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Window {
    /// This many, at least 1; never more than are held.
    Entries(u32),
    /// This share of the members, in per cent, above 0 and up to 100; rounded down, at least 1.
    Percent(f64),
}

impl Window {
    /// Entries in a window among `members` nodes.
    pub fn entries(self, members: usize) -> usize {
        match self {
            Self::Entries(entries) => entries as usize,
            // A hair more than the product, so that 10 % of 1,000 is 100 in binary too.
            Self::Percent(percent) => (members as f64 * percent / 100.0 + 1e-9) as usize,
        }
        .clamp(1, members.max(1))
    }
}

impl FromStr for Window {
    type Err = ParseError;

    /// `"20%"` or `"204"`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || ParseError::Window(text.to_owned());
        if let Some(percent) = text.strip_suffix('%') {
            let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
            return if percent > 0.0 && percent <= 100.0 {
                Ok(Self::Percent(percent))
            } else {
                Err(wrong())
            };
        }
        let entries = text.trim().parse().map_err(|_| wrong())?;
        if entries > 0 { Ok(Self::Entries(entries)) } else { Err(wrong()) }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entries(entries) => write!(f, "{entries}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// An age that a node keeps by choosing its window (see `model`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AgeTarget {
    /// The age.
    pub age: Duration,
    /// The share of entries that shall be no older, above 0 and below 1; `None`: the average.
    pub quantile: Option<f64>,
}

/// How many entries the vector holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Capacity {
    /// One for every node.
    Full,
    /// At most this many, whatever the cluster's size; the newest are kept. MOSIX uses twice the
    /// window.
    Bounded(u32),
}

impl FromStr for Capacity {
    type Err = ParseError;

    /// `"full"` or a number of entries.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text.trim() {
            "full" => Ok(Self::Full),
            number => match number.parse() {
                Ok(entries) if entries > 0 => Ok(Self::Bounded(entries)),
                _ => Err(ParseError::Capacity(text.to_owned())),
            },
        }
    }
}

impl fmt::Display for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => write!(f, "full"),
            Self::Bounded(entries) => write!(f, "{entries}"),
        }
    }
}

/// What a node is given at its start. All nodes of a cluster share all of it but `max_nodes` and
/// `wire_version`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The cluster's name; datagrams of other clusters are dropped.
    pub cluster: String,
    /// The unit of time: 100 us to 1 h, default 256 ms. Ages and costs are proportional to it and
    /// to its inverse.
    pub interval: Duration,
    /// Entries sent each unit, default 20 %. A node sends and receives on average
    /// `window × (12 + payload_bytes)` bytes a unit, and 50 for each datagram that takes.
    pub window: Window,
    /// An age to keep instead of a window, default none: the window is then the smallest that the
    /// model says will do, or everything if none will; it follows the number of members and the
    /// ages that are seen (see [`Node::keeps_age`](crate::Node::keeps_age)). Only for the
    /// strategies that have a model: `uniform`, `spread` and `grid`.
    pub age_target: Option<AgeTarget>,
    /// How a unit's bytes are given away, default `grid`, which needs a full vector.
    pub strategy: Strategy,
    /// Length of the node's payload, and of every other one unless `payload_bytes_most` says more:
    /// 0 to 1,024 bytes, default 64.
    pub payload_bytes: u16,
    /// The longest payload that the node reads and has room for, up to 1,024 bytes; default 0:
    /// payloads of `payload_bytes` and no others. With more, nodes of one cluster may differ in
    /// `payload_bytes`, and it can be changed node by node.
    pub payload_bytes_most: u16,
    /// Version of what the payload means, default 1. Entries of another schema are dropped.
    pub payload_schema: u8,
    /// Size of the vector, default one entry a node.
    pub capacity: Capacity,
    /// The most nodes there is room for, default 4,096, up to 2²⁰. Costs about 200 bytes and the
    /// payload a node, most of it only once used.
    pub max_nodes: u32,
    /// The most bytes of a datagram (UDP payload), default 1,452: an Ethernet frame under IPv6.
    /// A window larger than that is split, at entries. 208 and the payload at least, 65,507 at
    /// most.
    pub datagram_bytes: u16,
    /// How old an entry may get before it is forgotten and refused: at least 64 units, default 1
    /// h.
    pub forget_after: Duration,
    /// Time without proof of life after which a member is declared dead, default 2.5 s, 10 ms to 1
    /// h; `None`: nobody is, and nobody is probed. It must exceed the longest pause that a living
    /// node may make; where a host itself refuses probes, a node counts as dead at once.
    pub death_after: Option<Duration>,
    /// Whether a node asks others for members and entries it has never heard of, default yes.
    /// Up to four datagrams a unit while it gains by it, then ever fewer, down to those it takes
    /// to name all members (some 300 each) in 64 units. With a roster a bounded vector never asks.
    pub catch_up: bool,
    /// The version of the format that the node writes, 1 to 3; default 1. It reads 1 and 2, so
    /// nodes of one cluster may differ in it. Version 2 costs up to 14 bytes a datagram. With 3 it
    /// reads version 3 too, and with `grid` sends [changes](crate::delta) instead of whole entries
    /// to members that do so; all else it writes in version 2. That takes room for a second
    /// payload of each node, and 16 bytes.
    pub wire_version: u8,
    /// Mixed into node ids, default 0. Only a roster whose names collide needs another.
    pub id_salt: u32,
    /// The colony this node is a member of, if the cluster has colonies; default none. It needs
    /// strategy `grid`, a full vector and `datagram_bytes` of 1,024 at least. Nodes of one cluster
    /// differ in the colony's number; members of one colony share it.
    pub colony: Option<ColonyConfig>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            cluster: "tidings".to_owned(),
            interval: Duration::from_millis(256),
            window: Window::Percent(20.0),
            age_target: None,
            strategy: Strategy::Grid,
            payload_bytes: 64,
            payload_bytes_most: 0,
            payload_schema: 1,
            capacity: Capacity::Full,
            max_nodes: 4096,
            datagram_bytes: 1452,
            forget_after: Duration::from_secs(3600),
            death_after: Some(Duration::from_millis(2_500)),
            catch_up: true,
            wire_version: 1,
            id_salt: 0,
            colony: None,
        }
    }
}

impl Config {
    /// Whether the node sends and reads changes by bases, for which it needs room.
    pub(crate) fn sends_changes(&self) -> bool {
        self.wire_version >= CHANGES_VERSION
    }

    /// Bytes of the longest payload that there is room for.
    pub fn payload_room(&self) -> u16 {
        self.payload_bytes.max(self.payload_bytes_most)
    }

    /// Which payloads the node reads.
    pub(crate) fn reads(&self) -> Reads {
        let (schema, most_bytes) = (self.payload_schema, self.payload_room());
        let least_bytes = if self.payload_bytes_most == 0 { most_bytes } else { 0 };
        Reads { schema, least_bytes, most_bytes }
    }

    /// Checks every range.
    ///
    /// # Errors
    /// Names the first parameter out of its range, and the range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let least_datagram = wire::least_datagram_bytes(self.payload_room());
        let range = |parameter, ok: bool, range: String| {
            if ok { Ok(()) } else { Err(ConfigError::OutOfRange { parameter, range }) }
        };
        let name = self.cluster.len();
        range("cluster", (1..=255).contains(&name), "1 to 255 bytes".into())?;
        let unit = Duration::from_micros(100)..=Duration::from_secs(3600);
        range("interval", unit.contains(&self.interval), "100us to 1h".into())?;
        let window = match self.window {
            Window::Entries(entries) => entries >= 1,
            Window::Percent(percent) => percent > 0.0 && percent <= 100.0,
        };
        range("window", window, "at least 1 entry, or above 0% and up to 100%".into())?;
        self.validate_age_target()?;
        let payload = self.payload_bytes <= MAX_PAYLOAD_BYTES;
        range("payload_bytes", payload, format!("0 to {MAX_PAYLOAD_BYTES}"))?;
        let most = matches!(self.payload_bytes_most, 0)
            || (self.payload_bytes..=MAX_PAYLOAD_BYTES).contains(&self.payload_bytes_most);
        let text = format!("0, or payload_bytes to {MAX_PAYLOAD_BYTES}");
        range("payload_bytes_most", most, text)?;
        let nodes = (2..=MAX_NODES).contains(&self.max_nodes);
        range("max_nodes", nodes, format!("2 to {MAX_NODES}"))?;
        let datagram = (least_datagram..=usize::from(MAX_DATAGRAM_BYTES))
            .contains(&self.datagram_bytes.into());
        range("datagram_bytes", datagram, format!("{least_datagram} to {MAX_DATAGRAM_BYTES}"))?;
        let memory = (self.interval * 64)..=Duration::from_secs(365 * 86_400);
        let text = "64 intervals to 365 days".to_owned();
        range("forget_after", memory.contains(&self.forget_after), text)?;
        let versions = LOWEST_VERSION..=HIGHEST_VERSION;
        let text = format!("{LOWEST_VERSION} to {HIGHEST_VERSION}");
        range("wire_version", versions.contains(&self.wire_version), text)?;
        if let Some(death_after) = self.death_after {
            let waits = Duration::from_millis(10)..=Duration::from_secs(3_600);
            range("death_after", waits.contains(&death_after), "10 ms to 1 h".to_owned())?;
        }
        if let Capacity::Bounded(capacity) = self.capacity {
            let least = match self.window {
                Window::Entries(entries) => entries.max(2),
                Window::Percent(_) => 2,
            };
            let text = format!("full, or {least} (the window) to {MAX_NODES}");
            range("capacity", (least..=MAX_NODES).contains(&capacity), text)?;
            let others = "uniform, spread, push-pull or staggered where capacity is not full";
            range("strategy", self.strategy != Strategy::Grid, others.to_owned())?;
        }
        self.colony.map_or(Ok(()), |colony| self.validate_colony(colony))
    }

    fn validate_colony(&self, colony: ColonyConfig) -> Result<(), ConfigError> {
        let range = |parameter, ok: bool, range: String| {
            if ok { Ok(()) } else { Err(ConfigError::OutOfRange { parameter, range }) }
        };
        range("colony", colony.id.0 > 0, "1 to 4294967295".into())?;
        let colonies = (1..=MAX_COLONIES).contains(&colony.max_colonies);
        range("max_colonies", colonies, format!("1 to {MAX_COLONIES}"))?;
        let grid = self.strategy == Strategy::Grid && self.capacity == Capacity::Full;
        range("strategy", grid, "grid, with a full vector, in a colony".into())?;
        let least = LEAST_COLONY_DATAGRAM_BYTES;
        range(
            "datagram_bytes",
            self.datagram_bytes >= least,
            format!("{least} to {MAX_DATAGRAM_BYTES} in a colony"),
        )
    }

    fn validate_age_target(&self) -> Result<(), ConfigError> {
        let Some(AgeTarget { age, quantile }) = self.age_target else { return Ok(()) };
        let refuse = |parameter, range: &str| {
            Err(ConfigError::OutOfRange { parameter, range: range.to_owned() })
        };
        if age < self.interval / 2 {
            return refuse("age_target", "half an interval and more");
        }
        if quantile.is_some_and(|share| !(share > 0.0 && share < 1.0)) {
            return refuse("age_target_quantile", "a share above 0 and below 1");
        }
        // Their models take seconds to be inverted: too long for a node.
        if matches!(self.strategy, Strategy::PushPull | Strategy::Staggered) {
            return refuse("strategy", "uniform, spread or grid where age_target is given");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_rounded_down_as_in_the_paper() {
        let window = Window::Percent(20.0);
        let sizes = [1024, 2048, 4096, 8192].map(|nodes| window.entries(nodes));
        assert_eq!(sizes, [204, 409, 819, 1638]);
        assert_eq!(Window::Percent(10.0).entries(1000), 100);
        assert_eq!(window.entries(1), 1);
        assert_eq!(Window::Entries(50).entries(8), 8);
    }

    #[test]
    fn windows_read_and_print_alike() {
        for text in ["20%", "0.5%", "100%", "204"] {
            let window: Window = text.parse().expect("a valid window");
            assert_eq!(window.to_string(), text);
        }
        for text in ["0%", "101%", "0", "-3", "x%", "", "NaN%", "20 percent"] {
            assert!(text.parse::<Window>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_default_is_valid_and_each_range_is_checked() {
        let target =
            |age_ms| Some(AgeTarget { age: Duration::from_millis(age_ms), quantile: None });
        assert!(Config { age_target: target(900), ..Config::default() }.validate().is_ok());
        assert!(Config { age_target: target(100), ..Config::default() }.validate().is_err());
        let broken: [fn(&mut Config); 14] = [
            |c| c.cluster.clear(),
            |c| c.interval = Duration::from_micros(10),
            |c| c.window = Window::Percent(f64::NAN),
            |c| c.payload_bytes = 1025,
            |c| c.payload_bytes_most = 1025,
            |c| c.payload_bytes_most = 63,
            |c| c.max_nodes = 1,
            |c| c.wire_version = 0,
            |c| c.wire_version = HIGHEST_VERSION + 1,
            |c| c.datagram_bytes = 100,
            |c| c.forget_after = Duration::from_secs(1),
            |c| c.capacity = Capacity::Bounded(1),
            |c| (c.window, c.capacity) = (Window::Entries(9), Capacity::Bounded(8)),
            |c| (c.strategy, c.capacity) = (Strategy::Grid, Capacity::Bounded(900)),
        ];
        Config::default().validate().expect("the default is valid");
        for breakage in broken {
            let mut config = Config::default();
            breakage(&mut config);
            config.validate().expect_err("out of range");
        }
    }
}
