//! `tidings manuals DIR`: man pages of every command, from the same source as `--help`.

use std::path::PathBuf;
use std::{fs, io};

use clap::Args;
use clap_mangen::Man;

use crate::Failure;
use crate::output;

const AFTER_HELP: &str = concat!(
    "\
Examples:
  tidings manuals ~/.local/share/man/man1
  man -l ~/.local/share/man/man1/tidings-nodes.1",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings manuals`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    /// Where the pages are written; it is made if missing
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Writes the pages of `line`, the whole command line, and prints their paths.
///
/// # Errors
/// [`Failure::File`] with the path that cannot be written.
pub fn run(options: &Options, line: clap::Command) -> Result<(), Failure> {
    let failed = |path: &PathBuf, source: io::Error| Failure::File { path: path.clone(), source };
    fs::create_dir_all(&options.directory).map_err(|error| failed(&options.directory, error))?;
    let mut written = Vec::new();
    for (name, page) in pages(line).map_err(|error| failed(&options.directory, error))? {
        let path = options.directory.join(name);
        fs::write(&path, page).map_err(|error| failed(&path, error))?;
        written.push(format!("{}\n", path.display()));
    }
    output::print(&written.concat())
}

/// The file name and the text of each page: `tidings.1`, `tidings-nodes.1`, …
fn pages(mut line: clap::Command) -> io::Result<Vec<(String, Vec<u8>)>> {
    line.build();
    let mut commands = vec![line.clone()];
    // The agent's page is the agent's own: `tidings-agent --manual`.
    let described = line.get_subcommands().filter(|command| command.get_name() != "agent");
    for command in described {
        let name = format!("tidings-{}", command.get_name());
        let usage = format!("tidings {}", command.get_name());
        commands.push(command.clone().name(name.clone()).bin_name(usage).display_name(name));
    }
    let page = |command: clap::Command| {
        let man = Man::new(command);
        let mut text = Vec::new();
        man.render(&mut text)?;
        Ok((man.get_filename(), text))
    };
    commands.into_iter().map(page).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::CommandLine;
    use clap::CommandFactory;

    #[test]
    fn each_command_has_a_page_with_what_its_help_has() {
        let pages = pages(CommandLine::command()).expect("written to memory");
        let named = |name: &str| {
            let page = pages.iter().find(|(page, _)| page == name);
            String::from_utf8_lossy(&page.expect("it is there").1).into_owned()
        };
        assert!(named("tidings.1").contains("seconds"));
        let nodes = named("tidings-nodes.1");
        assert!(nodes.contains("where") && nodes.contains("Exit codes"), "{nodes}");
        let all = CommandLine::command().get_subcommands().count();
        assert_eq!(pages.len(), all, "the page of tidings itself stands for that of the agent");
    }
}
