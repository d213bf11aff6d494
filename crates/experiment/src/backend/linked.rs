//! Which MPI a shim is made for and a program is linked to: below a program of another MPI a shim
//! refuses each run, and a program without MPI runs on all ranks and is measured with nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::kinds::{Mpi, MpiFamily};
use crate::ExperimentError;

/// What stands in a shim, before the name of its MPI (mpi/shim/shim.c).
const MADE_FOR: &str = "this shim is made for ";

/// A binary interface of MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interface {
    OpenMpi,
    Mpich,
    Standard,
}

/// Each with what a shim calls it, and with libraries that have it.
const INTERFACES: [(Interface, &str, &[&str]); 3] = [
    (Interface::Standard, "the ABI of the MPI standard", &["libmpi_abi.so"]),
    (Interface::OpenMpi, "Open MPI", &["libmpi.so.40"]),
    (Interface::Mpich, "the family of MPICH", &["libmpich.so.12", "libmpi.so.12"]),
];

impl Interface {
    fn name(self) -> &'static str {
        INTERFACES.iter().find(|own| own.0 == self).map_or("", |own| own.1)
    }

    /// Whether programs of it are started by the launcher of an MPI.
    fn is_of(self, family: MpiFamily) -> bool {
        (self == Self::OpenMpi) == (family == MpiFamily::OpenMpi)
    }
}

/// Refuses a shim that is not for this MPI, and a program that is not linked to the shim's. A
/// program that loads MPI when it runs is not looked at, nor is a script.
///
/// # Errors
/// [`ExperimentError::Program`] with the remedy.
pub fn must_fit(mpi: &Mpi, program: &Path, loads_mpi: bool) -> Result<(), ExperimentError> {
    let refused = |path: &Path, reason: String| {
        Err(ExperimentError::Program(format!("{}: {reason}", path.display())))
    };
    let Some(shim) = mpi.shim.as_deref() else { return Ok(()) };
    let family = mpi.family.name();
    let Some(made_for) = of_shim(shim) else {
        let name = format!("libtidings-shim.{family}.so");
        return refused(shim, format!("is no shim: name {name}, which `make mpi` builds"));
    };
    if !made_for.is_of(mpi.family) {
        let other = made_for.name();
        let reason = format!("is made for {other}, but mpi is {family}: name the shim for that");
        return refused(shim, reason);
    }
    if loads_mpi || fs::read(program).is_ok_and(|bytes| bytes.starts_with(b"#!")) {
        return Ok(());
    }
    match of_program(program)? {
        Some(linked) if linked == made_for => Ok(()),
        Some(linked) => {
            let (linked, made_for) = (linked.name(), made_for.name());
            let reason =
                format!("is linked to {linked}, but the shim is made for {made_for}: name another");
            refused(program, reason)
        }
        None => refused(
            program,
            "is not linked to an MPI, so no ranks can be hidden from it; if it loads one when it \
             runs, as Python does, write `loads_mpi = true`"
                .to_owned(),
        ),
    }
}

fn of_shim(shim: &Path) -> Option<Interface> {
    let content = fs::read(shim).ok()?;
    let names = |name: &str| {
        let text = format!("{MADE_FOR}{name}");
        content.windows(text.len()).any(|bytes| bytes == text.as_bytes())
    };
    INTERFACES.iter().find(|own| names(own.1)).map(|own| own.0)
}

/// The MPI among the libraries that the dynamic linker would load.
fn of_program(program: &Path) -> Result<Option<Interface>, ExperimentError> {
    let listed = Command::new("ldd").arg(program).output();
    let listed = listed.map_err(|error| ExperimentError::Program(format!("ldd: {error}")))?;
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let has = |libraries: &[&str]| libraries.iter().any(|library| text.contains(library));
    Ok(INTERFACES.iter().find(|own| has(own.2)).map(|own| own.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shims_say_what_they_are_made_for() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let shim = place.path().join("shim.so");
        let of = |text: &str| {
            fs::write(&shim, text).expect("ours");
            of_shim(&shim)
        };
        assert_eq!(of("x\0this shim is made for Open MPI, but"), Some(Interface::OpenMpi));
        assert_eq!(of("this shim is made for the family of MPICH"), Some(Interface::Mpich));
        assert_eq!(of("this shim is made for the ABI of the MPI"), None);
        assert_eq!(of("\u{7f}ELF"), None);
    }

    #[test]
    fn a_program_without_mpi_is_refused_unless_it_loads_one() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let shim = place.path().join("shim.so");
        fs::write(&shim, "this shim is made for Open MPI, but").expect("ours");
        let mpi = |family| Mpi {
            family,
            shim: Some(shim.clone()),
            yielding: None,
            launcher: None,
            launcher_arguments: Vec::new(),
        };
        let fits = |family, loads| must_fit(&mpi(family), Path::new("/bin/cat"), loads);
        let said = fits(MpiFamily::OpenMpi, false).expect_err("cat has no MPI").to_string();
        assert!(said.contains("not linked to an MPI") && said.contains("loads_mpi"), "{said}");
        assert!(fits(MpiFamily::OpenMpi, true).is_ok());
        let said = fits(MpiFamily::Mpich, true).expect_err("another's shim").to_string();
        assert!(said.contains("made for Open MPI, but mpi is mpich"), "{said}");
    }
}
