//! Figures of guides are those that the commands print.

use serde_json::Value;

use crate::programs::{Workplace, built, text};

const GUIDE: &str = include_str!("../../docs/guides/operating.md");

/// Rows of the table of sizes: nodes, interval, window, kB/s, age of 99 %, memory.
fn rows() -> Vec<Vec<&'static str>> {
    let lines = GUIDE.lines().skip_while(|line| !line.starts_with("| nodes |")).skip(2);
    let cells = |line: &'static str| line.trim_matches('|').split('|').map(str::trim).collect();
    lines.take_while(|line| line.starts_with('|')).map(cells).collect()
}

#[test]
fn the_table_of_sizes_is_what_plan_and_check_say() {
    let place = Workplace::new();
    let rows = rows();
    assert!(rows.len() >= 5, "the guide has a table of sizes");
    for row in rows {
        let plan = ["plan", "--nodes", row[0], "--entry", "64", "--age", "2s"];
        let mut command = place.tidings(&plan);
        let plan = command.args(["--strategy", "grid", "--json"]).output().expect("it starts");
        let plan: Value = serde_json::from_slice(&plan.stdout).expect("JSON");
        let plan = &plan["plan"];
        let number = |name: &str| plan[name].as_f64().unwrap_or_else(|| panic!("{name} is there"));
        let check = ["--check", "--max-nodes", row[0]];
        let check = place.command(&built("tidings-agent")).args(check).output().expect("it starts");
        let check = text(&check.stdout) + &text(&check.stderr);
        let memory = format!("the agent uses at most {} MiB of memory", row[5]);
        let printed = [
            format!("{}ms", plan["interval_ms"]),
            plan["window_entries"].to_string(),
            format!("{:.1}", number("bytes_s") / 1e3),
            format!("{:.1}", number("age_quantile_ms") / 1e3),
        ];
        assert_eq!(row[1..5], printed, "{} nodes", row[0]);
        assert!(check.contains(&memory), "{} nodes: {check}", row[0]);
    }
}
