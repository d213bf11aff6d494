//! The page of tasks.

use rustix::process::Signal;
use serde_json::json;

use crate::TOO_WIDE;
use crate::browser::Browser;
use crate::place::{Place, Running};

/// A page of the store, and its address. Once a browser has been answered this process holds the
/// store, since nobody else takes part yet.
fn page(place: &Place) -> (Running, String) {
    let mut page = place.start(&["queue", "page"]);
    let said = page.complaint();
    let address = said.split_whitespace().find(|word| word.starts_with("http://"));
    (page, address.unwrap_or_else(|| panic!("{said}")).to_owned())
}

const ANSWERED: &str = "document.getElementById('summary').textContent.includes('wait or run')";

fn tries(kind: &str, count: usize) -> String {
    format!("document.querySelectorAll('#timeline .try.{kind}').length === {count}")
}

#[test]
fn tasks_are_shown_with_their_queue_worker_failure_and_time_line() {
    let place = Place::new();
    let (_page, address) = page(&place);
    let browser = Browser::start();
    browser.open(&address);
    browser.until(ANSWERED);
    // However slow this machine is, what ends in this test stays in view.
    browser.value(
        "(() => { const chosen = document.getElementById('window'); chosen.value = '3600000';
            chosen.dispatchEvent(new Event('change')); })()",
    );
    let (mut began, mut gate) = (place.pipe("began"), place.pipe("gate"));
    place.text(&["queue", "put", "jobs", "--", "sh", "-c", "echo '<b id=evil>' >&2; exit 3"]);
    place.text(&["queue", "put", "jobs", "--", "true"]);
    place.text(&["queue", "put", "jobs", "--", "sh", "-c", "echo in > began; read _ < gate"]);
    let worker = place.start(&["worker", "-n", "2"]);
    began.line();
    for (kind, count) in [("done", 1), ("bad", 1), ("runs", 1)] {
        browser.until(&tries(kind, count));
    }
    let first = |table: &str| format!("document.querySelector('#{table} tbody tr').innerText");
    assert!(browser.text(&first("queues")).starts_with("jobs"));
    assert!(browser.text(&first("workers")).starts_with("worker-"));
    let failure = browser.text("document.querySelector('#failures li').textContent");
    assert!(failure.contains("exit: jobs") && failure.contains("<b id=evil>"), "{failure}");
    assert_eq!(browser.value("document.getElementById('evil')"), serde_json::Value::Null);
    let caption = browser.text("document.querySelector('#timeline figcaption').textContent");
    assert!(caption.contains("2 slots used, 1 done, 1 failed, 1 run"), "{caption}");
    let name = "document.querySelector('#timeline svg').getAttribute('aria-label')";
    assert_eq!(browser.text(name), format!("Time line of {caption}"));
    for width in [360, 768, 1280] {
        browser.size(width, 900);
        for scheme in ["light", "dark"] {
            browser.scheme(scheme);
            browser.value("new Promise((done) => requestAnimationFrame(() => done(1)))");
            assert_eq!(browser.text(TOO_WIDE), "", "{width} {scheme}");
            assert_eq!(browser.text(include_str!("contrast.js")), "", "{width} {scheme}");
            browser.photograph(&format!("tasks-{width}-{scheme}.png"));
        }
    }
    gate.let_go(1);
    browser.until(&tries("done", 2));
    browser.until("document.querySelectorAll('#queues tbody tr').length === 0");
    let seen = browser.seen();
    assert!(seen.errors.is_empty(), "{:?}", seen.errors);
    assert!(seen.addresses.iter().all(|asked| asked.starts_with(&address)), "{:?}", seen.addresses);
    worker.signal(Signal::TERM);
    assert_eq!(worker.end().0, 0);
}

/// The nodes of a graph in this state.
fn nodes(state: &str, count: usize) -> String {
    format!("document.querySelectorAll('#graph .node.{state}').length === {count}")
}

/// Chooses the graph of these queues.
fn choose(browser: &Browser, queues: &str) {
    browser.value(&format!(
        "(() => {{ document.getElementById('graph-queue').value = '{queues}';
            document.getElementById('graph-form').requestSubmit(); }})()"
    ));
}

const GRAPH: &str = r#"
[task.split]
shell = "echo 1"
[task.fit]
each = "1-2"
shell = "echo {}; cat {in.split}"
[task.bad]
shell = "cat {in.split}; exit 3"
[task.slow]
shell = "cat {in.fit}; echo > began; read _ < gate"
[task.report]
shell = "cat {in.slow}"
"#;

#[test]
fn a_graph_is_shown_with_states_its_critical_path_and_by_keyboard() {
    let place = Place::new();
    place.script("graph.toml", GRAPH);
    let (mut began, mut gate) = (place.pipe("began"), place.pipe("gate"));
    let (_page, address) = page(&place);
    let run = place.start(&["run", "-n", "2", "--resume", "g", "graph.toml"]);
    began.line();
    let browser = Browser::start();
    browser.open(&address);
    browser.until(ANSWERED);
    choose(&browser, "run/g");
    for (state, count) in [("done", 3), ("failed", 1), ("running", 1), ("waiting", 1)] {
        browser.until(&nodes(state, count));
    }
    browser.until(
        "[...document.querySelectorAll('#graph .node.critical')]
            .map((node) => node.dataset.name.split('.')[0]).join() === 'split,fit,slow,report'",
    );
    let shapes = "new Set([...document.querySelectorAll('#graph .shape')]
        .map((shape) => shape.getAttribute('d'))).size";
    assert_eq!(browser.value(shapes), json!(4), "each state has a shape of its own");
    browser.value("document.querySelector('#graph .node[tabindex=\"0\"]').focus()");
    for _ in 0..3 {
        browser.press("ArrowRight");
    }
    let detail = "document.getElementById('graph-detail').textContent";
    let said = browser.text(detail);
    assert!(said.starts_with("report: 1 waiting; on the critical path"), "{said}");
    for width in [360, 1280] {
        browser.size(width, 900);
        for scheme in ["light", "dark"] {
            browser.scheme(scheme);
            browser.value("document.getElementById('graph-title').scrollIntoView()");
            browser.value("new Promise((done) => requestAnimationFrame(() => done(1)))");
            assert_eq!(browser.text(TOO_WIDE), "", "{width} {scheme}");
            assert_eq!(browser.text(include_str!("contrast.js")), "", "{width} {scheme}");
            browser.photograph(&format!("graph-{width}-{scheme}.png"));
        }
    }
    gate.let_go(1);
    // What has the focus keeps it when the picture is drawn again.
    browser.until(&format!("{detail}.startsWith('report: 1 done')"));
    assert!(browser.seen().errors.is_empty(), "{:?}", browser.seen().errors);
    choose(&browser, "run/of nobody");
    browser.until("document.getElementById('graph-note').textContent.includes('no record')");
    assert_eq!(run.end().0, 5);
}

/// Each part counts what ends in it by itself; the page shows all, each once.
#[test]
fn a_store_of_several_parts_has_one_page() {
    let place = Place::new();
    place.text(&["store", "make", "--parts", "3"]);
    let (_page, address) = page(&place);
    let browser = Browser::start();
    browser.open(&address);
    browser.until(ANSWERED);
    // These queues are of all three parts.
    let queues = ["a", "b", "c", "d", "e", "f"];
    for queue in queues {
        place.text(&["queue", "put", queue, "--", "true"]);
        place.text(&["queue", "put", queue, "--", "sh", "-c", "exit 3"]);
    }
    let rows = "[...document.querySelectorAll('#queues tbody tr')]
        .map((row) => row.cells[0].textContent).join() === 'a,b,c,d,e,f'";
    browser.until(rows);
    let worker = place.start(&["worker", "-n", "2"]);
    browser.until(&tries("done", queues.len()));
    browser.until(&tries("bad", queues.len()));
    browser.until("document.querySelectorAll('#failures li').length === 6");
    // What has been shown does not come again with what ends later.
    place.text(&["queue", "put", "c", "--", "true"]);
    browser.until(&tries("done", queues.len() + 1));
    assert_eq!(browser.value(&tries("bad", queues.len())), json!(true));
    assert_eq!(browser.value("document.querySelectorAll('#workers tbody tr').length"), json!(1));
    // A graph that lies in queues of several parts is one picture.
    let steps = "[task.first]\nqueue = \"left\"\nshell = \"echo 1\"\n\
                 [task.second]\nqueue = \"right\"\nshell = \"cat {in.first}\"\n";
    place.script("graph.toml", steps);
    place.text(&["run", "-n", "0", "--resume", "g", "graph.toml"]);
    choose(&browser, "left, right");
    browser.until(&nodes("done", 2));
    assert_eq!(browser.value("document.querySelectorAll('#graph .edge').length"), json!(1));
    assert!(browser.seen().errors.is_empty(), "{:?}", browser.seen().errors);
    worker.signal(Signal::TERM);
    assert_eq!(worker.end().0, 0);
}

#[test]
fn the_page_is_at_its_secret_path_alone_and_says_when_it_is_away() {
    let place = Place::new();
    let (page, address) = page(&place);
    let browser = Browser::start();
    browser.open(&address);
    browser.until(ANSWERED);
    let status = |path: &str| browser.value(&format!("fetch('{path}').then((a) => a.status)"));
    assert_eq!(status("v1/tasks?after=0"), json!(200));
    assert_eq!(status("v1/tasks?after=x"), json!(400));
    assert_eq!(status("v1/graph?queue=%"), json!(400));
    assert_eq!(status("v1/graph?queue=run%2Fg"), json!(404));
    for path in ["/", "/v1/tasks?after=0", "/page.js", "../v1/tasks?after=0"] {
        assert_eq!(status(path), json!(404), "{path}");
    }
    page.signal(Signal::TERM);
    assert_eq!(page.end().0, 0);
    browser.until("document.body.classList.contains('away')");
    let notice = browser.text("document.getElementById('alert').textContent");
    assert!(notice.contains("The store does not answer"), "{notice}");
}

#[test]
fn a_page_for_other_machines_is_refused() {
    let place = Place::new();
    let output = place.output(&["queue", "page", "--http", "0.0.0.0:0"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("ssh -L"), "{said}");
}
