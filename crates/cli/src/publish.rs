//! `tidings publish KEY=VALUE…`: user metrics in this node's entry.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use tidings_gossip::payload::check_metric;

use crate::Failure;
use crate::output::{self, Agent};

const AFTER_HELP: &str = concat!(
    "\
The values travel with this node's entry to every other node and expire unless published again.
All that one command names are published at once, or none if one is refused: no node ever sees some of
them without the others. An entry has room for what the cluster's --payload-bytes leaves beside the
readings.

Examples:
  tidings publish gpu=3 job=alpha       for one hour
  tidings publish gpu=3 --for 90s       for a minute and a half
  tidings publish gpu= --for 0s         withdraw it now
  tidings nodes --where 'user.gpu > 2'  who has it",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings publish`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    /// A metric's name and value
    #[arg(required = true, value_name = "KEY=VALUE")]
    pairs: Vec<String>,
    /// How long the values stay, in whole seconds; 0s withdraws them
    #[arg(long = "for", value_name = "TIME", default_value = "1h")]
    #[arg(value_parser = humantime::parse_duration)]
    duration: Duration,
}

/// Publishes every pair at once, or none.
///
/// # Errors
/// [`Failure::NotAPair`] or [`Failure::Metric`] before the agent is asked, or the agent's refusal.
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    let pairs = options.pairs.iter().map(|pair| split(pair));
    let pairs = pairs.collect::<Result<BTreeMap<_, _>, _>>()?;
    let ttl_s = whole_seconds(options.duration);
    let mut client = agent.connect()?;
    client.publish_all(pairs.clone(), ttl_s)?;
    let time = humantime::format_duration(Duration::from_secs(ttl_s));
    let lines = pairs.iter().map(|(key, value)| match ttl_s {
        0 => format!("withdrawn {key}\n"),
        _ => format!("published {key}={value} for {time}\n"),
    });
    output::print(&lines.collect::<Vec<_>>().concat())
}

/// Key and value, which can be published: a script that misuses the command learns that whether or
/// not an agent answers.
fn split(pair: &str) -> Result<(&str, &str), Failure> {
    let (key, value) =
        pair.split_once('=').ok_or_else(|| Failure::NotAPair { given: pair.to_owned() })?;
    check_metric(key, value)?;
    Ok((key, value))
}

/// Rounded up, so that a short time does not become 0.
fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_equals_sign_separates() {
        assert_eq!(split("note=a=b").expect("a pair"), ("note", "a=b"));
        assert_eq!(split("gpu=").expect("a pair"), ("gpu", ""));
        assert!(matches!(split("gpu"), Err(Failure::NotAPair { .. })));
        for wrong in ["a key=1", "=1", "gpu=a\nb"] {
            assert!(matches!(split(wrong), Err(Failure::Metric(_))), "{wrong}");
        }
    }

    #[test]
    fn a_fraction_of_a_second_counts_as_one() {
        assert_eq!(whole_seconds(Duration::from_millis(200)), 1);
        assert_eq!(whole_seconds(Duration::ZERO), 0);
    }
}
