//! Scrapes through a proxy with TLS and a password, as the guide sets it up.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use tidings_experiment::agents::Site;
use tidings_experiment::hosts::Hosts;
use tidings_tests::page::blocks;

const PASSWORD: &str = "correct horse battery";

/// A server on a host, which ends with the test.
struct Server(Child);

impl Server {
    fn start(site: &Site, host: usize, words: &[&str]) -> Self {
        let mut command = on(site, host, words);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(quiet.spawn().expect("ip starts it"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have ended
        let _ = self.0.wait();
    }
}

/// A command on a host.
fn on(site: &Site, host: usize, words: &[&str]) -> Command {
    let mut command = Command::new("ip");
    command.args(&site.hosts.on(host)[1..]).args(words);
    command
}

fn openssl(arguments: &[&str]) -> Output {
    let output = Command::new("openssl").args(arguments).output().expect("it is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The block of the guide in this language that has these words, with paths below `folder`.
fn block(language: &str, words: &str, folder: &Path) -> String {
    let guide = include_str!("../../docs/guides/monitoring.md");
    let shown = blocks(guide, language).into_iter().find(|block| block.contains(words));
    let block = shown.expect("the guide has this block");
    let folder = folder.display().to_string();
    let block = block.replace("/etc/nginx", &folder).replace("/etc/prometheus", &folder);
    block.replace("10.0.0.7", &Hosts::address(1))
}

/// Writes a certificate for host 1, and a password in the forms of both sides.
fn make_secrets(folder: &Path) {
    let path = |name: &str| folder.join(name).display().to_string();
    let name = format!("subjectAltName=IP:{}", Hosts::address(1));
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout"];
    let (key_path, certificate) = (path("tidings.key"), path("tidings.pem"));
    let about = ["-out", &certificate, "-subj", "/CN=tidings", "-addext", &name, "-days", "2"];
    openssl(&[&["req", "-x509"][..], &key, &[&key_path], &about].concat());
    let digest = openssl(&["passwd", "-apr1", PASSWORD]).stdout;
    let digest = String::from_utf8(digest).expect("text");
    fs::write(path("tidings.htpasswd"), format!("prometheus:{digest}")).expect("ours");
    fs::write(path("tidings-password"), PASSWORD).expect("ours");
}

/// Starts the proxy of host 1.
fn proxy(site: &Site, folder: &Path) -> Server {
    let server = block("nginx", "listen", folder);
    let own = folder.display();
    let text = format!(
        "daemon off; user root; pid {own}/nginx.pid; events {{}} http {{ access_log off; \
         client_body_temp_path {own}/body; proxy_temp_path {own}/proxy; \
         fastcgi_temp_path {own}/fastcgi; uwsgi_temp_path {own}/uwsgi; scgi_temp_path {own}/scgi; \
         {server} }}"
    );
    let file = folder.join("nginx.conf");
    fs::write(&file, text).expect("ours");
    let file = file.display().to_string();
    Server::start(site, 1, &["nginx", "-e", "stderr", "-c", &file])
}

/// Starts a Prometheus on host 2 that scrapes by the proxy.
fn prometheus(site: &Site, folder: &Path) -> Server {
    let scrape = block("yaml", "tls_config", folder);
    let (file, data) = (folder.join("prometheus.yml"), folder.join("data"));
    let text = format!("global: {{scrape_interval: 1s}}\nscrape_configs:\n{scrape}");
    fs::write(&file, text).expect("ours");
    let file = format!("--config.file={}", file.display());
    let data = format!("--storage.tsdb.path={}", data.display());
    let listen = "--web.listen-address=127.0.0.1:9090";
    Server::start(site, 2, &["prometheus", &file, &data, listen])
}

#[test]
fn a_prometheus_elsewhere_scrapes_through_the_proxy_of_the_guide() {
    let site = Site::new(Hosts::new(2), &["--http", "127.0.0.1:9617"]);
    let folder = site.cluster.path();
    make_secrets(folder);
    let (_proxy, _server) = (proxy(&site, folder), prometheus(&site, folder));
    let alive = "tidings_nodes{state=\"alive\"}";
    let ask = ["promtool", "query", "instant", "http://127.0.0.1:9090", alive];
    site.cluster.until("Prometheus sees two nodes", |_| {
        let said = on(&site, 2, &ask).output().expect("it starts").stdout;
        String::from_utf8_lossy(&said).contains("=> 2 @").then_some(())
    });
}
