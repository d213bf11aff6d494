//! A runtime directory without room: at the start, under way, and for a part of what lies there.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;
use tidings_control::State;
use tidings_experiment::agents::{Site, name};
use tidings_experiment::hosts::Hosts;
use tidings_tests::disk::Disk;

use super::{HOSTS, all, all_but};

/// The host whose disk is small.
const HOST: usize = 5;
/// Room for the lock, the incarnation and one more page, but for no board, which takes four.
const CRAMPED_KIB: u32 = 16;
const AMPLE_KIB: u32 = 64;

fn home(site: &Site, host: usize) -> PathBuf {
    site.cluster.path().join(name(host))
}

fn logged(site: &Site, text: &str) -> bool {
    site.agent(HOST).log().iter().any(|line| line.contains(text))
}

/// The exit code of an agent that shall not start, and what it said.
fn refused(site: &Site) -> (Option<i32>, String) {
    let flags = site.flags_of(HOST, &[]);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut command = site.cluster.command_on(&site.hosts.on(HOST), &name(HOST), &flags);
    let output = command.output().expect("the agent's program starts");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_disk_that_fills_kills_nobody_and_heals() {
    let mut site = Site::dark(Hosts::new(HOSTS), &[]);
    let disk = Disk::at(&home(&site, HOST), AMPLE_KIB);
    // A first start has nowhere to write that it is there.
    disk.fill();
    let (code, said) = refused(&site);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("has no room left") && said.contains("free some there"), "{said}");
    disk.free();
    for host in all() {
        site.start(host);
    }
    site.until_all_know(&all());

    disk.fill();
    site.pass_rounds(HOST, 40);
    site.until_all_know(&all());
    site.assert_nobody_died(&all());

    // Whoever is taken for dead begins a new incarnation, and would write that down.
    site.agent(HOST).signal(Signal::STOP);
    site.until_held(&all_but(HOST), HOST, State::Dead);
    site.agent(HOST).signal(Signal::CONT);
    site.cluster.until("the full disk is reported", |_| {
        logged(&site, "the incarnation could not be written").then_some(())
    });
    site.until_all_know(&all());
    assert!(site.agent(HOST).counter("incarnation_unsaved") > 0);

    disk.free();
    let kept = home(&site, HOST).join("incarnation");
    site.cluster.until("what was not written is", |_| {
        let kept: u32 = fs::read_to_string(&kept).ok()?.trim().parse().ok()?;
        let node = site.agent(HOST).node(&name(HOST))?;
        (kept == node.incarnation).then_some(())
    });

    // A start after a crash cannot write its incarnation.
    site.kill(HOST);
    disk.fill();
    let (code, said) = refused(&site);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("has no room left"), "{said}");
    disk.free();
    site.start(HOST);
    site.until_all_know(&all());
}

#[test]
fn without_room_for_a_board_an_agent_goes_on_and_makes_it_later() {
    let mut site = Site::dark(Hosts::new(3), &[]);
    let disk = Disk::at(&home(&site, 2), CRAMPED_KIB);
    for host in 1..=3 {
        site.start(host);
    }
    site.until_all_know(&[1, 2, 3]);
    assert_eq!(site.agent(2).counter("boards_failed"), 1);
    let reported = |text: &str| site.agent(2).log().iter().any(|line| line.contains(text));
    assert!(reported("there is no board; the agent continues") && reported("make room there"));
    assert!(!home(&site, 2).join("board").exists());
    disk.resize(AMPLE_KIB);
    site.agent(2).signal(Signal::HUP);
    site.cluster.until("there is a board", |_| home(&site, 2).join("board").exists().then_some(()));
    site.assert_nobody_died(&[1, 2, 3]);
}
