//! The page for people: a map, a table, ages and events of the cluster, in any browser.
//!
//! Hand-written HTML, CSS and JavaScript modules, embedded here and served as they are, without a
//! build step. The page asks `/v1/nodes` and `/v1/status` of the same origin and keeps a short
//! history of its own. The policy sent with it lets a browser run, fetch and show nothing from
//! anywhere else, and nothing inline, so that no node's name or metric can become code.

use axum::Router;
use axum::http::{HeaderName, header};
use axum::routing::get;

/// What a browser may do on the page: use files of this origin, make no markup from text.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// A file of the page.
struct Document {
    path: &'static str,
    content_type: &'static str,
    text: &'static str,
}

macro_rules! document {
    ($path:literal, $content_type:expr, $file:literal) => {
        Document { path: $path, content_type: $content_type, text: include_str!($file) }
    };
}

const DOCUMENTS: [Document; 12] = [
    document!("/", HTML, "index.html"),
    document!("/page.css", STYLE, "page.css"),
    document!("/page.js", SCRIPT, "page.js"),
    document!("/page/ages.js", SCRIPT, "ages.js"),
    document!("/page/cluster.js", SCRIPT, "cluster.js"),
    document!("/page/colours.js", SCRIPT, "colours.js"),
    document!("/page/detail.js", SCRIPT, "detail.js"),
    document!("/page/events.js", SCRIPT, "events.js"),
    document!("/page/map.js", SCRIPT, "map.js"),
    document!("/page/readings.js", SCRIPT, "readings.js"),
    document!("/page/table.js", SCRIPT, "table.js"),
    document!("/page/icon.svg", "image/svg+xml", "icon.svg"),
];

/// The routes of the page's files.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    DOCUMENTS.iter().fold(Router::new(), |router, document| {
        let headers: [(HeaderName, &str); 4] = [
            (header::CONTENT_TYPE, document.content_type),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::CACHE_CONTROL, "no-cache"),
        ];
        router.route(document.path, get(async move || (headers, document.text)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use axum::http::{Request, StatusCode};
    use std::fs;
    use std::path::Path;
    use tower::ServiceExt;

    #[tokio::test]
    async fn every_file_comes_with_its_type_and_the_policy() {
        for document in &DOCUMENTS {
            let request = Request::get(document.path).body(Body::empty()).expect("valid");
            let response = routes::<()>().oneshot(request).await.expect("infallible");
            assert_eq!(response.status(), StatusCode::OK, "{}", document.path);
            let headers = response.headers();
            assert_eq!(headers[header::CONTENT_SECURITY_POLICY], POLICY);
            assert_eq!(headers[header::CONTENT_TYPE], document.content_type);
        }
    }

    #[test]
    fn the_page_is_less_than_200_kib() {
        let bytes: usize = DOCUMENTS.iter().map(|document| document.text.len()).sum();
        assert!((1..200 << 10).contains(&bytes), "{bytes} bytes");
    }

    #[test]
    fn no_file_names_an_address_elsewhere() {
        let namespaces = ["http://www.w3.org/2000/svg"];
        for document in &DOCUMENTS {
            let text = namespaces
                .iter()
                .fold(document.text.to_owned(), |text, name| text.replace(name, ""));
            for sign in ["http:", "https:", "url(//", "\"//", "@import", "localStorage", "cookie"] {
                assert!(!text.contains(sign), "{}: {sign}", document.path);
            }
        }
    }

    #[test]
    fn no_markup_holds_script_style_or_handlers() {
        let markup = DOCUMENTS[0].text;
        for sign in ["<style", " style=", "<script>", "javascript:", " onclick", " onload"] {
            assert!(!markup.contains(sign), "{sign}");
        }
        let scripts = DOCUMENTS.iter().filter(|document| document.content_type == SCRIPT);
        for document in scripts {
            for sign in ["innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "Function("] {
                assert!(!document.text.contains(sign), "{}: {sign}", document.path);
            }
        }
    }

    #[test]
    fn every_file_of_this_folder_is_served_and_opens_with_a_comment() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page");
        let beside = fs::read_dir(folder).expect("the folder of this module");
        let names = beside.map(|file| file.expect("readable").file_name());
        let served = names.filter(|name| name != "mod.rs").count();
        assert_eq!(served, DOCUMENTS.len(), "list each file of the folder in DOCUMENTS");
        for document in DOCUMENTS.iter().filter(|document| document.content_type == SCRIPT) {
            assert!(document.text.starts_with("// "), "{}", document.path);
            let long = document.text.lines().find(|line| line.chars().count() > 100);
            assert_eq!(long, None, "{}", document.path);
        }
    }
}
