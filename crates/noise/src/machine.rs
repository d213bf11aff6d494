//! The machine: which of its cores may be measured, and whether it is a guest of another.

use std::fs;

use tidings_cores::{CoreSet, here};

use crate::NoiseError;

/// The cores that are online.
///
/// # Errors
/// [`NoiseError::Machine`] where the kernel does not list them.
pub fn online() -> Result<CoreSet, NoiseError> {
    let unlisted = || NoiseError::Machine("the kernel does not say which cores are online".into());
    here::online().ok_or_else(unlisted)
}

/// The cores that this thread may use.
///
/// # Errors
/// [`NoiseError::Machine`].
pub fn allowed() -> Result<CoreSet, NoiseError> {
    here::allowed().map_err(|error| {
        NoiseError::Machine(format!("the cores of this process cannot be read: {error}"))
    })
}

/// The cores to measure: those asked for, or all that may be used.
///
/// # Errors
/// [`NoiseError::Machine`] if one is not there or may not be used.
pub fn chosen(asked: Option<&CoreSet>, allowed: CoreSet) -> Result<CoreSet, NoiseError> {
    let Some(asked) = asked else { return Ok(allowed) };
    let online = online()?;
    if let Some(core) = asked.without(&online).iter().next() {
        let reason = format!("--cores: no core {core} is online here, but {online}");
        return Err(NoiseError::Machine(reason));
    }
    if let Some(core) = asked.without(&allowed).iter().next() {
        let reason = format!(
            "--cores: core {core} may not be used here, only {allowed}: start it with `taskset`, \
             or in another cpuset"
        );
        return Err(NoiseError::Machine(reason));
    }
    Ok(asked.clone())
}

/// Whether a hypervisor says that it runs this machine.
pub fn is_guest() -> bool {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_that_is_not_there_is_refused_with_those_that_are() {
        let all = allowed().expect("some may be used");
        let absent = "1023".parse().expect("a core");
        let refused = chosen(Some(&absent), all.clone()).expect_err("no test machine has so many");
        let refused = refused.to_string();
        assert!(refused.contains("no core 1023 is online here, but 0"), "{refused}");
        assert_eq!(chosen(None, all.clone()).expect("some may be used"), all);
        assert_eq!(chosen(Some(&all), all.clone()).expect("the same"), all);
        let refused = chosen(Some(&all), CoreSet::default()).expect_err("none is allowed");
        assert!(refused.to_string().contains("may not be used here"), "{refused}");
    }
}
