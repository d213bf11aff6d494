//! From a command line to a running agent, or to one clear message and an exit code.
//!
//! The order matters: errors that need no machine come first, then the lock on the runtime
//! directory, then ports, then names. Whatever fails, the cluster has not been touched.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use tidings_control::Mode;
use tidings_gossip::Member;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::{error, info, warn};

use crate::clock::Clock;
use crate::collect::{Collector, Sources};
use crate::config::{self, ConfigErrors, Invocation, Settings, Surroundings};
use crate::control::{ControlSocket, Door};
use crate::driver::{Driver, Inbox, Parts, Reloading, Standing};
use crate::endpoint::Endpoint;
use crate::gather::{self, News};
use crate::home::Home;
use crate::identity::{StartError, bind, node, others, own_address, port_mismatch, reach, system};
use crate::large_pages;
use crate::logging::{self, LevelHandle};
use crate::memory;
use crate::prepare::{Prepared, prepare};
use crate::processor;
use crate::question::Asker;
use crate::resolve;
use crate::socket::{BindError, DatagramSocket};
use crate::token::Token;
use crate::{check, http, incarnation, notify, question, scrape};

/// The exit codes of `docs/reference/exit-codes.md` that an agent has.
const FAILED: u8 = 1;
const MISCONFIGURED: u8 = 2;

/// Permissions that no file of the agent may have: writing for the group, anything for others.
const UMASK: u32 = 0o027;

/// How long connections have to read their last reply.
const LAST_REPLIES: std::time::Duration = std::time::Duration::from_secs(1);

/// Runs the agent with a command line, program name included, and returns its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let invocation = match config::parse_arguments(arguments) {
        Ok(invocation) => invocation,
        Err(error) => {
            let _ = error.print(); // a failure of that is ignored
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(MISCONFIGURED));
        }
    };
    if let Some(description) = invocation.describe {
        let _ = io::stdout().write_all(&description.text()); // a closed pipe is not an error
        return ExitCode::SUCCESS;
    }
    // Files of the agent are readable by its user and, at most, its group.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(UMASK));
    let prepared = match read(&invocation) {
        Ok(prepared) => prepared,
        Err(errors) => return misconfigured(&errors),
    };
    if !invocation.check {
        // Before there is another thread: later ones inherit it.
        if let Err(error) = processor::settle(&prepared.settings) {
            return misconfigured(&error);
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(source) => {
            return misconfigured(&StartError::System { what: "an event queue", source });
        }
    };
    if invocation.check {
        return match runtime.block_on(check::check(&prepared)) {
            Ok(report) => {
                let _ = io::stdout().write_all(report.as_bytes()); // the exit code is the result
                ExitCode::SUCCESS
            }
            Err(error) => misconfigured(&error),
        };
    }
    let level = logging::start(&prepared.settings.log, prepared.settings.log_format);
    for (name, meant) in config::misspelt_variables() {
        warn!(name, meant, "this variable is not a setting and is ignored; a similar one is");
    }
    let code = match runtime.block_on(start(prepared, invocation, level)) {
        Ok(running) => runtime.block_on(running.run()),
        Err(error) => misconfigured(&error),
    };
    runtime.shutdown_background(); // a name service that hangs must not keep the process
    code
}

fn misconfigured(error: &dyn std::fmt::Display) -> ExitCode {
    for line in error.to_string().lines() {
        let _ = writeln!(io::stderr(), "tidings-agent: {line}"); // a failure of that is ignored
    }
    ExitCode::from(MISCONFIGURED)
}

/// Reads the configuration and the files it names.
fn read(invocation: &Invocation) -> Result<Prepared, ConfigErrors> {
    let surroundings = Surroundings {
        variable: &|name| std::env::var(name).ok(),
        host_name: host_name(),
        runtime_dir: tidings_control::runtime_dir(),
    };
    prepare(Settings::load(invocation, &surroundings)?)
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// An agent that listens. It holds its home until its servers have ended, and with them the socket
/// there.
struct Running {
    home: Home,
    driver: Driver,
    inbox: Inbox,
    servers: JoinSet<()>,
    closing: watch::Sender<bool>,
}

impl Running {
    async fn run(mut self) -> ExitCode {
        notify::ready();
        // The node is a part of it, 16 kB.
        let ended = Box::pin(self.driver.run(self.inbox)).await;
        notify::stopping();
        let _ = self.closing.send(true); // the servers may have ended by themselves
        let replied = async { while self.servers.join_next().await.is_some() {} };
        if timeout(LAST_REPLIES, replied).await.is_err() {
            warn!("a connection did not read its last reply");
            self.servers.shutdown().await;
        }
        drop(self.home);
        match ended {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                error!(%error, "the agent ends: its socket broke");
                ExitCode::from(FAILED)
            }
        }
    }
}

async fn start(
    prepared: Prepared,
    invocation: Invocation,
    level: LevelHandle,
) -> Result<Running, StartError> {
    let settings = prepared.settings.clone();
    let memory_bound_bytes = memory::check(&settings)?;
    let clock = Clock::start();
    let home = Home::enter(&settings.runtime_dir)?;
    let socket = bind(&prepared)?;
    let local = socket.local_address().map_err(system("the socket's address"))?;
    let doors = Doors::open(&settings).await?;
    let [operators, readers] = [Door::Operators, Door::Readers(settings.readers)]
        .map(|door| ControlSocket::bind(home.path(), door));
    let control = [operators?, readers?];
    let reach = reach(&prepared);
    let looked = resolve::roster(&prepared.roster, local.port(), reach).await?;
    let others = others(&prepared, &looked.members).await;
    let address = own_address(&settings, &looked.members, local, &others)?;
    if let Some(mismatch) = port_mismatch(address, local) {
        warn!("{mismatch}");
    }
    let me = Member { name: settings.name.clone(), address: address.into() };
    let number = incarnation::begin(home.path())?;
    let node = node(&prepared, me, &looked.members, number, clock)?;
    if settings.large_pages {
        large_pages::put_vector(&node);
    }

    let (asker, questions) = question::channel();
    let (seed_sender, seeds) = mpsc::channel(4);
    let (results, reloaded) = mpsc::channel(1);
    let (roster_sender, rosters) = mpsc::channel(1);
    let inbox = Inbox::open(questions, (seeds, rosters), reloaded, collect(&settings))
        .map_err(system("signal handlers"))?;
    let mut reloading = Reloading {
        read: Arc::new(move || read(&invocation)),
        reading: None,
        results,
        seeds: seed_sender,
        seed_search: None,
        rosters: roster_sender,
        roster_search: None,
        unresolved: 0,
        level,
        reach,
        port: local.port(),
    };
    reloading.search(settings.seeds.clone());
    reloading.search_rest(&prepared.roster, looked);
    let (closing, closed) = watch::channel(false);
    let standing = standing(&prepared, (address, others), &doors, memory_bound_bytes);
    let (token, shown) = watch::channel(prepared.token);
    let servers = serve(control, doors, shown, &asker, &closed);
    announce(&settings, &socket, &standing, number);
    let collector = collector();
    let endpoint = Endpoint::new(node, clock, socket).map_err(system("a timer"))?;
    let parts = Parts { endpoint, clock, collector, settings, standing, reloading, token };
    Ok(Running { home, driver: Driver::new(parts), inbox, servers, closing })
}

/// Where HTTP is served.
struct Doors {
    page: Option<TcpListener>,
    scrape: Option<TcpListener>,
}

impl Doors {
    async fn open(settings: &Settings) -> Result<Self, BindError> {
        let page = match settings.http {
            Some(address) => Some(http::bind(address, http::FLAG).await?),
            None => None,
        };
        let scrape = match settings.scrape {
            Some(address) => Some(scrape::bind(address).await?),
            None => None,
        };
        Ok(Self { page, scrape })
    }
}

/// Where a listener is bound, as text.
fn place(listener: Option<&TcpListener>) -> Option<String> {
    listener?.local_addr().ok().map(|address| address.to_string())
}

/// Has the collectors of the configuration read, and send what they read.
fn collect(settings: &Settings) -> mpsc::Receiver<News> {
    let (to, gathered) = mpsc::channel(4);
    let Sources { sys, .. } = Sources::default();
    for device in &settings.collect {
        tokio::spawn(gather::watch(device.clone(), sys.clone(), to.clone()));
    }
    if let Some(folder) = &settings.collectors {
        tokio::spawn(gather::follow(folder.clone(), to));
    }
    gathered
}

fn serve(
    control: [ControlSocket; 2],
    Doors { page, scrape }: Doors,
    token: watch::Receiver<Option<Token>>,
    asker: &Asker,
    closed: &watch::Receiver<bool>,
) -> JoinSet<()> {
    let mut servers = JoinSet::new();
    for socket in control {
        servers.spawn(socket.serve(asker.clone(), closed.clone()));
    }
    if let Some(listener) = page {
        servers.spawn(http::serve(listener, asker.clone(), closed.clone()));
    }
    if let Some(listener) = scrape {
        servers.spawn(scrape::serve(listener, asker.clone(), token, closed.clone()));
    }
    servers
}

/// What reads this machine; the log says which file it may not read.
fn collector() -> Collector {
    let sources = Sources::default();
    if let Some((file, error)) = Collector::refused(&sources) {
        info!(
            file = %file.display(), %error,
            "a reading lacks: this user may not read its file; the unit of the package grants it"
        );
    }
    Collector::new(&sources)
}

fn standing(
    prepared: &Prepared,
    (address, others): (SocketAddr, Vec<SocketAddr>),
    doors: &Doors,
    memory_bound_bytes: u64,
) -> Standing {
    let encrypted = prepared.keys.is_secret();
    Standing {
        address: address.to_string(),
        http: place(doors.page.as_ref()),
        scrape: place(doors.scrape.as_ref()),
        mode: if prepared.roster.is_empty() { Mode::Seeds } else { Mode::Roster },
        others,
        encrypted,
        keys: if encrypted { prepared.keys.len() } else { 0 },
        memory_bound_bytes,
    }
}

fn announce(settings: &Settings, socket: &DatagramSocket, standing: &Standing, incarnation: u32) {
    info!(
        name = settings.name,
        cluster = settings.cluster,
        address = standing.address,
        http = standing.http.as_deref().unwrap_or("off"),
        scrape = standing.scrape.as_deref().unwrap_or("off"),
        runtime_dir = %settings.runtime_dir.display(),
        encrypted = standing.encrypted,
        incarnation,
        datagrams_per_call = socket.segments(),
        "listening"
    );
}
