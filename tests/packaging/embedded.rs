//! The gossip core of the package: the example that it ships is compiled with its header and its
//! library, by the line of the guide, and two nodes of it find each other.

use std::process::{Command, Stdio};

use tempfile::TempDir;
use tidings_tests::page::blocks;

use crate::{package, text_of};

const GUIDE: &str = include_str!("../../docs/guides/embedding.md");

/// What runs beside the files of the package, laid over this machine's, on a loopback of its own,
/// so that the ports of the guide are free. All of it ends with the shell.
const TRIAL: &str = "\
    ip link set lo up
    mount -t overlay overlay -o lowerdir=\"$1\"/usr:/usr /usr
    cd \"$2\"
    head -c 32 /dev/urandom >key
    eval \"$3\"
    mkfifo silent
    exec 3<>silent
    nodes='127.0.0.1:9700 127.0.0.1:9701'
    ./udp . 0 $nodes <&3 >/dev/null &
    timeout 60 ./udp . 1 $nodes <&3 | grep --max-count=1 \"^n0 Alive, .*: pid $!$\"";

#[test]
fn the_example_of_the_package_is_compiled_with_its_library_and_runs() {
    let folder = TempDir::new().expect("a temporary directory");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (tree, work) = (path("tree"), path("work"));
    std::fs::create_dir(&work).expect("an own directory");
    text_of("dpkg-deb", &["--extract", &package().display().to_string(), &tree]);
    let shown = blocks(GUIDE, "sh").into_iter().find(|block| block.contains("-ltidings_node"));
    let line = shown.expect("the guide says how the example of the package is compiled");
    let spaces = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let mut command = Command::new("unshare");
    command.args(spaces).args(["bash", "-e", "-c", TRIAL, "trial", &tree, &work, line]);
    let output = command.stdin(Stdio::null()).output().expect("util-linux is there");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.starts_with("n0 Alive, "), "{said}");
}
