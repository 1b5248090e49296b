//! What people and programs are shown, made out of a state.

pub mod brief;
pub mod export;
mod foreign;
pub mod inbox;
pub mod ledger;
pub mod messages;
pub mod package;
pub mod pane;
pub mod patch;
pub mod plain;
pub mod status;
mod templates;
pub mod timeline;
mod tone;
pub mod waiting;
mod words;

pub use crate::bubble::{StateFields, TurnState};
pub use foreign::ForeignNotice;
pub use tone::Tone;
pub use words::{UNCOUNTED, age, criterion, quoted, span, title, wrapped};
