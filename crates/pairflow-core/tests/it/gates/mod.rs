//! What code alone can judge: documents and weakened tests.

mod document;
mod weakened_tests;
