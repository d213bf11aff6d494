//! What links of hosts really do: how fast, how late, and whether their counters are right.
//!
//! Each link is measured alone, in each direction, by datagrams between its two hosts, some links
//! of hosts that have nothing in common at once. The kernel stamps each datagram as it arrives, so
//! that neither when a measuring thread has its turn nor how long it takes counts. The rate is that
//! of whole frames, behind what the token bucket held at first; a round trip is the sum of both
//! ways, each the median of several.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::sys::socket::sockopt::{RcvBufForce, ReceiveTimestampns, SndBufForce};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt};
use nix::sys::time::TimeSpec;

use tidings_flows::shape::Heading;

use super::cabling::burst_bytes;
use super::fabric::address;
use super::mesh::Mesh;
use super::shape::{Cable, card};
use crate::switch::within;

/// By how much of what was asked a link may differ.
pub const TOLERANCE: f64 = 0.05;
/// For how long a link is filled, and by how many datagrams at least and at most.
const FILLED_S: f64 = 0.2;
const LEAST_DATAGRAMS: usize = 40;
const MOST_DATAGRAMS: usize = 4_000;
/// Parts of what arrives, of which each has a rate.
const PARTS: usize = 9;
/// Datagrams that go to and fro, one at a time.
const TRIPS: usize = 15;
/// What a full packet carries, and the headers of IP and UDP before it.
const PAYLOAD_BYTES: usize = 1_472;
const HEADER_BYTES: usize = 28;
/// After this time a datagram is lost.
const PATIENCE: Duration = Duration::from_secs(3);
/// Links that are measured at once.
const AT_ONCE: usize = 4;
/// Room for what was not yet sent, and for what arrives before it is read: how often this process
/// has its turn does not count.
const ROOM_BYTES: usize = 16 << 20;

/// What one direction of a link does, beside what was asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Gauged {
    /// From this host.
    pub from: u32,
    /// To this one.
    pub to: u32,
    /// By this card of `from`.
    pub card: String,
    /// Bits a second in millions that were asked, if any were.
    pub asked_mbit: Option<f64>,
    /// What it passes.
    pub mbit: f64,
    /// Both ways of the link in microseconds, as asked; 0: as short as can be.
    pub asked_round_us: f64,
    /// What they take.
    pub round_us: f64,
    /// Bytes of the frames that were sent.
    pub sent_bytes: u64,
    /// What the cards at both ends have counted meanwhile.
    pub counted_bytes: [u64; 2],
    /// Datagrams that did not arrive.
    pub lost: usize,
}

impl Gauged {
    /// How far the rate is from what was asked, as a share; `None` if none was.
    pub fn rate_off(&self) -> Option<f64> {
        self.asked_mbit.map(|asked| self.mbit / asked - 1.0)
    }

    /// The same of the round trip.
    pub fn round_off(&self) -> Option<f64> {
        (self.asked_round_us > 0.0).then(|| self.round_us / self.asked_round_us - 1.0)
    }

    /// Whether both ends counted what was sent, and all of it arrived.
    pub fn is_counted(&self) -> bool {
        self.counted_bytes == [self.sent_bytes; 2] && self.lost == 0
    }

    /// Whether the link is what was asked.
    pub fn is_as_asked(&self) -> bool {
        let near = |off: Option<f64>| off.is_none_or(|off| off.abs() <= TOLERANCE);
        near(self.rate_off()) && near(self.round_off()) && self.is_counted()
    }
}

/// Measures all links of a machine, each in both directions.
///
/// # Errors
/// What the system says, if hosts have no sockets.
///
/// # Panics
/// Never: no thread that measures panics.
pub fn gauge(mesh: &Mesh) -> io::Result<Vec<Gauged>> {
    let mut all = Vec::new();
    for wave in waves(mesh.cables()) {
        let seen: io::Result<Vec<[Gauged; 2]>> = thread::scope(|scope| {
            let begun: Vec<_> =
                wave.iter().map(|cable| scope.spawn(|| of_cable(mesh, cable))).collect();
            let ended = begun.into_iter().map(|one| one.join().expect("it does not panic"));
            ended.collect()
        });
        all.extend(seen?.into_iter().flatten());
    }
    Ok(all)
}

/// Groups of cables of which no host has two.
fn waves(cables: Vec<Cable>) -> Vec<Vec<Cable>> {
    let mut waves: Vec<Vec<Cable>> = Vec::new();
    for cable in cables {
        let is_free = |wave: &&mut Vec<Cable>| {
            let is_apart = |other: &Cable| {
                [other.low, other.high].iter().all(|host| ![cable.low, cable.high].contains(host))
            };
            wave.len() < AT_ONCE && wave.iter().all(is_apart)
        };
        match waves.iter_mut().find(is_free) {
            Some(wave) => wave.push(cable),
            None => waves.push(vec![cable]),
        }
    }
    waves
}

/// An end of a link, with a socket at the address of its host.
struct End<'a> {
    mesh: &'a Mesh,
    cable: &'a Cable,
    host: u32,
    way: Heading,
    socket: UdpSocket,
    at: SocketAddr,
}

impl<'a> End<'a> {
    fn open(mesh: &'a Mesh, cable: &'a Cable, host: u32, way: Heading) -> io::Result<Self> {
        let socket =
            within(&mesh.namespace(host), || UdpSocket::bind((address(host).as_str(), 0)))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        setsockopt(&socket, ReceiveTimestampns, &true)?;
        setsockopt(&socket, RcvBufForce, &ROOM_BYTES)?;
        setsockopt(&socket, SndBufForce, &ROOM_BYTES)?; // the queue of a link holds all of it
        let at = socket.local_addr()?;
        Ok(Self { mesh, cable, host, way, socket, at })
    }

    /// When the next datagram arrived, since 1970; `None` if none did in time.
    fn arrival(&self) -> Option<Duration> {
        let mut buffer = [0; PAYLOAD_BYTES];
        let mut content = [io::IoSliceMut::new(&mut buffer)];
        let mut room = nix::cmsg_space!(TimeSpec);
        let fd = self.socket.as_raw_fd();
        let seen = recvmsg::<()>(fd, &mut content, Some(&mut room), MsgFlags::empty()).ok()?;
        seen.cmsgs().ok()?.find_map(|message| match message {
            ControlMessageOwned::ScmTimestampns(stamp) => Some(Duration::from(stamp)),
            _ => None,
        })
    }

    /// Bytes that its card has sent, and received.
    fn counted(&self) -> io::Result<[u64; 2]> {
        let counts = self.mesh.counts(self.host)?;
        let count = counts.get(&card(self.way)).copied().unwrap_or_default();
        Ok([count.sent_bytes, count.received_bytes])
    }
}

fn of_cable(mesh: &Mesh, cable: &Cable) -> io::Result<[Gauged; 2]> {
    let [low, high] = cable.ends().map(|(host, way)| End::open(mesh, cable, host, way));
    let (low, high) = (low?, high?);
    let round_us = (one_way_us(&low, &high)? + one_way_us(&high, &low)?).max(0.0);
    let mut both = [filled(&low, &high)?, filled(&high, &low)?];
    for own in &mut both {
        own.round_us = round_us;
    }
    Ok(both)
}

/// How long a small datagram takes, the median of several.
fn one_way_us(from: &End<'_>, to: &End<'_>) -> io::Result<f64> {
    let mut taken_us = Vec::new();
    for _ in 0..TRIPS {
        let sent = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        from.socket.send_to(&[0; 8], to.at)?;
        let Some(arrived) = to.arrival() else { continue };
        taken_us.push((arrived.as_secs_f64() - sent.as_secs_f64()) * 1e6);
    }
    taken_us.sort_by(f64::total_cmp);
    Ok(taken_us.get(taken_us.len() / 2).copied().unwrap_or(f64::INFINITY))
}

/// Fills one direction for a while.
fn filled(from: &End<'_>, to: &End<'_>) -> io::Result<Gauged> {
    let (network, cable) = (from.mesh.network(), from.cable);
    let asked_mbit = network.rate_of(cable);
    let frame_bytes = from.mesh.frame_bytes(cable, PAYLOAD_BYTES + HEADER_BYTES);
    let held_bytes = asked_mbit.map_or(0.0, burst_bytes) + 2.0 * frame_bytes as f64;
    let datagrams = asked_mbit.map_or(MOST_DATAGRAMS, |mbit| {
        let bytes = held_bytes + mbit * 1e6 / 8.0 * FILLED_S;
        ((bytes / frame_bytes as f64) as usize).clamp(LEAST_DATAGRAMS, MOST_DATAGRAMS)
    });
    let before = [from.counted()?[0], to.counted()?[1]];
    let arrivals: Vec<Duration> = thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let mut sent = (0..datagrams).map(|_| from.socket.send_to(&[0; PAYLOAD_BYTES], to.at));
            sent.try_for_each(|sent| sent.map(|_| ()))
        });
        let arrivals = (0..datagrams).map_while(|_| to.arrival()).collect();
        sending.join().expect("sending does not panic").map(|()| arrivals)
    })?;
    let after = [from.counted()?[0], to.counted()?[1]];
    Ok(Gauged {
        from: from.host,
        to: to.host,
        card: card(from.way),
        asked_mbit,
        mbit: rate_mbit(&arrivals, frame_bytes as f64, held_bytes),
        asked_round_us: 2.0 * network.delay_us_of(cable),
        round_us: 0.0,
        sent_bytes: (datagrams * frame_bytes) as u64,
        counted_bytes: [after[0] - before[0], after[1] - before[1]],
        lost: datagrams - arrivals.len(),
    })
}

/// The rate at which frames arrived behind the first `held_bytes`, the median of several parts: a
/// pause makes one part slow and the next one fast. 0 if there are too few.
fn rate_mbit(arrivals: &[Duration], frame_bytes: f64, held_bytes: f64) -> f64 {
    let behind = (held_bytes / frame_bytes).ceil() as usize;
    let counted = arrivals.get(behind..).unwrap_or_default();
    let frames = counted.len().saturating_sub(1) / PARTS;
    let took_s = |part: usize| {
        let [first, last] = [part, part + 1].map(|at| counted[at * frames].as_secs_f64());
        (last - first).max(f64::MIN_POSITIVE)
    };
    if frames == 0 {
        return 0.0;
    }
    let mut parts_s: Vec<f64> = (0..PARTS).map(took_s).collect();
    parts_s.sort_by(f64::total_cmp);
    frames as f64 * frame_bytes * 8.0 / parts_s[PARTS / 2] / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::Shape;

    #[test]
    fn a_rate_is_that_behind_what_the_bucket_held() {
        // Three at once, then one each millisecond.
        let arrivals: Vec<Duration> =
            (0..43_u64).map(|at| Duration::from_millis(1_000 + at.saturating_sub(2))).collect();
        let rate = rate_mbit(&arrivals, 1_250.0, 2_500.0);
        assert!((rate - 10.0).abs() < 1e-6, "{rate}");
        let paused = |at: usize| Duration::from_millis(if (5..20).contains(&at) { 20 } else { 0 });
        let late: Vec<Duration> =
            arrivals.iter().enumerate().map(|(at, own)| *own + paused(at)).collect();
        let rate = rate_mbit(&late, 1_250.0, 2_500.0);
        assert!((rate - 10.0).abs() < 1e-6, "a pause of 20 ms: {rate}");
        assert!(rate_mbit(&arrivals[..2], 1_250.0, 2_500.0) == 0.0, "too few");
    }

    #[test]
    fn no_host_has_two_links_in_one_wave_and_each_link_is_in_one() {
        let cables = Shape::new(&[3, 3, 3], true).expect("lengths").cables();
        let waves = waves(cables.clone());
        assert_eq!(waves.concat().len(), cables.len());
        for wave in waves {
            let mut hosts: Vec<u32> =
                wave.iter().flat_map(|cable| [cable.low, cable.high]).collect();
            hosts.sort_unstable();
            hosts.dedup();
            assert_eq!(hosts.len(), 2 * wave.len());
        }
    }

    #[test]
    fn a_link_that_is_slow_late_or_counts_wrongly_is_not_as_asked() {
        let right = Gauged {
            from: 0,
            to: 1,
            card: "x-up".to_owned(),
            asked_mbit: Some(20.0),
            mbit: 19.9,
            asked_round_us: 4_000.0,
            round_us: 4_050.0,
            sent_bytes: 3_028,
            counted_bytes: [3_028; 2],
            lost: 0,
        };
        assert!(right.is_as_asked());
        assert!(!Gauged { mbit: 18.9, ..right.clone() }.is_as_asked());
        assert!(!Gauged { round_us: 4_300.0, ..right.clone() }.is_as_asked());
        assert!(!Gauged { counted_bytes: [3_028, 1_514], ..right.clone() }.is_as_asked());
        assert!(!Gauged { lost: 1, ..right.clone() }.is_as_asked());
        assert!(Gauged { asked_mbit: None, asked_round_us: 0.0, ..right }.is_as_asked());
    }
}
