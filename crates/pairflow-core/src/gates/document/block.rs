//! The blocks of a page: headings, paragraphs, items, rows.

use std::ops::Range;

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A heading; one that is only a bold line has level 7.
    Heading(u8),
    Paragraph,
    /// An item of a list.
    Item,
    /// The first row of a table.
    Header,
    /// A row of the table whose header came last.
    Row,
    Quote,
    Code,
}

/// One block of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) kind: Kind,
    /// Its text, without the marker in front.
    pub(super) range: Range<usize>,
    /// The item that it stands in.
    pub(super) parent: Option<usize>,
}
