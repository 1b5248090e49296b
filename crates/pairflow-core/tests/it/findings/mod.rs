//! Findings: reading files of them, and telling the same claim from another.

mod corpus;
mod corpus_shape;
mod feedback;
mod identity;
