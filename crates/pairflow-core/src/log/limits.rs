//! How much one message may hold.

/// The most findings of one review.
pub const MAX_FINDINGS: usize = 100;
/// The longest title of a finding, in characters.
pub const MAX_TITLE: usize = 500;
/// The longest detail, suggestion, reproducer, reason or part of an explanation, in bytes.
pub const MAX_DETAIL: usize = 8 * 1024;
/// The most that all of them have together in one hand-over, in bytes.
pub const MAX_REVIEW: usize = 256 * 1024;
/// The most questions of agents that may wait for the person.
pub const MAX_QUESTIONS: usize = 20;
/// The most files that one message may point to.
pub const MAX_REFS: usize = 100;
/// The longest retry key, in bytes.
pub const MAX_KEY: usize = 200;
/// The longest text of one field, in bytes.
pub const MAX_TEXT: usize = 64 * 1024;
