//! Runs an unmodified program, static or dynamic, with its system calls made by a service:
//! `cargo run -p tidings-fast-path --example ship -- [--core N] [--tally] PROGRAM [ARGUMENT…]`

#[cfg(target_arch = "x86_64")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStringExt;
    use std::path::Path;

    use tidings_fast_path::{Service, Settings, Way, dispatch, program};

    let mut core = None;
    let mut arguments = std::env::args_os().skip(1).peekable();
    while let Some(option) = arguments.next_if(|one| one.as_encoded_bytes().starts_with(b"--")) {
        match option.to_str() {
            Some("--tally") => dispatch::tell_at_exit(),
            Some("--core") => {
                let number = arguments.next().and_then(|number| number.to_str()?.parse().ok());
                core = Some(number.ok_or("--core: give the number of a core")?);
            }
            _ => return Err("usage: ship [--core N] [--tally] PROGRAM [ARGUMENT…]".into()),
        }
    }
    let arguments: Vec<CString> =
        arguments.map(|one| CString::new(one.into_vec())).collect::<Result<_, _>>()?;
    let name = arguments.first().ok_or("usage: ship [--core N] [--tally] PROGRAM [ARGUMENT…]")?;
    let path = Path::new(name.to_str()?).to_owned();
    let environment: Vec<CString> = std::env::vars_os()
        .filter_map(|(name, value)| {
            let mut text = name.into_vec();
            text.push(b'=');
            text.extend(value.into_vec());
            CString::new(text).ok()
        })
        .collect();
    let service = Service::best(Settings { core, ..Settings::default() });
    if let Way::InPlace(why) = service.way() {
        eprintln!("calls run in place: {why}");
    }
    match program::run(&path, &arguments, &environment, service)? {}
}

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    eprintln!("unmodified programs are run on x86-64 only; link with tidings-fast-path instead");
    std::process::exit(1);
}
