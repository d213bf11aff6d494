//! Kills as `studies/deaths/run` measures them, without the times: who told what of whom.

use tidings_experiment::agents::{Site, Vigil};
use tidings_experiment::hosts::Hosts;

/// A cluster as large as the one that is measured, at its pace.
const HOSTS: usize = 48;
const KILLED: [usize; 3] = [9, 30, 48];

#[test]
fn all_of_48_hosts_tell_of_each_kill_and_of_no_other_death() {
    let mut site = Site::new(Hosts::new(HOSTS), &["--interval", "256ms"]);
    let mut vigil = Vigil::over(&site, &site.all());
    for (number, host) in KILLED.into_iter().enumerate() {
        if number > 0 {
            for host in site.all() {
                site.hosts.lose(host, 10);
            }
        }
        let others = site.all_but(&[host]);
        let kill = vigil.kill(&mut site, host, &others);
        assert_eq!(kill.known_ms.len(), HOSTS - 1);
        vigil.revive(&mut site, host, &others);
    }
    site.hosts.heal();
    site.until_all_know(&site.all());
    vigil.look_back();
    assert_eq!(vigil.mistaken, []);
    assert_eq!(site.count(&site.all(), "deaths_outlived"), 0);
}
