//! Python: pytest, mypy or pyright, ruff or flake8, each where a file of the project speaks for it.

use super::found::{Detected, Found};
use super::root::Root;

pub(super) fn detect(root: &Root) -> Detected {
    let runner = Runner::of(root);
    Detected {
        test: tests(root).map(|why| Found::new(runner.module("pytest"), why)),
        typecheck: types(root, &runner),
        lint: lint(root, &runner),
        setup: runner.setup,
    }
}

/// How the project's own interpreter is reached.
struct Runner {
    prefix: &'static str,
    python: &'static str,
    setup: Option<Found>,
}

impl Runner {
    fn of(root: &Root) -> Self {
        if root.has("uv.lock") {
            let setup = Some(Found::new("uv sync --frozen", "uv.lock"));
            return Self { prefix: "uv run --frozen ", python: "python", setup };
        }
        if root.has("poetry.lock") {
            return Self {
                prefix: "poetry run ",
                python: "python",
                setup: Some(Found::new("poetry install", "poetry.lock")),
            };
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

fn tests(root: &Root) -> Option<String> {
    let ini = root.first(&["pytest.ini", ".pytest.ini"]).map(str::to_owned);
    ini.or_else(|| table(root, "pyproject.toml", "tool.pytest"))
        .or_else(|| table(root, "setup.cfg", "tool:pytest"))
        .or_else(|| root.first(&["tox.ini", "conftest.py"]).map(str::to_owned))
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

fn types(root: &Root, runner: &Runner) -> Option<Found> {
    let mypy = root.first(&["mypy.ini", ".mypy.ini"]).map(str::to_owned);
    let mypy = mypy.or_else(|| table(root, "pyproject.toml", "tool.mypy")).or_else(|| table(root, "setup.cfg", "mypy"));
    let pyright = || {
        let file = root.first(&["pyrightconfig.json"]).map(str::to_owned);
        file.or_else(|| table(root, "pyproject.toml", "tool.pyright"))
    };
    let mypy = mypy.map(|why| Found::new(runner.module("mypy ."), why));
    mypy.or_else(|| pyright().map(|why| Found::new(runner.program("pyright"), why)))
}

fn lint(root: &Root, runner: &Runner) -> Option<Found> {
    let ruff = root.first(&["ruff.toml", ".ruff.toml"]).map(str::to_owned);
    let ruff = ruff.or_else(|| table(root, "pyproject.toml", "tool.ruff"));
    let flake = || root.first(&[".flake8"]).map(str::to_owned).or_else(|| table(root, "setup.cfg", "flake8"));
    let ruff = ruff.map(|why| Found::new(runner.program("ruff check ."), why));
    ruff.or_else(|| flake().map(|why| Found::new(runner.module("flake8"), why)))
}

fn table(root: &Root, file: &str, table: &str) -> Option<String> {
    root.has_table(file, table).then(|| format!("{file} [{table}]"))
}
