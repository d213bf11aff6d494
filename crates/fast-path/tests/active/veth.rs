//! Two network namespaces and a virtual wire between them, for tests and benches. They have no
//! name: they end with the process.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::Command;

use nix::sched::{CloneFlags, setns, unshare};
use tidings_fast_path::active::Settings;
use tidings_fast_path::frame::Ends;

const HARDWARE: [&str; 2] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];
const ADDRESSES: [&str; 2] = ["10.77.0.1", "10.77.0.2"];

/// The interface, on both sides.
pub(crate) const INTERFACE: &str = "wire";

/// Which side.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    /// The responder's.
    There,
    /// The caller's.
    Here,
}

/// Both sides.
pub(crate) struct Wire([File; 2]);

impl Wire {
    /// Makes them; `None` if this process may not, which only root may.
    pub(crate) fn new() -> Option<Self> {
        let one = namespace()?;
        let other = namespace()?;
        let wire = Self([one, other]);
        wire.on(Side::Here, || {
            let peer = format!("/proc/{}/fd/{}", std::process::id(), wire.0[0].as_raw_fd());
            let [there, here] = HARDWARE;
            ip(&[
                "link", "add", INTERFACE, "address", here, "type", "veth", "peer", "name",
                INTERFACE, "address", there, "netns", &peer,
            ]);
        });
        for (side, address) in [Side::There, Side::Here].into_iter().zip(ADDRESSES) {
            wire.on(side, || {
                ip(&["address", "add", &format!("{address}/24"), "dev", INTERFACE]);
                ip(&["link", "set", INTERFACE, "up"]);
                ip(&["link", "set", "lo", "up"]);
            });
        }
        Some(wire)
    }

    /// Runs something on a side: what it opens stays there.
    pub(crate) fn on<T>(&self, side: Side, run: impl FnOnce() -> T) -> T {
        setns(&self.0[side as usize], CloneFlags::CLONE_NEWNET).expect("it is ours");
        run()
    }
}

fn namespace() -> Option<File> {
    if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
        assert!(!rustix::process::geteuid().is_root(), "unshare: {error}");
        return None;
    }
    Some(File::open("/proc/thread-self/ns/net").expect("this thread has one"))
}

fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output().expect("ip is installed");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A responder there.
pub(crate) fn settings(words: usize, core: Option<usize>) -> Settings {
    Settings {
        interface: INTERFACE.to_owned(),
        address: format!("{}:0", ADDRESSES[0]).parse().expect("an address"),
        words,
        native: false,
        core,
    }
}

/// What frames from here say.
pub(crate) fn ends() -> Ends {
    Ends {
        hardware: [[2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1]],
        from: format!("{}:0", ADDRESSES[1]).parse().expect("an address"),
        to: "0.0.0.0:0".parse().expect("an address"),
    }
}
