//! What the tests share.

pub(crate) mod log_samples;
pub(crate) mod play;
