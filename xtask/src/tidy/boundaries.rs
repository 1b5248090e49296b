//! What may be used only in some places: `anyhow`, git, opened files, the outside world, policies.
//!
//! Each rule looks at the paths that code mentions, so macros count and comments and strings do not. Test code is free.

use std::collections::BTreeSet;

use super::modules::{Crate, ModulePath};
use super::tokens::PathUse;
use super::tree::{File, Problem, Rust, Tree};

/// `anyhow` is for the binary's main.rs and the tools of the project. Reports it where errors must have a type.
pub(super) fn anyhow(tree: &Tree) -> Vec<Problem> {
    let home = |file: &File| {
        let workshop = ["xtask/", "crates/pairflow-proofs/"].iter().any(|dir| file.path.starts_with(dir));
        workshop || file.path == "crates/pairflow/src/main.rs"
    };
    tree.rust().filter(|(file, _)| !home(file)).flat_map(anyhow_uses).collect()
}

fn anyhow_uses((file, rust): (&File, &Rust)) -> Vec<Problem> {
    let found = rust.paths().into_iter().filter(|path| path.contains(&["anyhow"]));
    let sentence = "anyhow is for main.rs and xtask; return an error type of this module";
    found.map(|path| file.problem(path.line, sentence)).collect()
}

/// Where the product starts git: the environment is pinned there and hooks are off.
const GIT: &str = "crates/pairflow-engine/src/git/";

/// Reports product code that starts git elsewhere.
pub(super) fn git(tree: &Tree) -> Vec<Problem> {
    let exempt = |file: &File| {
        file.path.starts_with(GIT)
            || file.path.starts_with("xtask/")
            || file.path.starts_with("crates/pairflow-proofs/")
    };
    tree.rust().filter(|(file, _)| !exempt(file)).flat_map(starts).collect()
}

fn starts((file, rust): (&File, &Rust)) -> Vec<Problem> {
    let found = rust.paths().into_iter().filter(|path| {
        let git = path.argument.as_deref() == Some("\"git\"");
        git && path.contains(&["Command", "new"]) && !file.is_test_code(rust, path.line)
    });
    found.map(|path| file.problem(path.line, format!("git is started in {GIT} only; call that"))).collect()
}

/// Where files may be opened: the module that never blocks on a FIFO and refuses what is not a regular file, and the
/// store's disk, which adds its own rules to it.
const FILE_OPENERS: [&str; 2] = ["crates/pairflow-engine/src/regular.rs", "crates/pairflow-engine/src/store/real.rs"];

/// What is not part of the product: it reads only what it wrote itself.
const WORKSHOP: [&str; 4] =
    ["xtask/", "crates/pairflow-testkit/", "crates/pairflow-faulty/", "crates/pairflow-proofs/"];

/// What opens a file.
const OPENING: [&[&str]; 9] = [
    &["fs", "read"],
    &["fs", "read_to_string"],
    &["fs", "write"],
    &["fs", "copy"],
    &["File", "open"],
    &["File", "create"],
    &["File", "create_new"],
    &["File", "options"],
    &["OpenOptions"],
];

/// Reports product code that opens files elsewhere.
pub(super) fn opened_files(tree: &Tree) -> Vec<Problem> {
    let exempt = |file: &File| {
        FILE_OPENERS.contains(&file.path.as_str()) || WORKSHOP.iter().any(|place| file.path.starts_with(place))
    };
    tree.rust().filter(|(file, _)| !exempt(file)).flat_map(opens).collect()
}

fn opens((file, rust): (&File, &Rust)) -> Vec<Problem> {
    let found = rust
        .paths()
        .into_iter()
        .filter(|path| OPENING.iter().any(|opener| path.contains(opener)) && !file.is_test_code(rust, path.line));
    let sentence =
        |text: String| format!("{text} may wait for a FIFO for ever; use the functions of {}", FILE_OPENERS[0]);
    found.map(|path| file.problem(path.line, sentence(path.text()))).collect()
}

/// What the core must not name. Clippy forbids the same by type and method (crates/pairflow-core/clippy.toml); this list
/// also covers code behind a `cfg` that clippy did not build.
const FORBIDDEN: &[&[&str]] = &[
    &["std", "fs"],
    &["std", "env"],
    &["std", "process"],
    &["std", "net"],
    &["std", "os"],
    &["std", "thread"],
    &["SystemTime"],
    &["Instant"],
    &["Timestamp", "now"],
    &["Zoned", "now"],
    &["RandomState"],
    &["rand"],
    &["getrandom"],
    &["rustix"],
];

/// The core has no I/O, clock, environment, threads or randomness.
pub(super) fn pure_core(tree: &Tree) -> Vec<Problem> {
    tree.rust().filter(|(file, _)| file.krate() == "pairflow-core").flat_map(leaks).collect()
}

fn leaks((file, rust): (&File, &Rust)) -> Vec<Problem> {
    let is_leak = |path: &PathUse| FORBIDDEN.iter().any(|forbidden| path.contains(forbidden));
    let found = rust.paths().into_iter().filter(|path| is_leak(path) && !file.is_test_code(rust, path.line));
    let sentence = |path: &PathUse| format!("`{}` is not for the core: take the value as an argument", path.text());
    found.map(|path| file.problem(path.line, sentence(&path))).collect()
}

const MACHINE: &str = "crates/pairflow-core/src/bubble/";
const EVOLVE: &str = "crates/pairflow-core/src/bubble/evolve/";
/// The files of the machine that may fold facts; the first only names what the others may use.
const FOLDS: [&str; 2] = ["mod.rs", "recompute.rs"];

/// What a policy concludes is recorded: `evolve` calls no policy, and no rule folds facts to know its own answer. Only
/// `respond` asks the state after a command's own facts, and `recompute` reads a log again.
pub(super) fn recorded_verdicts(tree: &Tree) -> Vec<Problem> {
    let named = tree.rust().filter(|(file, _)| file.path.starts_with(MACHINE)).flat_map(conclusions);
    let asked = tree.rust().filter(|(file, _)| file.path.starts_with(EVOLVE)).flat_map(asked);
    named.chain(asked).chain(Crate::all(tree).iter().flat_map(reached)).collect()
}

/// Methods of the state that ask its policy, called in `evolve`.
fn asked((file, rust): (&File, &Rust)) -> Vec<Problem> {
    let asks = |line: &str| [".policy()", ".facts()", ".unmet()"].into_iter().find(|method| line.contains(method));
    let lines = file.text.lines().zip(1..).filter(|(line, _)| !line.trim_start().starts_with("//"));
    let found = lines.filter_map(|(line, number)| Some((asks(line)?, number)));
    found
        .filter(|(_, number)| !file.is_test_code(rust, *number))
        .map(|(method, number)| {
            file.problem(number, format!("`{method}` asks the policy; `evolve` applies recorded verdicts"))
        })
        .collect()
}

/// Modules of the policies that `evolve` gets to, over whatever other modules.
fn reached(one: &Crate<'_>) -> Vec<Problem> {
    let uses = one.uses();
    let starts =
        |path: &[String], names: &[&str]| path.iter().map(String::as_str).take(names.len()).eq(names.iter().copied());
    let mut seen: BTreeSet<ModulePath> =
        uses.iter().map(|one| &one.from).filter(|from| starts(from, &["bubble", "evolve"])).cloned().collect();
    let mut problems = Vec::new();
    let mut left: Vec<_> = seen.iter().cloned().collect();
    while let Some(from) = left.pop() {
        for one in uses.iter().filter(|one| one.from == from) {
            if starts(&one.to, &["policy"]) {
                let way = format!("`evolve` gets to a policy over `{}`; put what it needs below", from.join("::"));
                problems.push(one.file.problem(one.line, way));
            } else if seen.insert(one.to.clone()) {
                left.push(one.to.clone());
            }
        }
    }
    problems
}

/// Reports places that the rules of this file name and that are gone, so that no rule passes only because code moved.
pub(super) fn named_places(tree: &Tree) -> Vec<Problem> {
    let folds = FOLDS.map(|name| format!("{MACHINE}{name}"));
    let places = [GIT, MACHINE, EVOLVE].into_iter().chain(FILE_OPENERS).chain(folds.iter().map(String::as_str));
    let gone = places.filter(|place| !tree.files.iter().any(|file| file.path.starts_with(place)));
    let sentence = "a tidy rule is about this place, which is gone; follow the move in xtask/src/tidy/boundaries.rs";
    gone.map(|place| Problem { path: place.to_owned(), line: 1, sentence: sentence.to_owned() }).collect()
}

fn conclusions((file, rust): (&File, &Rust)) -> Vec<Problem> {
    let (words, sentence) = match file.path.strip_prefix(MACHINE) {
        _ if file.path.starts_with(EVOLVE) => {
            (["policy", "respond"], "`evolve` applies recorded verdicts; call the policy in `decide`")
        }
        Some(name) if FOLDS.contains(&name) => return Vec::new(),
        _ => (["evolve", "advance"], "a rule does not fold facts; let `respond` ask the state that has them"),
    };
    let named = |segment: &String| words.contains(&segment.as_str());
    let found = rust.paths().into_iter().filter(|path| path.segments.iter().any(named));
    found
        .filter(|path| !file.is_test_code(rust, path.line))
        .map(|path| file.problem(path.line, format!("`{}`: {sentence}", path.text())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anyhow_outside_its_home_is_reported() {
        let text = "//! About anyhow.\nuse anyhow::Context;\nfn f() { bail(anyhow!(\"x\")); }\n";
        let paths = ["crates/pairflow/src/main.rs", "xtask/src/a.rs", "crates/pairflow-core/src/a.rs"];
        let problems = anyhow(&Tree::of(&paths.map(|path| (path, text))));
        let found: Vec<(&str, usize)> = problems.iter().map(|problem| (problem.path.as_str(), problem.line)).collect();
        assert_eq!(found, [(paths[2], 2), (paths[2], 3)]);
    }

    #[test]
    fn git_started_outside_its_home_is_reported() {
        let text = "fn f() {\nstd::process::Command::new(\"git\");\n Command::new(\"gitk\");\n}\n\
                    #[cfg(test)]\nmod tests { fn g() { Command::new(\"git\"); } }\n";
        let home = "crates/pairflow-engine/src/git/run.rs";
        let other = "crates/pairflow-engine/src/store.rs";
        let problems = git(&Tree::of(&[(home, text), (other, text), ("crates/pairflow/tests/a.rs", text)]));
        assert_eq!(problems.len(), 1);
        assert_eq!((problems[0].path.as_str(), problems[0].line), (other, 2));
    }

    #[test]
    fn files_opened_outside_their_home_are_reported() {
        let text = "use std::fs::{self, OpenOptions};\nfn f() {\nfs::read(x);\nfs::read_dir(x);\nFile::open(x);\n}\n\
                    #[cfg(test)]\nmod tests { fn g() { std::fs::write(x, y); } }\n";
        let other = "crates/pairflow-engine/src/git/repo.rs";
        let tree = Tree::of(&[
            (FILE_OPENERS[0], text),
            (FILE_OPENERS[1], text),
            (other, text),
            ("crates/pairflow/tests/a.rs", text),
            ("crates/pairflow-testkit/src/a.rs", text),
        ]);
        let problems = opened_files(&tree);
        let found: Vec<_> = problems.iter().map(|problem| (problem.path.as_str(), problem.line)).collect();
        assert_eq!(found, [(other, 1), (other, 3), (other, 5)]);
    }

    fn leak_lines(krate: &str, text: &str) -> Vec<usize> {
        let path = format!("crates/{krate}/src/a.rs");
        pure_core(&Tree::of(&[(path.as_str(), text)])).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn the_world_is_reported_in_every_spelling() {
        let text = "use std::{\nfs,\nfmt};\nfn f() {\nformat!(\"{}\", std::env::var(\"A\"));\nInstant::now();\n}\n\
                    use std::time::{Duration,\nSystemTime};\nuse std::process as p;\nuse rand::Rng;\n";
        assert_eq!(leak_lines("pairflow-core", text), [2, 5, 6, 9, 10, 11]);
    }

    #[test]
    fn tests_comments_and_other_crates_are_free() {
        let text =
            "// std::fs and SystemTime\nconst A: &str = \"std::env\";\n#[cfg(test)]\nmod tests { use std::fs; }\n";
        assert_eq!(leak_lines("pairflow-core", text), [0; 0]);
        assert_eq!(leak_lines("pairflow-engine", "use std::fs;"), [0; 0]);
    }

    fn verdict_lines(path: &str, text: &str) -> Vec<usize> {
        let path = format!("crates/pairflow-core/src/{path}");
        recorded_verdicts(&Tree::of(&[(path.as_str(), text)])).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn a_policy_in_evolve_is_reported() {
        let text = "use crate::policy::Policy;\nfn f() {\npolicy::known(name);\n// strict\n}\n\
                    #[cfg(test)]\nmod tests { use crate::policy; }\n";
        assert_eq!(verdict_lines("bubble/evolve/turns.rs", text), [1, 3]);
        assert_eq!(verdict_lines("bubble/work.rs", text), [0; 0]);
    }

    #[test]
    fn a_policy_behind_another_module_is_reported() {
        let core = |path: &str| format!("crates/pairflow-core/src/{path}");
        let files = [
            (core("lib.rs"), "pub mod bubble;\npub mod policy;\n"),
            (core("bubble/mod.rs"), "mod evolve;\nmod state;\n"),
            (core("bubble/evolve/mod.rs"), "mod fold;\n"),
            (core("bubble/evolve/fold.rs"), "use crate::bubble::state::State;\nfn f() { state.unmet(); }\n"),
            (core("bubble/state.rs"), "use crate::policy::Policy;\npub struct State;\n"),
            (core("policy/mod.rs"), "pub trait Policy {}\n"),
        ];
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let found: Vec<_> = recorded_verdicts(&Tree::of(&files)).into_iter().map(|one| (one.path, one.line)).collect();
        assert_eq!(found, [(core("bubble/evolve/fold.rs"), 2), (core("bubble/state.rs"), 1)]);
    }

    #[test]
    fn a_place_that_moved_is_reported() {
        let places =
            ["git/run.rs", "regular.rs", "store/real.rs"].map(|path| format!("crates/pairflow-engine/src/{path}"));
        let machine = ["mod.rs", "recompute.rs", "evolve/fold.rs"].map(|path| format!("{MACHINE}{path}"));
        let files: Vec<(&str, &str)> = places.iter().chain(&machine).map(|path| (path.as_str(), "")).collect();
        assert_eq!(named_places(&Tree::of(&files)), []);
        let gone: Vec<String> = named_places(&Tree::of(&files[..5])).into_iter().map(|problem| problem.path).collect();
        assert_eq!(gone, [EVOLVE]);
    }

    #[test]
    fn a_fold_in_a_rule_is_reported() {
        let text = "use crate::bubble::{BubbleState,\nevolve};\nfn f() {\nadvance(&mut state, &one);\nlog.fold(state, evolve);\n}\n\
                    #[cfg(test)]\nmod tests { fn g() { evolve(); } }\n";
        assert_eq!(verdict_lines("bubble/work.rs", text), [2, 4, 5]);
        for free in ["bubble/evolve/fold.rs", "bubble/recompute.rs", "bubble/mod.rs", "view/status.rs"] {
            assert_eq!(verdict_lines(free, text), [0; 0], "{free}");
        }
    }
}
