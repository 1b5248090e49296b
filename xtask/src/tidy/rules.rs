//! The list of rules, and the run over the real tree.

use anyhow::ensure;

use super::tree::{Problem, Tree};
use super::{
    architecture, boundaries, dependencies, honest_tests, layers, requirements, shape, strings, tree, type_names,
};
use crate::say;

/// Every rule, in the order in which problems are shown.
const RULES: &[fn(&Tree) -> Vec<Problem>] = &[
    tree::unreadable,
    shape::reached,
    shape::module_docs,
    shape::file_length,
    shape::functions,
    shape::file_count,
    shape::folder_entries,
    shape::map_files,
    honest_tests::notes_name_issues,
    honest_tests::tests_run,
    boundaries::anyhow,
    boundaries::git,
    boundaries::opened_files,
    boundaries::pure_core,
    boundaries::recorded_verdicts,
    boundaries::policies,
    boundaries::named_places,
    dependencies::direction,
    dependencies::shipped,
    layers::check,
    dependencies::closed_list,
    requirements::ids_stay_in_the_table,
    requirements::rows_have_tests,
    architecture::lists,
    requirements::keys_have_effects,
    type_names::check,
    strings::up_to_date,
    strings::wording,
];

/// What is printed after the problems, whether there are any or not.
const FIGURES: &[fn(&Tree) -> String] = &[
    shape::figures,
    shape::longest_function,
    architecture::count,
    layers::count,
    type_names::count,
    strings::count,
    requirements::count,
];

/// Checks the whole project and prints one line a problem.
pub(crate) fn run(_: &[String]) -> anyhow::Result<()> {
    let tree = Tree::read(&tree::root())?;
    let problems: Vec<Problem> = RULES.iter().flat_map(|check| check(&tree)).collect();
    for problem in &problems {
        say::line(format_args!("{problem}"));
    }
    FIGURES.iter().for_each(|figure| say::line(format_args!("{}", figure(&tree))));
    ensure!(problems.is_empty(), "tidy found {} problem(s)", problems.len());
    Ok(())
}
