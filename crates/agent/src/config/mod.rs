//! The agent's configuration: from four layers of text to one set of checked values.
//!
//! Precedence: flag, then environment, then file, then default. Everything that is wrong is
//! reported at once, each with its place, what is allowed, and what to do. A [`Settings`] that
//! exists is in range; what needs the machine (key file, roster, ports) is checked by
//! `prepare.rs`.

mod arguments;
mod error;
mod file;
mod form;
mod layers;
mod origin;
mod readers;
mod seed;
mod service;
mod setting;
mod tolerances;
mod value;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidings_gossip::payload::{FIXED_BYTES, Tolerances};
use tidings_gossip::signed::SIGNED_BYTES;
use tidings_gossip::wire::header::CHANGES_VERSION;
use tidings_gossip::{AgeTarget, Capacity, ColonyConfig, ColonyId, Config, Strategy, Window};

pub(crate) use arguments::{Invocation, parse as parse_arguments};
pub use error::{ConfigError, ConfigErrors, Secret};
use layers::{Layer, Written};
pub use origin::{Origin, Place};
pub use readers::Readers;
pub use seed::Seed;
pub use service::{Priority, ServiceCores};
use setting::SETTINGS;
pub(crate) use tolerances::SettledUser;
pub use tolerances::ToleranceRule;
pub use value::{BoardPlace, LogFormat, RosterSource};

use crate::gather::Device;

/// The environment variable that names the configuration file.
const FILE_VARIABLE: &str = "TIDINGS_CONFIG";

/// The port for datagrams by default.
pub const PORT: u16 = 9616;

/// Bytes of IPv6 and UDP header in a packet.
const HEADER_BYTES: u16 = 48;

/// Every setting, in range. See `docs/reference/config.md` for what each means.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each field is the setting of its name, described in the table")]
pub struct Settings {
    pub name: String,
    pub cluster: String,
    pub listen: SocketAddr,
    pub advertise: Option<SocketAddr>,
    /// Nodes to ask: for the members, and in other colonies for those colonies.
    pub seeds: Vec<Seed>,
    /// The colony of this node; `None` in a cluster without colonies.
    pub colony: Option<ColonyId>,
    pub max_colonies: u32,
    pub roster: Option<RosterSource>,
    pub keys: Option<PathBuf>,
    /// The secret with which this node signs its entries.
    pub identity: Option<PathBuf>,
    /// The public keys of the nodes whose entries are taken.
    pub identities: Option<PathBuf>,
    pub runtime_dir: PathBuf,
    pub readers: Readers,
    pub board: BoardPlace,
    pub http: Option<SocketAddr>,
    pub scrape: Option<SocketAddr>,
    pub scrape_token: Option<PathBuf>,
    pub interval: Duration,
    pub window: Window,
    /// The age to keep instead of the window, if one is.
    pub age_target: Option<Duration>,
    /// The share of all entries that must meet it; by default their average.
    pub age_target_quantile: Option<f64>,
    pub strategy: Strategy,
    pub payload_bytes: u16,
    /// The longest payload of other nodes, where it may differ from theirs; 0: it may not.
    pub payload_bytes_most: u16,
    pub capacity: Capacity,
    pub max_nodes: u32,
    /// Living members below which the agent is unhealthy, if the operator says.
    pub min_members: Option<u32>,
    pub mtu: u16,
    pub forget_after: Duration,
    /// After how long without any answer a node is declared dead; `None`: never.
    pub death_after: Option<Duration>,
    pub collect_interval: Duration,
    /// What collectors read that are built in.
    pub collect: Vec<Device>,
    /// The folder of executables whose metrics are published.
    pub collectors: Option<PathBuf>,
    pub catch_up: bool,
    /// The version of the format to write.
    pub wire_version: u8,
    /// How near what is said has to be to what was read, where that is not the default.
    pub tolerances: Vec<ToleranceRule>,
    pub id_salt: u32,
    pub service_core: ServiceCores,
    pub priority: Priority,
    /// Whether the vector and the board are put on pages of 2 MiB.
    pub large_pages: bool,
    pub log: String,
    pub log_format: LogFormat,
    pub receive_buffer_bytes: usize,
    pub send_buffer_bytes: usize,
    /// The merged layer, so that `--check` can show each value as written, with its origin.
    written: Layer,
}

/// What the configuration is read from, so that tests can stand in for the machine.
pub struct Surroundings<'a> {
    /// Reads an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The host's name.
    pub host_name: String,
    /// The default runtime directory.
    pub runtime_dir: PathBuf,
}

impl Settings {
    /// Reads file and environment, merges them with the flags, and checks every value.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub(crate) fn load(
        invocation: &Invocation,
        surroundings: &Surroundings<'_>,
    ) -> Result<Self, ConfigErrors> {
        let named = (surroundings.variable)(FILE_VARIABLE).filter(|path| !path.is_empty());
        let path = invocation.file.clone().or(named.map(PathBuf::from));
        let file = path.map_or(Ok(Layer::new()), |path| read_file(&path))?;
        Self::from_layers(invocation.flags.clone(), file, surroundings)
    }

    /// The settings of a configuration file of this `text`, without flags; `path` is for
    /// messages.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub fn from_text(
        path: &Path,
        text: &str,
        surroundings: &Surroundings<'_>,
    ) -> Result<Self, ConfigErrors> {
        let file = file::parse(path, text).map_err(ConfigErrors)?;
        Self::from_layers(Layer::new(), file, surroundings)
    }

    fn from_layers(
        flags: Layer,
        file: Layer,
        surroundings: &Surroundings<'_>,
    ) -> Result<Self, ConfigErrors> {
        let environment = layers::environment(surroundings.variable);
        let (defaults, machine) = (layers::defaults(), machine_defaults(surroundings));
        Self::from_layer(layers::merge([flags, environment, file, defaults, machine]))
    }

    /// Every value, in range where nothing is wrong.
    fn values(reader: &mut value::Reader<'_>) -> Self {
        Self {
            name: reader.required("name", value::name),
            cluster: reader.required("cluster", value::name),
            listen: reader.required("listen", value::socket_address),
            advertise: reader.optional("advertise", value::socket_address),
            seeds: reader.list("seed", seed::own),
            colony: reader.required("colony", seed::colony),
            max_colonies: reader.required("max_colonies", value::integer::<1, 65_536>) as u32,
            roster: reader.path_or_text("roster"),
            keys: reader.path("keys"),
            identity: reader.path("identity"),
            identities: reader.path("identities"),
            runtime_dir: reader.path("runtime_dir").unwrap_or_default(),
            readers: reader.required("readers", value::from_str::<Readers>),
            board: reader.board("board"),
            http: reader.required("http", value::http_address),
            scrape: reader.required("scrape", value::scrape_address),
            scrape_token: reader.path("scrape_token"),
            interval: reader.required("interval", value::interval),
            window: reader.required("window", value::from_str::<Window>),
            age_target: reader.optional("age_target", value::age),
            age_target_quantile: reader.optional("age_target_quantile", value::share),
            strategy: reader.required("strategy", value::from_str::<Strategy>),
            payload_bytes: reader.required("payload_bytes", value::integer::<0, 1024>) as u16,
            payload_bytes_most: reader.required("payload_bytes_most", value::integer::<0, 1024>)
                as u16,
            capacity: reader.required("capacity", value::from_str::<Capacity>),
            max_nodes: reader.required("max_nodes", value::integer::<2, 1_048_576>) as u32,
            min_members: reader.optional("min_members", value::least_members).flatten(),
            mtu: reader.required("mtu", value::integer::<576, 65_535>) as u16,
            forget_after: reader.required("forget_after", value::forget_after),
            death_after: reader.required("death_after", value::death_after),
            collect_interval: reader.required("collect_interval", value::collect_interval),
            collect: reader.list("collect", value::from_str::<Device>),
            collectors: reader.path("collectors"),
            catch_up: reader.required("catch_up", value::switch),
            wire_version: reader.required("wire_version", value::integer::<1, 3>) as u8,
            tolerances: reader.list("tolerances", value::from_str::<ToleranceRule>),
            id_salt: reader.required("id_salt", value::integer::<0, 0xffff_ffff>) as u32,
            service_core: reader.required("service_core", value::from_str::<ServiceCores>),
            priority: reader.required("priority", value::from_str::<Priority>),
            large_pages: reader.required("large_pages", value::switch),
            log: reader.required("log", value::log_filter),
            log_format: reader.required("log_format", value::log_format),
            receive_buffer_bytes: reader.required("receive_buffer_bytes", value::buffer) as usize,
            send_buffer_bytes: reader.required("send_buffer_bytes", value::buffer) as usize,
            written: Layer::new(),
        }
    }

    fn from_layer(mut merged: Layer) -> Result<Self, ConfigErrors> {
        let keys = merged.contains_key("keys");
        merged.entry("listen").or_insert_with(|| default_listen(keys));
        let mut reader = value::Reader::new(&merged);
        let mut settings = Self::values(&mut reader);
        let elsewhere = reader.list("colony_seed", seed::of_colony);
        settings.check(reader.into_errors(), &merged, &elsewhere)?;
        if settings.age_target.is_some() {
            // The default window does not apply.
            merged.remove("window");
        }
        settings.adopt(elsewhere);
        settings.written = merged;
        Ok(settings)
    }

    /// Returns what is wrong with single values, or else with values together.
    fn check(
        &self,
        mut errors: Vec<ConfigError>,
        merged: &Layer,
        elsewhere: &[Seed],
    ) -> Result<(), ConfigErrors> {
        if errors.is_empty() {
            errors = self.conflicts(merged);
            errors.extend(seed::conflicts(elsewhere, self.colony, self.max_colonies));
        }
        if errors.is_empty() { Ok(()) } else { Err(ConfigErrors(errors)) }
    }

    /// Reads the seeds that name their colony; those of the own one are used without a roster.
    fn adopt(&mut self, elsewhere: Vec<Seed>) {
        for seed in elsewhere {
            if seed.colony != self.colony {
                self.seeds.push(seed);
            } else if self.roster.is_none() {
                self.seeds.push(Seed { colony: None, ..seed });
            }
        }
    }

    /// Contradictions between values that are each in range.
    fn conflicts(&self, layer: &Layer) -> Vec<ConfigError> {
        let mut conflicts = Vec::new();
        if self.roster.is_some() && !self.seeds.is_empty() {
            let text = "both a roster and seeds are given: a node learns of the others by one of \
                        the two; drop `roster` or `seed`";
            conflicts.push(ConfigError::Conflict(text.to_owned()));
        }
        let named = |key| layer.get(key).is_some_and(|w: &Written| w.origin != Origin::Default);
        if self.age_target.is_some() && named("window") {
            let text = "both an age_target and a window are given: a node uses one or \
                        the other; drop `age_target` or `window`";
            conflicts.push(ConfigError::Conflict(text.to_owned()));
        }
        if self.age_target.is_none() && named("age_target_quantile") {
            let text = "an age_target_quantile is given without an age_target: name the age too";
            conflicts.push(ConfigError::Conflict(text.to_owned()));
        }
        if let Some(address) = self.scrape.filter(|_| self.scrape_token.is_none()) {
            let text = format!(
                "scrape = {address} without a scrape_token: write one with `umask 077; openssl \
                 rand -base64 24 >FILE`, and name it with `scrape_token`"
            );
            conflicts.push(ConfigError::Conflict(text));
        }
        conflicts.extend(self.signing_conflict().map(ConfigError::Conflict));
        if let Err(error) = self.core().validate() {
            conflicts.push(with_place(error, layer));
        }
        conflicts
    }

    /// Why entries cannot be signed with these settings, if they cannot.
    fn signing_conflict(&self) -> Option<String> {
        if self.identity.is_none() {
            let text = "identities are given without an identity: then others would refuse what \
                        this node says; make one with `tidings keys identity FILE`, and name it";
            return self.identities.is_some().then(|| text.to_owned());
        }
        let least = SIGNED_BYTES + FIXED_BYTES as u16;
        (self.payload_bytes < least).then(|| {
            format!(
                "payload_bytes = {} with an identity: a signature takes {SIGNED_BYTES} bytes and \
                 the readings {FIXED_BYTES}; set payload_bytes to {least} or more, on every node",
                self.payload_bytes
            )
        })
    }

    /// The core's share of the settings.
    pub fn core(&self) -> Config {
        let mut config = Config::default();
        config.cluster.clone_from(&self.cluster);
        config.interval = self.interval;
        config.window = self.window;
        let quantile = self.age_target_quantile;
        config.age_target = self.age_target.map(|age| AgeTarget { age, quantile });
        config.strategy = self.strategy;
        config.payload_bytes = self.payload_bytes;
        config.payload_bytes_most = self.payload_bytes_most;
        config.payload_schema = tidings_gossip::payload::SCHEMA;
        config.capacity = self.capacity;
        config.max_nodes = self.max_nodes;
        config.datagram_bytes = self.mtu - HEADER_BYTES;
        config.forget_after = self.forget_after;
        config.death_after = self.death_after;
        config.catch_up = self.catch_up;
        config.wire_version = self.wire_version;
        config.id_salt = self.id_salt;
        let max_colonies = self.max_colonies;
        config.colony = self.colony.map(|id| ColonyConfig { id, max_colonies });
        config
    }

    /// How near what is said is to what was read.
    pub(crate) fn tolerances(&self) -> Tolerances {
        tolerances::by(&self.tolerances, self.wire_version >= CHANGES_VERSION)
    }

    /// The same in words.
    pub(crate) fn tolerances_text(&self) -> String {
        tolerances::described(&self.tolerances(), &self.tolerances)
    }

    /// Bytes of the longest payload that there is room for.
    pub(crate) fn payload_room(&self) -> u16 {
        self.payload_bytes.max(self.payload_bytes_most)
    }

    /// The window as configured, or the age that is kept instead.
    pub(crate) fn window_text(&self) -> String {
        let Some(age) = self.age_target else { return self.window.to_string() };
        let age = humantime::format_duration(age);
        match self.age_target_quantile {
            Some(share) => format!("age_target {age} for {}%", 100.0 * share),
            None => format!("age_target {age}"),
        }
    }

    /// Every setting as one line: key, value as written, origin. Settings without a value or a
    /// default are omitted.
    pub fn table(&self) -> String {
        let rows: Vec<_> = SETTINGS
            .iter()
            .filter_map(|setting| {
                let written = self.written.get(setting.key)?;
                Some((setting.key, written.texts.join(", "), written.origin.to_string()))
            })
            .collect();
        let width = |cell: fn(&(&str, String, String)) -> usize| rows.iter().map(cell).max();
        let keys = width(|row| row.0.len()).unwrap_or(0);
        let values = width(|row| row.1.chars().count()).unwrap_or(0);
        let line = |(key, value, origin): &(&str, String, String)| {
            format!("{key:keys$}  {value:values$}  {origin}\n")
        };
        rows.iter().map(line).collect()
    }

    /// The keys whose values differ from `other` and that only a restart applies.
    pub(crate) fn fixed_changes(&self, other: &Self) -> Vec<&'static str> {
        let texts = |settings: &Self, key: &str| {
            settings.written.get(key).map(|written| written.texts.clone())
        };
        let fixed = SETTINGS.iter().filter(|setting| !setting.reloads).map(|setting| setting.key);
        fixed.filter(|key| texts(self, key) != texts(other, key)).collect()
    }
}

/// This process's environment variables that look like settings but are not, each with the likely
/// one.
pub(crate) fn misspelt_variables() -> impl Iterator<Item = (String, String)> {
    misspelt(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()))
}

fn misspelt(names: impl Iterator<Item = String>) -> impl Iterator<Item = (String, String)> {
    names.filter_map(|name| {
        let key = name.strip_prefix("TIDINGS_")?.to_ascii_lowercase();
        let known = setting::find(&key).is_some() || name == FILE_VARIABLE;
        let meant = setting::find(setting::nearest(&key)?)?.variable();
        (!known).then_some((name, meant))
    })
}

/// The core's error, at the place where the parameter was given.
fn with_place(error: tidings_gossip::ConfigError, layer: &Layer) -> ConfigError {
    let tidings_gossip::ConfigError::OutOfRange { parameter, range } = &error else {
        return error.into();
    };
    let (key, range) = match *parameter {
        "datagram_bytes" => ("mtu", format!("a value that leaves {range} bytes for a datagram")),
        key => (key, range.clone()),
    };
    let place = setting::find(key).zip(layer.get(key));
    let Some((setting, written)) = place else { return error.into() };
    let text = written.texts.join(",");
    let reason = "out of range with the other settings".to_owned();
    ConfigError::bad_value(setting, &written.origin, &text, reason, &range)
}

fn read_file(path: &Path) -> Result<Layer, ConfigErrors> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
    file::parse(path, &text).map_err(ConfigErrors)
}

fn machine_defaults(surroundings: &Surroundings<'_>) -> Layer {
    let default = |text: String| Written { texts: vec![text], origin: Origin::Default };
    Layer::from([
        ("name", default(surroundings.host_name.clone())),
        ("runtime_dir", default(surroundings.runtime_dir.display().to_string())),
    ])
}

fn default_listen(keys: bool) -> Written {
    let ip = if keys { "0.0.0.0" } else { "127.0.0.1" };
    Written { texts: vec![format!("{ip}:{PORT}")], origin: Origin::Default }
}

#[cfg(test)]
pub(crate) mod tests;
