//! Which files hold tests, by name alone.

/// A language whose tests can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Language {
    Rust,
    Js,
    Python,
    Go,
}

impl Language {
    /// Returns the language of a file, by its extension.
    pub(super) fn of(path: &str) -> Option<Self> {
        let (_, extension) = file_name(path).rsplit_once('.')?;
        match extension {
            "rs" => Some(Self::Rust),
            "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "mts" | "cts" => Some(Self::Js),
            "py" => Some(Self::Python),
            "go" => Some(Self::Go),
            _ => None,
        }
    }
}

/// Says whether a file of Rust, JavaScript, TypeScript, Python or Go exists for tests alone.
///
/// Only the path counts: a source file that holds a test module is not a test file, and neither is test data.
pub fn is_test_file(path: &str) -> bool {
    let Some(language) = Language::of(path) else { return false };
    let name = file_name(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let ends = |marks: &[&str]| marks.iter().any(|mark| stem.ends_with(mark));
    match language {
        Language::Go => ends(&["_test"]),
        Language::Rust => below(path, &["tests"]) || matches!(stem, "tests" | "test") || ends(&["_test", "_tests"]),
        Language::Python => {
            below(path, &["tests", "test"])
                || matches!(stem, "tests" | "test" | "conftest")
                || stem.starts_with("test_")
                || ends(&["_test", "_tests"])
        }
        Language::Js => {
            below(path, &["__tests__", "tests", "test", "e2e", "spec"])
                || matches!(stem, "test" | "tests" | "spec")
                || ends(&[".test", ".spec", ".cy", ".e2e", "-test", "_test", "-spec", "_spec"])
        }
    }
}

/// Says whether a file can hold tests that are read: a test file, or Rust, where tests stand beside the code.
pub fn may_hold_tests(path: &str) -> bool {
    is_test_file(path) || Language::of(path) == Some(Language::Rust)
}

fn below(path: &str, folders: &[&str]) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    folder.split('/').any(|part| folders.contains(&part))
}

fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
