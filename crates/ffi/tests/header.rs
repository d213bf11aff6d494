//! The header that C programs include says what the library has.

mod made;

#[test]
fn the_header_is_what_cbindgen_makes_of_the_crate() {
    let sources = ["sizes", "status", "config", "transport", "node", "reading"];
    let own = (env!("CARGO_MANIFEST_DIR"), env!("CARGO_PKG_NAME"));
    made::is_made(own, "tidings_node.h", &sources, |made| made);
}
