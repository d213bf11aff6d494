//! What the model of a machine says, as a person reads it: a table for each test.

use tidings_flows::trial::Row;

use crate::table::{Align, render};

/// The rows of a test, as tables: times a message, what orders do to links, and what is left out.
pub(super) fn tables(name: &str, rows: &[Row]) -> String {
    let (mut times, mut orders, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        match row {
            Row::Measured(own) => times.push(vec![
                own.test.to_owned(),
                own.variant.clone(),
                some(own.count),
                own.bytes.to_string(),
                format!("{:.2}", 1e6 * own.seconds),
                rate(own.bytes, own.seconds),
            ]),
            Row::Prediction(own) => orders.push(vec![
                own.variant.clone(),
                own.messages_between_nodes.to_string(),
                format!("{:.2}", own.hops_a_message),
                own.messages_of_the_busiest_link.to_string(),
            ]),
            Row::Skipped { test, reason } => {
                left_out.push(format!("{test} is left out: {reason}\n"));
            }
        }
    }
    let table = |title: &str, headings: &[_], rows: &[Vec<String>]| {
        if rows.is_empty() { String::new() } else { format!("{title}{}", render(headings, rows)) }
    };
    let times = table("", &TIMES, &times);
    let orders = table("\norders of ranks\n", &ORDERS, &orders);
    format!("{name}\n{times}{orders}{}\n", left_out.concat())
}

const TIMES: [(&str, Align); 6] = [
    ("test", Align::Left),
    ("variant", Align::Left),
    ("count", Align::Right),
    ("bytes", Align::Right),
    ("us a message", Align::Right),
    ("MB/s", Align::Right),
];

const ORDERS: [(&str, Align); 4] = [
    ("order", Align::Left),
    ("messages between nodes", Align::Right),
    ("hops a message", Align::Right),
    ("messages of the busiest link", Align::Right),
];

/// What else changes, if something does.
fn some(count: u64) -> String {
    if count == 0 { "-".to_owned() } else { count.to_string() }
}

/// A message's bytes a second: none of one without bytes.
fn rate(bytes: u64, seconds: f64) -> String {
    if bytes == 0 { "-".to_owned() } else { format!("{:.1}", 1e-6 * bytes as f64 / seconds) }
}

#[cfg(test)]
mod tests {
    use tidings_flows::trial::{Measured, Prediction};

    use super::*;

    #[test]
    fn a_test_is_a_table_of_times_and_one_of_orders() {
        let measured = |bytes, count, seconds| {
            Row::Measured(Measured {
                test: "halo",
                variant: "XYZT".to_owned(),
                bytes,
                count,
                messages: 1,
                seconds,
            })
        };
        let prediction = Row::Prediction(Prediction {
            variant: "XYZT".to_owned(),
            messages_between_nodes: 96,
            hops_a_message: 1.5,
            messages_of_the_busiest_link: 4,
            busiest_s_a_byte: 1e-9,
        });
        let skipped = Row::Skipped { test: "halo", reason: "one process".to_owned() };
        let rows = [measured(0, 0, 2.8e-6), measured(4096, 2, 1e-5), prediction, skipped];
        assert_eq!(
            tables("halo", &rows),
            "halo\n\
             test  variant  count  bytes  us a message   MB/s\n\
             halo  XYZT         -      0          2.80      -\n\
             halo  XYZT         2   4096         10.00  409.6\n\
             \norders of ranks\n\
             order  messages between nodes  hops a message  messages of the busiest link\n\
             XYZT                       96            1.50                             4\n\
             halo is left out: one process\n\n"
        );
    }
}
