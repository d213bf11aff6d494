//! Which users of the machine may ask the agent.

use std::str::FromStr;

/// Who may ask without changing anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Every user of this machine.
    All,
    /// The user and the group that the control socket belongs to.
    Group,
}

impl FromStr for Readers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            "group" => Ok(Self::Group),
            _ => Err("it is neither".to_owned()),
        }
    }
}
