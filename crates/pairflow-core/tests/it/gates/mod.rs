//! What code alone can judge: documents and weakened tests.

mod document;
mod test_change_corpus;
mod weakened_tests;
