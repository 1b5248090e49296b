//! Command lines for a repository that is not the one around the current directory.

use std::path::Path;

use pairflow_core::view::quoted;

/// Says whether a verb takes `--repo`.
pub(crate) type TakesRepo = fn(&str) -> bool;

/// Returns a command line as it has to be typed to mean the repository at `root`. A line that names a repository, or
/// whose verb is about none, is left as it is.
pub(crate) fn line_for(line: &str, root: &Path, takes_repo: TakesRepo) -> String {
    let repo = format!(" --repo {}", quoted(&root.display().to_string()));
    let verb = line.strip_prefix("pairflow ").and_then(|rest| rest.split(' ').next());
    if verb.is_some_and(takes_repo) && !line.contains(" --repo ") && !line.ends_with(" --help") {
        format!("{line}{repo}")
    } else {
        line.to_owned()
    }
}
