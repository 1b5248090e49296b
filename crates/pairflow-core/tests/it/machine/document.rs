//! The whole table, every state with every command: a page for people, and the exact outcomes beside this file.

use std::path::Path;

use pairflow_testkit::script::{compare_document, every_command, state_machine};

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn the_document_shows_every_state_with_every_command() {
    let page = state_machine();
    assert!(page.lines().count() < 400, "a page that people read has fewer than 400 lines");
    compare_document(&Path::new(CRATE).join("../../docs/state-machine.md"), &page);
}

#[test]
fn the_table_has_the_outcome_of_every_command_word_for_word() {
    compare_document(&Path::new(CRATE).join("tests/it/machine/every_command.md"), &every_command());
}
