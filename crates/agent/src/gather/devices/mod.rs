//! Collectors that are built in: GPUs, file systems, errors of networks and of memory.
//!
//! Which run is a matter of configuration (`collect`), since their metrics take room of the
//! payload. A device may not answer, as a file system whose server is gone: each is read in a
//! thread of its own, for which nobody waits longer than [`PATIENCE`].

mod ecc;
mod file_system;
mod gpu;
mod network;
mod outcome;
mod sysfs;

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until, timeout};

use self::outcome::Outcome;
use super::news::News;

/// How often a device is read.
const INTERVAL: Duration = Duration::from_secs(10);
/// How long a device may take before it counts as one that does not answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Something that a built-in collector reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Device {
    /// All GPUs of the node.
    Gpu,
    /// The file system that this path lies on.
    FileSystem(PathBuf),
    /// Errors of all InfiniBand ports.
    InfiniBand,
    /// Errors of all Ethernet cards.
    Ethernet,
    /// Errors that memory has corrected, or could not correct.
    Ecc,
}

impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "gpu" => Ok(Self::Gpu),
            "infiniband" => Ok(Self::InfiniBand),
            "ethernet" => Ok(Self::Ethernet),
            "ecc" => Ok(Self::Ecc),
            _ => match text.strip_prefix("filesystem=") {
                Some(path) if path.starts_with('/') => Ok(Self::FileSystem(path.into())),
                _ => Err("no such collector".to_owned()),
            },
        }
    }
}

impl Device {
    /// Its name as a collector.
    fn name(&self) -> String {
        match self {
            Self::Gpu => "gpu".to_owned(),
            Self::FileSystem(path) => format!("filesystem={}", path.display()),
            Self::InfiniBand => "infiniband".to_owned(),
            Self::Ethernet => "ethernet".to_owned(),
            Self::Ecc => "ecc".to_owned(),
        }
    }

    /// Reads it, with the kernel's files below `sys`.
    fn reader(&self, sys: &Path) -> Box<dyn FnMut() -> Outcome + Send> {
        let sys = sys.to_owned();
        match self.clone() {
            Self::Gpu => {
                let mut gpus = gpu::Gpus::new(gpu::LIBRARY.as_ref(), &sys);
                Box::new(move || gpus.read())
            }
            Self::FileSystem(path) => Box::new(move || file_system::read(&path)),
            Self::InfiniBand => Box::new(move || network::infiniband(&sys)),
            Self::Ethernet => Box::new(move || network::ethernet(&sys)),
            Self::Ecc => Box::new(move || ecc::read(&sys)),
        }
    }
}

/// Reads a device again and again and sends what it says, until nobody receives it.
pub(crate) async fn watch(device: Device, sys: PathBuf, to: mpsc::Sender<News>) {
    let (source, lasts) = (device.name(), 2 * INTERVAL + PATIENCE);
    let mut reader = device.reader(&sys);
    loop {
        let next = Instant::now() + INTERVAL;
        let mut reading = spawn_blocking(move || {
            let outcome = reader();
            (reader, outcome)
        });
        let news = |outcome| News { source: source.clone(), outcome, complaint: None, lasts };
        let read = if let Ok(read) = timeout(PATIENCE, &mut reading).await {
            read
        } else {
            let patience = humantime::format_duration(PATIENCE);
            let silent = Err(format!("it has not answered for {patience}"));
            if to.send(news(silent)).await.is_err() {
                return;
            }
            reading.await
        };
        let Ok((again, outcome)) = read else { return }; // the agent ends
        reader = again;
        if to.send(news(outcome)).await.is_err() {
            return;
        }
        sleep_until(next).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_named_in_the_configuration() {
        for text in ["gpu", "infiniband", "ethernet", "ecc", "filesystem=/scratch"] {
            let device: Device = text.parse().expect(text);
            assert_eq!(device.name(), text);
        }
        for text in ["", "gpus", "filesystem", "filesystem=scratch", "filesystem="] {
            assert!(text.parse::<Device>().is_err(), "{text}");
        }
    }

    #[tokio::test]
    async fn what_a_device_says_is_sent() {
        let (to, mut news) = mpsc::channel(1);
        let root = Device::FileSystem("/".into());
        tokio::spawn(watch(root, "/sys".into(), to));
        let first = news.recv().await.expect("it is read at once");
        assert_eq!(first.source, "filesystem=/");
        let metrics = first.outcome.expect("every machine has one");
        assert!(metrics.contains_key("fs.root"), "{metrics:?}");
    }
}
