//! Replies as text: a line of the control socket, a report of all nodes as JSON.

use tidings_control::Reply;

/// Bytes reserved for each part of a report.
const PART_BYTES: usize = 1_024;

/// A report of this many parts as JSON.
pub(crate) fn json(parts: usize, report: &impl serde::Serialize) -> Vec<u8> {
    let mut text = Vec::with_capacity(PART_BYTES * (parts + 1));
    serde_json::to_writer(&mut text, report)
        .expect("reports hold only numbers, strings and maps with string keys");
    text
}

/// A reply about this many nodes, as a line, in a list that need not grow.
pub(crate) fn picture_line<T: serde::Serialize>(parts: usize, reply: &Reply<T>) -> String {
    let mut line = json(parts, reply);
    line.push(b'\n');
    String::from_utf8(line).expect("JSON is text")
}

/// A reply as a line.
pub(crate) fn reply_line<T: serde::Serialize>(reply: &Reply<T>) -> String {
    let mut line = serde_json::to_string(reply)
        .expect("reports hold only numbers, strings and maps with string keys");
    line.push('\n');
    line
}
