//! The order in which tools are asked.

use std::path::Path;

use super::found::Detected;
use super::root::Root;
use super::{cargo, go, node, python, runner};

/// Guesses the commands of the repository at `root`.
///
/// What the project wrote down itself (a recipe of just, a target of Make) is asked before the defaults of its
/// language (Cargo, Go, Node, Python): who names a target `test` has said how the project is tested. Each command is
/// decided by itself, so a Makefile with nothing but `lint` leaves the tests to the language.
pub fn detect(root: &Path) -> Detected {
    let root = Root::at(root);
    [runner::just, runner::make, cargo::detect, go::detect, node::detect, python::detect]
        .into_iter()
        .map(|tool| tool(&root))
        .fold(Detected::default(), Detected::or)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::detect::Found;

    /// Makes files out of `path: content` pairs and compares `slot: command (because)` lines.
    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let Detected { test, typecheck, lint, setup } = detect(root.path());
        let slots = [("test", test), ("typecheck", typecheck), ("lint", lint), ("setup", setup)];
        let line =
            |(slot, found): (&str, Option<Found>)| found.map(|f| format!("{slot}: {} ({})", f.command, f.because));
        let found: Vec<_> = slots.into_iter().filter_map(line).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn nothing_is_made_up() {
        check(&[], &[]);
        check(&[("README.md", "run the tests"), ("tests/readme.txt", "")], &[]);
        assert_eq!(detect(Path::new("/nowhere/at/all")), Detected::default());
        assert!(!Detected::default().has_check());
    }

    #[test]
    fn cargo_is_tested_as_a_package_or_as_a_workspace() {
        check(
            &[("Cargo.toml", "[package]\nname = \"x\"\n")],
            &["test: cargo test (Cargo.toml)", "typecheck: cargo check --all-targets (Cargo.toml)"],
        );
        check(
            &[("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n[workspace.lints.clippy]\nall = \"deny\"\n")],
            &[
                "test: cargo test --workspace (Cargo.toml)",
                "typecheck: cargo check --workspace --all-targets (Cargo.toml)",
                "lint: cargo clippy --workspace --all-targets (Cargo.toml [workspace.lints.clippy])",
            ],
        );
        check(
            &[("Cargo.toml", ""), ("clippy.toml", "")],
            &[
                "test: cargo test (Cargo.toml)",
                "typecheck: cargo check --all-targets (Cargo.toml)",
                "lint: cargo clippy --all-targets (clippy.toml)",
            ],
        );
    }

    #[test]
    fn go_has_its_own_tools() {
        check(&[("go.mod", "module x\n")], &["test: go test ./... (go.mod)", "lint: go vet ./... (go.mod)"]);
    }

    #[test]
    fn the_scripts_of_a_package_are_run_by_its_package_manager() {
        let package = r#"{"scripts": {"test": "vitest run", "typecheck": "tsc", "lint": "eslint ."}}"#;
        for (lock, test, script, setup) in [
            ("package-lock.json", "npm test", "npm run", "npm ci"),
            ("npm-shrinkwrap.json", "npm test", "npm run", "npm ci"),
            ("pnpm-lock.yaml", "pnpm test", "pnpm run", "pnpm install --frozen-lockfile"),
            ("yarn.lock", "yarn test", "yarn run", "yarn install --frozen-lockfile"),
            ("bun.lock", "bun run test", "bun run", "bun install --frozen-lockfile"),
            ("bun.lockb", "bun run test", "bun run", "bun install --frozen-lockfile"),
        ] {
            let expected = [
                format!("test: {test} (package.json script \"test\")"),
                format!("typecheck: {script} typecheck (package.json script \"typecheck\")"),
                format!("lint: {script} lint (package.json script \"lint\")"),
                format!("setup: {setup} ({lock})"),
            ];
            check(&[("package.json", package), (lock, "")], &expected.each_ref().map(String::as_str));
        }
    }

    #[test]
    fn a_package_names_its_manager_itself() {
        check(
            &[(
                "package.json",
                r#"{"packageManager": "pnpm@9.1.0", "scripts": {"test": "x"}, "dependencies": {"a": "1"}}"#,
            )],
            &["test: pnpm test (package.json script \"test\")", "setup: pnpm install --no-lockfile (package.json)"],
        );
        check(
            &[("package.json", r#"{"packageManager": "yarn@4.0.0"}"#), ("yarn.lock", ""), (".yarnrc.yml", "")],
            &["setup: yarn install --immutable (yarn.lock)"],
        );
    }

    #[test]
    fn the_placeholder_test_of_npm_is_no_test() {
        let placeholder = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
        check(&[("package.json", placeholder)], &[]);
        check(&[("package.json", r#"{"scripts": {"test": " "}}"#)], &[]);
        check(&[("package.json", "{ broken")], &[]);
        check(&[("package.json", r#"{"scripts": ["test"]}"#)], &[]);
    }

    #[test]
    fn a_typescript_configuration_is_enough_to_check_types() {
        check(
            &[("package.json", r#"{"devDependencies": {"typescript": "5"}}"#), ("tsconfig.json", "{}")],
            &["typecheck: npx tsc --noEmit (tsconfig.json)", "setup: npm install --no-package-lock (package.json)"],
        );
        check(
            &[("package.json", "{}"), ("tsconfig.json", "{}"), ("pnpm-lock.yaml", "")],
            &[
                "typecheck: pnpm exec tsc --noEmit (tsconfig.json)",
                "setup: pnpm install --frozen-lockfile (pnpm-lock.yaml)",
            ],
        );
    }

    #[test]
    fn python_is_tested_with_pytest_where_something_speaks_for_it() {
        for (file, content, because) in [
            ("pytest.ini", "[pytest]\n", "pytest.ini"),
            ("pyproject.toml", "[tool.pytest.ini_options]\n", "pyproject.toml [tool.pytest]"),
            ("setup.cfg", "[tool:pytest]\n", "setup.cfg [tool:pytest]"),
            ("tox.ini", "[tox]\n[testenv]\n", "tox.ini"),
            ("conftest.py", "", "conftest.py"),
            ("tests/test_x.py", "", "tests/test_x.py"),
            ("test/x_test.py", "", "test/x_test.py"),
            ("test_x.py", "", "test_x.py"),
        ] {
            check(&[(file, content)], &[&format!("test: python3 -m pytest ({because})")]);
        }
        check(&[("pyproject.toml", "[project]\nname = \"x\"\n"), ("tests/data.json", "")], &[]);
    }

    #[test]
    fn the_python_linters_are_found_by_their_settings() {
        check(
            &[("pyproject.toml", "[tool.ruff]\n[tool.mypy]\n")],
            &[
                "typecheck: python3 -m mypy . (pyproject.toml [tool.mypy])",
                "lint: ruff check . (pyproject.toml [tool.ruff])",
            ],
        );
        check(
            &[("mypy.ini", "[mypy]\n"), (".flake8", "[flake8]\n")],
            &["typecheck: python3 -m mypy . (mypy.ini)", "lint: python3 -m flake8 (.flake8)"],
        );
        check(
            &[("pyrightconfig.json", "{}"), ("ruff.toml", "")],
            &["typecheck: pyright (pyrightconfig.json)", "lint: ruff check . (ruff.toml)"],
        );
    }

    #[test]
    fn a_python_lock_file_names_the_runner() {
        check(
            &[("pyproject.toml", "[tool.pytest.ini_options]\n[tool.ruff.lint]\n"), ("uv.lock", "")],
            &[
                "test: uv run --frozen python -m pytest (pyproject.toml [tool.pytest])",
                "lint: uv run --frozen ruff check . (pyproject.toml [tool.ruff])",
                "setup: uv sync --frozen (uv.lock)",
            ],
        );
        check(
            &[("pytest.ini", ""), ("poetry.lock", "")],
            &["test: poetry run python -m pytest (pytest.ini)", "setup: poetry install (poetry.lock)"],
        );
    }

    #[test]
    fn targets_of_make_are_read() {
        let makefile = "CC := test\ntest_flags = a:b\n.PHONY: test lint\nall build: x\n\t@echo lint:\n\nlint typecheck:\n\tx\ncheck:: y\n";
        check(
            &[("Makefile", makefile)],
            &[
                "test: make check (Makefile target \"check\")",
                "typecheck: make typecheck (Makefile target \"typecheck\")",
                "lint: make lint (Makefile target \"lint\")",
            ],
        );
        check(
            &[("Makefile", "check:\n"), ("GNUmakefile", "test: a\ncheck: b\n")],
            &["test: make test (GNUmakefile target \"test\")"],
        );
        check(&[("Makefile", "test := 1\n.PHONY: test\n# test:\n")], &[]);
    }

    #[test]
    fn recipes_of_just_are_read() {
        let justfile =
            "set shell := ['sh']\nalias lint := x\n[private]\n@test *args='a:b': build\n  cargo test\ncheck:\n  x\n";
        check(&[("justfile", justfile)], &["test: just test (justfile recipe \"test\")"]);
        check(&[("Justfile", "test file:\n  x\ncheck flags='':\n")], &["test: just check (Justfile recipe \"check\")"]);
        check(&[(".justfile", "lint +files:\n  x\n")], &[]);
    }

    #[test]
    fn what_the_project_wrote_down_wins_over_its_language_command_by_command() {
        check(
            &[("Cargo.toml", ""), ("Makefile", "test:\n\tcargo nextest run\n"), ("justfile", "lint:\n  x\n")],
            &[
                "test: make test (Makefile target \"test\")",
                "typecheck: cargo check --all-targets (Cargo.toml)",
                "lint: just lint (justfile recipe \"lint\")",
            ],
        );
    }

    #[test]
    fn several_languages_are_asked_in_a_fixed_order() {
        let package = r#"{"scripts": {"test": "x", "lint": "y"}}"#;
        check(
            &[("package.json", package), ("Cargo.toml", ""), ("go.mod", ""), ("pytest.ini", "")],
            &[
                "test: cargo test (Cargo.toml)",
                "typecheck: cargo check --all-targets (Cargo.toml)",
                "lint: go vet ./... (go.mod)",
            ],
        );
    }
}
