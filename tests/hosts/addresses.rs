//! Hosts that get another address while their agents run.

use rustix::process::Signal;
use tidings_control::State;
use tidings_experiment::agents::{Site, name};
use tidings_experiment::hosts::Hosts;

use super::{HOSTS, all};

/// The host that moves, and where to: an address that nobody had.
const HOST: usize = 6;
const NEXT: &str = "10.48.0.206";

/// The agents take their addresses from their hosts.
const ANYWHERE: [&str; 2] = ["--listen", "0.0.0.0:9616"];

/// Waits until all know the host where it is now, and each other.
fn until_followed(site: &Site) {
    let address = format!("{NEXT}:9616");
    site.cluster.until(&format!("all know that h{HOST:02} is at {address}"), |_| {
        let knows = |&host: &usize| {
            site.agent(host)
                .node(&name(HOST))
                .is_some_and(|node| node.address == address && node.state == State::Alive)
        };
        all().iter().all(knows).then_some(())
    });
    assert_eq!(site.agent(HOST).status().address, address);
    site.until_all_know(&all());
}

#[test]
fn by_seeds_a_host_that_moves_is_followed() {
    let site = Site::new(Hosts::new(HOSTS), &ANYWHERE);
    site.hosts.move_to(HOST, NEXT);
    until_followed(&site);
    assert_eq!(site.agent(HOST).counter("deaths_outlived"), 0);
    let reported = |line: &String| line.contains("this host has another address");
    assert!(site.agent(HOST).log().iter().any(reported));
    site.assert_nobody_died(&all());
    // And back, with the address that all knew before.
    site.hosts.move_to(HOST, &Hosts::address(HOST));
    site.until_all_know(&all());
}

#[test]
fn with_a_roster_a_host_that_moves_is_followed_when_the_roster_says_so() {
    let mut site = Site::dark(Hosts::new(HOSTS), &ANYWHERE);
    let roster = |moved: Option<&str>| {
        let at = |host: usize| match moved.filter(|_| host == HOST) {
            Some(address) => address.to_owned(),
            None => Hosts::address(host),
        };
        let lines = all().into_iter().map(|host| format!("{}={}:9616\n", name(host), at(host)));
        lines.collect::<String>()
    };
    let path = site.cluster.write("roster", &roster(None));
    for host in all() {
        site.start_with(host, &[], &["--roster", &path]);
    }
    site.until_all_know(&all());
    site.hosts.move_to(HOST, NEXT);
    site.cluster.write("roster", &roster(Some(NEXT)));
    for host in all() {
        site.agent(host).signal(Signal::HUP);
    }
    until_followed(&site);
    site.assert_nobody_died(&all());
}
