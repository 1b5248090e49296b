//! What the work is judged by: briefs, findings, documents, weakened tests, and what `verify` and `export` make of it.

mod briefs;
mod checkout;
mod documents;
mod export_html;
mod findings;
mod tampering;
mod weakened_tests;
