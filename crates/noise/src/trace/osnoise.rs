//! The kernel's tracer osnoise, lent for a measurement.
//!
//! By itself it runs a thread of its own on each core, which finds what disturbs it. Without that
//! work (Linux 6.0) it says of every task what disturbed it, in net durations: what interrupted a
//! handler or a task is taken off by the kernel, which so does what [`timeline`](crate::timeline)
//! does with raw tracepoints.
//!
//! The switch of that work is one for the whole machine. So osnoise is not lent while somebody
//! else's instance runs it. A switch that was turned is turned back at the end; the name of the
//! instance says that it was ([`MARK`]), so that after a `kill -9` the next measurement does it.

use std::fs;
use std::path::{Path, PathBuf};

use super::text::{Refusal, said, text_of};

/// The end of an instance's name that says that the work was switched off for it.
pub const MARK: &str = ".workload";

const TRACERS: &str = "available_tracers";
const CURRENT: &str = "current_tracer";
const OPTIONS: &str = "osnoise/options";
const WORK: &str = "OSNOISE_WORKLOAD";
const NO_WORK: &str = "NO_OSNOISE_WORKLOAD";
/// The tracers that one switch belongs to.
const KIN: [&str; 2] = ["osnoise", "timerlat"];

/// The tracer, for one instance.
#[derive(Debug)]
pub struct Lent {
    root: PathBuf,
    was_working: bool,
}

impl Lent {
    /// Looks whether it can be had; changes nothing.
    ///
    /// # Errors
    /// [`Refusal`] where the kernel does not have it, or somebody else uses it.
    pub fn by(root: &Path) -> Result<Self, Refusal> {
        let tracers = text_of(&root.join(TRACERS)).map_err(|error| said(TRACERS, &error))?;
        if !tracers.split_whitespace().any(|name| name == KIN[0]) {
            return Err("this kernel has no tracer osnoise: it takes CONFIG_OSNOISE_TRACER".into());
        }
        let options = text_of(&root.join(OPTIONS)).map_err(|error| said(OPTIONS, &error))?;
        let has = |wanted: &str| options.split_whitespace().any(|option| option == wanted);
        if !has(WORK) && !has(NO_WORK) {
            return Err("osnoise works by threads of its own only here: it takes Linux 6.0".into());
        }
        if let Some(user) = user(root) {
            return Err(format!("osnoise is in use by {user}, which it would change for"));
        }
        Ok(Self { root: root.to_owned(), was_working: has(WORK) })
    }

    /// The end of the instance's name.
    pub fn mark(&self) -> &'static str {
        if self.was_working { MARK } else { "" }
    }

    /// Begins in an instance whose name has the mark.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn begin(&self, instance: &Path) -> Result<(), Refusal> {
        let write = |path: PathBuf, text: &str, place: &str| {
            fs::write(path, text).map_err(|error| said(place, &error))
        };
        if self.was_working {
            write(self.root.join(OPTIONS), NO_WORK, OPTIONS)?;
        }
        write(instance.join(CURRENT), KIN[0], CURRENT)
    }

    /// Ends in the instance, and turns the switch back.
    pub fn end(&self, instance: &Path) {
        let _ = fs::write(instance.join(CURRENT), "nop");
        if self.was_working {
            Self::give_back(&self.root);
        }
    }

    /// Turns the switch of the work back on.
    pub fn give_back(root: &Path) {
        let _ = fs::write(root.join(OPTIONS), WORK);
    }
}

/// Who runs a tracer that the switch belongs to: the name of an instance, if any.
fn user(root: &Path) -> Option<String> {
    let runs = |folder: &Path| {
        let current = text_of(&folder.join(CURRENT)).unwrap_or_default();
        KIN.contains(&current.trim())
    };
    if runs(root) {
        return Some("the whole machine's tracer".to_owned());
    }
    let instances = fs::read_dir(root.join("instances")).into_iter().flatten().flatten();
    let mut using = instances.filter(|instance| runs(&instance.path()));
    using.next().map(|instance| format!("instance {}", instance.file_name().to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    const DEFAULT: &str = "DEFAULTS OSNOISE_WORKLOAD NO_PANIC_ON_STOP";

    /// Files as those of tracefs, with an instance.
    fn kernel(tracers: &str, options: &str) -> TempDir {
        let root = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir_all(root.path().join("instances/own")).expect("ours");
        fs::create_dir_all(root.path().join("osnoise")).expect("ours");
        for (file, text) in [
            (TRACERS, tracers),
            (OPTIONS, options),
            (CURRENT, "nop"),
            ("instances/own/current_tracer", "nop"),
        ] {
            fs::write(root.path().join(file), text).expect("ours");
        }
        root
    }

    fn read(root: &TempDir, file: &str) -> String {
        fs::read_to_string(root.path().join(file)).expect("it is there")
    }

    #[test]
    fn the_work_is_switched_off_for_as_long_as_it_is_lent() {
        let root = kernel("timerlat osnoise nop", DEFAULT);
        let lent = Lent::by(root.path()).expect("nobody uses it");
        assert_eq!((read(&root, OPTIONS).as_str(), lent.mark()), (DEFAULT, MARK));
        let own = root.path().join("instances/own");
        lent.begin(&own).expect("files take anything");
        assert_eq!(read(&root, OPTIONS), NO_WORK);
        assert_eq!(read(&root, "instances/own/current_tracer"), "osnoise");
        lent.end(&own);
        assert_eq!(read(&root, OPTIONS), WORK);
        assert_eq!(read(&root, "instances/own/current_tracer"), "nop");
    }

    #[test]
    fn a_work_that_was_off_stays_off() {
        let root = kernel("osnoise nop", "DEFAULTS NO_OSNOISE_WORKLOAD");
        let lent = Lent::by(root.path()).expect("nobody uses it");
        assert_eq!(lent.mark(), "");
        let own = root.path().join("instances/own");
        lent.begin(&own).expect("files take anything");
        lent.end(&own);
        assert_eq!(read(&root, OPTIONS), "DEFAULTS NO_OSNOISE_WORKLOAD");
    }

    #[test]
    fn what_the_kernel_lacks_or_another_uses_is_refused_in_words() {
        let refused = |root: &TempDir| Lent::by(root.path()).expect_err("it cannot be had");
        assert!(refused(&kernel("function nop", DEFAULT)).contains("CONFIG_OSNOISE_TRACER"));
        assert!(refused(&kernel("osnoise nop", "DEFAULTS")).contains("Linux 6.0"));
        let root = kernel("osnoise nop", DEFAULT);
        fs::write(root.path().join("instances/own/current_tracer"), "timerlat\n").expect("ours");
        assert!(refused(&root).contains("in use by instance own"), "{}", refused(&root));
        fs::write(root.path().join(CURRENT), "osnoise\n").expect("ours");
        assert!(refused(&root).contains("in use by the whole machine's tracer"));
        fs::remove_file(root.path().join(OPTIONS)).expect("ours");
        assert!(refused(&root).contains("osnoise/options"));
    }
}
