//! The files that all pages show: hand-written, and served as they are.

use crate::document::{Document, SCRIPT, STYLE};
use crate::page_file;

/// The look: two palettes, one column on a narrow screen.
pub const STYLE_SHEET: Document = page_file!("page.css", STYLE, "page.css");

/// Elements, and values in readable form.
pub const ELEMENTS: Document = page_file!("page/elements.js", SCRIPT, "elements.js");

/// The icon.
pub const ICON: Document = page_file!("page/icon.svg", "image/svg+xml", "icon.svg");
