//! A bubble as one self-contained HTML page: no script, no external resource, readable for years.
//!
//! [`Facts`] are gathered from the log, line by line; [`Export`] adds what only git and `verify` know; [`render`] turns it
//! into a page. All foreign text goes through `html`, which is the only file that writes a `<`.

mod changes;
mod contents;
mod facts;
mod findings;
mod head;
mod html;
mod links;
mod page;
mod patch;
mod people;
mod prose;
mod receipts;
mod rounds;
mod story;
mod verdict;

pub use contents::{Checked, Export, Patches};
pub use facts::{Asked, Decided, Facts, Handed, Ran, RoundTrees, Said};
pub use page::render;
