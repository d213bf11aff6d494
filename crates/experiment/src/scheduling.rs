//! How the processes of a run are scheduled: by words before their command.

use std::process::Command;

use crate::ExperimentError;

/// How the processes of a run are scheduled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduling {
    /// As the campaign itself.
    #[default]
    Normal,
    /// SCHED_FIFO with this priority: nothing of the usual kind takes a core from them.
    Fifo(u8),
    /// SCHED_RR with this priority: the same, and the run's own processes take turns.
    RoundRobin(u8),
    /// With this niceness.
    Nice(i8),
}

impl Scheduling {
    /// The words that schedule the command behind them.
    pub fn words(self) -> Vec<String> {
        match self {
            Self::Normal => Vec::new(),
            Self::Fifo(priority) => vec!["chrt".into(), "--fifo".into(), priority.to_string()],
            Self::RoundRobin(priority) => vec!["chrt".into(), "--rr".into(), priority.to_string()],
            Self::Nice(niceness) => vec!["nice".into(), "-n".into(), niceness.to_string()],
        }
    }

    /// Whether the kernel runs such processes before all ordinary ones.
    pub fn is_real_time(self) -> bool {
        matches!(self, Self::Fifo(_) | Self::RoundRobin(_))
    }

    /// Refuses what this process may not do.
    ///
    /// # Errors
    /// [`ExperimentError::Machine`] with the remedy.
    pub fn must_be_allowed(self) -> Result<(), ExperimentError> {
        let words = self.words();
        let Some((program, arguments)) = words.split_first() else { return Ok(()) };
        let output = Command::new(program).args(arguments).arg("true").output();
        match output {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(ExperimentError::Machine(format!(
                "scheduling: `{}` is refused ({}): run as root, or write scheduling = \"normal\"",
                words.join(" "),
                String::from_utf8_lossy(&output.stderr).trim()
            ))),
            Err(error) => Err(ExperimentError::Machine(format!("scheduling: {program}: {error}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheduling_is_words_before_the_command() {
        let words = |scheduling: Scheduling| scheduling.words().join(" ");
        assert_eq!(words(Scheduling::Normal), "");
        assert_eq!(words(Scheduling::Fifo(3)), "chrt --fifo 3");
        assert_eq!(words(Scheduling::RoundRobin(4)), "chrt --rr 4");
        assert_eq!(words(Scheduling::Nice(-5)), "nice -n -5");
    }
}
