//! What the log is made of: what pairflow saw, what agents claimed, who sat where, and what was accepted.

mod answers;
mod certificate;
mod finding;
mod observed;
mod seat;

pub use answers::*;
pub use certificate::*;
pub use finding::*;
pub use observed::*;
pub use seat::*;
