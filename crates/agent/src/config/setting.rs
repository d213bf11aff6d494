//! The table of settings: one row each, from which flags, environment, file keys and the reference
//! page all follow.
//!
//! Intuition: a setting has one name. `forget_after` in a file is `--forget-after` on the command
//! line and `TIDINGS_FORGET_AFTER` in the environment, so knowing one place is knowing all three.
//! Invariant: a default in this table is itself a valid value (tested).

pub(crate) use super::form::Form;

/// One setting.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The key in a file; flag and variable follow from it.
    pub(crate) key: &'static str,
    /// What the value looks like, for `--help`.
    pub(crate) placeholder: &'static str,
    /// Which TOML types a file may give.
    pub(crate) form: Form,
    /// The default value; `None` where it depends on the machine or may be absent.
    pub(crate) default: Option<&'static str>,
    /// The values that are allowed, to end the sentence "allowed is …".
    pub(crate) allowed: &'static str,
    /// What it is, for `--help`.
    pub(crate) about: &'static str,
    /// Whether SIGHUP applies a change, or only a restart does.
    pub(crate) reloads: bool,
}

impl Setting {
    /// The flag without its dashes: `forget-after`.
    pub(crate) fn flag(&self) -> String {
        self.key.replace('_', "-")
    }

    /// The environment variable: `TIDINGS_FORGET_AFTER`.
    pub(crate) fn variable(&self) -> String {
        format!("TIDINGS_{}", self.key.to_ascii_uppercase())
    }
}

/// The setting of that key.
pub(crate) fn find(key: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.key == key)
}

/// The key that was most likely meant by `key`, if any is near: one of which the text
/// is a prefix, or the one with the fewest typing errors.
pub(crate) fn nearest(key: &str) -> Option<&'static str> {
    let wanted = key.to_ascii_lowercase().replace('-', "_");
    let mut keys = SETTINGS.iter().map(|setting| setting.key);
    if wanted.len() >= 4 {
        if let Some(longer) = keys.clone().find(|known| known.starts_with(&wanted)) {
            return Some(longer);
        }
    }
    let slips = |known: &str| strsim::damerau_levenshtein(&wanted, known);
    let near = keys.clone().min_by_key(|known| slips(known))?;
    let most = 1 + wanted.len() / 4;
    if slips(near) <= most && wanted.len() > most {
        return Some(near);
    }
    keys.find(|known| known.len() >= 4 && wanted.starts_with(known))
}

/// Every setting, in the order of `--help`.
pub(crate) static SETTINGS: [Setting; 45] = [
    Setting {
        key: "name",
        placeholder: "NAME",
        form: Form::Text,
        default: None,
        allowed: "1 to 63 characters of A-Z a-z 0-9 . _ - that begin with a letter or digit",
        about: "This node's name, unique in the cluster [default: the host's name]",
        reloads: false,
    },
    Setting {
        key: "cluster",
        placeholder: "NAME",
        form: Form::Text,
        default: Some("tidings"),
        allowed: "1 to 63 characters of A-Z a-z 0-9 . _ - that begin with a letter or digit",
        about: "The cluster's name: datagrams of other clusters are dropped",
        reloads: false,
    },
    Setting {
        key: "listen",
        placeholder: "IP:PORT",
        form: Form::Text,
        default: None,
        allowed: "an IP address with a port, such as 10.0.0.7:9616 or [::1]:0",
        about: "Where to receive datagrams; port 0 means a free one \
                [default: 0.0.0.0:9616 with a key, 127.0.0.1:9616 without]",
        reloads: false,
    },
    Setting {
        key: "advertise",
        placeholder: "IP:PORT",
        form: Form::Text,
        default: None,
        allowed: "an IP address with a port that the other nodes reach, such as 10.0.0.7:9616; \
                  port 0 means the port of --listen",
        about: "The address to announce to the others [default: the listening one, or the roster's]",
        reloads: false,
    },
    Setting {
        key: "seed",
        placeholder: "HOST:PORT",
        form: Form::List,
        default: None,
        allowed: "a host name or IP address with a port, such as n1:9616",
        about: "A node to ask at the start; may be repeated (in the environment: separated by commas)",
        reloads: true,
    },
    Setting {
        key: "colony",
        placeholder: "NUMBER",
        form: Form::Count,
        default: Some("0"),
        allowed: "an integer from 1 to 4294967295, or 0 in a cluster without colonies",
        about: "The colony of this node: all entries of it, an aggregate of each other colony",
        reloads: false,
    },
    Setting {
        key: "colony_seed",
        placeholder: "NUMBER@HOST:PORT",
        form: Form::List,
        default: None,
        allowed: "a colony's number, @, and a host name or IP address with a port, such as \
                  3@n301:9616; at most four of each colony",
        about: "A node of a colony; may be repeated, and is a seed where the colony is this node's",
        reloads: true,
    },
    Setting {
        key: "max_colonies",
        placeholder: "COLONIES",
        form: Form::Count,
        default: Some("1024"),
        allowed: "an integer from 1 to 65536",
        about: "The most other colonies to know of; each needs 0.6 kB where colony is set, and \
                0.5 kB more with wire_version 3",
        reloads: false,
    },
    Setting {
        key: "roster",
        placeholder: "FILE|HOSTLIST",
        form: Form::Text,
        default: None,
        allowed: "a file of node names, one per line, or a host list such as n[0001-8192]",
        about: "The nodes of the cluster, the same list on each; instead of --seed",
        reloads: true,
    },
    Setting {
        key: "keys",
        placeholder: "FILE",
        form: Form::Text,
        default: None,
        allowed: "a file as `tidings keys generate` writes it",
        about: "The cluster's keys; without them only loopback addresses are allowed",
        reloads: true,
    },
    Setting {
        key: "identity",
        placeholder: "FILE",
        form: Form::Text,
        default: None,
        allowed: "a file as `tidings keys identity` makes it, which nobody else may read",
        about: "This node's own secret, with which it signs its entries; takes 66 of payload_bytes",
        reloads: true,
    },
    Setting {
        key: "identities",
        placeholder: "FILE",
        form: Form::Text,
        default: None,
        allowed: "a file of lines as `tidings keys identity` prints them",
        about: "The public keys of all nodes: entries that their nodes have not signed are refused",
        reloads: true,
    },
    Setting {
        key: "runtime_dir",
        placeholder: "DIR",
        form: Form::Text,
        default: None,
        allowed: "a directory that this user may write, or may create",
        about: "The directory of board, control socket, lock and incarnation [default: \
                /run/tidings for root, $XDG_RUNTIME_DIR/tidings, /tmp/tidings-<uid>]",
        reloads: false,
    },
    Setting {
        key: "readers",
        placeholder: "WHO",
        form: Form::Text,
        default: Some("all"),
        allowed: "all or group",
        about: "Which users of this machine may ask: all, or the group of the control socket; \
                only that group may change anything",
        reloads: false,
    },
    Setting {
        key: "board",
        placeholder: "on|off|PATH",
        form: Form::Text,
        default: Some("on"),
        allowed: "on, off, or a path with a slash, such as /dev/shm/tidings",
        about: "Where to write the vector for readers on this machine; on: in the runtime directory",
        reloads: false,
    },
    Setting {
        key: "http",
        placeholder: "IP:PORT|off",
        form: Form::Text,
        default: Some("127.0.0.1:9617"),
        allowed: "a loopback address with a port, such as 127.0.0.1:9617, or `off`",
        about: "Where to serve the page, /metrics, /v1/nodes, /v1/colonies, /v1/status and /healthz",
        reloads: false,
    },
    Setting {
        key: "scrape",
        placeholder: "IP:PORT|off",
        form: Form::Text,
        default: Some("off"),
        allowed: "an address with a port, such as 10.0.0.7:9618, or `off`",
        about: "Where to serve /metrics, /metrics/nodes and /healthz to who shows scrape_token",
        reloads: false,
    },
    Setting {
        key: "scrape_token",
        placeholder: "PATH",
        form: Form::Text,
        default: None,
        allowed: "a file of one line of 16 to 512 characters, which nobody else may read",
        about: "The token that scrapes show in the header `Authorization`",
        reloads: true,
    },
    Setting {
        key: "interval",
        placeholder: "DURATION",
        form: Form::Text,
        default: Some("256ms"),
        allowed: "a duration from 1ms to 1h, such as 256ms",
        about: "One unit of time: how often the node sends",
        reloads: false,
    },
    Setting {
        key: "window",
        placeholder: "ENTRIES|PERCENT",
        form: Form::TextOrCount,
        default: Some("20%"),
        allowed: "a number of entries from 1, such as 204, or a share of the cluster up to 100%, \
                  such as 20%",
        about: "How many of its newest entries a node sends each time",
        reloads: false,
    },
    Setting {
        key: "age_target",
        placeholder: "DURATION",
        form: Form::Text,
        default: None,
        allowed: "a duration from half an interval, such as 900ms or 3s",
        about: "The age to keep, on average, instead of a window; the window follows the members",
        reloads: false,
    },
    Setting {
        key: "age_target_quantile",
        placeholder: "SHARE",
        form: Form::Text,
        default: None,
        allowed: "a share above 0 and below 1, in quotes, such as \"0.99\"",
        about: "The share of all entries that must meet age_target, instead of their average",
        reloads: false,
    },
    Setting {
        key: "strategy",
        placeholder: "STRATEGY",
        form: Form::Text,
        default: Some("grid"),
        allowed: "uniform, spread, push-pull, staggered or grid",
        about: "How a node spreads the bytes of a window",
        reloads: false,
    },
    Setting {
        key: "payload_bytes",
        placeholder: "BYTES",
        form: Form::Count,
        default: Some("64"),
        allowed: "an integer from 0 to 1024",
        about: "Bytes of state in an entry, the same in the whole cluster; reloads where \
                payload_bytes_most is set",
        reloads: true,
    },
    Setting {
        key: "payload_bytes_most",
        placeholder: "BYTES",
        form: Form::Count,
        default: Some("0"),
        allowed: "0, or an integer from payload_bytes to 1024",
        about: "Bytes of other nodes' state that there is room for, so that payload_bytes can be \
                changed node by node; 0: others have payload_bytes, or are not understood",
        reloads: false,
    },
    Setting {
        key: "capacity",
        placeholder: "full|ENTRIES",
        form: Form::TextOrCount,
        default: Some("full"),
        allowed: "`full` or a number of entries from 2",
        about: "Whether to keep an entry of every node, or only of this many, the newest",
        reloads: false,
    },
    Setting {
        key: "max_nodes",
        placeholder: "NODES",
        form: Form::Count,
        default: Some("4096"),
        allowed: "an integer from 2 to 1048576",
        about: "The most nodes to know of, which bounds the memory",
        reloads: false,
    },
    Setting {
        key: "min_members",
        placeholder: "NODES",
        form: Form::Count,
        default: Some("0"),
        allowed: "an integer from 0 to 1048576; 0: nothing is asked",
        about: "Living members below which the agent is unhealthy; \
                with 0 it is if it is alone although others are expected",
        reloads: true,
    },
    Setting {
        key: "mtu",
        placeholder: "BYTES",
        form: Form::Count,
        default: Some("1500"),
        allowed: "an integer from 576 to 65535",
        about: "The smallest MTU on the paths between the nodes",
        reloads: false,
    },
    Setting {
        key: "forget_after",
        placeholder: "DURATION",
        form: Form::Text,
        default: Some("1h"),
        allowed: "a duration from 64 intervals to 365days, such as 1h",
        about: "How long a silent node is remembered",
        reloads: false,
    },
    Setting {
        key: "death_after",
        placeholder: "DURATION",
        form: Form::Text,
        default: Some("2500ms"),
        allowed: "off, or a duration from 10ms to 1h, such as 2500ms",
        about: "How long a node in doubt goes without any answer until it is declared dead",
        reloads: false,
    },
    Setting {
        key: "collect_interval",
        placeholder: "DURATION",
        form: Form::Text,
        default: Some("1s"),
        allowed: "a duration from 50ms to 1h, such as 1s",
        about: "How often to read the machine's state",
        reloads: false,
    },
    Setting {
        key: "collect",
        placeholder: "COLLECTOR",
        form: Form::List,
        default: None,
        allowed: "gpu, filesystem=/PATH, infiniband, ethernet or ecc",
        about: "What to read beside the usual readings, for metrics of this node",
        reloads: false,
    },
    Setting {
        key: "collectors",
        placeholder: "DIR",
        form: Form::Text,
        default: None,
        allowed: "a folder of executables",
        about: "Executables that are run again and again, and whose metrics this node publishes",
        reloads: false,
    },
    Setting {
        key: "catch_up",
        placeholder: "BOOL",
        form: Form::Switch,
        default: Some("true"),
        allowed: "true or false",
        about: "Whether a node that starts asks for the whole picture once",
        reloads: false,
    },
    Setting {
        key: "wire_version",
        placeholder: "1|2|3",
        form: Form::Count,
        default: Some("1"),
        allowed: "1 to 3",
        about: "The version of the datagrams to write; 1 and 2 are read, and with 3 that too",
        reloads: false,
    },
    Setting {
        key: "tolerances",
        placeholder: "LIST",
        form: Form::List,
        default: None,
        allowed: "usual, exact, READING=exact, READING=DISTANCE or READING=DISTANCE/SHARE%; \
                  user.KEY for READING",
        about: "How near what is said is to what was read; usual for wire_version 3, else exact",
        reloads: false,
    },
    Setting {
        key: "id_salt",
        placeholder: "NUMBER",
        form: Form::Count,
        default: Some("0"),
        allowed: "an integer from 0 to 4294967295, the same in the whole cluster",
        about: "Changes how names map to short identifiers, should two ever collide",
        reloads: false,
    },
    Setting {
        key: "service_core",
        placeholder: "CORES",
        form: Form::TextOrCount,
        default: Some("any"),
        allowed: "any, last, role, or numbers of cores this process may use, such as 3 or 0,2-3",
        about: "The cores on which the agent runs; last: the one with the greatest number; role: those \
                that tidings cores apply leaves to the system",
        reloads: false,
    },
    Setting {
        key: "priority",
        placeholder: "PRIORITY",
        form: Form::Text,
        default: Some("normal"),
        allowed: "normal, low or idle",
        about: "The agent's priority: as started, with a niceness of 10, or \
                only while a core is idle",
        reloads: false,
    },
    Setting {
        key: "large_pages",
        placeholder: "BOOL",
        form: Form::Switch,
        default: Some("false"),
        allowed: "true or false",
        about: "Whether the vector and the board are put on pages of 2 MiB, as far as they fill such \
                pages",
        reloads: false,
    },
    Setting {
        key: "log",
        placeholder: "LEVEL",
        form: Form::Text,
        default: Some("info"),
        allowed: "off, error, warn, info, debug or trace, or TARGET=LEVEL pairs separated by commas",
        about: "How much to log to the standard error",
        reloads: true,
    },
    Setting {
        key: "log_format",
        placeholder: "text|json",
        form: Form::Text,
        default: Some("text"),
        allowed: "text or json",
        about: "The format of a log line",
        reloads: false,
    },
    Setting {
        key: "receive_buffer_bytes",
        placeholder: "BYTES",
        form: Form::Count,
        default: Some("4194304"),
        allowed: "an integer from 65536 to 268435456",
        about: "Requested from the kernel for the socket; it grants at most net.core.rmem_max",
        reloads: false,
    },
    Setting {
        key: "send_buffer_bytes",
        placeholder: "BYTES",
        form: Form::Count,
        default: Some("1048576"),
        allowed: "an integer from 65536 to 268435456",
        about: "Requested from the kernel for the socket; it grants at most net.core.wmem_max",
        reloads: false,
    },
];
