//! The header that C programs include says what the library has.

#[path = "../../ffi/tests/made/mod.rs"]
mod made;

#[test]
fn the_header_is_what_cbindgen_makes_of_the_crate() {
    let sources = ["status", "config", "task", "output", "worker", "shelf", "balance", "trace"];
    let own = (env!("CARGO_MANIFEST_DIR"), env!("CARGO_PKG_NAME"));
    made::is_made(own, "tidings_steal.h", &sources, |made| {
        // Rust's heading says nothing to C, and what all ask for stands at the head of the header.
        let alone = ["worker_free`].", "worker_add`].", "worker_add`], for both."];
        let made = alone.iter().fold(made, |made, it| {
            made.replace(&format!("\n\n # Safety\n As [`tidings_steal_{it}\n"), "\n")
        });
        let made = made.replace("\n\n # Safety\n As [`tidings_steal_worker_free`]; ", "\n\n ");
        let made = made.replace("\n\n # Safety\n", "\n\n").replace("[`", "`").replace("`]", "`");
        with_short_remarks(&made)
    });
}

/// A remark of one line takes one line, where cbindgen gives it three.
fn with_short_remarks(made: &str) -> String {
    let lines: Vec<&str> = made.lines().collect();
    let (mut said, mut at) = (String::new(), 0);
    while at < lines.len() {
        let is_short = lines[at].trim() == "/*"
            && lines.get(at + 2).is_some_and(|end| end.trim() == "*/")
            && lines[at + 1].len() + "/* */".len() <= 100;
        if is_short {
            let (opening, text) = (lines[at], lines[at + 1].trim());
            said.extend([opening, " ", text, " */\n"]);
            at += 3;
        } else {
            said.push_str(lines[at]);
            said.push('\n');
            at += 1;
        }
    }
    said
}
