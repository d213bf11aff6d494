//! Where an agent keeps its board, its control socket, its lock and its incarnation.
//!
//! The rule, first match wins: `$TIDINGS_RUNTIME_DIR`; `/run/tidings` for root;
//! `$XDG_RUNTIME_DIR/tidings`; `/tmp/tidings-<uid>`. Agent and clients apply the same rule, so on a
//! machine with one agent no directory has to be named.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The environment variable that names the runtime directory.
pub const RUNTIME_DIR_VARIABLE: &str = "TIDINGS_RUNTIME_DIR";

/// The control socket's name inside the runtime directory.
pub const SOCKET_FILE: &str = "control.sock";

/// The directory of the machine's agent.
const MACHINE: &str = "/run/tidings";

/// The board's name inside the runtime directory.
pub const BOARD_FILE: &str = "board";

/// The runtime directory of this user's agent, by the rule above. It need not exist.
pub fn runtime_dir() -> PathBuf {
    rule(|name| std::env::var_os(name), rustix::process::getuid().as_raw())
}

/// Where a client looks for an agent: in the directory above, and if no agent has begun there, in
/// that of the machine's agent, `/run/tidings`.
pub fn agent_dir() -> PathBuf {
    let has_agent = |path: &Path| path.join(BOARD_FILE).exists() || path.join(SOCKET_FILE).exists();
    look(|name| std::env::var_os(name), rustix::process::getuid().as_raw(), has_agent)
}

/// The board of the agent whose runtime directory is `runtime_dir`.
pub fn board_path(runtime_dir: &Path) -> PathBuf {
    runtime_dir.join(BOARD_FILE)
}

fn rule(variable: impl Fn(&str) -> Option<OsString>, uid: u32) -> PathBuf {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(directory) = set(RUNTIME_DIR_VARIABLE) {
        return directory;
    }
    if uid == 0 {
        return PathBuf::from(MACHINE);
    }
    match set("XDG_RUNTIME_DIR") {
        Some(directory) => directory.join("tidings"),
        None => PathBuf::from(format!("/tmp/tidings-{uid}")),
    }
}

fn look(
    variable: impl Fn(&str) -> Option<OsString>,
    uid: u32,
    has_agent: impl Fn(&Path) -> bool,
) -> PathBuf {
    let is_named = variable(RUNTIME_DIR_VARIABLE).is_some_and(|value| !value.is_empty());
    let own = rule(variable, uid);
    let elsewhere = !is_named && !has_agent(&own) && has_agent(Path::new(MACHINE));
    if elsewhere { PathBuf::from(MACHINE) } else { own }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<'a>(variables: &'a [(&str, &str)]) -> impl Fn(&str) -> Option<OsString> + 'a {
        move |name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
    }

    #[test]
    fn the_first_match_wins() {
        let xdg = ("XDG_RUNTIME_DIR", "/run/user/7");
        let own = (RUNTIME_DIR_VARIABLE, "/x");
        let empty = (RUNTIME_DIR_VARIABLE, "");
        assert_eq!(rule(with(&[own, xdg]), 0), Path::new("/x"));
        assert_eq!(rule(with(&[xdg]), 0), Path::new("/run/tidings"));
        assert_eq!(rule(with(&[xdg]), 7), Path::new("/run/user/7/tidings"));
        assert_eq!(rule(with(&[]), 7), Path::new("/tmp/tidings-7"));
        assert_eq!(rule(with(&[empty]), 7), Path::new("/tmp/tidings-7"));
    }

    #[test]
    fn clients_find_the_agent_of_the_machine_behind_their_own() {
        let (own, xdg) = ((RUNTIME_DIR_VARIABLE, "/x"), ("XDG_RUNTIME_DIR", "/run/user/7"));
        let at = |there: &'static [&str]| {
            move |path: &Path| there.iter().any(|one| Path::new(one) == path)
        };
        let both = &["/run/tidings", "/run/user/7/tidings"];
        assert_eq!(look(with(&[xdg]), 7, at(both)), Path::new("/run/user/7/tidings"));
        assert_eq!(look(with(&[xdg]), 7, at(&["/run/tidings"])), Path::new("/run/tidings"));
        assert_eq!(look(with(&[xdg]), 7, at(&[])), Path::new("/run/user/7/tidings"));
        assert_eq!(look(with(&[own, xdg]), 7, at(both)), Path::new("/x"));
    }
}
