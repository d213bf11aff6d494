//! What an operator looks for on the page of a cluster: what is wrong, how much there is, and who.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::{RUN_OVER, TOO_WIDE, cluster, made_up, rows_shown};
use tidings_control::State;
use tidings_experiment::agents::Cluster;

fn text_of(browser: &Browser, id: &str) -> String {
    browser.text(&format!("document.getElementById('{id}').textContent"))
}

fn type_into_filter(browser: &Browser, text: &str) {
    browser.value("document.getElementById('filter').focus()");
    browser.value("document.getElementById('filter').select()");
    browser.ask("Input.insertText", &json!({ "text": text }));
}

#[test]
fn what_is_wrong_is_red_counted_and_in_the_title() {
    let (_cluster, address) = cluster(1);
    let browser = Browser::start();
    browser.answer("/v1/nodes", &made_up(48));
    browser.open(&address);
    browser.until("document.getElementById('count').textContent === '48'");
    let title = browser.text("document.title");
    assert!(title.starts_with("1 dead (node0012), 1 suspected (node"), "{title}");
    assert!(title.contains("), 1 stale (node") && title.contains("), 1 unheard (node"), "{title}");
    let troubles = text_of(&browser, "troubles");
    assert!(troubles.contains("dead: node0012, last entry") && troubles.contains("node0024"));
    let red = "getComputedStyle(document.querySelector('[data-state=dead].state')).backgroundColor";
    assert_eq!(browser.text(red), "rgb(179, 22, 27)");
    let totals = text_of(&browser, "totals");
    assert!(totals.contains("nodes45 of 48") && totals.contains("cores2880"), "{totals}");
    assert!(totals.contains("busy") && totals.contains("memory free"), "{totals}");
    let by = browser.text("document.getElementById('colour').value");
    assert_eq!(by, "cpu_busy_percent", "a scale that means the same everywhere");
    let legend = text_of(&browser, "legend");
    assert!(legend.starts_with("0.0 %100.0 %CPU busy"), "{legend}");
    let version = text_of(&browser, "version");
    assert_eq!(version, format!("Tidings {}", env!("CARGO_PKG_VERSION")));
    let links = "[...document.querySelectorAll('footer a')].map((link) => link.pathname).join()";
    let links = browser.text(links);
    for link in links.split(',') {
        let status = browser.value(&format!("fetch('{link}').then(({{ status }}) => status)"));
        assert_eq!(status, json!(200), "{link}");
    }
    assert!(links.contains("/metrics/nodes"), "{links}");
}

#[test]
fn the_last_readings_of_the_dead_have_their_own_age() {
    let (_cluster, address) = cluster(1);
    let browser = Browser::start();
    browser.answer("/v1/nodes", &made_up(48));
    browser.open(&address);
    browser.until("document.getElementById('count').textContent === '48'");
    type_into_filter(&browser, "node0012");
    browser.until(&rows_shown(1));
    browser.value("document.activeElement.blur()");
    for key in ["t", "ArrowDown", "Enter"] {
        browser.press(key);
    }
    browser.until("document.getElementById('detail').open");
    let state = text_of(&browser, "detail-state");
    assert_eq!(state, "dead; these are its last readings, 2 h 0 m old");
}

#[test]
fn a_condition_is_that_of_the_command_line_with_its_errors() {
    let (_cluster, address) = cluster(3);
    let browser = Browser::start();
    browser.open(&address);
    browser.until(&rows_shown(3));
    type_into_filter(&browser, "name != n2 and cores >= 1");
    browser.until(&rows_shown(2));
    assert_eq!(text_of(&browser, "count"), "2 of 3");
    type_into_filter(&browser, "lod1 > 2");
    browser.until("!document.getElementById('filter-error').hidden");
    let wanted = "no column `lod1`; the nearest is `load1`\n  lod1 > 2\n  ^^^^";
    assert_eq!(text_of(&browser, "filter-error"), wanted);
    assert_eq!(browser.text("document.getElementById('filter').ariaInvalid"), "true");
    assert_eq!(text_of(&browser, "count"), "2 of 3", "the last condition holds meanwhile");
    type_into_filter(&browser, "age < 5");
    browser.until("document.getElementById('filter-error').textContent.includes('unit')");
    type_into_filter(&browser, "n2");
    browser.until(&rows_shown(1));
    assert_eq!(browser.value("document.getElementById('filter-error').hidden"), json!(true));
}

#[test]
fn columns_are_chosen_and_remembered() {
    let (_cluster, address) = cluster(2);
    let browser = Browser::start();
    browser.open(&address);
    browser.until(&rows_shown(2));
    let there = |key: &str| {
        browser.value(&format!("document.querySelector('#table [data-key={key}]') !== null"))
    };
    assert_eq!((there("kernel"), there("cores")), (json!(false), json!(true)));
    browser.value("document.getElementById('columns-button').click()");
    browser.photograph("columns.png");
    for key in ["kernel", "cores"] {
        browser.value(&format!("document.querySelector('#columns [value={key}]').click()"));
    }
    assert_eq!((there("kernel"), there("cores")), (json!(true), json!(false)));
    browser.open("about:blank");
    browser.open(&address);
    browser.until(&rows_shown(2));
    assert_eq!((there("kernel"), there("cores")), (json!(true), json!(false)));
    browser.value("document.getElementById('columns-usual').click()");
    assert_eq!((there("kernel"), there("cores")), (json!(false), json!(true)));
}

#[test]
fn events_from_before_the_page_was_opened_are_there_with_their_time() {
    let (cluster, address) = cluster(3);
    cluster.agent("n3").signal(Signal::KILL);
    cluster.until("n1 has noticed", |cluster| {
        cluster.agent("n1").node("n3").filter(|node| node.state == State::Dead).map(drop)
    });
    let browser = Browser::start();
    browser.open(&address);
    browser.until(&rows_shown(3));
    browser.until("document.querySelector('.event[data-kind=dead]')");
    let event = browser.text("document.querySelector('.event[data-kind=dead]').textContent");
    assert!(event.ends_with("n3 is dead"), "{event}");
    let time = browser.text("document.querySelector('.event[data-kind=dead] time').textContent");
    assert_eq!(time.matches(':').count(), 2, "{time}");
    assert!(text_of(&browser, "events").contains("joined"));
    assert!(browser.text("document.title").starts_with("1 dead (n3) · "));
}

#[test]
fn a_chart_shows_its_axis_and_does_not_exaggerate() {
    let (_cluster, address) = cluster(1);
    let browser = Browser::start();
    browser.open(&format!("{address}#by=cpu_busy_percent"));
    browser.until(&rows_shown(1));
    browser.press("m");
    browser.press("Enter");
    browser.until("document.querySelector('#detail-spark svg')?.dataset.points >= 2");
    let ends = "(({ from, to }) => `${from} ${to}`)(
        document.querySelector('#detail-spark svg').dataset)";
    assert_eq!(browser.text(ends), "0 100");
    let axis = browser.text("document.querySelector('#detail-spark svg').textContent");
    assert!(axis.contains("100.0 %") && axis.contains("0.0 %") && axis.contains("now"), "{axis}");
    assert_eq!(
        browser.value("document.getElementById('ages').closest('section').hidden"),
        json!(true),
        "a node by itself has no chart of ages"
    );
}

#[test]
fn colonies_have_a_line_each() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--http", "127.0.0.1:0", "--colony", "3"]);
    cluster.until_known(&["n1"], 1);
    let address = cluster.agent("n1").status().http.expect("turned on");
    let browser = Browser::start();
    browser.open(&format!("http://{address}/"));
    browser.until("!document.getElementById('colonies').hidden");
    let first = "document.querySelector('#colonies tbody tr').textContent";
    assert!(browser.text(first).starts_with("3, this one1"), "{}", browser.text(first));
    assert!(browser.seen().errors.is_empty(), "{:?}", browser.seen().errors);
}

#[test]
fn racks_that_users_publish_are_groups_of_the_map() {
    let (_cluster, address) = cluster(1);
    let browser = Browser::start();
    let mut nodes: Value = serde_json::from_str(&made_up(96)).expect("JSON");
    for (number, node) in nodes["nodes"].as_array_mut().expect("a list").iter_mut().enumerate() {
        node["user"] = json!({ "rack": format!("r{}", number / 24) });
    }
    browser.answer("/v1/nodes", &nodes.to_string());
    browser.open(&address);
    browser.until("document.getElementById('count').textContent === '96'");
    assert_eq!(browser.text("document.getElementById('group').value"), "user.rack");
    let texts = "Number(document.getElementById('canvas').dataset.texts)";
    assert_eq!(browser.value(texts), json!(4 + 96), "four titles, and each node's name");
    browser.press("m");
    browser.press("ArrowDown");
    let current = browser.text("document.getElementById('map-cell').textContent");
    assert!(!current.starts_with("node0001 ") && current.starts_with("node"), "{current}");
    browser.photograph("racks.png");
}

/// At each width and size: names, nothing wider than the window, few elements. The time that a
/// frame takes is printed, for a person to judge on their machine.
#[test]
fn one_to_thousands_of_nodes_fit_a_phone_a_desk_and_a_wall() {
    let (_cluster, address) = cluster(1);
    for count in [1, 24, 1000, 8192] {
        let browser = Browser::start();
        browser.answer("/v1/nodes", &made_up(count));
        for (width, height) in [(420, 900), (1400, 900), (2560, 1300)] {
            browser.size(width, height);
            browser.open("about:blank");
            browser.open(&address);
            browser.until(&format!("document.getElementById('count').textContent === '{count}'"));
            browser.value("new Promise((done) => requestAnimationFrame(() => done(1)))");
            let place = format!("{count} nodes at {width} pixels");
            assert_eq!(browser.text(TOO_WIDE), "", "{place}");
            assert_eq!(browser.text(RUN_OVER), "", "{place}");
            let elements = browser.value("document.querySelectorAll('*').length");
            assert!(elements.as_u64() < Some(2_500), "{place}: {elements} elements");
            let texts = "Number(document.getElementById('canvas').dataset.texts)";
            assert!(browser.value(texts).as_u64() > Some(0), "{place}: no names on the map");
            browser.photograph(&format!("fit-{count}-{width}.png"));
            // A heading sorts by its column, and everything is drawn again.
            let again = "(() => { const heading = document.querySelector('#table th');
                const times = []; for (let i = 0; i < 9; i += 1) { heading.click();
                times.push(Number(/shown in ([\\d.]+)/.exec(
                    document.getElementById('cost').textContent)[1])); }
                return times.sort((a, b) => a - b).map((ms) => ms.toFixed(1)).join(' '); })()";
            println!("{place}: frames of {} ms", browser.text(again));
        }
        assert!(browser.seen().errors.is_empty(), "{:?}", browser.seen().errors);
    }
}
