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
use tidings_cores::CoreSet;

use super::decode::{BESIDE_NET, Decoder, NEEDED, NET, VECTOR_ENDS, WELCOME};
use super::event::{Event, What};
use super::format::Format;
use super::osnoise::{Lent, MARK};
use super::page::{Layout, read};
use super::text::{Refusal, said, text_of};
use crate::source::Names;

/// The beginning of the names of instances; the process's number follows.
const PREFIX: &str = "tidings-noise-";
/// The buffers of all cores together, and of one at most, in KiB.
const BUFFERS_KIB: [usize; 2] = [256 * 1_024, 8 * 1_024];
/// Pages that are read of a core before the next is: one busy core must not starve the others.
const PAGES_IN_TURN: usize = 4_096;

/// What the kernel is to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Beginnings and ends, by raw tracepoints.
    Tracepoints,
    /// Net durations, by its tracer osnoise.
    Osnoise,
}

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
    /// The tracer osnoise, where it runs for this.
    lent: Option<Lent>,
    /// The mount that `folder` is reached by.
    _mount: OwnedFd,
}

impl Tracer {
    /// Begins to trace these cores.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn begin(cores: &CoreSet, by: By) -> Result<Self, Refusal> {
        let mount = mounted().map_err(|error| {
            format!("tracefs cannot be mounted ({error}): run as root, or with CAP_SYS_ADMIN")
        })?;
        let root = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
        let header = text_of(&root.join("events/header_page"));
        let header = header.map_err(|error| said("events/header_page", &error))?;
        let layout = Layout::parse(&header)
            .ok_or("events/header_page has an unknown form: not a kernel of 64 bits?")?;
        remove_left(&root);
        let lent = match by {
            By::Tracepoints => None,
            By::Osnoise => Some(Lent::by(&root)?),
        };
        let mark = lent.as_ref().map_or("", Lent::mark);
        let folder = root.join("instances").join(format!("{PREFIX}{}{mark}", process::id()));
        fs::create_dir(&folder).map_err(|error| said("instances", &error))?;
        let mut tracer = Self {
            page: vec![0; layout.page_bytes],
            layout,
            folder,
            decoder: Decoder::default(),
            buffers: Vec::new(),
            events: Vec::new(),
            missed: 0,
            lent,
            _mount: mount,
        };
        tracer.set_up(cores)?;
        Ok(tracer)
    }

    /// What names gaps by it.
    pub fn word(&self) -> &'static str {
        if self.lent.is_some() { "osnoise" } else { "tracepoints" }
    }

    fn set_up(&mut self, cores: &CoreSet) -> Result<(), Refusal> {
        let [all, one] = BUFFERS_KIB;
        self.write("tracing_on", "0")?;
        self.write("trace_clock", "mono")?;
        self.write("buffer_size_kb", &(all / cores.count().max(1)).min(one).to_string())?;
        self.write("tracing_cpumask", &cores.mask())?;
        let (needed, welcome) = match self.lent {
            Some(_) => (&NET[..], &BESIDE_NET[..]),
            None => (&NEEDED[..], &WELCOME[..]),
        };
        for (group, name) in needed {
            self.enable(group, name)?;
        }
        for (group, name) in welcome {
            let names = if *name == "*" { self.vectors() } else { vec![(*name).to_owned()] };
            for name in names {
                let _ = self.enable(group, &name); // not every kernel has it
            }
        }
        if let Some(lent) = &self.lent {
            lent.begin(&self.folder)?;
        }
        for core in cores.iter() {
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
        if let Some(lent) = &self.lent {
            lent.end(&self.folder);
        }
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

/// Removes instances of processes that are no more.
fn remove_left(root: &Path) {
    let entries = fs::read_dir(root.join("instances")).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name().into_string().unwrap_or_default();
        let Some(number) = name.strip_prefix(PREFIX) else { continue };
        let (number, has_mark) =
            number.strip_suffix(MARK).map_or((number, false), |number| (number, true));
        let process = number.parse::<u32>().ok();
        if process.is_some_and(|number| !Path::new(&format!("/proc/{number}")).exists()) {
            let is_gone = fs::remove_dir(entry.path()).is_ok();
            if is_gone && has_mark {
                Lent::give_back(root);
            }
        }
    }
}
