//! The files of a page, and what a browser may do on it.
//!
//! Hand-written HTML, CSS and JavaScript modules, embedded and served as they are, without a build
//! step. The policy sent with them lets a browser run, fetch and show nothing from anywhere else,
//! and nothing inline, so that no name or text of others can become code.

use axum::Router;
use axum::http::{HeaderName, header};
use axum::routing::get;

/// What a browser may do on a page: use files of this origin, make no markup from text.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// The type of a page.
pub const HTML: &str = "text/html; charset=utf-8";

/// The type of a style sheet.
pub const STYLE: &str = "text/css; charset=utf-8";

/// The type of a module.
pub const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The bytes of all files of a page, at most.
const MAX_PAGE_BYTES: usize = 200 << 10;

/// The columns of a line of code.
const MAX_COLUMNS: usize = 100;

/// A file of a page.
#[derive(Clone, Copy, Debug)]
pub struct Document {
    /// Its path below the page's own, without a slash at the beginning: empty for the page itself.
    pub path: &'static str,
    /// Its type.
    pub content_type: &'static str,
    /// What is in it.
    pub text: &'static str,
}

/// A [`Document`] of a file beside the source: its path, its type, the file.
#[macro_export]
macro_rules! page_file {
    ($path:literal, $content_type:expr, $file:literal) => {
        $crate::document::Document {
            path: $path,
            content_type: $content_type,
            text: include_str!($file),
        }
    };
}

/// The routes of a page's files. `below` is the page's own path, with slashes around it.
pub fn routes<S>(documents: &[Document], below: &str) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    documents.iter().fold(Router::new(), |router, document| {
        let headers: [(HeaderName, &str); 4] = [
            (header::CONTENT_TYPE, document.content_type),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::CACHE_CONTROL, "no-cache"),
        ];
        let (path, text) = (format!("{below}{}", document.path), document.text);
        router.route(&path, get(async move || (headers, text)))
    })
}

/// What is wrong with a page's files, the first of which is the page: for its tests.
pub fn faults(documents: &[Document]) -> Vec<String> {
    let mut faults = Vec::new();
    let bytes: usize = documents.iter().map(|document| document.text.len()).sum();
    if bytes > MAX_PAGE_BYTES {
        faults.push(format!("{bytes} bytes"));
    }
    for (at, document) in documents.iter().enumerate() {
        // The name of a format is no address.
        let text = document.text.replace("http://www.w3.org/2000/svg", "");
        let is_script = document.content_type == SCRIPT;
        let mut signs = vec!["http:", "https:", "url(//", "\"//", "@import", "cookie"];
        if at == 0 {
            signs.extend(["<style", " style=", "<script>", "javascript:", " onclick", " onload"]);
        }
        if is_script {
            signs.extend(["innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "Function("]);
        }
        let found = signs.iter().filter(|sign| text.contains(**sign));
        faults.extend(found.map(|sign| format!("{}: {sign}", document.path)));
        let long = text.lines().find(|line| line.chars().count() > MAX_COLUMNS);
        if is_script && (!text.starts_with("// ") || long.is_some()) {
            faults.push(format!("{}: no comment first, or a long line {long:?}", document.path));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::{Request, StatusCode};
    use tower::ServiceExt;

    use super::*;
    use crate::look;

    const FILES: [Document; 3] = [look::STYLE_SHEET, look::ELEMENTS, look::ICON];

    #[tokio::test]
    async fn every_file_comes_with_its_type_and_the_policy() {
        for below in ["/", "/secret/"] {
            for document in &FILES {
                let path = format!("{below}{}", document.path);
                let request = Request::get(&path).body(Body::empty()).expect("valid");
                let response = routes::<()>(&FILES, below).oneshot(request).await;
                let response = response.expect("infallible");
                assert_eq!(response.status(), StatusCode::OK, "{path}");
                let headers = response.headers();
                assert_eq!(headers[header::CONTENT_SECURITY_POLICY], POLICY);
                assert_eq!(headers[header::CONTENT_TYPE], document.content_type);
            }
        }
    }

    #[test]
    fn what_goes_against_the_policy_is_a_fault() {
        assert_eq!(faults(&FILES), Vec::<String>::new());
        let script = |text| Document { path: "a.js", content_type: SCRIPT, text };
        for text in [
            "let a;",
            "// a\nfetch('https://a')",
            "// a\nb.innerHTML = c",
            "// a\nimport '//a' //\"//\"",
        ] {
            assert_ne!(faults(&[FILES[0], script(text)]), Vec::<String>::new(), "{text}");
        }
    }
}
