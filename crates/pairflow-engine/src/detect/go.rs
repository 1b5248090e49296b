//! Go: a `go.mod` at the root.

use super::found::{Detected, Found};
use super::root::Root;

pub(super) fn detect(root: &Root) -> Detected {
    if !root.has("go.mod") {
        return Detected::default();
    }
    // No `go build`: for a single command it leaves a binary in the tree that is being checked.
    Detected {
        test: Some(Found::new("go test ./...", "go.mod")),
        lint: Some(Found::new("go vet ./...", "go.mod")),
        ..Detected::default()
    }
}
