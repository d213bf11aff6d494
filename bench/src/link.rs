//! A link of a given rate: two network namespaces, each with one end of a cable (veth) that passes
//! on so many bits a second (tbf). A thread enters one of both ends; what it opens is there.
//!
//! Namespaces need root, and the programs of iproute2.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// The name of the card at each end.
const CARD: &str = "card";

/// The bytes that may go at once: some milliseconds' worth of 10 Gbit/s.
const BURST: &str = "1mb";

/// How long a packet waits at most before it is dropped.
const QUEUE: &str = "50ms";

/// Links that this process has made.
static MADE: AtomicU32 = AtomicU32::new(0);

/// One end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// That of the owner.
    Near,
    /// That of the reader.
    Far,
}

impl End {
    /// Its address.
    pub fn address(self) -> &'static str {
        match self {
            Self::Near => "10.77.0.1",
            Self::Far => "10.77.0.2",
        }
    }
}

/// A link, until this is dropped and nothing is open at its ends.
#[derive(Debug)]
pub struct Link(u32);

impl Link {
    /// Lays a link of so many Mbit/s.
    ///
    /// # Errors
    /// This is not root, or a program is missing: in its words.
    pub fn lay(mbit: u32) -> io::Result<Self> {
        let link = Self(MADE.fetch_add(1, Ordering::Relaxed));
        let [near, far] = [End::Near, End::Far].map(|end| link.name(end));
        for name in [&near, &far] {
            run("ip", &["netns", "add", name])?;
        }
        let ends = ["type", "veth", "peer", "name", CARD, "netns", &far];
        run("ip", &[&["-n", &near, "link", "add", CARD][..], &ends].concat())?;
        for end in [End::Near, End::Far] {
            let (name, address) = (link.name(end), format!("{}/24", end.address()));
            run("ip", &["-n", &name, "address", "add", &address, "dev", CARD])?;
            for card in ["lo", CARD] {
                run("ip", &["-n", &name, "link", "set", card, "up"])?;
            }
            let bucket = ["tbf", "rate", &format!("{mbit}mbit"), "burst", BURST, "latency", QUEUE];
            let add = ["-n", &name, "qdisc", "add", "dev", CARD, "root"];
            run("tc", &[&add[..], &bucket].concat())?;
        }
        Ok(link)
    }

    /// Moves this thread to an end, with the threads that it starts from now on.
    ///
    /// # Errors
    /// The system refuses it.
    pub fn enter(&self, end: End) -> io::Result<()> {
        let namespace = File::open(format!("/run/netns/{}", self.name(end)))?;
        Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
    }

    fn name(&self, end: End) -> String {
        let end = if end == End::Near { "near" } else { "far" };
        format!("tidings-bench-{}-{}-{end}", std::process::id(), self.0)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        for end in [End::Near, End::Far] {
            // One that could not be made is not there.
            let _ = run("ip", &["netns", "delete", &self.name(end)]);
        }
    }
}

fn run(program: &str, arguments: &[&str]) -> io::Result<()> {
    let failed = |why: String| io::Error::other(format!("{program}: {why}"));
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}
