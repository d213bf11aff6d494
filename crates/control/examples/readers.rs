//! The two ways to read the picture of this machine's agent in Rust, as docs/guides/readers.md
//! shows them: an entry from the board, without asking the agent; and nodes for work, for which the
//! agent remembers earlier picks. Then this node publishes two metrics of its own.
//!
//! `cargo run -p tidings-control --example readers`

#![expect(clippy::print_stdout, reason = "an example for a terminal")]

use std::error::Error;
use std::time::Duration;

use tidings_board::{Board, board_path, now_ns};
use tidings_control::{Client, Pick, agent_dir};

fn main() -> Result<(), Box<dyn Error>> {
    let board = Board::open(&board_path(&agent_dir()), Duration::from_secs(5))?;
    if let Some(entry) = board.entry("n0007")? {
        println!("{} {:?}", entry.state.name(), entry.age(now_ns()));
        if let Some(of) = entry.readings()? {
            println!("{:?} {:?} {:?}", of.load1, of.mem_available_bytes, of.user.get("gpu.busy"));
        }
    }
    let want = Pick { cpus: 8.0, mem_bytes: 16 << 30, ..Pick::of(4) };
    for node in tidings_control::pick(want)?.nodes {
        println!("{} {} ms", node.name, node.age_ms);
    }
    let mut client = Client::connect(&agent_dir())?;
    client.publish_all([("gpu", "3"), ("job", "a17")], 600)?;
    Ok(())
}
