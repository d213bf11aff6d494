//! The page for people: a map, a table, ages and events of the cluster, in any browser.
//!
//! Its files are embedded here and served with the policy of `tidings_web::document`. The page asks
//! `/v1/nodes`, `/v1/status` and `/v1/events` of the same origin and keeps a short history of its
//! own.

use axum::Router;
use tidings_web::document::{self, Document, HTML, SCRIPT};
use tidings_web::{look, page_file};

const DOCUMENTS: [Document; 20] = [
    page_file!("", HTML, "index.html"),
    look::STYLE_SHEET,
    look::ELEMENTS,
    look::ICON,
    page_file!("page.js", SCRIPT, "page.js"),
    page_file!("page/ages.js", SCRIPT, "ages.js"),
    page_file!("page/cluster.js", SCRIPT, "cluster.js"),
    page_file!("page/colonies.js", SCRIPT, "colonies.js"),
    page_file!("page/colours.js", SCRIPT, "colours.js"),
    page_file!("page/columns.js", SCRIPT, "columns.js"),
    page_file!("page/detail.js", SCRIPT, "detail.js"),
    page_file!("page/events.js", SCRIPT, "events.js"),
    page_file!("page/filter.js", SCRIPT, "filter.js"),
    page_file!("page/groups.js", SCRIPT, "groups.js"),
    page_file!("page/header.js", SCRIPT, "header.js"),
    page_file!("page/layout.js", SCRIPT, "layout.js"),
    page_file!("page/map.js", SCRIPT, "map.js"),
    page_file!("page/painter.js", SCRIPT, "painter.js"),
    page_file!("page/readings.js", SCRIPT, "readings.js"),
    page_file!("page/table.js", SCRIPT, "table.js"),
];

/// The routes of the page's files.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    document::routes(&DOCUMENTS, "/")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn no_file_goes_against_the_policy() {
        assert_eq!(document::faults(&DOCUMENTS), Vec::<String>::new());
    }

    #[test]
    fn every_file_of_this_folder_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page");
        let beside = fs::read_dir(folder).expect("the folder of this module");
        let own = beside.map(|file| file.expect("readable").file_name());
        let own = own.filter(|name| name != "mod.rs").count();
        let shared = [look::STYLE_SHEET, look::ELEMENTS, look::ICON].len();
        assert_eq!(own + shared, DOCUMENTS.len(), "list each file of the folder in DOCUMENTS");
    }
}
