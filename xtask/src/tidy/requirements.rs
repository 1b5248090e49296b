//! docs/requirements.toml: every requirement is proven by tests that exist.
//!
//! A row is `ID = ["crate test::path", …]` in the table of its area. A path may be cut at the front as long as exactly
//! one test of the crate ends so; `[expected]` gives the number of rows of each area, so that none is lost by accident. The
//! rows of `[trials]` have the short ids of faults that trials of the program found. Ids appear nowhere else. The key table
//! of the configuration names tests in the same way: each key has one that shows its effect.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

use super::tokens;
use super::tree::{File, Problem, Tree};

const TABLE: &str = "docs/requirements.toml";
const EXPECTED: &str = "expected";
const TRIALS: &str = "trials";

/// Reports rows without tests, tests that do not exist, and lost or repeated rows.
pub(super) fn rows_have_tests(tree: &Tree) -> Vec<Problem> {
    let Some(file) = tree.file(TABLE) else {
        let sentence = "this file is missing; it maps every requirement to its tests".to_owned();
        return vec![Problem { path: TABLE.to_owned(), line: 1, sentence }];
    };
    let table = match file.text.parse::<toml::Table>() {
        Ok(table) => table,
        Err(error) => {
            let line = error.span().map_or(1, |span| file.text[..span.start].matches('\n').count() + 1);
            return vec![file.problem(line, format!("this is not TOML: {}", error.message()))];
        }
    };
    let tests = all_tests(tree);
    let mut problems: Vec<Problem> = rows(&table).iter().flat_map(|row| judge(file, row, &tests)).collect();
    problems.extend(repeated(file, &table));
    problems.extend(lost(file, &table));
    problems
}

/// How many rows there are, and how many different tests they name.
pub(super) fn count(tree: &Tree) -> String {
    let table = tree.file(TABLE).and_then(|file| file.text.parse::<toml::Table>().ok()).unwrap_or_default();
    let rows = rows(&table);
    let tests: BTreeSet<&str> = rows.iter().flat_map(|row| row.tests.iter().flatten().copied()).collect();
    format!("requirements: {} rows, {} tests", rows.len(), tests.len())
}

/// One row of the table; the tests are absent if they are not a list of strings.
struct Row<'a> {
    area: &'a str,
    id: &'a str,
    tests: Option<Vec<&'a str>>,
}

fn rows(table: &toml::Table) -> Vec<Row<'_>> {
    let areas = table.iter().filter(|(area, _)| *area != EXPECTED);
    let ids = areas.flat_map(|(area, rows)| rows.as_table().into_iter().flatten().map(move |(id, v)| (area, id, v)));
    ids.map(|(area, id, value)| Row { area, id, tests: strings(value) }).collect()
}

fn strings(value: &toml::Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(toml::Value::as_str).collect()
}

fn judge(file: &File, row: &Row<'_>, tests: &BTreeMap<&str, Vec<String>>) -> Vec<Problem> {
    let line = file.line_starting(row.id);
    let id = row.id;
    let mut problems = Vec::new();
    if if row.area == TRIALS { !is_trial(id) } else { !is_id(id) } {
        problems.push(file.problem(line, format!("`{id}` is not the id of a requirement")));
    }
    match &row.tests {
        None => problems.push(file.problem(line, format!("{id} must be a list of \"crate test::path\""))),
        Some(named) if named.is_empty() => problems.push(file.problem(line, format!("{id} has no test"))),
        Some(named) => {
            let wrong = named.iter().filter_map(|name| look_up(name, tests).err());
            problems.extend(wrong.map(|reason| file.problem(line, format!("{id}: {reason}"))));
        }
    }
    problems
}

/// Whether `text` is the id of a fault that a trial found: a letter and a number, or the letter alone.
fn is_trial(text: &str) -> bool {
    let letter = text.starts_with(|first: char| first.is_ascii_uppercase());
    letter && text.len() <= 3 && text.bytes().skip(1).all(|byte| byte.is_ascii_digit())
}

/// Finds the one test that `reference` means, or says why there is none.
pub(super) fn look_up(reference: &str, tests: &BTreeMap<&str, Vec<String>>) -> Result<(), String> {
    let Some((krate, path)) = reference.split_once(' ') else {
        return Err(format!("`{reference}` is not of the form \"crate test::path\""));
    };
    let Some(tests) = tests.get(krate) else {
        return Err(format!("there is no crate `{krate}`"));
    };
    let tail = format!("::{path}");
    let found: Vec<&String> = tests.iter().filter(|test| *test == path || test.ends_with(&tail)).collect();
    match found.as_slice() {
        [_] => Ok(()),
        [] => Err(format!("{krate} has no test `{path}`{}", suggestion(path, tests))),
        [one, other, ..] => Err(format!("`{path}` may be {krate} `{one}` or `{other}`; write more of its path")),
    }
}

fn suggestion(path: &str, tests: &[String]) -> String {
    let name = path.rsplit("::").next().unwrap_or(path);
    let same = tests.iter().find(|test| test.rsplit("::").next() == Some(name));
    same.map(|test| format!("; did you mean `{test}`?")).unwrap_or_default()
}

/// Every test by crate, named as cargo names it.
pub(super) fn all_tests(tree: &Tree) -> BTreeMap<&str, Vec<String>> {
    let mut tests: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (file, rust) in tree.rust() {
        let found = tokens::tests(&rust.tokens, &module_path(&file.path));
        tests.entry(file.krate()).or_default().extend(found);
    }
    tests
}

fn module_path(path: &str) -> Vec<String> {
    let inside =
        ["/src/", "/tests/", "/benches/"].iter().find_map(|part| path.split_once(part)).map_or(path, |(_, p)| p);
    // `tests/it` is the root of the crate's one program of integration tests.
    let inside = inside.strip_prefix("it/").unwrap_or(inside);
    let mut parts: Vec<String> = inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

fn repeated(file: &File, table: &toml::Table) -> Vec<Problem> {
    let mut seen = BTreeMap::new();
    let mut problems = Vec::new();
    for row in rows(table) {
        if let Some(area) = seen.insert(row.id, row.area) {
            let sentence = format!("{} stands in `{area}` and in `{}`; keep one", row.id, row.area);
            problems.push(file.problem(file.line_starting(row.id), sentence));
        }
    }
    problems
}

fn lost(file: &File, table: &toml::Table) -> Vec<Problem> {
    let expected = table.get(EXPECTED).and_then(toml::Value::as_table).cloned().unwrap_or_default();
    let areas: BTreeSet<&String> = table.keys().filter(|area| *area != EXPECTED).chain(expected.keys()).collect();
    let mut problems = Vec::new();
    for area in areas {
        let present = rows(table).iter().filter(|row| row.area == area).count();
        let wanted = expected.get(area).and_then(toml::Value::as_integer);
        if wanted != i64::try_from(present).ok() {
            let wanted = wanted.map_or("no number".to_owned(), |number| number.to_string());
            let sentence = format!("`{area}` has {present} rows, and [{EXPECTED}] says {wanted}");
            problems.push(file.problem(file.line_starting(&format!("[{EXPECTED}]")), sentence));
        }
    }
    problems
}

/// Reports ids of requirements in the code.
pub(super) fn ids_stay_in_the_table(tree: &Tree) -> Vec<Problem> {
    tree.files.iter().filter(|file| file.path.starts_with("crates/")).flat_map(ids_in).collect()
}

fn ids_in(file: &File) -> impl Iterator<Item = Problem> {
    file.text.lines().enumerate().filter_map(|(index, line)| {
        let id = line.match_indices("S00").find_map(|(at, _)| line.get(at..at + 8).filter(|id| is_id(id)))?;
        let sentence = format!("{id} belongs in docs/requirements.toml; say here what is meant");
        Some(file.problem(index + 1, sentence))
    })
}

/// Whether `text` is an id: `S`, three digits, a dash, three digits.
pub(super) fn is_id(text: &str) -> bool {
    let digits = |part: &str| part.len() == 3 && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = text.strip_prefix('S').and_then(|rest| rest.split_once('-'));
    parts.is_some_and(|(seed, number)| digits(seed) && digits(number))
}

/// The key table of the configuration.
const KEYS: &str = "crates/pairflow-core/src/config/keys.rs";

/// Reports keys whose effect is not shown by an existing test. The compiler checks that each key names one.
pub(super) fn keys_have_effects(tree: &Tree) -> Vec<Problem> {
    let Some(file) = tree.file(KEYS) else {
        let sentence = "this file is missing; it lists the keys of the configuration".to_owned();
        return vec![Problem { path: KEYS.to_owned(), line: 1, sentence }];
    };
    let tests = all_tests(tree);
    let effect = |line: &str| line.trim().strip_prefix("effect: \"")?.strip_suffix("\",").map(str::to_owned);
    let named = file.text.lines().enumerate().filter_map(|(at, line)| Some((at + 1, effect(line)?)));
    let named: Vec<_> = named.collect();
    let entries = tree.rust().filter(|(one, _)| one.path == KEYS).map(|(_, rust)| entries(&rust.tokens)).sum::<usize>();
    let unread = (entries != named.len()).then(|| {
        let sentence = format!("{entries} entries have an effect, and {} are written as `effect: \"…\",`", named.len());
        file.problem(1, sentence)
    });
    let wrong = named.into_iter().filter_map(|(line, name)| Some(file.problem(line, look_up(&name, &tests).err()?)));
    unread.into_iter().chain(wrong).collect()
}

/// How often `effect:` stands in the tokens of the table, however the entry is written.
fn entries(stream: &TokenStream) -> usize {
    let tokens: Vec<TokenTree> = stream.clone().into_iter().collect();
    let is_effect = |pair: &[TokenTree]| matches!(pair, [TokenTree::Ident(word), TokenTree::Punct(colon)] if word == "effect" && colon.as_char() == ':');
    let inside = tokens.iter().map(|token| match token {
        TokenTree::Group(group) => entries(&group.stream()),
        _ => 0,
    });
    tokens.windows(2).filter(|pair| is_effect(pair)).count() + inside.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(table: &str) -> Tree {
        let state = "//! A.\nmod tests { #[test]\nfn opens() {}\n#[test]\nfn closes() {} fn idle() {} }";
        Tree::of(&[
            ("crates/pairflow-core/src/state/seat.rs", state),
            ("crates/pairflow-core/src/state/mod.rs", state),
            ("crates/pairflow/tests/it/demo.rs", "//! A.\n#[test]\nfn runs() {}"),
            ("docs/requirements.toml", table),
        ])
    }

    fn row_sentences(rows: &str) -> Vec<String> {
        let count = rows.lines().count();
        let table = format!("[expected]\na = {count}\n[a]\n{rows}");
        rows_have_tests(&tree(&table)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rows_whose_tests_exist_pass_and_are_counted() {
        let rows = "S001-001 = [\"pairflow-core state::seat::tests::opens\", \"pairflow demo::runs\"]\n\
                    S001-002 = [\"pairflow runs\", \"pairflow-core seat::tests::closes\", \"pairflow runs\"]\n";
        assert_eq!(row_sentences(rows), [""; 0]);
        assert_eq!(count(&tree(&format!("[a]\n{rows}"))), "requirements: 2 rows, 4 tests");
    }

    #[test]
    fn a_row_without_a_test_is_reported() {
        assert_eq!(row_sentences("S001-001 = []\n"), ["docs/requirements.toml:4: S001-001 has no test"]);
        let expected = "docs/requirements.toml:4: S001-001 must be a list of \"crate test::path\"";
        assert_eq!(row_sentences("S001-001 = \"x\"\n"), [expected]);
    }

    #[test]
    fn a_test_that_does_not_exist_is_reported() {
        let reason = |rows: &str| row_sentences(rows)[0].split_once("S001-001: ").unwrap().1.to_owned();
        assert_eq!(reason("S001-001 = [\"pairflow-core idle\"]\n"), "pairflow-core has no test `idle`");
        assert_eq!(reason("S001-001 = [\"pairflow-x idle\"]\n"), "there is no crate `pairflow-x`");
        assert_eq!(reason("S001-001 = [\"runs\"]\n"), "`runs` is not of the form \"crate test::path\"");
        let moved = "pairflow has no test `old::runs`; did you mean `demo::runs`?";
        assert_eq!(reason("S001-001 = [\"pairflow old::runs\"]\n"), moved);
    }

    #[test]
    fn a_name_that_two_tests_bear_needs_its_path() {
        let found = row_sentences("S001-001 = [\"pairflow-core opens\"]\n");
        assert!(found[0].ends_with("or `state::tests::opens`; write more of its path"), "{found:?}");
    }

    #[test]
    fn a_lost_row_and_an_area_without_a_number_are_reported() {
        let found = rows_have_tests(&tree("[expected]\na = 2\n[a]\nS001-001 = [\"pairflow runs\"]\n[b]\n"));
        let sentences: Vec<&str> = found.iter().map(|problem| problem.sentence.as_str()).collect();
        assert_eq!(
            sentences,
            ["`a` has 1 rows, and [expected] says 2", "`b` has 0 rows, and [expected] says no number"]
        );
    }

    #[test]
    fn an_id_that_occurs_twice_is_reported() {
        let row = "S001-001 = [\"pairflow runs\"]\n";
        let across = rows_have_tests(&tree(&format!("[expected]\na = 1\nb = 1\n[a]\n{row}[b]\n{row}")));
        assert_eq!(across[0].sentence, "S001-001 stands in `a` and in `b`; keep one");
        let within = rows_have_tests(&tree(&format!("[expected]\na = 2\n[a]\n{row}{row}")));
        assert_eq!(within.len(), 1);
        assert!(
            within[0].to_string().starts_with("docs/requirements.toml:5: this is not TOML: duplicate key"),
            "{}",
            within[0]
        );
    }

    #[test]
    fn a_key_that_is_no_id_is_reported() {
        let found = row_sentences("S1-1 = [\"pairflow runs\"]\n");
        assert_eq!(found, ["docs/requirements.toml:4: `S1-1` is not the id of a requirement"]);
        let trials = |id: &str| {
            let table = format!("[expected]\ntrials = 1\n[trials]\n{id} = [\"pairflow runs\"]\n");
            rows_have_tests(&tree(&table)).len()
        };
        assert_eq!(["S1", "T", "S14", "S001-001", "s1", "1"].map(trials), [0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn an_id_in_the_code_is_reported() {
        let text = "//! A.\n// S001-040: created\nfn s001_040() {}\n// S001 says\n// S00é-001 S001-04\n";
        let tree = Tree::of(&[("crates/a/src/b.rs", text), ("docs/requirements.toml", text)]);
        let problems = ids_stay_in_the_table(&tree);
        assert_eq!(problems.len(), 1);
        assert_eq!(
            problems[0].to_string().split(';').next(),
            Some("crates/a/src/b.rs:2: S001-040 belongs in docs/requirements.toml")
        );
    }

    fn effect_sentences(table: &str) -> Vec<String> {
        let test = "//! A.\n#[test]\nfn rounds_are_counted() {}";
        let tree = Tree::of(&[(KEYS, table), ("crates/pairflow/tests/it/spec.rs", test)]);
        keys_have_effects(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_effect_is_a_test_that_exists() {
        let table = |effect: &str| format!("//! A.\nkeys! {{ id {{\n        {effect}\n}} }}\n");
        assert_eq!(effect_sentences(&table("effect: \"pairflow spec::rounds_are_counted\",")), [""; 0]);
        let gone = format!("{KEYS}:3: pairflow has no test `spec::gone`");
        assert_eq!(effect_sentences(&table("effect: \"pairflow spec::gone\",")), [gone]);
    }

    #[test]
    fn an_effect_in_another_form_is_not_overlooked() {
        let unread = format!("{KEYS}:1: 1 entries have an effect, and 0 are written as `effect: \"…\",`");
        assert_eq!(
            effect_sentences("keys! { id { effect:\n    \"pairflow spec::gone\", } }\n"),
            std::slice::from_ref(&unread)
        );
        assert_eq!(effect_sentences("keys! { id { help: \"a\", effect: \"pairflow spec::gone\", } }\n"), [unread]);
    }

    #[test]
    fn the_table_is_there() {
        assert_eq!(keys_have_effects(&Tree::of(&[])).len(), 1);
    }
}
