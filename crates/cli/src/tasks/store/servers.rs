//! What is said of the servers of an etcd, in which a store is: a table, or JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tidings_nodes::units::Unit;
use tidings_tasks::store::address::Address;
use tidings_tasks::store::etcd::{Examined, Latency, Server, Status, examine};

use super::super::client::{Place, block_on};
use super::super::failure::TasksError;
use crate::table::{self, Align};

/// Looks at the servers of a store; `None` if it has none. It is then wrong to ask for them only.
pub(super) fn examined(place: &Place, only: bool) -> Result<Option<Examined>, TasksError> {
    match &place.address {
        Address::Etcd(servers) => block_on(async { Ok(Some(examine(servers).await)) }),
        other if only => {
            Err(TasksError::Usage(format!("{other} has no servers: name a store etcd://...")))
        }
        _ => Ok(None),
    }
}

/// For people.
pub(super) fn text(found: &Examined) -> String {
    let headings = [
        ("server", Align::Left),
        ("version", Align::Left),
        ("role", Align::Left),
        ("database", Align::Right),
        ("in use", Align::Right),
        ("quota", Align::Right),
        ("syncs", Align::Left),
    ];
    let rows: Vec<_> = found.servers.iter().map(row).collect();
    let mut text = table::render(&headings, &rows);
    if let Some(members) = found.members {
        let _ = writeln!(text, "members {members}");
    }
    if let Some(Latency { median, longest }) = found.commits {
        let _ = writeln!(text, "a commit takes {median:.1?}, at most {longest:.1?}");
    }
    if let Some((over, to)) = found.election_ms {
        let _ = writeln!(text, "election timeout over {over} ms, at most {to} ms");
    }
    for fault in &found.faults {
        text += &(table::one_line(fault) + "\n");
    }
    text
}

fn row(server: &Server) -> Vec<String> {
    let bytes = |bytes: u64| Unit::Bytes.humanise(bytes as f64);
    let mut row = vec![server.address.clone()];
    match &server.status {
        Err(_) => row.extend(["no answer", "", "", "", "", ""].map(str::to_owned)),
        Ok(status) => row.extend([
            status.version.clone(),
            role(status).to_owned(),
            bytes(status.database_bytes),
            bytes(status.in_use_bytes),
            status.quota_bytes.map_or_else(|| "unknown".to_owned(), bytes),
            status.syncs.map_or("unknown", |syncs| if syncs { "yes" } else { "no" }).to_owned(),
        ]),
    }
    row
}

fn role(status: &Status) -> &'static str {
    match status.leads {
        Some(true) => "leads",
        Some(false) => "follows",
        None => "alone",
    }
}

/// The same for programs.
pub(super) fn view(found: &Examined) -> Value {
    let server = |server: &Server| match &server.status {
        Err(why) => json!({ "address": server.address, "error": why }),
        Ok(status) => json!({
            "address": server.address,
            "version": status.version,
            "role": role(status),
            "database_bytes": status.database_bytes,
            "in_use_bytes": status.in_use_bytes,
            "quota_bytes": status.quota_bytes,
            "syncs": status.syncs,
        }),
    };
    let seconds =
        |latency: Latency| [latency.median, latency.longest].map(|took| took.as_secs_f64());
    json!({
        "servers": found.servers.iter().map(server).collect::<Vec<_>>(),
        "members": found.members,
        "commit_s": found.commits.map(seconds),
        "election_timeout_ms": found.election_ms,
        "faults": found.faults,
    })
}
