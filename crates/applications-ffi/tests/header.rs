//! The header that C programs include says what the library has.

use std::path::Path;
use std::{env, fs};

/// Set to anything, it has what is kept written anew instead of compared.
const WRITE: &str = "TIDINGS_BLESS";

#[test]
fn the_header_is_what_cbindgen_makes_of_the_crate() {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(crate_dir.join("cbindgen.toml"));
    let config = config.expect("cbindgen.toml is a configuration of cbindgen");
    let sources = ["application"];
    let builder = sources.iter().fold(cbindgen::Builder::new(), |builder, source| {
        builder.with_src(crate_dir.join(format!("src/{source}.rs")))
    });
    let mut made = Vec::new();
    let bindings = builder.with_config(config).generate().expect("the sources are Rust");
    bindings.write(&mut made);
    let made = String::from_utf8(made).expect("a header is text");
    let header = crate_dir.join("include/tidings_applications.h");
    if env::var_os(WRITE).is_some() {
        fs::write(&header, made).expect("the folder can be written");
        return;
    }
    let kept = fs::read_to_string(&header).unwrap_or_default();
    assert!(
        kept == made,
        "include/tidings_applications.h is not what the sources say: run {WRITE}=1 cargo test -p \
         tidings-applications-ffi --test header"
    );
}
