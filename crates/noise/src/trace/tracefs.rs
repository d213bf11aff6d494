//! An instance of the kernel's tracer for this process alone, in its file system tracefs.
//!
//! An instance has buffers, a clock and switches of its own, so whoever else traces the machine is
//! not disturbed. tracefs is reached by a mount that is attached nowhere and goes with this process
//! (`fsopen`, `fsmount`), so nothing is mounted where it was not. The instance is removed at the
//! end; one of a process that was killed is removed by the next.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process;

use rustix::fs::OFlags;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::decode::{Decoder, NEEDED, VECTOR_ENDS, WELCOME};
use super::event::{Event, What};
use super::format::Format;
use super::page::{Layout, read};
use crate::source::Names;

/// The beginning of the names of instances; the process's number follows.
const PREFIX: &str = "tidings-noise-";
/// The buffers of all cores together, and of one at most, in KiB.
const BUFFERS_KIB: [usize; 2] = [256 * 1_024, 8 * 1_024];
/// Pages that are read of a core before the next is: one busy core must not starve the others.
const PAGES_IN_TURN: usize = 4_096;

/// What a format or a header has at most.
const LONGEST_TEXT: usize = 64 * 1_024;

/// Why there is no tracing, in words that name the remedy.
pub type Refusal = String;

/// The buffer of one core.
#[derive(Debug)]
struct Buffer {
    core: u32,
    file: File,
}

/// The instance.
#[derive(Debug)]
pub struct Tracer {
    folder: PathBuf,
    layout: Layout,
    decoder: Decoder,
    buffers: Vec<Buffer>,
    page: Vec<u8>,
    /// The tracepoints in use, as `group:name`.
    pub events: Vec<String>,
    /// Pages before which events were lost, because they came faster than they were read.
    pub missed: u64,
    /// The mount that `folder` is reached by.
    _mount: OwnedFd,
}

impl Tracer {
    /// Begins to trace these cores.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn begin(cores: &[u32]) -> Result<Self, Refusal> {
        let mount = mounted().map_err(|error| {
            format!("tracefs cannot be mounted ({error}): run as root, or with CAP_SYS_ADMIN")
        })?;
        let root = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
        let header = text_of(&root.join("events/header_page"));
        let header = header.map_err(|error| said("events/header_page", &error))?;
        let layout = Layout::parse(&header)
            .ok_or("events/header_page has an unknown form: not a kernel of 64 bits?")?;
        remove_left(&root);
        let folder = root.join("instances").join(format!("{PREFIX}{}", process::id()));
        fs::create_dir(&folder).map_err(|error| said("instances", &error))?;
        let mut tracer = Self {
            page: vec![0; layout.page_bytes],
            layout,
            folder,
            decoder: Decoder::default(),
            buffers: Vec::new(),
            events: Vec::new(),
            missed: 0,
            _mount: mount,
        };
        tracer.set_up(cores)?;
        Ok(tracer)
    }

    fn set_up(&mut self, cores: &[u32]) -> Result<(), Refusal> {
        let [all, one] = BUFFERS_KIB;
        self.write("tracing_on", "0")?;
        self.write("trace_clock", "mono")?;
        self.write("buffer_size_kb", &(all / cores.len().max(1)).min(one).to_string())?;
        self.write("tracing_cpumask", &mask(cores))?;
        for (group, name) in NEEDED {
            self.enable(group, name)?;
        }
        for (group, name) in WELCOME.into_iter().filter(|(_, name)| *name != "*") {
            let _ = self.enable(group, name); // not every kernel has it
        }
        for name in self.vectors() {
            let _ = self.enable("irq_vectors", &name);
        }
        for &core in cores {
            let path = self.folder.join(format!("per_cpu/cpu{core}/trace_pipe_raw"));
            let nonblocking = OFlags::NONBLOCK.bits() as i32;
            let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path);
            let file = file.map_err(|error| said(&format!("per_cpu/cpu{core}"), &error))?;
            self.buffers.push(Buffer { core, file });
        }
        self.write("tracing_on", "1")
    }

    /// The interrupts of the processor that the kernel has tracepoints of.
    fn vectors(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.join("events/irq_vectors"));
        let names = entries.into_iter().flatten().flatten();
        let mut names: Vec<String> =
            names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.retain(|name| VECTOR_ENDS.iter().any(|end| name.ends_with(end)));
        names.sort();
        names
    }

    fn enable(&mut self, group: &str, name: &str) -> Result<(), Refusal> {
        let place = format!("events/{group}/{name}");
        let format = text_of(&self.folder.join(&place).join("format"));
        let format = format.map_err(|error| said(&place, &error))?;
        let format = Format::parse(&format).ok_or_else(|| format!("{place}/format is unknown"))?;
        self.write(&format!("{place}/enable"), "1")?;
        self.decoder.learn(group, name, format);
        self.events.push(format!("{group}:{name}"));
        Ok(())
    }

    fn write(&self, place: &str, text: &str) -> Result<(), Refusal> {
        fs::write(self.folder.join(place), text).map_err(|error| said(place, &error))
    }

    /// What has happened since the last call, in no order between cores.
    ///
    /// # Errors
    /// What the system says of a buffer.
    pub fn drain(&mut self, names: &mut Names, events: &mut Vec<Event>) -> io::Result<()> {
        for buffer in &mut self.buffers {
            for _ in 0..PAGES_IN_TURN {
                let bytes = match buffer.file.read(&mut self.page) {
                    Ok(0) => break,
                    Ok(bytes) => bytes,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                };
                let Some(page) = read(self.layout, &self.page[..bytes]) else { continue };
                let core = buffer.core;
                if page.has_missed {
                    self.missed += 1;
                    let at_ns = page.begin_ns;
                    events.push(Event { at_ns, core, current: 0, what: What::Missed });
                }
                let records = page.records.iter();
                events.extend(
                    records.filter_map(|(at_ns, record)| {
                        self.decoder.event(*at_ns, core, record, names)
                    }),
                );
            }
        }
        Ok(())
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.buffers.clear();
        let _ = self.write("tracing_on", "0");
        let _ = fs::remove_dir(&self.folder);
    }
}

/// tracefs, mounted nowhere.
fn mounted() -> rustix::io::Result<OwnedFd> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// The text of a file of tracefs, read at once: of some, such as `events/header_page`, the kernel
/// gives a reader with a small buffer the beginning only.
fn text_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let (mut buffer, mut bytes) = (vec![0; LONGEST_TEXT], Vec::new());
    while bytes.len() < LONGEST_TEXT {
        match file.read(&mut buffer)? {
            0 => break,
            more => bytes.extend(&buffer[..more]),
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Removes instances of processes that are no more.
fn remove_left(root: &Path) {
    let entries = fs::read_dir(root.join("instances")).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name().into_string().unwrap_or_default();
        let process = name.strip_prefix(PREFIX).and_then(|number| number.parse::<u32>().ok());
        if process.is_some_and(|number| !Path::new(&format!("/proc/{number}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn said(place: &str, error: &io::Error) -> Refusal {
    format!("tracefs {place}: {error}")
}

/// Cores as the kernel reads masks: groups of 32 in hexadecimal, the highest first.
fn mask(cores: &[u32]) -> String {
    let groups = cores.iter().max().map_or(1, |most| most / 32 + 1);
    let group = |number: u32| {
        let bits =
            cores.iter().filter(|core| **core / 32 == number).map(|core| 1u32 << (core % 32));
        format!("{:08x}", bits.fold(0, |all, bit| all | bit))
    };
    (0..groups).rev().map(group).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_have_groups_of_32_cores() {
        assert_eq!(mask(&[0]), "00000001");
        assert_eq!(mask(&[1, 33, 64]), "00000001,00000002,00000002");
    }
}
