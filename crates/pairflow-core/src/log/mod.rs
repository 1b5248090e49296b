//! The log: what one line says, how it is written, and how a whole file is read again.

pub mod body;
pub mod envelope;
mod fields;
pub mod frame;
mod identity;
pub mod lifecycle;
mod limits;
pub mod line;
pub mod machine;
mod payload;
pub mod scan;
pub mod seal;
pub mod verdict;

pub use body::*;
pub use envelope::*;
pub use identity::*;
pub use lifecycle::*;
pub use limits::*;
pub use machine::Machine;
pub use payload::Payload;
pub use verdict::*;
