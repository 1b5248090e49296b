//! `cargo xtask licences`: what may come into the build, as deny.toml says: licences, sources, banned crates, wildcards.
//!
//! deny.toml is in the format of cargo-deny, which takes a minute to build. What is checked here stands in the output of
//! `cargo metadata`; advisories, which need the internet, are not checked.

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use spdx::{Expression, LicenseReq, Licensee};

use crate::tidy::root;
use crate::{cargo, say};

/// Checks every package of the lock file.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    ensure!(arguments.is_empty(), "usage: cargo xtask licences");
    let metadata = cargo::metadata(&["--all-features"])?;
    let file = root().join("deny.toml");
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let problems = problems(&metadata, &Rules::read(&text)?)?;
    for problem in &problems {
        say::line(format_args!("{problem}"));
    }
    ensure!(problems.is_empty(), "the dependencies break deny.toml in {} place(s)", problems.len());
    Ok(())
}

/// What deny.toml says.
struct Rules {
    allowed: Vec<Licensee>,
    banned: Vec<String>,
    registries: Vec<String>,
}

/// The lists that deny.toml may have.
const KEYS: [[&str; 2]; 3] = [["licenses", "allow"], ["bans", "deny"], ["sources", "allow-registry"]];

impl Rules {
    fn read(text: &str) -> anyhow::Result<Self> {
        let table: toml::Table = text.parse().context("deny.toml is not TOML")?;
        let unknown = table.iter().flat_map(|(part, keys)| {
            let keys = keys.as_table().into_iter().flatten().map(|(key, _)| key.as_str());
            keys.map(|key| [part.as_str(), key]).collect::<Vec<_>>()
        });
        if let Some((part, _)) = table.iter().find(|(_, keys)| !keys.is_table()) {
            bail!("deny.toml has the entry {part}, which nothing reads");
        }
        if let Some([part, key]) = unknown.into_iter().find(|path| !KEYS.contains(path)) {
            bail!("deny.toml has the key {part}.{key}, which nothing reads");
        }
        let list = |path: [&str; 2]| {
            let found = table.get(path[0]).and_then(|part| part.get(path[1])).and_then(toml::Value::as_array);
            found.with_context(|| format!("deny.toml has no list {}.{}", path[0], path[1]))
        };
        let strings = |path: [&str; 2]| {
            let all = list(path)?.iter().map(|one| Some(one.as_str()?.to_owned())).collect::<Option<Vec<_>>>();
            all.with_context(|| format!("{}.{} of deny.toml is no list of strings", path[0], path[1]))
        };
        let licence = |name: String| Licensee::parse(&name).with_context(|| format!("{name} is no licence"));
        let banned = list(["bans", "deny"])?.iter().map(|one| Some(one.get("crate")?.as_str()?.to_owned()));
        let banned = banned.collect::<Option<Vec<_>>>().context("each entry of bans.deny names a crate")?;
        if let Some(name) = banned.iter().find(|name| name.contains(['@', ':', ' '])) {
            bail!("bans.deny of deny.toml names {name:?}; only whole crates can be banned");
        }
        Ok(Self {
            allowed: strings(["licenses", "allow"])?.into_iter().map(licence).collect::<anyhow::Result<_>>()?,
            banned,
            registries: strings(["sources", "allow-registry"])?,
        })
    }

    fn allows(&self, licence: &str) -> bool {
        let allowed = |wanted: &LicenseReq| self.allowed.iter().any(|one| one.satisfies(wanted));
        // Some old crates separate their licences with a slash.
        let parsed = Expression::parse_mode(licence, spdx::ParseMode::LAX);
        parsed.is_ok_and(|expression| expression.evaluate(allowed))
    }
}

fn problems(metadata: &Value, rules: &Rules) -> anyhow::Result<Vec<String>> {
    let packages = metadata["packages"].as_array().context("cargo metadata names packages")?;
    Ok(packages.iter().flat_map(|package| judge(package, rules)).collect())
}

fn judge(package: &Value, rules: &Rules) -> Vec<String> {
    let text = |key: &str| package[key].as_str().unwrap_or_default();
    let name = format!("{} {}", text("name"), text("version"));
    let mut problems = Vec::new();
    if rules.banned.iter().any(|banned| banned == text("name")) {
        problems.push(format!("{name} is banned in deny.toml"));
    }
    if !rules.allows(text("license")) {
        problems.push(format!("{name}: the licence {:?} is not allowed", text("license")));
    }
    // Our own crates have no source; every other one comes from a registry that is named.
    let Some(source) = package["source"].as_str() else {
        let wildcards = package["dependencies"].as_array().into_iter().flatten();
        let wildcards = wildcards.filter(|one| one["req"] == "*" && one["path"].is_null());
        problems.extend(wildcards.map(|one| format!("{name} depends on any version of {}", one["name"])));
        return problems;
    };
    let registry = source.strip_prefix("registry+").or_else(|| source.strip_prefix("sparse+")).unwrap_or(source);
    if !rules.registries.iter().any(|known| known == registry) {
        problems.push(format!("{name} comes from {source}, which deny.toml does not allow"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const DENY: &str = "[bans]\ndeny = [{ crate = \"openssl-sys\", reason = \"x\" }]\n\
                        [licenses]\nallow = [\"MIT\", \"Unicode-3.0\", \"Apache-2.0 WITH LLVM-exception\"]\n\
                        [sources]\nallow-registry = [\"https://known\"]\n";

    fn told(package: Value) -> Vec<String> {
        problems(&json!({ "packages": [package] }), &Rules::read(DENY).unwrap()).unwrap()
    }

    fn from(source: &str, name: &str, licence: &str) -> Vec<String> {
        told(json!({ "name": name, "version": "1.0.0", "license": licence, "source": source }))
    }

    #[test]
    fn a_licence_has_to_be_allowed_as_a_whole() {
        let licence = |text: &str| from("registry+https://known", "a", text);
        for good in ["MIT", "GPL-3.0 OR MIT", "(MIT OR X11) AND Unicode-3.0", "GPL-2.0/MIT"] {
            assert_eq!(licence(good), [""; 0], "{good}");
        }
        assert_eq!(licence("Apache-2.0 WITH LLVM-exception"), [""; 0]);
        assert_eq!(licence("MIT AND GPL-3.0"), ["a 1.0.0: the licence \"MIT AND GPL-3.0\" is not allowed"]);
        for bad in ["", "Apache-2.0", "whatever I like"] {
            assert_eq!(licence(bad).len(), 1, "{bad}");
        }
    }

    #[test]
    fn a_banned_crate_and_a_foreign_source_are_named() {
        let found = from("git+https://elsewhere", "openssl-sys", "MIT");
        assert_eq!(
            found,
            [
                "openssl-sys 1.0.0 is banned in deny.toml",
                "openssl-sys 1.0.0 comes from git+https://elsewhere, which deny.toml does not allow"
            ]
        );
    }

    #[test]
    fn our_own_crates_name_versions_unless_they_name_a_path() {
        let needs = json!([{ "name": "a", "req": "*", "path": null }, { "name": "b", "req": "*", "path": "/b" }]);
        let found =
            told(json!({ "name": "x", "version": "0.1.0", "license": "MIT", "source": null, "dependencies": needs }));
        assert_eq!(found, ["x 0.1.0 depends on any version of \"a\""]);
    }

    #[test]
    fn a_file_without_its_lists_is_an_error_and_not_a_pass() {
        assert!(Rules::read("[bans]\n").is_err());
        assert!(Rules::read(&DENY.replace("openssl-sys", "openssl-sys@1")).is_err());
        assert!(Rules::read(&format!("unknown = 1\n{DENY}")).is_err());
        assert!(Rules::read(&format!("{DENY}unknown-git = \"deny\"\n")).is_err());
        assert!(Rules::read(&DENY.replace("MIT", "No Such Licence")).is_err());
    }
}
