//! A headless Chromium, driven over the DevTools protocol.
//!
//! `--remote-debugging-pipe` makes Chromium read commands from descriptor 3 and write answers and
//! events to descriptor 4, each a JSON object that ends with a zero byte. That needs no library, no
//! port and no driver program, and a browser whose test is gone reads the end of its input and
//! ends. Errors of the page and the addresses that it requested are kept for the tests.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Long enough for a loaded machine; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Descriptors 3 and 4 from standard input and output, which the shell then turns to a file.
const PIPES: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >"$LOG" 2>&1"#;

/// Only the agents on loopback may be reached, and the browser itself requests nothing.
const FLAGS: [&str; 11] = [
    "--headless",
    "--no-sandbox", // tests run as root in containers, and open their own page alone
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "about:blank",
];

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    home: TempDir,
    commands: RefCell<ChildStdin>,
    messages: Receiver<Value>,
    waiting: RefCell<VecDeque<Value>>,
    session: String,
    last_id: Cell<u64>,
    seen: RefCell<Seen>,
    stand_in: RefCell<Option<(String, String)>>,
}

/// What happened in the page.
#[derive(Default, Debug, Clone)]
pub(crate) struct Seen {
    /// Errors and warnings of the console, exceptions, violated policies.
    pub errors: Vec<String>,
    /// The requested addresses.
    pub addresses: Vec<String>,
    /// The requests for the state of the cluster, by their numbers.
    pub news: Vec<Value>,
    /// The bytes of the page's files as received, heads included; the state is not counted.
    pub bytes: f64,
}

impl Browser {
    /// Starts a browser, with an empty page.
    pub(crate) fn start() -> Self {
        let home = TempDir::new().expect("a temporary directory");
        let mut child = Command::new("sh")
            .args(["-c", PIPES, "chromium"])
            .arg(format!("--user-data-dir={}", home.path().join("profile").display()))
            .args(FLAGS)
            .env("LOG", home.path().join("log"))
            .env("HOME", home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh is there");
        let commands = child.stdin.take().expect("piped above");
        let (sender, messages) = sync_channel(1024);
        let mut answers = BufReader::new(child.stdout.take().expect("piped above"));
        thread::spawn(move || {
            let mut bytes = Vec::new();
            while answers.read_until(0, &mut bytes).is_ok_and(|read| read > 0) {
                bytes.pop();
                let message = serde_json::from_slice(&bytes).expect("the protocol speaks JSON");
                bytes.clear();
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self {
            child,
            home,
            commands: RefCell::new(commands),
            messages,
            waiting: RefCell::default(),
            session: String::new(),
            last_id: Cell::new(0),
            seen: RefCell::default(),
            stand_in: RefCell::default(),
        };
        let target = browser.ask("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.ask("Target.attachToTarget", &attach);
        attached["sessionId"].as_str().expect("attached").clone_into(&mut browser.session);
        for domain in ["Page", "Runtime", "Log", "Network", "Accessibility"] {
            browser.ask(&format!("{domain}.enable"), &json!({}));
        }
        browser.size(1280, 900);
        browser
    }

    /// Sends a command and waits for its result.
    pub(crate) fn ask(&self, method: &str, parameters: &Value) -> Value {
        let id = self.send(method, parameters);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let message = self.next(&format!("{method} {parameters}"), deadline);
            if message["id"] == json!(id) {
                assert!(message.get("error").is_none(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.note(message);
        }
    }

    fn send(&self, method: &str, parameters: &Value) -> u64 {
        let id = self.last_id.get() + 1;
        self.last_id.set(id);
        let mut command = json!({ "id": id, "method": method, "params": parameters });
        if !self.session.is_empty() {
            command["sessionId"] = json!(self.session);
        }
        let sent = self.commands.borrow_mut().write_all(format!("{command}\0").as_bytes());
        sent.unwrap_or_else(|error| panic!("{method}: {error}\n{}", self.log()));
        id
    }

    fn next(&self, why: &str, deadline: Instant) -> Value {
        let next = self.messages.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        next.unwrap_or_else(|error| panic!("{why}: {error}; {:?}\n{}", self.seen(), self.log()))
    }

    /// Records an event, and answers in the agent's place where that was requested.
    fn note(&self, event: Value) {
        let mut seen = self.seen.borrow_mut();
        let parameters = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => seen.errors.push(parameters.to_string()),
            "Runtime.consoleAPICalled" => seen.errors.push(parameters["args"].to_string()),
            "Log.entryAdded" => seen.errors.push(parameters["entry"].to_string()),
            "Network.requestWillBeSent" => {
                let address = parameters["request"]["url"].as_str().expect("a request has one");
                if address.contains("/v1/") {
                    seen.news.push(parameters["requestId"].clone());
                }
                seen.addresses.push(address.to_owned());
            }
            "Network.loadingFinished" if !seen.news.contains(&parameters["requestId"]) => {
                seen.bytes += parameters["encodedDataLength"].as_f64().unwrap_or_default();
            }
            "Fetch.requestPaused" => {
                drop(seen);
                self.stand_in(parameters);
                return;
            }
            _ => {}
        }
        drop(seen);
        self.waiting.borrow_mut().push_back(event);
    }

    fn stand_in(&self, paused: &Value) {
        let (_, body) = self.stand_in.borrow().clone().expect("asked for");
        let answer = json!({
            "requestId": paused["requestId"], "responseCode": 200,
            "responseHeaders": [{ "name": "content-type", "value": "application/json" }],
            "body": STANDARD.encode(body),
        });
        self.send("Fetch.fulfillRequest", &answer);
    }

    /// From now on `body` is the page's answer to a request for `path`.
    pub(crate) fn answer(&self, path: &str, body: &str) {
        *self.stand_in.borrow_mut() = Some((path.to_owned(), body.to_owned()));
        self.ask("Fetch.enable", &json!({ "patterns": [{ "urlPattern": format!("*{path}") }] }));
    }

    /// What has happened in the page so far.
    pub(crate) fn seen(&self) -> Seen {
        self.seen.borrow().clone()
    }

    /// Opens an address and waits until the page is loaded.
    pub(crate) fn open(&self, address: &str) {
        self.waiting.borrow_mut().clear();
        self.ask("Page.navigate", &json!({ "url": address }));
        let deadline = Instant::now() + PATIENCE;
        loop {
            let event = self.waiting.borrow_mut().pop_front();
            let event = event.unwrap_or_else(|| {
                self.note(self.next("the page loads", deadline));
                Value::Null
            });
            if event["method"] == "Page.loadEventFired" {
                return;
            }
        }
    }

    /// The value of an expression, which may be a promise.
    pub(crate) fn value(&self, expression: &str) -> Value {
        let evaluate =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let result = self.ask("Runtime.evaluate", &evaluate);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// The text of an expression.
    pub(crate) fn text(&self, expression: &str) -> String {
        let value = self.value(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression} is {value}")).to_owned()
    }

    /// Waits until an expression is true, checking again whenever the document changes.
    pub(crate) fn until(&self, condition: &str) {
        let wait = format!(
            "new Promise((done) => {{
                const watch = new MutationObserver(() => look());
                const look = () => {{
                    if (!({condition})) return;
                    watch.disconnect();
                    document.removeEventListener('focusin', look);
                    done(true);
                }};
                watch.observe(document, {{
                    subtree: true, childList: true, attributes: true, characterData: true,
                }});
                document.addEventListener('focusin', look);
                look();
            }})"
        );
        assert_eq!(self.value(&wait), json!(true), "{condition}");
    }

    /// Presses and releases a key, by its name in KeyboardEvent.key.
    pub(crate) fn press(&self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let mut pressed = json!({ "type": "keyDown", "key": key, "windowsVirtualKeyCode": code });
        match key {
            "Enter" => pressed["text"] = json!("\r"),
            typed if typed.chars().count() == 1 => pressed["text"] = json!(typed),
            _ => {}
        }
        self.ask("Input.dispatchKeyEvent", &pressed);
        pressed["type"] = json!("keyUp");
        self.ask("Input.dispatchKeyEvent", &pressed);
    }

    /// Sets the window's size, in CSS pixels; a narrow one is a phone's.
    pub(crate) fn size(&self, width: u32, height: u32) {
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 2, "mobile": width < 600,
        });
        self.ask("Emulation.setDeviceMetricsOverride", &metrics);
    }

    /// Makes the page light or dark.
    pub(crate) fn scheme(&self, scheme: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.ask("Emulation.setEmulatedMedia", &json!({ "features": [feature] }));
    }

    /// Writes the whole page as a PNG below `target`, for people to look at.
    pub(crate) fn photograph(&self, name: &str) {
        let whole = json!({ "captureBeyondViewport": true });
        let picture = self.ask("Page.captureScreenshot", &whole);
        let bytes = STANDARD.decode(picture["data"].as_str().expect("a picture")).expect("base64");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("web");
        fs::create_dir_all(&folder).expect("the target directory is writable");
        let mut file = File::create(folder.join(name)).expect("likewise");
        file.write_all(&bytes).expect("likewise");
    }

    fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let closed = format!("{}\0", json!({ "id": 0, "method": "Browser.close" }));
        if self.commands.borrow_mut().write_all(closed.as_bytes()).is_err() {
            let _ = self.child.kill(); // it has ended already, or does not listen
        }
        while self.messages.recv_timeout(PATIENCE).is_ok() {} // until it has closed its output
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
