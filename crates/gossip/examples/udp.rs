//! A driver for UDP: a node that says its process id, and prints what it knows of all nodes.
//!
//! `cargo run -p tidings-gossip --example udp -- FOLDER NUMBER ADDRESS...` starts the node of that
//! number, from 0; all are given the same addresses. `FOLDER/key` has 32 bytes that all share, and
//! the number of this node's last life is kept in the folder. The end of the input (Ctrl-D) says
//! farewell. Nodes of examples/embedding/udp.c may be in the same cluster.

#![expect(clippy::print_stdout, reason = "an example for a terminal")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "clock, socket, thread and files are the driver's, so that the core needs none"
)]

use std::error::Error;
use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{self, Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs, process, thread};

use tidings_gossip::{Address, Config, Incarnation, Instant, Key, KeyRing, Member, Node};

static ENDED: AtomicBool = AtomicBool::new(false);

struct Driver {
    node: Node,
    socket: UdpSocket,
    begun: time::Instant,
    buffer: Vec<u8>,
}

impl Driver {
    fn now(&self) -> Instant {
        Instant::EPOCH + self.begun.elapsed()
    }

    /// Sleeps until a datagram arrives or the node's timeout is due.
    fn receive(&mut self) -> io::Result<()> {
        let wait = self.node.poll_timeout().saturating_since(self.now());
        self.socket.set_read_timeout(Some(wait.max(Duration::from_micros(1))))?; // 0 is for ever
        match self.socket.recv_from(&mut self.buffer) {
            Ok((bytes, from)) => {
                let now = self.now();
                self.node.handle_datagram(now, from.into(), &mut self.buffer[..bytes]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()), // it is due
            Err(error) => Err(error),
        }
    }

    /// Does what is due, sends what follows from it or from a datagram, and prints what happened.
    fn advance(&mut self) -> Result<(), Box<dyn Error>> {
        let now = self.now();
        if now >= self.node.poll_timeout() {
            self.node.publish(format!("pid {}", process::id()).as_bytes())?;
            let wall = SystemTime::now().duration_since(UNIX_EPOCH)?;
            self.node.set_clock(now, wall.as_micros() as i64);
            self.node.handle_timeout(now);
        }
        while let Some(sent) = self.node.poll_transmit(now, &mut self.buffer) {
            let to = SocketAddr::try_from(sent.to)?;
            for datagram in self.buffer[..sent.bytes].chunks(sent.segment_bytes) {
                let _ = self.socket.send_to(datagram, to); // lost, as the network may lose it
            }
        }
        while let Some(event) = self.node.poll_event() {
            println!("{event:?}");
        }
        Ok(())
    }

    fn show(&self) {
        for entry in self.node.entries(self.now()) {
            let age = entry.age.unwrap_or_default().as_secs_f64();
            let text = String::from_utf8_lossy(entry.payload);
            let text = text.trim_end_matches('\0'); // payloads are padded to one length
            println!("{} {:?}, {age:.3} s old: {text}", entry.name, entry.state);
        }
    }
}

/// A number above that of the last life, kept before it is used. A crash leaves the old or the new.
fn next_life(file: &Path) -> Result<Incarnation, Box<dyn Error>> {
    let last = if file.exists() { fs::read_to_string(file)?.trim().parse()? } else { 0_u32 };
    let beside = file.with_extension("new");
    fs::write(&beside, format!("{}\n", last + 1))?;
    fs::rename(&beside, file)?;
    Ok(Incarnation::new(last + 1))
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().skip(1).collect();
    let [folder, number, addresses @ ..] = &words[..] else {
        return Err("usage: udp FOLDER NUMBER ADDRESS...".into());
    };
    let no_address = |text: &str| format!("{text} is no address, such as 127.0.0.1:9700");
    let address = |text: &String| text.parse::<SocketAddr>().map_err(|_| no_address(text));
    let addresses = addresses.iter().map(address).collect::<Result<Vec<_>, _>>()?;
    let member = |(at, &to)| Member { name: format!("n{at}"), address: Address::from(to) };
    let roster: Vec<Member> = addresses.iter().enumerate().map(member).collect();
    let number: usize = number.parse()?;
    let me = roster.get(number).ok_or("no address of that number: they count from 0")?.clone();
    let key = fs::read(Path::new(folder).join("key")).ok().and_then(|key| key.try_into().ok());
    let key = key.ok_or("no 32 bytes in FOLDER/key: head -c 32 /dev/urandom >FOLDER/key")?;
    let keys = KeyRing::new(&[Key::from_bytes(key)]).expect("one key is within the limit");
    let life = next_life(&Path::new(folder).join(&me.name).with_extension("life"))?;
    let mut seed = [0; 8]; // of the system's: nobody may foresee it, and no two lives share it
    fs::File::open("/dev/urandom")?.read_exact(&mut seed)?;
    let (config, seed) = (Config::default(), u64::from_le_bytes(seed));
    let node = Node::new(config, keys, me, &roster, life, seed, Instant::EPOCH)?;
    let (socket, begun) = (UdpSocket::bind(addresses[number])?, time::Instant::now());
    let buffer = vec![0; 65_536]; // the longest datagram of any sender
    let mut driver = Driver { node, socket, begun, buffer };
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        ENDED.store(true, Ordering::Relaxed);
    });
    let mut show_at = driver.now();
    while !ENDED.load(Ordering::Relaxed) {
        driver.receive()?;
        driver.advance()?;
        if driver.now() >= show_at {
            driver.show();
            show_at = driver.now() + Duration::from_secs(1);
        }
    }
    driver.node.leave(driver.now());
    driver.advance()
}
