//! The list of rules, and the run over the real tree.

use anyhow::ensure;

use super::tree::{Problem, Tree};
use super::{
    anyhow_home, dependencies, direction, file_length, function_shape, honest_tests, key_effects, layers, module_docs,
    one_git, policies, pure_core, reached_modules, recorded_verdicts, regular_files, requirements, scattered_ids,
    thin_modules, tree, unfinished, ways,
};
use crate::say;

/// Every rule, in the order in which problems are shown.
const RULES: &[fn(&Tree) -> Vec<Problem>] = &[
    tree::unreadable,
    reached_modules::check,
    module_docs::check,
    file_length::check,
    function_shape::check,
    thin_modules::check,
    unfinished::check,
    honest_tests::check,
    anyhow_home::check,
    one_git::check,
    regular_files::check,
    pure_core::check,
    recorded_verdicts::check,
    policies::check,
    direction::check,
    layers::check,
    dependencies::check,
    scattered_ids::check,
    requirements::check,
    ways::check,
    key_effects::check,
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
