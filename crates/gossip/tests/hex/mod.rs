//! Golden datagrams: files of bytes as hexadecimal numbers, sixteen on a line.

use std::fmt::Write as _;
use std::path::Path;

/// Compares a datagram with a file of this crate; with TIDINGS_BLESS set, the file is written.
#[expect(clippy::disallowed_methods, reason = "a test may read what the core may not")]
pub(crate) fn check(file: &str, datagram: &[u8]) {
    let mut hex = String::new();
    for line in datagram.chunks(16) {
        for byte in line {
            write!(hex, "{byte:02x} ").expect("a String can be written to");
        }
        hex.pop();
        hex.push('\n');
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("TIDINGS_BLESS").is_some() {
        std::fs::write(&path, &hex).expect("the golden file can be written");
    }
    let golden = std::fs::read_to_string(&path).expect("the golden file is there");
    assert_eq!(hex, golden, "{file} changed");
}
