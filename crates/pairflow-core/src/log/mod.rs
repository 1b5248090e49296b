//! The log: what one line says, how it is written, and how a whole file is read again.

pub mod body;
pub mod envelope;
mod fields;
pub mod frame;
pub mod lifecycle;
pub mod line;
pub mod scan;
pub mod seal;
pub mod verdict;

pub use body::*;
pub use envelope::*;
pub use lifecycle::*;
pub use verdict::*;
