//! What people and programs are shown, made out of a state.

pub mod brief;
pub mod export;
pub mod inbox;
pub mod ledger;
pub mod messages;
pub mod metrics;
pub mod package;
pub mod pane;
pub mod patch;
pub mod plain;
pub mod status;
mod styled;
mod templates;
pub mod timeline;
pub mod waiting;
mod words;

pub use crate::bubble::{StateFields, TurnState};
pub use status::ForeignNotice;
pub use styled::{StyledLine, Tone};
pub use words::{UNCOUNTED, age, asides, criterion, quoted, span, title, wrapped};
