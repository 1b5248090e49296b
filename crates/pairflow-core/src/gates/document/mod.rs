//! The part of the document quality gate that code can prove, on Markdown alone.
//!
//! A set of documents is read as one: sections, ids and links resolve across its files. Each remark names a place and
//! what to do. Contradictions in meaning are left to the reviewer. The word lists are English: a document in another
//! language has no sections here. Every step is linear in the length of the text.

mod examine;
mod markdown;
mod outline;
mod remark;
mod wording;
mod words;

pub use examine::{criteria, examine};
pub use remark::{DocumentCheck, Remark, report};
