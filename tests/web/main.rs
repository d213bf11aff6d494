//! The pages in a real browser: Chromium without a window, against real agents and stores.
//!
//! Where a test needs a cluster that one machine does not have, thousands of nodes or rare states,
//! the page is that of a real agent and the list of nodes is invented.

mod browser;
mod operator;
#[path = "../tasks/place.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "the tests of tasks use all of it")]
mod place;
mod tasks;

use browser::Browser;
use rustix::process::Signal;
use serde_json::{Value, json};
use tidings_experiment::agents::Cluster;

/// The names of the rows of the table, as they are shown.
const NAMES: &str = "[...document.querySelectorAll('#table tbody tr[data-name]')]
    .map((row) => row.dataset.name).join()";

/// Whether the page, or the sheet upon it, is wider than the window.
const TOO_WIDE: &str = "[document.documentElement, document.body,
        ...document.querySelectorAll('header, form, main, section, dialog[open]')]
    .filter((part) => part.scrollWidth > Math.ceil(innerWidth)
        || part.getBoundingClientRect().right > innerWidth + 0.5)
    .map((part) => `${part.tagName} ${part.id}`).join()";

/// A cluster of `n1`, `n2`, …, of which `n1` serves the page; the page's address.
fn cluster(nodes: usize) -> (Cluster, String) {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--http", "127.0.0.1:0"]);
    for number in 2..=nodes {
        cluster.join(&format!("n{number}"), "n1", &[]);
    }
    cluster.until_known(&["n1"], nodes);
    let http = cluster.agent("n1").status().http.expect("turned on");
    (cluster, format!("http://{http}/"))
}

/// Cells of the table whose text runs into the next column.
const RUN_OVER: &str = "[...document.querySelectorAll('#table th, #table td')]
    .filter((cell) => cell.scrollWidth > cell.clientWidth + 1)
    .map((cell) => cell.textContent).join()";

fn rows_shown(count: usize) -> String {
    format!("document.querySelectorAll('#table tbody tr[data-name]').length === {count}")
}

/// An answer to /v1/nodes with this many nodes in every state, some readings missing.
fn made_up(nodes: usize) -> String {
    let reports: Vec<Value> = (0..nodes).map(report).collect();
    json!({ "cluster": "made-up", "colony": null, "observer": "node0001", "interval_ms": 256.0,
        "nodes": reports })
    .to_string()
}

fn report(number: usize) -> Value {
    let state = match number % 48 {
        11 => "dead",
        23 => "suspected",
        35 => "left",
        47 => "unheard",
        _ => "alive",
    };
    let heard = state != "unheard";
    let (some, share) = (heard && state != "dead", (number * 37 % 101) as f64);
    let age_ms = if number % 48 == 29 { 21_000.0 } else { 40.0 * share };
    // What the dead said last is older than their deaths.
    let readings_age_ms = if state == "dead" { 7_200_000.0 } else { age_ms };
    json!({
        "name": format!("node{:04}", number + 1), "address": "192.0.2.7:9616", "state": state,
        "age_ms": heard.then_some(age_ms), "readings_age_ms": heard.then_some(readings_age_ms),
        "incarnation": 1, "sequence": 100,
        "cores": some.then_some(64), "load1": some.then_some(share * 0.64),
        "load5": some.then_some(31.5), "load15": some.then_some(30.25),
        "cpu_busy_percent": some.then_some(share.min(100.0)),
        "mem_total_bytes": some.then_some(274_877_906_944_u64),
        "mem_available_bytes": some.then_some(2_147_483_648 * share as u64),
        "swap_total_bytes": some.then_some(0), "swap_used_bytes": some.then_some(0),
        "disk_read_bytes_s": some.then_some(1_000_000), "net_rx_bytes_s": some.then_some(3_000_000),
        "temperature_c": (some && number % 5 > 0).then_some(40.0 + share / 4.0),
        "power_w": (some && number % 3 > 0).then_some(180.0), "uptime_s": some.then_some(86_400),
        "kernel": "6.12.48", "user": if number % 7 == 0 { json!({"gpus_free": "3"}) } else { json!({}) },
    })
}

#[test]
fn the_page_shows_every_node_without_an_error_or_an_outside_address() {
    let (_cluster, address) = cluster(4);
    let browser = Browser::start();
    browser.open(&address);
    browser.until(&rows_shown(4));
    assert_eq!(browser.text(NAMES), "n1,n2,n3,n4");
    assert_eq!(browser.value("document.querySelector('#canvas').width > 0"), json!(true));
    browser.until("document.getElementById('summary').textContent.includes('4 of 4 nodes')");
    assert!(browser.text("document.title").ends_with("Tidings"));
    let seen = browser.seen();
    assert!(seen.errors.is_empty(), "{:?}", seen.errors);
    let foreign: Vec<_> =
        seen.addresses.iter().filter(|asked| !asked.starts_with(&address)).collect();
    assert!(foreign.is_empty() && !seen.addresses.is_empty(), "{foreign:?}");
    assert!(seen.bytes > 10_000.0 && seen.bytes < 200.0 * 1024.0, "{} bytes", seen.bytes);
    assert_eq!(browser.text("document.cookie"), "");
}

#[test]
fn the_policy_stops_code_of_others() {
    let (_cluster, address) = cluster(1);
    let browser = Browser::start();
    browser.open(&address);
    browser.until(&rows_shown(1));
    let inline = "(() => { const made = document.createElement('script');
        try { made.textContent = 'window.ran = true'; document.head.append(made); } catch {}
        return window.ran === undefined; })()";
    assert_eq!(browser.value(inline), json!(true));
    let markup = "(() => { try { document.body.innerHTML = '<p>'; return 'made'; }
        catch (error) { return error.name; } })()";
    assert_eq!(browser.text(markup), "TypeError");
    let elsewhere = "fetch('http://127.0.0.2:1/').then(() => 'sent', (error) => error.name)";
    assert_eq!(browser.text(elsewhere), "TypeError");
    let errors = browser.seen().errors.join("\n");
    assert!(errors.contains("connect-src"), "{errors}");
}

#[test]
fn user_metrics_are_text_and_never_markup() {
    let (cluster, address) = cluster(1);
    cluster.agent("n1").client().publish("note", "<b id=evil>x", 60).expect("there is room");
    let browser = Browser::start();
    browser.open(&address);
    browser.until("document.querySelector('[data-key=\"user.note\"]')");
    let cells = "[...document.querySelectorAll('#table tbody td')].at(-1).textContent";
    assert_eq!(browser.text(cells), "<b id=evil>x");
    assert_eq!(browser.value("document.getElementById('evil')"), Value::Null);
    assert!(browser.seen().errors.is_empty(), "{:?}", browser.seen().errors);
}

#[test]
fn the_table_sorts_by_any_column_and_is_filtered_by_words() {
    let (cluster, address) = cluster(11);
    cluster.agent("n10").client().publish("gpu", "7", 60).expect("there is room");
    cluster.until("n1 has the metric", |cluster| {
        cluster.agent("n1").node("n10").filter(|node| !node.user.is_empty()).map(drop)
    });
    let browser = Browser::start();
    browser.open(&address);
    browser.until(&rows_shown(11));
    assert_eq!(browser.text(NAMES), "n1,n2,n3,n4,n5,n6,n7,n8,n9,n10,n11");
    let click = |title: &str| {
        browser.value(&format!(
            "[...document.querySelectorAll('#table thead th')]
                .find((heading) => heading.textContent === '{title}').click()"
        ));
    };
    click("node");
    assert_eq!(browser.text(NAMES), "n11,n10,n9,n8,n7,n6,n5,n4,n3,n2,n1");
    browser.until("document.querySelector('[data-key=\"user.gpu\"]')");
    click("gpu");
    assert!(browser.text(NAMES).starts_with("n10,n1,n2"), "missing is last");
    let sorted = "document.querySelector('[aria-sort=ascending]').textContent";
    assert_eq!(browser.text(sorted), "gpu");
    assert_eq!(browser.value("document.querySelectorAll('[aria-sort=ascending]').length"), 1);
    browser.press("/");
    browser.ask("Input.insertText", &json!({ "text": "alive n1" }));
    browser.until(&rows_shown(3));
    assert_eq!(browser.text(NAMES), "n10,n1,n11");
    assert_eq!(browser.text("document.getElementById('count').textContent"), "3 of 11");
    browser.open("about:blank");
    browser.open(&format!("{address}#by=age_ms&sort=-name&filter=user.gpu%20%3D%3D%207"));
    browser.until(&rows_shown(1));
    assert_eq!(browser.text(NAMES), "n10");
    assert_eq!(browser.text("document.getElementById('colour').value"), "age_ms");
}

#[test]
fn a_node_is_opened_and_closed_by_keyboard_alone() {
    let (_cluster, address) = cluster(4);
    let browser = Browser::start();
    browser.open(&address);
    browser.until(&rows_shown(4));
    let focused = || browser.text("document.activeElement.id");
    let mut stops = Vec::new();
    for _ in 0..12 {
        browser.press("Tab");
        stops.push(focused());
    }
    let wanted =
        ["", "", "colour", "group", "filter", "columns-button", "pause", "help-button", "map"];
    assert_eq!(stops[..9], wanted, "{stops:?}");
    assert!(stops.contains(&"table".to_owned()) && stops.contains(&"events".to_owned()));
    browser.press("m");
    browser.press("ArrowRight");
    browser.press("ArrowRight");
    let current = "document.getElementById(document.getElementById('map')
        .getAttribute('aria-activedescendant')).textContent";
    assert!(browser.text(current).starts_with("n3 · alive"));
    browser.press("Enter");
    browser.until("document.getElementById('detail').open");
    assert_eq!(browser.text("document.getElementById('detail-name').textContent"), "n3");
    assert_eq!(focused(), "detail-name");
    browser.until("document.querySelector('#detail-spark svg')?.dataset.points >= 2");
    let readings = browser.text("document.getElementById('detail-readings').textContent");
    assert!(readings.contains("memory available") && readings.contains("GiB"), "{readings}");
    browser.press("Escape");
    browser.until("!document.getElementById('detail').open");
    assert_eq!(focused(), "map");
    browser.press("t");
    browser.press("ArrowDown");
    browser.press("ArrowDown");
    browser.press("Enter");
    browser.until("document.getElementById('detail').open");
    assert_eq!(browser.text("document.getElementById('detail-name').textContent"), "n2");
    browser.press("Escape");
    browser.press("Home");
    browser.press("ArrowUp");
    browser.press("Enter");
    assert_eq!(browser.text(NAMES), "n4,n3,n2,n1");
    browser.press("p");
    let pressed = "document.getElementById('pause').getAttribute('aria-pressed')";
    assert_eq!(browser.text(pressed), "true");
    browser.press("p");
    assert_eq!(browser.text(pressed), "false");
    browser.press("?");
    browser.until("document.getElementById('help').matches(':modal')");
    browser.press("Escape");
    browser.until("!document.getElementById('help').open");
    assert!(browser.seen().errors.is_empty(), "{:?}", browser.seen().errors);
}

#[test]
fn every_control_has_an_accessible_name() {
    let (_cluster, address) = cluster(2);
    let browser = Browser::start();
    browser.open(&address);
    browser.until(&rows_shown(2));
    let tree = browser.ask("Accessibility.getFullAXTree", &json!({}));
    let mut named = Vec::new();
    for part in tree["nodes"].as_array().expect("a list") {
        let role = part["role"]["value"].as_str().unwrap_or_default();
        let name = part["name"]["value"].as_str().unwrap_or_default();
        let operated = ["button", "combobox", "searchbox", "grid", "listbox", "image", "dialog"];
        if operated.contains(&role) && part["ignored"] != json!(true) {
            assert!(!name.is_empty(), "a {role} without a name: {part}");
            named.push(role.to_owned());
        }
    }
    for role in ["button", "combobox", "searchbox", "grid", "listbox", "image"] {
        assert!(named.iter().any(|found| found == role), "no {role} in {named:?}");
    }
    assert_eq!(named.iter().filter(|role| *role == "grid").count(), 2, "the map and the table");
}

#[test]
fn a_killed_agent_is_shown_as_such() {
    let (cluster, address) = cluster(4);
    let browser = Browser::start();
    browser.open(&address);
    browser.until(&rows_shown(4));
    cluster.agent("n3").signal(Signal::KILL);
    let state = "document.querySelector('#table tr[data-name=n3]').dataset.state";
    browser.until(&format!("['stale', 'dead'].includes({state})"));
    browser.until(
        "document.querySelector('.event[data-kind=stale], .event[data-kind=dead]')
            ?.textContent.includes('n3')",
    );
    let legend = browser.text("document.getElementById('legend').textContent");
    assert!(legend.contains("alive 3"), "{legend}");
    let load = "document.querySelector('#table tr[data-name=n3]').cells[4].textContent";
    assert_ne!(browser.text(load), "–", "its last readings stay");
}

#[test]
fn a_silent_agent_is_reported_and_the_old_table_stays() {
    let (cluster, address) = cluster(2);
    let browser = Browser::start();
    browser.open(&address);
    browser.until(&rows_shown(2));
    cluster.agent("n1").signal(Signal::STOP);
    browser.until("document.body.classList.contains('away')");
    let notice = "document.getElementById('notice').textContent";
    let text = browser.text(notice);
    assert!(text.contains("no answer in time") && text.contains("ago, at"), "{text}");
    assert_eq!(browser.text(NAMES), "n1,n2");
    cluster.agent("n1").signal(Signal::CONT);
    browser.until("document.getElementById('notice').hidden");
    assert_eq!(browser.value("document.body.classList.contains('away')"), json!(false));
    browser.until("document.getElementById('events').textContent.includes('answers again')");
    cluster.agent("n1").signal(Signal::KILL);
    browser.until("!document.getElementById('notice').hidden");
    let text = browser.text(notice);
    assert!(text.contains("does not answer (Failed to fetch)"), "{text}");
    assert_eq!(browser.text(NAMES), "n1,n2");
}

#[test]
fn nothing_scrolls_sideways_and_text_has_contrast_at_every_width_and_in_both_schemes() {
    let (_cluster, address) = cluster(1);
    let browser = Browser::start();
    browser.answer("/v1/nodes", &made_up(48));
    browser.size(1280, 1000);
    browser.open(&address);
    browser.until("document.getElementById('count').textContent === '48'");
    for width in [360, 768, 1280, 2560] {
        browser.size(width, if width < 600 { 740 } else { 1000 });
        for scheme in ["light", "dark"] {
            browser.scheme(scheme);
            browser.value("new Promise((done) => requestAnimationFrame(() => done(1)))");
            assert_eq!(browser.value("innerWidth"), json!(width), "a wider page is zoomed out");
            assert_eq!(browser.text(TOO_WIDE), "", "{width} {scheme}");
            assert_eq!(browser.text(RUN_OVER), "", "{width} {scheme}");
            assert_eq!(browser.text(include_str!("contrast.js")), "", "{width} {scheme}");
            browser.photograph(&format!("{width}-{scheme}.png"));
        }
        browser.press("m");
        browser.press("Enter");
        browser.until("document.getElementById('detail').open");
        assert_eq!(browser.text(TOO_WIDE), "", "{width} with a node");
        assert_eq!(browser.text(include_str!("contrast.js")), "", "{width} with a node");
        browser.photograph(&format!("{width}-node.png"));
        browser.press("Escape");
        browser.until("!document.getElementById('detail').open");
    }
    assert!(browser.seen().errors.is_empty(), "{:?}", browser.seen().errors);
}

#[test]
fn thousands_of_nodes_cost_no_more_rows_than_fit() {
    let (_cluster, address) = cluster(1);
    let browser = Browser::start();
    browser.answer("/v1/nodes", &made_up(8192));
    browser.open(&address);
    browser.until("document.getElementById('count').textContent === '8192'");
    let elements = browser.value("document.querySelectorAll('*').length");
    assert!(elements.as_u64().is_some_and(|count| count < 2_000), "{elements} elements");
    browser.press("t");
    browser.press("ArrowDown");
    browser.press("End");
    browser.until("document.querySelector('#table tr[data-name=node8192]')");
    let place = "document.querySelector('#table tr[data-name=node8192]').ariaRowIndex";
    assert_eq!(browser.text(place), "8193");
    browser.photograph("8192.png");
    browser.press("Home");
    browser.press("ArrowUp");
    let cost = "document.getElementById('cost').textContent";
    println!("8,192 nodes, first: {}", browser.text(cost));
    for _ in 0..9 {
        browser.press("Enter"); // on a heading: sorts, and shows all again
        println!("8,192 nodes, again: {}", browser.text(cost));
    }
    assert!(browser.seen().errors.is_empty(), "{:?}", browser.seen().errors);
}

#[test]
fn the_scale_is_even_for_every_kind_of_colour_vision() {
    let (_cluster, address) = cluster(1);
    let browser = Browser::start();
    browser.open(&address);
    browser.until(&rows_shown(1));
    let steps = browser.value(include_str!("scale.js"));
    for (vision, lightness) in steps.as_object().expect("kinds of vision") {
        let values: Vec<f64> =
            lightness.as_array().expect("a list").iter().filter_map(Value::as_f64).collect();
        let mean = (values[16] - values[0]) / 16.0;
        for pair in values.windows(2) {
            let step = (pair[1] - pair[0]) / mean;
            assert!((0.5..2.0).contains(&step), "{vision}: a step of {step} in {values:?}");
        }
    }
}

#[test]
fn the_pages_modules_derive_the_right_values() {
    let (_cluster, address) = cluster(1);
    let browser = Browser::start();
    browser.open(&address);
    browser.until(&rows_shown(1));
    let wrong = browser.value(include_str!("derived.js"));
    assert_eq!(wrong, json!([]), "each is [what, got, wanted]");
}
