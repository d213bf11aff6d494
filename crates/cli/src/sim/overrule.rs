//! Options that overrule what a scenario says.

use tidings_sim::Mode;

/// Reads a mode.
pub(super) fn mode(text: &str) -> Result<Mode, &'static str> {
    match text {
        "full" => Ok(Mode::Full),
        "compact" => Ok(Mode::Compact),
        _ => Err("the mode is full or compact"),
    }
}

/// Sets a parameter where an option was given.
pub(super) fn set<T: Copy>(parameter: &mut T, option: Option<T>) {
    if let Some(value) = option {
        *parameter = value;
    }
}
