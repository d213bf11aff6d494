//! All keys of a cluster are changed while it loses a tenth of its datagrams.

use rustix::process::Signal;
use tidings_experiment::agents::KEY;

use super::{all, site};

const LATER_KEY: &str = "//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eA=\n";

#[test]
fn all_keys_are_rotated_under_loss_and_nobody_is_lost() {
    let site = site();
    for host in all() {
        site.hosts.lose(host, 10);
    }
    let steps = [[KEY, LATER_KEY].concat(), [LATER_KEY, KEY].concat(), LATER_KEY.to_owned()];
    for (step, keys) in (1..).zip(&steps) {
        site.cluster.write("keys", keys);
        for host in all() {
            site.agent(host).signal(Signal::HUP);
            site.cluster.until(&format!("host {host} has taken step {step}"), |_| {
                (site.agent(host).counter("reloads") == step).then_some(())
            });
        }
        site.pass_rounds(1, 20);
        site.until_all_know(&all());
    }
    for counter in ["dropped_key", "reloads_failed"] {
        assert_eq!(site.count(&all(), counter), 0, "{counter}");
    }
    assert!(all().iter().all(|&host| site.agent(host).status().keys == 1));
    site.assert_nobody_died(&all());
    site.assert_nothing_damaged(&all());
}
