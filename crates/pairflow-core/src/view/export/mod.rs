//! A bubble as one self-contained HTML page: no script, no external resource, readable for years.
//!
//! [`LogFacts`] are gathered from the log, line by line; [`Export`] adds what only git and `verify` know; [`render`] makes
//! the page. Markup is written with `maud`, which escapes; foreign text goes through `text`, which also takes out whatever
//! could steer a reader's eye.

mod changes;
mod log_facts;
mod page;
mod sections;
mod text;

pub use log_facts::{Export, LogFacts, Newest, Patches, RoundTrees, VerifiedClaim};
pub(in crate::view) use page::STYLE;
pub use page::render;
pub(in crate::view) use text::SafeText;
