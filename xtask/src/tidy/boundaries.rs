//! What may be used only in some places: `anyhow`, git, opened files, the outside world, policies.
//!
//! Each rule looks at the paths that code mentions, so macros count and comments and strings do not. Test code is free.

use std::collections::BTreeSet;

use syn::{ImplItem, Item, TraitItem};

use super::modules::{Crate, ModulePath};
use super::tokens::{self, PathUse};
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
const EVOLVE: &str = "crates/pairflow-core/src/bubble/evolve";
/// The type whose methods may ask a policy.
const STATE: &str = "BubbleState";
/// The files of the machine that may fold facts; the first only names what the others may use.
const FOLDS: [&str; 2] = ["mod.rs", "recompute.rs"];

/// What a policy concludes is recorded: `evolve` calls no policy, and no rule folds facts to know its own answer. Only
/// `respond` asks the state after a command's own facts, and `recompute` reads a log again.
pub(super) fn recorded_verdicts(tree: &Tree) -> Vec<Problem> {
    let named = tree.rust().filter(|(file, _)| file.path.starts_with(MACHINE)).flat_map(conclusions);
    named.chain(Crate::all(tree).iter().flat_map(asked)).collect()
}

/// Policies that `evolve` gets to, over whatever modules, and methods of the state that ask one, called where `evolve` gets to.
fn asked(one: &Crate<'_>) -> Vec<Problem> {
    let uses = one.uses();
    let evolve = |path: &ModulePath| path.starts_with(&["bubble".to_owned(), "evolve".to_owned()]);
    let policy = |path: &ModulePath| path.first().is_some_and(|first| first == "policy");
    let of_evolve = closure(one.modules().map(|(path, ..)| path).filter(|path| evolve(path)).cloned(), |from| {
        uses.iter().filter(|one| one.from == *from && !policy(&one.to)).map(|one| one.to.clone()).collect()
    });
    let to_policy = closure(one.modules().map(|(path, ..)| path).filter(|path| policy(path)).cloned(), |to| {
        uses.iter().filter(|one| one.to == *to).map(|one| one.from.clone()).collect()
    });
    let reached = uses.iter().filter(|one| of_evolve.contains(&one.from) && policy(&one.to)).map(|one| {
        let way = format!("`evolve` gets to a policy over `{}`; put what it needs below", one.from.join("::"));
        one.file.problem(one.line, way)
    });
    let asking: BTreeSet<String> = one
        .modules()
        .filter(|(path, ..)| to_policy.contains(*path) && !of_evolve.contains(*path))
        .flat_map(|(_, _, rust)| methods_of_state(rust))
        .collect();
    let called = one.modules().filter(|(path, ..)| of_evolve.contains(*path)).flat_map(|(_, file, rust)| {
        let of_state = |path: &PathUse| matches!(&path.segments[..], [kind, _] if kind == STATE || kind == "Self");
        let by_path = rust.paths().into_iter().filter(of_state).map(|path| (path.segments[1].clone(), path.line));
        let calls = tokens::method_calls(&rust.tokens).into_iter().chain(by_path);
        let calls = calls.filter(|(name, line)| asking.contains(name) && !file.is_test_code(rust, *line));
        calls
            .map(|(name, line)| {
                file.problem(line, format!("`{name}` asks the policy; `evolve` applies recorded verdicts"))
            })
            .collect::<Vec<_>>()
    });
    reached.chain(called).collect()
}

/// The modules of `start`, and all that `next` leads to from them.
fn closure(
    start: impl Iterator<Item = ModulePath>,
    next: impl Fn(&ModulePath) -> Vec<ModulePath>,
) -> BTreeSet<ModulePath> {
    let mut seen: BTreeSet<ModulePath> = start.collect();
    let mut left: Vec<_> = seen.iter().cloned().collect();
    while let Some(one) = left.pop() {
        left.extend(next(&one).into_iter().filter(|found| seen.insert(found.clone())));
    }
    seen
}

/// The names of the methods that a file gives to the state.
fn methods_of_state(rust: &Rust) -> Vec<String> {
    let of_state = |item: &&syn::ItemImpl| {
        let named = |path: &syn::TypePath| path.path.segments.last().is_some_and(|last| last.ident == STATE);
        item.trait_.is_none() && matches!(&*item.self_ty, syn::Type::Path(path) if named(path))
    };
    let impls = rust.syntax.items.iter().filter_map(|item| match item {
        syn::Item::Impl(item) => Some(item),
        _ => None,
    });
    let items = impls.filter(of_state).flat_map(|item| &item.items);
    let names = items.filter_map(|item| match item {
        syn::ImplItem::Fn(method) => Some(method.sig.ident.to_string()),
        _ => None,
    });
    names.collect()
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

const POLICY: &str = "crates/pairflow-core/src/policy/";
const POLICIES: &str = "crates/pairflow-core/src/policy/policies/";
/// The policy that panics whatever it is asked.
const PANICS: &str = "crates/pairflow-core/src/policy/policies/panics.rs";

/// Reports policies that are named in more than one place, and questions that the panicking policy would answer.
pub(super) fn policies(tree: &Tree) -> Vec<Problem> {
    let listed = tree.rust().filter(|(file, _)| file.path.starts_with(POLICIES));
    let scattered = listed.filter_map(|(file, _)| listed_once(tree, file));
    scattered.chain(answered(tree)).collect()
}

/// Whether one line outside of its file names the module of a policy.
fn listed_once(tree: &Tree, policy: &File) -> Option<Problem> {
    let name = policy.path.strip_prefix(POLICIES)?.strip_suffix(".rs")?;
    let mentions = |rust: &Rust| -> BTreeSet<usize> {
        // As the last part of a path it is some other name, such as a local one.
        let leads_there =
            |segments: &[String]| segments.split_last().is_some_and(|(_, way)| way.iter().any(|one| one == name));
        rust.paths().iter().filter(|path| leads_there(&path.segments)).map(|path| path.line).collect()
    };
    let core =
        tree.rust().filter(|(file, _)| file.path.starts_with("crates/pairflow-core/src/") && file.path != policy.path);
    let lines: usize = core.map(|(_, rust)| mentions(rust).len()).sum();
    let sentence =
        format!("{lines} lines elsewhere name the module `{name}`; the list of the policies has the only one");
    (lines != 1).then(|| policy.problem(1, sentence))
}

/// The methods of the trait that the panicking policy does not override.
fn answered(tree: &Tree) -> Option<Problem> {
    let (file, panics) = tree.rust().find(|(file, _)| file.path == PANICS)?;
    let folder = tree.rust().filter(|(file, _)| file.path.starts_with(POLICY));
    let asked = folder.flat_map(|(_, rust)| rust.syntax.items.iter()).filter_map(|item| match item {
        Item::Trait(one) if one.ident == "Policy" => Some(&one.items),
        _ => None,
    });
    let asked = asked.flatten().filter_map(|item| match item {
        TraitItem::Fn(method) => Some(method.sig.ident.to_string()),
        _ => None,
    });
    let overrides = panics.syntax.items.iter().filter_map(|item| match item {
        Item::Impl(one) => Some(&one.items),
        _ => None,
    });
    let overrides: BTreeSet<String> = overrides
        .flatten()
        .filter_map(|item| match item {
            ImplItem::Fn(method) => Some(method.sig.ident.to_string()),
            _ => None,
        })
        .collect();
    let left: Vec<String> = asked.filter(|name| !overrides.contains(name)).collect();
    let sentence = format!("this policy must override every method, and does not override {}", left.join(", "));
    (!left.is_empty()).then(|| file.problem(1, sentence))
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

    /// Where a policy is asked, if `evolve` and the file of the state say this, and `facts.rs` has methods that ask it.
    fn askers(fold: &str, state: &str) -> Vec<(String, usize)> {
        let core = |path: &str| format!("crates/pairflow-core/src/{path}");
        let facts = "use crate::bubble::state::BubbleState;\nuse crate::policy::Policy;\n\
                     impl BubbleState {\npub fn facts(&self) {}\npub fn unmet(&self) {}\npub fn failing(&self) {}\n}\n";
        let files = [
            (core("lib.rs"), "pub mod bubble;\npub mod policy;\n"),
            (core("bubble/mod.rs"), "mod evolve;\nmod facts;\nmod state;\n"),
            (core("bubble/evolve/mod.rs"), "mod fold;\n"),
            (core("bubble/evolve/fold.rs"), fold),
            (core("bubble/facts.rs"), facts),
            (core("bubble/state.rs"), state),
            (core("policy/mod.rs"), "pub trait Policy {}\n"),
        ];
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let place = |path: String| path.rsplit('/').next().unwrap_or_default().to_owned();
        recorded_verdicts(&Tree::of(&files)).into_iter().map(|one| (place(one.path), one.line)).collect()
    }

    const FOLD: &str = "use crate::bubble::state::BubbleState;\n";
    const PLAIN: &str = "pub struct BubbleState;\n";

    #[test]
    fn a_policy_behind_another_module_is_reported() {
        let state = "use crate::policy::Policy;\npub struct BubbleState;\n";
        assert_eq!(askers(FOLD, state), [("state.rs".to_owned(), 1)]);
        assert_eq!(askers(FOLD, PLAIN), []);
    }

    #[test]
    fn a_method_that_asks_a_policy_is_reported_where_evolve_gets_to() {
        let found = |name: &str, line| [(name.to_owned(), line)];
        assert_eq!(
            askers(&format!("{FOLD}fn f() {{ if state.failing().is_empty() {{}} }}\n"), PLAIN),
            found("fold.rs", 2)
        );
        assert_eq!(askers(&format!("{FOLD}fn f() {{ BubbleState::facts(state); }}\n"), PLAIN), found("fold.rs", 2));
        let state = "pub struct BubbleState;\nimpl BubbleState {\nfn done(&self) { self.unmet(); }\n}\n";
        assert_eq!(askers(FOLD, state), found("state.rs", 3));
        let field = format!("{FOLD}fn f() {{ state.failing; other::unmet(); }}\n");
        assert_eq!(askers(&field, PLAIN), [], "a field is no call, and neither is a function of something else");
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

    const LIST: &str = "policies! {\n    strict::Strict;\n    #[cfg(x)] panics::Panics;\n}\n";
    const SEAM: &str = "pub trait Policy { fn name(&self); fn at_cap(&self) {} }\n";
    const OVERRIDES: &str = "impl Policy for Panics { fn name(&self) {} fn at_cap(&self) {} }\n";

    fn policy_problems(list: &str, panics: &str) -> Vec<String> {
        let at = |name: &str| format!("{POLICY}{name}");
        let files = [
            (at("policies.rs"), list),
            (at("seam.rs"), SEAM),
            (at("policies/strict.rs"), "fn strict() { strict::own(); }\n"),
            (PANICS.to_owned(), panics),
        ];
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        policies(&Tree::of(&files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_policy_is_named_in_one_line_of_the_list() {
        assert_eq!(policy_problems(LIST, OVERRIDES), [""; 0]);
        let twice = format!("{LIST}fn f() {{ let strict = strict::Strict; }}\n");
        let problem = "2 lines elsewhere name the module `strict`; the list of the policies has the only one";
        assert_eq!(policy_problems(&twice, OVERRIDES), [format!("{POLICIES}strict.rs:1: {problem}")]);
    }

    #[test]
    fn the_panicking_policy_overrides_every_method() {
        let problem = format!("{PANICS}:1: this policy must override every method, and does not override at_cap");
        assert_eq!(policy_problems(LIST, "impl Policy for Panics { fn name(&self) {} }\n"), [problem]);
    }
}
