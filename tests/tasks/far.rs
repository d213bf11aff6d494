//! A store in a file that one process holds, and workers and runs that reach it as from another
//! host: none of them can hold it.

use std::process::Stdio;

use crate::place::{Place, Running};

/// A store, who holds it, and how others reach it.
pub(crate) struct Far {
    pub(crate) here: Place,
    key: String,
    address: String,
    holder: Option<Running>,
}

impl Far {
    pub(crate) fn new() -> Self {
        Self::with_parts(1)
    }

    /// A store of so many parts, which one process holds.
    pub(crate) fn with_parts(parts: u16) -> Self {
        let here = Place::new();
        if parts > 1 {
            here.text(&["store", "make", "--parts", &parts.to_string()]);
        }
        here.text(&["keys", "generate", "--output", "cluster.key"]);
        let key = here.path("cluster.key").to_str().unwrap().to_owned();
        let mut far = Self { here, key, address: "127.0.0.1:0".to_owned(), holder: None };
        far.hold();
        far
    }

    /// Begins to hold the store, where it was held before.
    fn hold(&mut self) {
        let listening = ["--listen", &self.address[..], "--keys", &self.key];
        let arguments = [&["worker", "-n", "1", "--queue", "none"][..], &listening].concat();
        let mut holder = self.here.start(&arguments);
        assert!(holder.complaint().contains("1 slots"));
        let said = holder.complaint();
        let address = said.split_whitespace().find_map(|word| word.strip_prefix("tcp://"));
        address.unwrap_or_else(|| panic!("{said}")).clone_into(&mut self.address);
        self.holder = Some(holder);
    }

    /// Kills who holds the store; another does then.
    pub(crate) fn replace_holder(&mut self) {
        self.holder.take().unwrap().kill();
        self.hold();
    }

    /// A worker whose files lie in a place of its own.
    pub(crate) fn worker(&self, node: &Place, variables: &[(&str, String)]) -> Running {
        let mut command = node.tidings(&["worker", "-n", "2"]);
        command.args(self.store()).envs(variables.iter().cloned());
        let mut worker = Running::begin(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        assert!(worker.complaint().contains("2 slots"));
        worker
    }

    /// A run of a script with these arguments, by workers that are there.
    pub(crate) fn run(&self, script: &str, arguments: &[&str]) -> Running {
        let mut command = self.here.tidings(&["run", "-n", "0", "--json"]);
        command.args(self.store()).args(["--", "sh", "-c", script, "sh", "{}", ":::"]);
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::begin(&mut command)
    }

    /// The options by which the store is reached.
    pub(crate) fn store(&self) -> [String; 4] {
        let address = format!("tcp://{}", self.address);
        ["--store".to_owned(), address, "--keys".to_owned(), self.key.clone()]
    }
}
