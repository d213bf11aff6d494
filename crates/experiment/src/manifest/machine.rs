//! The machine that a run takes place on, and the programs it is made with.

use std::fs;
use std::process::Command;
use std::thread;

use super::form::Machine;

/// This machine.
pub(super) fn this() -> Machine {
    let memory = field("/proc/meminfo", "MemTotal");
    let memory_kib = memory.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").ok();
    Machine {
        processor: field("/proc/cpuinfo", "model name"),
        architecture: Some(std::env::consts::ARCH.to_owned()),
        processors: thread::available_parallelism().ok().map(|count| count.get() as u64),
        memory_mib: memory_kib.map(|kib| kib / 1024),
        kernel: kernel.map(|text| text.trim().to_owned()),
    }
}

/// What a line `name: value` of the kernel says.
fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(own, _)| own.trim() == name)?;
    Some(value.trim().to_owned())
}

/// What a program prints, if it is there and succeeds.
pub(super) fn said_by(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The first line that a program prints, its version mostly; `unknown` without one.
pub fn first_line(program: &str, arguments: &[&str]) -> String {
    let said = said_by(program, arguments);
    let line = said.as_deref().and_then(|text| text.lines().next());
    line.map_or("unknown".to_owned(), |line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_all_that_a_manifest_says() {
        let machine = this();
        assert!(machine.processors > Some(0) && machine.memory_mib > Some(0), "{machine:?}");
        assert!(machine.kernel.is_some_and(|kernel| !kernel.contains('\n')));
        assert_eq!(first_line("tidings-no-such-program", &[]), "unknown");
    }
}
