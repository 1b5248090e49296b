//! Detects how a repository is tested, from the files at its root. The result is shown and confirmed before it is used.
//!
//! For each command the first match wins: what the project itself wrote down (just, then Make), then the usual commands
//! of its language (Cargo, Go, the package managers of Node, Python).

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Guesses the commands of the repository at `root`.
///
/// What the project wrote down itself (a recipe of just, a target of Make) is asked before the defaults of its
/// language (Cargo, Go, Node, Python): who names a target `test` has said how the project is tested. Each command is
/// decided on its own, so a Makefile with nothing but `lint` leaves the tests to the language.
pub fn detect(root: &Path) -> Detected {
    let root = Root::at(root);
    [just, make, cargo, go, node, python].into_iter().map(|tool| tool(&root)).fold(Detected::default(), Detected::or)
}

/// The commands that a repository seems to be checked with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detected {
    /// Runs the tests.
    pub test: Option<DetectedCommand>,
    /// Checks types without running anything.
    pub typecheck: Option<DetectedCommand>,
    /// Checks style.
    pub lint: Option<DetectedCommand>,
    /// Runs once in a new worktree.
    pub setup: Option<DetectedCommand>,
}

/// A command, and what speaks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectedCommand {
    /// The command line.
    pub command: String,
    /// The file that speaks for it, and what in it.
    pub because: String,
}

impl Detected {
    /// Fills what is missing with `weaker`.
    fn or(self, weaker: Self) -> Self {
        Self {
            test: self.test.or(weaker.test),
            typecheck: self.typecheck.or(weaker.typecheck),
            lint: self.lint.or(weaker.lint),
            setup: self.setup.or(weaker.setup),
        }
    }
}

impl DetectedCommand {
    fn new(command: impl Into<String>, because: impl Into<String>) -> Self {
        Self { command: command.into(), because: because.into() }
    }
}

/// More than this of a build file says nothing new.
const MOST_BYTES: u64 = 1024 * 1024;
/// More names than this in one directory are not looked at.
const MOST_NAMES: usize = 10_000;

struct Root {
    path: PathBuf,
}

impl Root {
    fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    fn has(&self, name: &str) -> bool {
        self.path.join(name).is_file()
    }

    /// Returns the first of `names` that is a file.
    fn first<'a>(&self, names: &[&'a str]) -> Option<&'a str> {
        names.iter().copied().find(|name| self.has(name))
    }

    fn read(&self, name: &str) -> Option<String> {
        let path = self.path.join(name);
        let file = crate::regular::open(&path).ok()?;
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Whether the TOML or INI file `name` has a table `table` or one beneath it.
    fn has_table(&self, name: &str, table: &str) -> bool {
        let beneath = |rest: &str| rest.is_empty() || rest.starts_with('.');
        let header = |line: &str| Some(line.trim().strip_prefix('[')?.split(']').next()?.trim().to_owned());
        let text = self.read(name).unwrap_or_default();
        text.lines().filter_map(header).any(|found| found.strip_prefix(table).is_some_and(beneath))
    }

    /// Returns the first of `files` that is there, or else the first of `tables` (a file and a table in it).
    fn evidence(&self, files: &[&str], tables: &[(&str, &str)]) -> Option<String> {
        let table = || tables.iter().find(|(file, table)| self.has_table(file, table));
        let file = self.first(files).map(str::to_owned);
        file.or_else(|| table().map(|(file, table)| format!("{file} [{table}]")))
    }

    /// Returns the names in a directory in alphabetical order.
    fn names(&self, directory: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path.join(directory)) else { return Vec::new() };
        let name = |entry: std::io::Result<fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
        let mut names: Vec<_> = entries.take(MOST_NAMES).filter_map(name).collect();
        names.sort();
        names
    }
}

/// Reads the recipes of just that can run without an argument.
fn just(root: &Root) -> Detected {
    let Some(file) = root.first(&["justfile", "Justfile", "JUSTFILE", ".justfile"]) else { return Detected::default() };
    let recipes: Vec<_> = root.read(file).unwrap_or_default().lines().filter_map(recipe).collect();
    named(&recipes, |name| DetectedCommand::new(format!("just {name}"), format!("{file} recipe \"{name}\"")))
}

/// Reads the targets of Make, out of the file that Make itself would take.
fn make(root: &Root) -> Detected {
    let Some(file) = root.first(&["GNUmakefile", "makefile", "Makefile"]) else { return Detected::default() };
    let targets: Vec<_> = root.read(file).unwrap_or_default().lines().flat_map(targets).collect();
    named(&targets, |name| DetectedCommand::new(format!("make {name}"), format!("{file} target \"{name}\"")))
}

fn named(names: &[String], found: impl Fn(&str) -> DetectedCommand) -> Detected {
    let first = |wanted: &[&str]| {
        let name = wanted.iter().find(|wanted| names.iter().any(|name| name == *wanted))?;
        Some(found(name))
    };
    // By old custom `check` runs the tests, and what is called so often runs more than that.
    Detected { test: first(&["test", "check"]), typecheck: first(&["typecheck"]), lint: first(&["lint"]), setup: None }
}

/// Reads the targets on the left of a rule's colon.
fn targets(line: &str) -> Vec<String> {
    let Some((left, right)) = line.split_once(':') else { return Vec::new() };
    let assigns = left.contains('=') || right.trim_start_matches(':').starts_with('=');
    let is_rule = !assigns && !left.starts_with(['\t', ' ', '#']);
    let names = left.split_whitespace().filter(|_| is_rule);
    names.map(str::to_owned).collect()
}

/// Reads the name of a recipe that needs no argument.
fn recipe(line: &str) -> Option<String> {
    if line.starts_with([' ', '\t', '#', '[']) {
        return None;
    }
    let head = &line[..colon(line)?];
    let mut words = head.trim_start_matches('@').split_whitespace();
    let name = words.next()?;
    let optional = |word: &str| word.starts_with('*') || word.contains('=');
    let is_setting = matches!(name, "alias" | "export" | "set" | "import" | "mod");
    (!is_setting && words.all(optional)).then(|| name.to_owned())
}

/// Returns where the first colon outside of quotes is, unless it assigns.
fn colon(line: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, ':') => return (!line[at..].starts_with(":=")).then_some(at),
            _ => {}
        }
    }
    None
}

fn cargo(root: &Root) -> Detected {
    let file = "Cargo.toml";
    if !root.has(file) {
        return Detected::default();
    }
    let all = if root.has_table(file, "workspace") { " --workspace" } else { "" };
    let clippy = [(file, "lints.clippy"), (file, "workspace.lints.clippy")];
    Detected {
        test: Some(DetectedCommand::new(format!("cargo test{all}"), file)),
        typecheck: Some(DetectedCommand::new(format!("cargo check{all} --all-targets"), file)),
        // Without settings of its own a project has not said that it wants clippy.
        lint: root
            .evidence(&["clippy.toml", ".clippy.toml"], &clippy)
            .map(|why| DetectedCommand::new(format!("cargo clippy{all} --all-targets"), why)),
        setup: None,
    }
}

fn go(root: &Root) -> Detected {
    if !root.has("go.mod") {
        return Detected::default();
    }
    // No `go build`: for a single command it leaves a binary in the tree that is being checked.
    Detected {
        test: Some(DetectedCommand::new("go test ./...", "go.mod")),
        lint: Some(DetectedCommand::new("go vet ./...", "go.mod")),
        ..Detected::default()
    }
}

fn node(root: &Root) -> Detected {
    let Some(package) = root.read("package.json").and_then(|text| serde_json::from_str::<Value>(&text).ok()) else {
        return Detected::default();
    };
    let manager = Manager::of(root, &package);
    let run = |names: &[&str]| {
        let name = names.iter().copied().find(|name| script(&package, name))?;
        Some(DetectedCommand::new(manager.run(name), format!("package.json script \"{name}\"")))
    };
    let types = || root.has("tsconfig.json").then(|| DetectedCommand::new(manager.tsc, "tsconfig.json"));
    Detected {
        test: run(&["test"]),
        typecheck: run(&["typecheck", "type-check", "check-types"]).or_else(types),
        lint: run(&["lint"]),
        setup: manager.setup(root, &package),
    }
}

/// Whether `name` is a script that does something.
fn script(package: &Value, name: &str) -> bool {
    let command = package["scripts"][name].as_str().unwrap_or_default();
    // `npm init` writes a test that only says that there is none.
    !command.trim().is_empty() && !command.contains("no test specified")
}

/// A package manager.
struct Manager {
    name: &'static str,
    lock_files: &'static [&'static str],
    tsc: &'static str,
    install_locked: &'static str,
    /// Installs without leaving a new file in the tree.
    install: &'static str,
}

/// The package managers, in the order in which their lock files are looked for; the last one is the default.
const MANAGERS: [Manager; 4] = [
    Manager {
        name: "pnpm",
        lock_files: &["pnpm-lock.yaml"],
        tsc: "pnpm exec tsc --noEmit",
        install_locked: "pnpm install --frozen-lockfile",
        install: "pnpm install --no-lockfile",
    },
    Manager {
        name: "yarn",
        lock_files: &["yarn.lock"],
        tsc: "yarn run tsc --noEmit",
        install_locked: "yarn install --frozen-lockfile",
        install: "yarn install --no-lockfile",
    },
    Manager {
        name: "bun",
        lock_files: &["bun.lock", "bun.lockb"],
        tsc: "bunx tsc --noEmit",
        install_locked: "bun install --frozen-lockfile",
        install: "bun install --no-save",
    },
    Manager {
        name: "npm",
        lock_files: &["package-lock.json", "npm-shrinkwrap.json"],
        tsc: "npx tsc --noEmit",
        install_locked: "npm ci",
        install: "npm install --no-package-lock",
    },
];

impl Manager {
    /// Returns the manager that the package names, or that has a lock file, or npm.
    fn of(root: &Root, package: &Value) -> &'static Self {
        let named = package["packageManager"].as_str().and_then(|text| text.split('@').next());
        let named = MANAGERS.iter().find(|manager| Some(manager.name) == named);
        let locked = || MANAGERS.iter().find(|manager| root.first(manager.lock_files).is_some());
        named.or_else(locked).unwrap_or(&MANAGERS[3])
    }

    fn run(&self, script: &str) -> String {
        // `bun test` is a test runner of its own and not the script of that name.
        let short = script == "test" && self.name != "bun";
        if short { format!("{} test", self.name) } else { format!("{} run {script}", self.name) }
    }

    /// Returns the command that installs what the lock file names, or, without one, the dependencies.
    fn setup(&self, root: &Root, package: &Value) -> Option<DetectedCommand> {
        if let Some(lock) = root.first(self.lock_files) {
            // The file is written by yarn 2 and later, which renamed the flag.
            let renamed = self.name == "yarn" && root.has(".yarnrc.yml");
            let command = if renamed { "yarn install --immutable" } else { self.install_locked };
            return Some(DetectedCommand::new(command, lock));
        }
        let needs = |key: &str| package[key].as_object().is_some_and(|needed| !needed.is_empty());
        (needs("dependencies") || needs("devDependencies")).then(|| DetectedCommand::new(self.install, "package.json"))
    }
}

fn python(root: &Root) -> Detected {
    let runner = Runner::of(root);
    Detected {
        test: pytest(root).map(|why| DetectedCommand::new(runner.module("pytest"), why)),
        typecheck: types(root, &runner),
        lint: lint(root, &runner),
        setup: runner.setup,
    }
}

/// How the project's own interpreter is reached.
struct Runner {
    prefix: &'static str,
    python: &'static str,
    setup: Option<DetectedCommand>,
}

impl Runner {
    fn of(root: &Root) -> Self {
        if root.has("uv.lock") {
            let setup = Some(DetectedCommand::new("uv sync --frozen", "uv.lock"));
            return Self { prefix: "uv run --frozen ", python: "python", setup };
        }
        if root.has("poetry.lock") {
            let setup = Some(DetectedCommand::new("poetry install", "poetry.lock"));
            return Self { prefix: "poetry run ", python: "python", setup };
        }
        // Outside of an environment many systems have `python3` only.
        Self { prefix: "", python: "python3", setup: None }
    }

    fn module(&self, module: &str) -> String {
        format!("{}{} -m {module}", self.prefix, self.python)
    }

    fn program(&self, program: &str) -> String {
        format!("{}{program}", self.prefix)
    }
}

fn pytest(root: &Root) -> Option<String> {
    let tables = [("pyproject.toml", "tool.pytest"), ("setup.cfg", "tool:pytest")];
    root.evidence(&["pytest.ini", ".pytest.ini"], &tables)
        .or_else(|| root.evidence(&["tox.ini", "conftest.py"], &[]))
        .or_else(|| ["tests", "test", "."].into_iter().find_map(|directory| test_file(root, directory)))
}

fn test_file(root: &Root, directory: &str) -> Option<String> {
    let is_test = |name: &String| {
        name.strip_suffix(".py")
            .is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test") || stem == "conftest")
    };
    let name = root.names(directory).into_iter().find(is_test)?;
    Some(if directory == "." { name } else { format!("{directory}/{name}") })
}

fn types(root: &Root, runner: &Runner) -> Option<DetectedCommand> {
    let mypy = [("pyproject.toml", "tool.mypy"), ("setup.cfg", "mypy")];
    let mypy = root.evidence(&["mypy.ini", ".mypy.ini"], &mypy);
    let pyright = || root.evidence(&["pyrightconfig.json"], &[("pyproject.toml", "tool.pyright")]);
    let mypy = mypy.map(|why| DetectedCommand::new(runner.module("mypy ."), why));
    mypy.or_else(|| pyright().map(|why| DetectedCommand::new(runner.program("pyright"), why)))
}

fn lint(root: &Root, runner: &Runner) -> Option<DetectedCommand> {
    let ruff = root.evidence(&["ruff.toml", ".ruff.toml"], &[("pyproject.toml", "tool.ruff")]);
    let flake8 = || root.evidence(&[".flake8"], &[("setup.cfg", "flake8")]);
    let ruff = ruff.map(|why| DetectedCommand::new(runner.program("ruff check ."), why));
    ruff.or_else(|| flake8().map(|why| DetectedCommand::new(runner.module("flake8"), why)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

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
        let line = |(slot, found): (&str, Option<DetectedCommand>)| {
            found.map(|f| format!("{slot}: {} ({})", f.command, f.because))
        };
        let found: Vec<_> = slots.into_iter().filter_map(line).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn nothing_is_made_up() {
        check(&[], &[]);
        check(&[("README.md", "run the tests"), ("tests/readme.txt", "")], &[]);
        assert_eq!(detect(Path::new("/nowhere/at/all")), Detected::default());
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
