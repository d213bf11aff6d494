//! The header that C programs include says what the library has.

#[path = "../../ffi/tests/made/mod.rs"]
mod made;

#[test]
fn the_header_is_what_cbindgen_makes_of_the_crate() {
    let sources = ["access", "check"];
    let own = (env!("CARGO_MANIFEST_DIR"), env!("CARGO_PKG_NAME"));
    made::is_made(own, "tidings_races.h", &sources, |made| made);
}
