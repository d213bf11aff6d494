//! What all backends share: what they have to know of a run, and how they find programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::kinds::Mpi;
use crate::ExperimentError;
use crate::program::find;
use crate::run::Launch;

/// What stands in the library that has ranks yield (mpi/yield), and in no other of `make mpi`.
const YIELDS: &[u8] = b"OMPI_MCA_mpi_yield_when_idle";

/// What a backend has to know of a run.
#[derive(Debug)]
pub struct Order<'a> {
    /// Program and arguments.
    pub application: Vec<String>,
    /// Further arguments of the launcher, behind those of the machine.
    pub launcher_arguments: &'a [String],
    /// Variables for its processes.
    pub environment: Vec<(String, String)>,
    /// On how many nodes.
    pub nodes: u32,
    /// How many ranks.
    pub ranks: u32,
    /// Where it runs.
    pub directory: &'a Path,
}

impl Order<'_> {
    /// The program itself, without a launcher.
    pub(super) fn plain(&self) -> Launch {
        Launch {
            words: self.application.clone(),
            environment: self.environment.clone(),
            directory: self.directory.to_owned(),
            ..Launch::default()
        }
    }
}

/// A launcher among these names on PATH whose `--version` says `wanted`.
pub(super) fn find_launcher(
    names: &[&str],
    wanted: &str,
    remedy: &str,
) -> Result<PathBuf, ExperimentError> {
    let here = Path::new("/");
    for name in names {
        let Ok(path) = find(name, here) else { continue };
        let output = Command::new(&path).arg("--version").output();
        let said = output.map(|output| [output.stdout, output.stderr].concat()).unwrap_or_default();
        if String::from_utf8_lossy(&said).contains(wanted) {
            return Ok(path);
        }
    }
    Err(ExperimentError::Program(format!("no {} on PATH: {remedy}", names.join(" or "))))
}

/// What is preloaded below the ranks, as LD_PRELOAD names it: what has them yield is asked before
/// the shim.
pub(super) fn preloaded(mpi: &Mpi) -> Result<Option<String>, ExperimentError> {
    let shim = mpi.shim.as_deref().map(find_library).transpose()?;
    let Some(yielding) = &mpi.yielding else { return Ok(shim) };
    let library = find_library(yielding)?;
    let content = std::fs::read(yielding).unwrap_or_default(); // a folder is no such library either
    if !content.windows(YIELDS.len()).any(|bytes| bytes == YIELDS) {
        return Err(ExperimentError::Program(format!(
            "{}: has no waiting rank yield: name libtidings-yield.so, which `make mpi` builds",
            yielding.display()
        )));
    }
    Ok(Some([Some(library), shim].into_iter().flatten().collect::<Vec<_>>().join(":")))
}

/// A library by its whole path.
fn find_library(path: &Path) -> Result<String, ExperimentError> {
    let whole = std::fs::canonicalize(path).map_err(|error| {
        let path = path.display();
        ExperimentError::Program(format!("{path}: {error}: `make mpi` builds it, into target/mpi"))
    })?;
    Ok(whole.display().to_string())
}
