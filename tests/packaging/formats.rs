//! The packages by the tools that judge them: lintian, rpmbuild and rpmlint, and the image by
//! buildah.

use std::fs;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use tidings_experiment::agents::programs;

use crate::{light, package, rpms, text_of};

#[test]
fn lintian_finds_nothing_wrong_with_the_package() {
    let directory = TempDir::new().expect("a temporary directory");
    let deb = light(directory.path(), "1").display().to_string();
    let words = ["--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", &deb];
    let found = crate::run("lintian", &words);
    let said = String::from_utf8_lossy(&found.stdout);
    assert!(found.status.success(), "{said}{}", String::from_utf8_lossy(&found.stderr));
}

#[test]
fn the_rpms_hold_what_the_debian_package_holds() {
    let made: Vec<String> = rpms::first().iter().map(|path| path.display().to_string()).collect();
    let list = |package: &String| text_of("rpm", &["-qpl", package]);
    let files: String = made.iter().map(list).collect();
    let files: Vec<&str> = files.lines().collect();
    let listed = text_of("dpkg-deb", &["--contents", &package().display().to_string()]);
    let debian = listed.lines().filter_map(|line| line.split_once(" ./")).map(|(_, path)| path);
    // What is of Debian alone, and what lies elsewhere.
    let own =
        ["copyright", "changelog.Debian.gz", "changelog.gz", "lintian", "zsh", "/usr/lib/lib"];
    for path in debian.map(|path| format!("/{path}")).filter(|path| !path.ends_with('/')) {
        let is_own = own.iter().any(|part| path.contains(part));
        assert!(is_own || files.contains(&path.as_str()), "{path} is missing");
    }
    assert!(files.iter().any(|path| path.ends_with("site-functions/_tidings")), "{files:?}");
    for library in ["/libtidings_node.a", "/libtidings_tasks_c.a"] {
        assert!(files.iter().any(|path| path.ends_with(library)), "{library}: {files:?}");
    }
    let mut words = vec!["--config", "packaging/rpmlint.toml"];
    words.extend(made.iter().map(String::as_str));
    let judged = crate::run("rpmlint", &words);
    let said = String::from_utf8_lossy(&judged.stdout).into_owned();
    assert!(said.contains(" 0 errors, 0 warnings"), "{said}");
}

#[test]
fn the_image_s_agent_runs_as_its_own_user() {
    let directory = TempDir::new().expect("a temporary directory");
    let place = |name: &str| directory.path().join(name).display().to_string();
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc", "tests/packaging/image"]);
    command.arg(programs()).stdin(Stdio::null());
    // Nothing of this machine's images is touched; its storage may be where overlays are refused.
    let storage = format!(
        "[storage]\ndriver = \"vfs\"\ngraphroot = {:?}\nrunroot = {:?}\n",
        place("images"),
        place("running")
    );
    fs::write(place("storage.conf"), storage).expect("an own directory");
    command.env("CONTAINERS_STORAGE_CONF", place("storage.conf")).env("TMPDIR", directory.path());
    let made = command.current_dir(crate::repository()).output().expect("util-linux is there");
    let (said, complaints) = (String::from_utf8_lossy(&made.stdout), &made.stderr);
    let complaints = String::from_utf8_lossy(complaints);
    assert!(made.status.success(), "{said}{complaints}");
    let (status, user) = said.rsplit_once("user ").expect("the last line");
    assert_eq!(user, "9616\n");
    let status: serde_json::Value = serde_json::from_str(status).expect("one JSON object");
    assert_eq!(status["members"], 1, "{status}");
}
