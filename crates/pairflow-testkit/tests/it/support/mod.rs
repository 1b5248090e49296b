//! What the tests share.

pub(crate) mod model;
pub(crate) mod real_clis;
