//! The list of rules, and the run over the real tree.

use anyhow::ensure;

use super::tree::{Problem, Tree};
use super::{architecture, boundaries, dependencies, honest_tests, layers, requirements, shape, tree};
use crate::say;

/// Every rule, in the order in which problems are shown.
const RULES: &[fn(&Tree) -> Vec<Problem>] = &[
    tree::unreadable,
    shape::reached,
    shape::module_docs,
    shape::file_length,
    shape::functions,
    shape::map_files,
    honest_tests::notes_name_issues,
    honest_tests::tests_run,
    boundaries::anyhow,
    boundaries::git,
    boundaries::opened_files,
    boundaries::pure_core,
    boundaries::recorded_verdicts,
    dependencies::direction,
    layers::check,
    dependencies::closed_list,
    requirements::ids_stay_in_the_table,
    requirements::rows_have_tests,
    architecture::lists,
    requirements::keys_have_effects,
];

/// Checks the whole project and prints one line a problem.
pub(crate) fn run(_: &[String]) -> anyhow::Result<()> {
    let tree = Tree::read(&tree::root())?;
    let problems: Vec<Problem> = RULES.iter().flat_map(|check| check(&tree)).collect();
    for problem in &problems {
        say::line(format_args!("{problem}"));
    }
    say::line(format_args!("{}", requirements::count(&tree)));
    ensure!(problems.is_empty(), "tidy found {} problem(s)", problems.len());
    Ok(())
}
