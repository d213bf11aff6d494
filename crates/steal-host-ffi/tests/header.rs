//! The header that C programs include says what the library has.

#[path = "../../ffi/tests/made/mod.rs"]
mod made;

#[test]
fn the_header_is_what_cbindgen_makes_of_the_crate() {
    let sources = ["status", "segment", "host", "task", "array"];
    let own = (env!("CARGO_MANIFEST_DIR"), env!("CARGO_PKG_NAME"));
    made::is_made(own, "tidings_steal_host.h", &sources, |made| {
        // Rust's heading says nothing to C, and what all ask for stands at the head of the header.
        let made = made.replace("//\n// # Safety\n", "");
        let alone = ["leave`].", "state`].", "array_free`]."];
        let made = alone
            .iter()
            .fold(made, |made, it| made.replace(&format!("// As [`tidings_host_{it}\n"), ""));
        made.replace("[`", "`").replace("`]", "`")
    });
}
