//! The header that C programs include says what the library has.

#[path = "../../ffi/tests/made/mod.rs"]
mod made;

#[test]
fn the_header_is_what_cbindgen_makes_of_the_crate() {
    let sources = ["status", "config", "output", "participant"];
    let own = (env!("CARGO_MANIFEST_DIR"), env!("CARGO_PKG_NAME"));
    made::is_made(own, "tidings_recovery.h", &sources, |made| {
        // Rust's heading says nothing to C, and what all ask for stands at the head of the header.
        let made = made.replace("\n\n # Safety\n As [`tidings_recovery_free`].\n", "\n");
        let made = made.replace("\n\n # Safety\n As [`tidings_recovery_free`]; ", "\n\n ");
        made.replace("\n\n # Safety\n", "\n\n").replace("[`", "`").replace("`]", "`")
    });
}
