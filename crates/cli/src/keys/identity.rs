//! `tidings keys identity`: a node's own secret, and the line by which others know it.
//!
//! The secret is made once and never changed, so the command can be given again and again: it makes
//! the file if there is none, and prints the line of what is in it.

use std::fs;
use std::io;
use std::path::Path;

use tidings_gossip::Signer;
use tidings_gossip::wire::ask::is_name;

use super::failure::KeyFileError;
use super::private;

/// The line of a node for the list of identities; makes its secret if there is none.
///
/// # Errors
/// If the file cannot be read or made, or is not one, or no node can have the name.
pub(super) fn line(path: &Path, name: Option<&str>) -> Result<String, KeyFileError> {
    let name = name.map_or_else(host_name, str::to_owned);
    if !is_name(&name) {
        return Err(KeyFileError::Name(name));
    }
    let failed = |source| KeyFileError::File { path: path.to_owned(), source };
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let secret = private::secret().map_err(KeyFileError::Random)?;
            let text = Signer::from_bytes(secret).to_line() + "\n";
            private::create(path, &text).map_err(failed)?;
            text
        }
        read => read.map_err(failed)?,
    };
    let signer = Signer::parse(&text)
        .map_err(|source| KeyFileError::Identity { path: path.to_owned(), source })?;
    Ok(format!("{name} {}\n", signer.public()))
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tidings_gossip::Identities;

    use super::*;

    #[test]
    fn a_secret_is_made_once_and_is_private() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let path = home.path().join("identity");
        let first = line(&path, Some("n1")).expect("made");
        assert_eq!(line(&path, Some("n1")).expect("read"), first);
        let mode = fs::metadata(&path).expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        let other = line(&home.path().join("other"), Some("n2")).expect("made");
        assert_eq!(Identities::parse(&(first + &other)).expect("a list").len(), 2);
    }

    #[test]
    fn what_is_there_is_never_overwritten() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let path = home.path().join("identity");
        fs::write(&path, "not a secret\n").expect("writable");
        assert!(matches!(line(&path, Some("n1")), Err(KeyFileError::Identity { .. })));
        assert_eq!(fs::read_to_string(&path).expect("there"), "not a secret\n");
        let new = home.path().join("new");
        assert!(matches!(line(&new, Some("a b")), Err(KeyFileError::Name(_))));
        assert!(!new.exists());
    }
}
