//! The test of a header that cbindgen makes: it is what the sources say. Four crates have one each.

use std::path::Path;
use std::{env, fs};

/// Set to anything, it has what is kept written anew instead of compared.
const WRITE: &str = "TIDINGS_BLESS";

/// Compares `include/NAME` of a crate with what cbindgen makes of these sources, after `mend`.
///
/// # Panics
/// If they differ, or the sources are no Rust.
pub(crate) fn is_made(
    (crate_dir, package): (&str, &str),
    name: &str,
    sources: &[&str],
    mend: impl FnOnce(String) -> String,
) {
    let crate_dir = Path::new(crate_dir);
    let config = cbindgen::Config::from_file(crate_dir.join("cbindgen.toml"));
    let config = config.expect("cbindgen.toml is a configuration of cbindgen");
    let builder = sources.iter().fold(cbindgen::Builder::new(), |builder, source| {
        builder.with_src(crate_dir.join(format!("src/{source}.rs")))
    });
    let mut made = Vec::new();
    let bindings = builder.with_config(config).generate().expect("the sources are Rust");
    bindings.write(&mut made);
    let made = mend(String::from_utf8(made).expect("a header is text"));
    let header = crate_dir.join("include").join(name);
    if env::var_os(WRITE).is_some() {
        fs::write(&header, made).expect("the folder can be written");
        return;
    }
    let kept = fs::read_to_string(&header).unwrap_or_default();
    assert!(
        kept == made,
        "include/{name} is not what the sources say: run {WRITE}=1 cargo test -p {package} --test \
         header"
    );
}
