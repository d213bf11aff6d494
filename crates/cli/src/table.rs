//! Plain tables: aligned columns two spaces apart, no lines, no colours, nothing cut off.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use tidings_gossip::payload::is_hidden;

/// How the cells of a column are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// The table as text, one line per row, without spaces at the ends of lines.
///
/// `headings` are the first line unless all of them are empty; every row has one cell per column.
pub fn render(headings: &[(&str, Align)], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    if headings.iter().any(|(heading, _)| !heading.is_empty()) {
        table.set_header(headings.iter().map(|(heading, _)| *heading));
    }
    table.add_rows(rows.iter().map(|row| row.iter().map(|cell| one_line(cell))));
    for (column, (_, align)) in table.column_iter_mut().zip(headings) {
        column.set_padding((0, 2));
        column.set_cell_alignment(match align {
            Align::Left => CellAlignment::Left,
            Align::Right => CellAlignment::Right,
        });
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Characters of text from others (names, user metrics) that a terminal acts on must not reach it.
pub fn one_line(cell: &str) -> String {
    cell.chars().map(|c| if is_hidden(c) { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_and_lines_have_no_trailing_spaces() {
        let headings = [("name", Align::Left), ("load1", Align::Right)];
        let rows = [vec!["n1".into(), "0.5".into()], vec!["node-17".into(), "12".into()]];
        assert_eq!(render(&headings, &rows), "name     load1\nn1         0.5\nnode-17     12\n");
    }

    #[test]
    fn long_cells_stay_whole_and_on_their_line() {
        let long = "x".repeat(300);
        let text = render(&[("", Align::Left)], &[vec![format!("{long}\n\u{1b}[31m")]]);
        assert_eq!(text.lines().count(), 1);
        assert!(text.starts_with(&long) && !text.contains('\u{1b}'));
        let text = render(&[("", Align::Left)], &[vec!["a\u{202e}b\u{2028}c".to_owned()]]);
        assert_eq!(text, "a b c\n");
    }
}
