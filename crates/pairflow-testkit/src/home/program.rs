//! Programs that a test writes and then has run.

use std::path::Path;
use std::process::Command;

/// Writes an executable file.
///
/// Another process does it: had this one the file open, each program that another test starts in that moment would
/// hold it, too, and the kernel refuses to run a file that someone may still write to ("text file busy").
#[track_caller]
pub fn write_program(path: &Path, text: &str) {
    let line = r#"printf '%s' "$1" > "$2" && chmod 755 "$2""#;
    let ended = Command::new("sh").args(["-c", line, "sh", text]).arg(path).status().expect("there is a shell");
    assert!(ended.success(), "{} cannot be written", path.display());
}
