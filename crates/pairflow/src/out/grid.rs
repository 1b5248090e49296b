//! Tables: columns as wide as their widest cell, two spaces apart, the last one cut to what the terminal has left unless
//! the table is to be read whole.

use pairflow_core::safe::{safe_line, width};

use crate::out::Paint;

/// Rows of short texts under a heading.
#[derive(Debug, Clone)]
pub struct Grid {
    heads: Vec<&'static str>,
    rows: Vec<Vec<(Paint, String)>>,
    whole: bool,
}

/// No cell but the last of a row is ever wider than this.
const WIDEST: usize = 64;

impl Grid {
    /// Makes a table without rows.
    pub fn new(heads: &[&'static str]) -> Self {
        Self { heads: heads.to_vec(), rows: Vec::new(), whole: false }
    }

    /// Has every cell shown whole: a long row goes on in the next line of the terminal.
    pub fn whole(self) -> Self {
        Self { whole: true, ..self }
    }

    /// Adds a row; cells are made safe, and folded to one line each.
    pub fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = (Paint, T)>) {
        let cells = cells.into_iter().map(|(paint, text)| (paint, safe_line(text.as_ref(), usize::MAX)));
        self.rows.push(cells.collect());
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Renders the table for a terminal of `columns` columns; without a width nothing is cut.
    pub(crate) fn render(&self, columns: Option<usize>, color: bool) -> String {
        let heads: Vec<_> = self.heads.iter().map(|head| (Paint::Dim, (*head).to_owned())).collect();
        let widths: Vec<usize> = (0..self.heads.len()).map(|column| self.width_of(column)).collect();
        let room = Room { widths: &widths, columns: columns.filter(|_| !self.whole), whole: self.whole };
        let mut text = String::new();
        for row in std::iter::once(&heads).chain(&self.rows) {
            let line = render_row(row, &room, color);
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    fn width_of(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|(_, text)| width(text));
        cells.max().unwrap_or(0).min(WIDEST).max(width(self.heads[column]))
    }
}

/// How much room there is for the cells of a row.
struct Room<'a> {
    widths: &'a [usize],
    /// The width of the terminal, if the last cell is cut to it.
    columns: Option<usize>,
    /// Whether no cell is cut.
    whole: bool,
}

fn render_row(row: &[(Paint, String)], room: &Room<'_>, color: bool) -> String {
    let mut line = String::new();
    let mut used = 0;
    for (index, (paint, text)) in row.iter().enumerate() {
        let last = index + 1 == room.widths.len();
        let own = room.widths.get(index).copied().unwrap_or(WIDEST);
        let room = match room.columns {
            _ if room.whole => usize::MAX,
            Some(columns) if last => columns.saturating_sub(used).max(8),
            None if last => usize::MAX,
            _ => own,
        };
        let cell = safe_line(text, room);
        let padding = if last { 0 } else { own.saturating_sub(width(&cell)) + 2 };
        line.push_str(&paint.wrap(&cell, color));
        line.extend(std::iter::repeat_n(' ', padding));
        used += own + 2;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Grid {
        let mut grid = Grid::new(&["ID", "STATE", "WHAT"]);
        grid.row([
            (Paint::Bold, "login-race"),
            (Paint::Good, "RUNNING"),
            (Paint::Plain, "fix\nthe \u{1b}[2Jlogin race"),
        ]);
        grid.row([(Paint::Bold, "日本"), (Paint::Plain, "DONE"), (Paint::Plain, "x")]);
        grid
    }

    #[test]
    fn columns_line_up_and_cells_are_safe() {
        let expected = "ID          STATE    WHAT\n\
                        login-race  RUNNING  fix the login race\n\
                        日本        DONE     x\n";
        assert_eq!(sample().render(None, false), expected);
    }

    #[test]
    fn a_table_to_be_read_whole_is_never_cut() {
        let mut grid = Grid::new(&["KEY", "VALUE"]).whole();
        grid.row([(Paint::Plain, "k".repeat(WIDEST + 6)), (Paint::Plain, "v".repeat(90))]);
        let text = grid.render(Some(33), false);
        assert!(text.contains(&format!("{}  {}", "k".repeat(WIDEST + 6), "v".repeat(90))), "{text}");
    }

    #[test]
    fn the_last_column_is_cut_to_the_terminal() {
        let text = sample().render(Some(33), false);
        assert!(text.contains("fix the log…\n"), "{text}");
        assert!(text.lines().all(|line| width(line) <= 33), "{text}");
    }
}
