//! The header that C programs include says what the library has.

#[path = "../../ffi/tests/made/mod.rs"]
mod made;

#[test]
fn the_header_is_what_cbindgen_makes_of_the_crate() {
    let sources = [
        "limits",
        "status",
        "tasks",
        "submission",
        "outcome",
        "claim",
        "children",
        "input",
        "work",
        "keys",
        "collective",
        "handles",
        "field",
        "tuples",
        "flow",
        "declare",
        "given",
        "permits",
        "queue",
    ];
    let own = (env!("CARGO_MANIFEST_DIR"), env!("CARGO_PKG_NAME"));
    made::is_made(own, "tidings_tasks.h", &sources, |made| {
        // Rust's heading says nothing to C; what nearly all say stands at the head of the header.
        let made = made.replace("//\n// # Safety\n// Each pointer is null or valid.\n", "");
        made.replace("//\n// # Safety\n", "")
    });
}
