//! The part of the document quality gate that code can prove, on Markdown alone.
//!
//! A set of documents is read as one: sections, ids and links resolve across its files. Each remark says where it
//! stands and what to do. Contradictions in meaning are left to the reviewer; what stands here is only said when the
//! text itself proves it. The word lists are English: a document in another language finds no sections here.
//! Every step is linear in the length of the text, whatever the text is.

mod ambiguity;
mod anchors;
mod block;
mod completeness;
mod consistency;
mod entry;
mod examine;
mod id;
mod inline;
mod link;
mod measure;
mod outline;
mod placeholder;
mod quantity;
mod remark;
mod scan;
mod section;
mod table;
mod token;
mod traceability;
mod vague;

pub use examine::{criteria, examine};
pub use remark::{DocumentCheck, Remark, report};
