//! What a node is told at its start, and its translation into the core's own configuration.

use core::time::Duration;

use tidings_gossip::{Address, Config, Key, KeyRing, Member, Strategy, Window};

/// Bytes of a key.
pub const TIDINGS_KEY_BYTES: usize = 32;

/// How a unit's bytes are given away; see the gossip core's `Strategy`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TidingsStrategy {
    /// A window to one other node, chosen uniformly at random: the algorithm of ROSS'14.
    Uniform = 0,
    /// One datagram each to several nodes, chosen uniformly at random.
    Spread = 1,
    /// Half a window to a random node, which answers with half of its own.
    PushPull = 2,
    /// A window to the node whose turn is next. Wants a shared clock.
    Staggered = 3,
    /// The own entry to one's row, and every other row asked for in turn. Gains by a shared clock.
    Grid = 4,
}

/// What a node is told at its start. All nodes of a cluster share all of it but `number` and
/// `seed`. Start from `tidings_config_default`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsConfig {
    /// Nodes in the cluster: 2 to 2^20.
    pub nodes: u32,
    /// This node's number, from 0.
    pub number: u32,
    /// The unit of time in microseconds: 100 to 3.6e9.
    pub interval_us: u64,
    /// Entries that a node sends in a unit, from 1; more than there are nodes means all.
    pub window_entries: u32,
    /// Bytes of what a node says of itself: 0 to 1,024.
    pub payload_bytes: u16,
    /// The most bytes of a datagram, 208 and the payload to 65,507. A window that takes several
    /// goes to the transport as one message of equal segments as far as `message_bytes` allows.
    pub datagram_bytes: u16,
    /// The most bytes that the transport is asked to send at once; at least `datagram_bytes`.
    pub message_bytes: u32,
    /// How a unit's bytes are given away: one of `TidingsStrategy`.
    pub strategy: u32,
    /// Silence, in microseconds, after which a node is declared dead: 10,000 to 3.6e9; 0: none is.
    pub death_after_us: u64,
    /// What all random choices are drawn from. It must differ from node to node, and from run to
    /// run where a key is given: it keeps the nonces of two runs apart.
    pub seed: u64,
    /// `TIDINGS_KEY_BYTES` bytes that all nodes share, or null: then datagrams are sealed under a
    /// key that anybody can derive.
    pub key: *const u8,
}

/// A configuration of 256 ms, windows of a fifth of the nodes and payloads of 64 bytes, which
/// `grid` spreads, for node `number` of `nodes`; nobody is declared dead.
#[unsafe(no_mangle)]
pub extern "C" fn tidings_config_default(nodes: u32, number: u32) -> TidingsConfig {
    TidingsConfig {
        nodes,
        number,
        interval_us: 256_000,
        window_entries: (nodes / 5).max(1),
        payload_bytes: 64,
        datagram_bytes: 1452,
        message_bytes: 65_507,
        strategy: TidingsStrategy::Grid as u32,
        death_after_us: 0,
        seed: 1 + u64::from(number),
        key: core::ptr::null(),
    }
}

/// Why no node was made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unusable {
    #[error("number = {number} is not below nodes = {nodes}")]
    Number { number: u32, nodes: u32 },
    #[error("message_bytes = {0} is below datagram_bytes = {1}")]
    Message(u32, u16),
    #[error("message_bytes = {0} is above the most, 1073741824")]
    MessageTooLong(u32),
    #[error(
        "strategy = {0} is none: from TIDINGS_STRATEGY_UNIFORM (0) to TIDINGS_STRATEGY_GRID (4)"
    )]
    Strategy(u32),
    #[error(transparent)]
    Core(#[from] tidings_gossip::error::ConfigError),
}

/// The most bytes of a message.
const MAX_MESSAGE_BYTES: u32 = 1 << 30;

impl TidingsConfig {
    /// The core's configuration. It holds forgotten what was not heard of for an hour or 64 units.
    pub(crate) fn core(&self) -> Result<Config, Unusable> {
        if self.number >= self.nodes {
            return Err(Unusable::Number { number: self.number, nodes: self.nodes });
        }
        if self.message_bytes < u32::from(self.datagram_bytes) {
            return Err(Unusable::Message(self.message_bytes, self.datagram_bytes));
        }
        if self.message_bytes > MAX_MESSAGE_BYTES {
            return Err(Unusable::MessageTooLong(self.message_bytes));
        }
        let mut config = Config::default();
        config.interval = Duration::from_micros(self.interval_us);
        config.window = Window::Entries(self.window_entries);
        config.strategy = strategy(self.strategy)?;
        config.payload_bytes = self.payload_bytes;
        config.datagram_bytes = self.datagram_bytes;
        config.max_nodes = self.nodes.max(2);
        let units = Duration::from_micros(self.interval_us.saturating_mul(64));
        config.forget_after = config.forget_after.max(units);
        let death_after = Duration::from_micros(self.death_after_us);
        config.death_after = (self.death_after_us > 0).then_some(death_after);
        // All are there from the start, and whoever was not heard of yet soon will be.
        config.catch_up = false;
        config.validate()?;
        Ok(config)
    }

    /// The keys, given the 32 bytes that `key` points to, if it does.
    pub(crate) fn keys(key: Option<[u8; TIDINGS_KEY_BYTES]>, config: &Config) -> KeyRing {
        let ring = key.and_then(|key| KeyRing::new(&[Key::from_bytes(key)]));
        ring.unwrap_or_else(|| KeyRing::open(&config.cluster))
    }
}

/// The strategy of a number that came from C, where an enum may hold any.
fn strategy(number: u32) -> Result<Strategy, Unusable> {
    use TidingsStrategy as S;
    let known = [
        (S::Uniform, Strategy::Uniform),
        (S::Spread, Strategy::Spread),
        (S::PushPull, Strategy::PushPull),
        (S::Staggered, Strategy::Staggered),
        (S::Grid, Strategy::Grid),
    ];
    let found = known.into_iter().find(|(theirs, _)| *theirs as u32 == number);
    found.map(|(_, strategy)| strategy).ok_or(Unusable::Strategy(number))
}

/// The node of a number, as the core knows it.
pub(crate) fn member(number: u32) -> Member {
    Member { name: format!("n{number}"), address: address(number) }
}

/// The address of a number.
pub(crate) fn address(number: u32) -> Address {
    Address::from_bytes(&number.to_le_bytes()).expect("four bytes fit into an address")
}

/// The number that an address stands for.
pub(crate) fn number(address: Address) -> Option<u32> {
    address.as_bytes().try_into().ok().map(u32::from_le_bytes)
}
