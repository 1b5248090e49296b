//! The whole table: every state with every command, as one generated document.

use std::path::Path;

use pairflow_testkit::script::{compare_document, state_machine};

#[test]
fn the_document_shows_every_state_with_every_command() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/state-machine.md");
    compare_document(&path, &state_machine());
}
