//! The folder of executables: which there are, and the runs of each at its interval.
//!
//! It is listed again and again, so an executable that is put there is run, and one that is taken
//! away is not, without a signal to the agent.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{Access, access};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep, sleep_until};
use tracing::warn;

use super::news::News;
use super::output;
use super::program::{Program, examine};

/// How often the folder is listed.
const LIST_EVERY: Duration = Duration::from_secs(10);
/// The most executables, and the most that run at one time.
const PROGRAMS_MOST: usize = 32;
const RUNS_MOST: usize = 4;

/// What a listing finds.
#[derive(Debug, Default)]
struct Listing {
    programs: BTreeMap<String, Program>,
    complaints: BTreeSet<String>,
}

/// Runs what lies in `folder` and sends what it says, until nobody receives it.
pub(crate) async fn follow(folder: PathBuf, to: mpsc::Sender<News>) {
    let permits = Arc::new(Semaphore::new(RUNS_MOST));
    let mut running: BTreeMap<String, (Program, Runs)> = BTreeMap::new();
    let mut known = BTreeSet::new();
    while !to.is_closed() {
        let place = folder.clone();
        let Ok(Listing { programs, complaints }) = spawn_blocking(move || list(&place)).await
        else {
            return; // the agent ends
        };
        for complaint in complaints.difference(&known) {
            warn!("collectors: {complaint}");
        }
        known = complaints;
        let ended = running.keys().filter(|name| !programs.contains_key(*name)).cloned();
        for name in ended.collect::<Vec<_>>() {
            running.remove(&name);
            let _ = to.send(News::gone(name)).await; // an error says that nobody receives
        }
        for (name, program) in programs {
            if running.get(&name).is_none_or(|(before, _)| *before != program) {
                let runs = repeat(program.clone(), to.clone(), Arc::clone(&permits));
                running.insert(name, (program, Runs(tokio::spawn(runs))));
            }
        }
        sleep(LIST_EVERY).await;
    }
}

/// The runs of an executable; they end when it is dropped, and a run that goes on with them.
struct Runs(JoinHandle<()>);

impl Drop for Runs {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn repeat(program: Program, to: mpsc::Sender<News>, permits: Arc<Semaphore>) {
    let lasts = 2 * program.interval + program.time_limit;
    loop {
        let next = Instant::now() + program.interval;
        let Ok(permit) = permits.acquire().await else { return };
        let said = program.run().await;
        drop(permit);
        let (outcome, complaint) = match said {
            Ok(text) => {
                let (metrics, complaint) = output::metrics(&text);
                (Ok(metrics), complaint.or_else(|| program.remark.clone()))
            }
            Err(error) => (Err(error.to_string()), None),
        };
        let news = News { source: program.name.clone(), outcome, complaint, lasts };
        if to.send(news).await.is_err() {
            return;
        }
        sleep_until(next).await;
    }
}

/// The executables of a folder, and what cannot be run.
fn list(folder: &Path) -> Listing {
    let mut listing = Listing::default();
    let entries = match examine(folder).map_err(|error| error.to_string()).and_then(|_| {
        std::fs::read_dir(folder)
            .map_err(|error| format!("{} cannot be listed ({error})", folder.display()))
    }) {
        Ok(entries) => entries,
        Err(complaint) => {
            listing.complaints.insert(complaint);
            return listing;
        }
    };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let names: BTreeSet<String> = names.filter(|name| is_meant(name)).collect();
    for name in names {
        let path = folder.join(&name);
        if !path.is_file() || access(&path, Access::EXEC_OK).is_err() {
            continue;
        }
        if listing.programs.len() == PROGRAMS_MOST {
            let complaint = format!("no more than {PROGRAMS_MOST} executables are run");
            listing.complaints.insert(complaint);
            break;
        }
        match Program::at(&path, name.clone()) {
            Ok(program) => drop(listing.programs.insert(name, program)),
            Err(error) => drop(listing.complaints.insert(error.to_string())),
        }
    }
    listing
}

/// Whether a name is one of an executable: not what editors and packages leave behind.
fn is_meant(name: &str) -> bool {
    let left_behind = [".toml", "~", ".bak", ".swp", ".orig", ".rpmsave", ".rpmnew"];
    let by_dpkg = [".dpkg-old", ".dpkg-new", ".dpkg-dist", ".dpkg-tmp"];
    let ends = left_behind.iter().chain(&by_dpkg).any(|end| name.ends_with(end));
    !name.starts_with('.') && !ends
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A folder with one executable, `probe`, and what else is named.
    fn folder(script: &str, beside: Option<&str>) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary directory");
        write(folder.path(), "probe", script, 0o755);
        if let Some(text) = beside {
            write(folder.path(), "probe.toml", text, 0o644);
        }
        folder
    }

    fn write(folder: &Path, name: &str, text: &str, mode: u32) {
        let path = folder.join(name);
        fs::write(&path, text).expect("writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its owner's");
    }

    fn only(listing: &Listing) -> &Program {
        assert_eq!(listing.complaints, BTreeSet::new());
        listing.programs.get("probe").expect("it is executable")
    }

    fn complaint(folder: &tempfile::TempDir) -> String {
        let listing = list(folder.path());
        assert_eq!(listing.programs.len(), 0);
        listing.complaints.into_iter().collect()
    }

    async fn said(script: &str, beside: &str) -> Result<String, String> {
        let folder = folder(&format!("#!/bin/sh\n{script}\n"), Some(beside));
        let listing = list(folder.path());
        only(&listing).run().await.map_err(|error| error.to_string())
    }

    #[test]
    fn executables_are_found_with_what_stands_beside_them() {
        let folder = folder("#!/bin/sh\n", None);
        for (name, mode) in [("notes", 0o644), ("probe~", 0o755), (".probe", 0o755)] {
            write(folder.path(), name, "#!/bin/sh\n", mode);
        }
        let listing = list(folder.path());
        let Program { interval, time_limit, .. } = only(&listing);
        assert_eq!((*interval, *time_limit), (Duration::from_secs(60), Duration::from_secs(10)));
        assert_eq!(listing.programs.len(), 1);
        write(folder.path(), "probe.toml", "interval = \"2s\"\n", 0o644);
        let listing = list(folder.path());
        assert_eq!(only(&listing).interval, Duration::from_secs(2));
        for (text, why) in [
            ("intervall = \"2s\"\n", "intervall"),
            ("interval = \"1ms\"\n", "interval is not from 100ms to 1day"),
            ("time_limit = \"soon\"\n", "time_limit: "),
            ("user = \"no-such-user\"\n", "there is no user no-such-user"),
        ] {
            write(folder.path(), "probe.toml", text, 0o644);
            let said = complaint(&folder);
            assert!(said.contains("probe.toml") && said.contains(why), "{said}");
        }
    }

    #[test]
    fn what_others_can_change_is_not_run() {
        let folder = folder("#!/bin/sh\n", None);
        write(folder.path(), "probe", "#!/bin/sh\n", 0o775);
        assert!(complaint(&folder).contains("can be changed by others"));
        write(folder.path(), "probe", "#!/bin/sh\n", 0o755);
        write(folder.path(), "probe.toml", "", 0o666);
        assert!(complaint(&folder).contains("can be changed by others"));
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("its owner's");
        assert!(complaint(&folder).contains("can be changed by others"));
        let none = folder.path().join("none");
        assert!(list(&none).complaints.iter().all(|said| said.contains("cannot be read")));
    }

    #[tokio::test]
    async fn a_run_says_what_it_writes_or_why_it_does_not() {
        assert_eq!(said("echo a 1; echo b 2 >&2", "").await, Ok("a 1\n".to_owned()));
        let failed = said("echo a 1; echo no disk >&2; exit 3", "").await.expect_err("it fails");
        assert_eq!(failed, "it failed (exit status: 3): no disk");
        let endless = said("yes a 1", "").await.expect_err("too much");
        assert!(endless.contains("more than 65536 bytes"), "{endless}");
        let loud = said("yes >&2 & sleep 0; kill $!; echo a 1", "").await;
        assert_eq!(loud, Ok("a 1\n".to_owned()), "complaints hold nothing up");
    }

    /// The script waits for a process that it has started and that would never end.
    #[tokio::test]
    async fn a_run_ends_at_its_time_with_all_that_it_started() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let place = folder.path().join("pid");
        let script = format!("sleep 1d & echo $! > {}; wait", place.display());
        let limit = "interval = \"1s\"\ntime_limit = \"300ms\"\n";
        let late = said(&script, limit).await.expect_err("it takes a day");
        assert!(late.contains("longer than 300ms, and was killed"), "{late}");
        let pid = fs::read_to_string(&place).expect("it began");
        let stat = Path::new("/proc").join(pid.trim()).join("stat");
        // What was killed may wait for somebody who asks how it ended.
        while let Ok(text) = fs::read_to_string(&stat) {
            if text.contains(") Z ") {
                break;
            }
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn another_user_is_taken_if_the_agent_may() {
        let folder = folder("#!/bin/sh\necho user $(id -u)\n", Some("user = \"nobody\"\n"));
        let listing = list(folder.path());
        let program = only(&listing);
        // The folder itself is the owner's alone.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("its owner's");
        let said = program.run().await.expect("it runs");
        if rustix::process::geteuid().is_root() {
            assert_eq!(said, "user 65534\n");
        } else {
            let remark = program.remark.as_deref().expect("it says so");
            assert!(remark.contains("not as nobody: the agent is not root"), "{remark}");
        }
    }
}
