//! JavaScript and TypeScript: the scripts of `package.json`, run by the package manager that the project uses.

use serde_json::Value;

use super::found::{Detected, Found};
use super::root::Root;

pub(super) fn detect(root: &Root) -> Detected {
    let Some(package) = root.read("package.json").and_then(|text| serde_json::from_str::<Value>(&text).ok()) else {
        return Detected::default();
    };
    let manager = Manager::of(root, &package);
    let run = |names: &[&str]| {
        let name = names.iter().copied().find(|name| script(&package, name))?;
        Some(Found::new(manager.run(name), format!("package.json script \"{name}\"")))
    };
    let types = || root.has("tsconfig.json").then(|| Found::new(manager.tsc(), "tsconfig.json"));
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Manager {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

const LOCKS: [(&str, Manager); 6] = [
    ("pnpm-lock.yaml", Manager::Pnpm),
    ("yarn.lock", Manager::Yarn),
    ("bun.lock", Manager::Bun),
    ("bun.lockb", Manager::Bun),
    ("package-lock.json", Manager::Npm),
    ("npm-shrinkwrap.json", Manager::Npm),
];

impl Manager {
    /// Asks the package itself, then its lock file; npm if neither says.
    fn of(root: &Root, package: &Value) -> Self {
        let named = package["packageManager"].as_str().and_then(|text| text.split('@').next());
        match named {
            Some("npm") => Self::Npm,
            Some("pnpm") => Self::Pnpm,
            Some("yarn") => Self::Yarn,
            Some("bun") => Self::Bun,
            _ => LOCKS.into_iter().find(|(lock, _)| root.has(lock)).map_or(Self::Npm, |(_, manager)| manager),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::Yarn => "yarn",
            Self::Bun => "bun",
        }
    }

    fn run(self, script: &str) -> String {
        // `bun test` is a test runner of its own and not the script of that name.
        let short = script == "test" && self != Self::Bun;
        if short { format!("{} test", self.name()) } else { format!("{} run {script}", self.name()) }
    }

    fn tsc(self) -> &'static str {
        match self {
            Self::Npm => "npx tsc --noEmit",
            Self::Pnpm => "pnpm exec tsc --noEmit",
            Self::Yarn => "yarn run tsc --noEmit",
            Self::Bun => "bunx tsc --noEmit",
        }
    }

    /// Installs what the lock file says; without one, installs without leaving a new file in the tree.
    fn setup(self, root: &Root, package: &Value) -> Option<Found> {
        if let Some((lock, _)) = LOCKS.into_iter().find(|(lock, manager)| *manager == self && root.has(lock)) {
            return Some(Found::new(self.install_locked(root), lock));
        }
        let needs = |key: &str| package[key].as_object().is_some_and(|needed| !needed.is_empty());
        let command = match self {
            Self::Npm => "npm install --no-package-lock",
            Self::Pnpm => "pnpm install --no-lockfile",
            Self::Yarn => "yarn install --no-lockfile",
            Self::Bun => "bun install --no-save",
        };
        (needs("dependencies") || needs("devDependencies")).then(|| Found::new(command, "package.json"))
    }

    fn install_locked(self, root: &Root) -> &'static str {
        match self {
            Self::Npm => "npm ci",
            Self::Pnpm => "pnpm install --frozen-lockfile",
            // The file is written by yarn 2 and later, which renamed the flag.
            Self::Yarn if root.has(".yarnrc.yml") => "yarn install --immutable",
            Self::Yarn => "yarn install --frozen-lockfile",
            Self::Bun => "bun install --frozen-lockfile",
        }
    }
}
