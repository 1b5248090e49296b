//! Who makes a commit, as git says at one moment: read from the configuration and the person's environment.
//!
//! The repository's own settings count, with one exception: the program that signs is the choice of the person, or of
//! the machine for all its users.

use pairflow_core::log::{CommitIdentity, Person, Signing};

use super::error::GitError;
use super::hooks::hooks;
use super::pins::entries;
use super::repo::Repo;
use super::run::Call;

/// The settings that say who commits, how the commit is signed and where hooks are.
const SETTINGS: &str = r"^((user|author|committer|commit|gpg)\.|core\.hookspath$)";

/// Characters that git removes from both ends of a name or an address.
const CRUD: &[char] = &['.', ',', ':', ';', '<', '>', '"', '\\', '\''];

/// Returns who commits in `repo` now, how the commit is signed, and which hooks there are.
pub fn commit_identity(repo: &Repo) -> Result<CommitIdentity, GitError> {
    let call = Call::new(["config", "--includes", "--show-scope", "-z", "--get-regexp", SETTINGS]);
    let listing = repo.git().run(with_system(call.raw_config().accept(&[0, 1])))?;
    let settings = Settings::parse(&listing.stdout);
    let env = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    Ok(CommitIdentity {
        author: settings.person("author", &env),
        committer: settings.person("committer", &env),
        signing: settings.signing(),
        hooks: hooks(repo, settings.get("core.hookspath").is_some())?,
    })
}

/// Reads the machine's configuration, too, as the person's own git does. Nothing of it is run here.
fn with_system(call: Call) -> Call {
    let person = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let call = call.env("GIT_CONFIG_NOSYSTEM", person("GIT_CONFIG_NOSYSTEM").unwrap_or_else(|| "0".into()));
    match person("GIT_CONFIG_SYSTEM") {
        Some(path) => call.env("GIT_CONFIG_SYSTEM", path),
        None => call,
    }
}

/// Settings in the order in which git reads them.
struct Settings(Vec<Setting>);

struct Setting {
    /// Whether the person's own file has it, or that of the machine.
    trusted: bool,
    key: String,
    value: String,
}

impl Settings {
    fn parse(listing: &[u8]) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let setting = |(scope, key, value): (&[u8], &[u8], &[u8])| Setting {
            trusted: matches!(scope, b"global" | b"system"),
            key: text(key),
            value: text(value),
        };
        Self(entries(listing).map(setting).collect())
    }

    /// Returns the value in force.
    fn get(&self, key: &str) -> Option<String> {
        let last = self.0.iter().rev().find(|setting| setting.key == key)?;
        Some(last.value.clone()).filter(|value| !value.is_empty())
    }

    /// Returns the person of a role, in git's order: the environment, the role's settings, the general ones.
    fn person(&self, role: &str, env: &dyn Fn(&str) -> Option<String>) -> Option<Person> {
        let part = |what: &str| {
            let named = env(&format!("GIT_{}_{}", role.to_uppercase(), what.to_uppercase()));
            named.or_else(|| self.get(&format!("{role}.{what}"))).or_else(|| self.get(&format!("user.{what}")))
        };
        let name = clean(&part("name")?);
        let email = clean(&part("email").or_else(|| env("EMAIL"))?);
        if name.is_empty() { None } else { Some(Person { name, email }) }
    }

    fn signing(&self) -> Option<Signing> {
        let signs = self.get("commit.gpgsign")?.to_lowercase();
        if matches!(signs.as_str(), "false" | "no" | "off" | "0") {
            return None;
        }
        let format = self.get("gpg.format").unwrap_or_else(|| "openpgp".to_owned());
        let own = format!("gpg.{format}.program");
        let names = |key: &str| key == own || format == "openpgp" && key == "gpg.program";
        let chosen = self.0.iter().rev().find(|setting| setting.trusted && names(&setting.key));
        let usual = match format.as_str() {
            "ssh" => "ssh-keygen",
            "x509" => "gpgsm",
            _ => "gpg",
        };
        let program = chosen.map_or_else(|| usual.to_owned(), |setting| setting.value.clone());
        Some(Signing { format, program, key: self.get("user.signingkey") })
    }
}

/// Returns a name or an address as git writes it into a commit.
fn clean(text: &str) -> String {
    let ends = |c: char| c <= ' ' || CRUD.contains(&c);
    text.trim_matches(ends).chars().filter(|c| !matches!(c, '<' | '>' | '\n')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(settings: &[(&str, &str, &str)]) -> Settings {
        let text: String = settings.iter().map(|(scope, key, value)| format!("{scope}\0{key}\n{value}\0")).collect();
        Settings::parse(text.as_bytes())
    }

    fn nothing(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn the_environment_goes_before_the_role_and_the_role_before_the_user() {
        let settings = listing(&[
            ("global", "user.name", "Ada"),
            ("global", "user.email", "ada@example.org"),
            ("local", "author.name", " Ada, at work. "),
        ]);
        let person = |role, env: &dyn Fn(&str) -> Option<String>| settings.person(role, env).unwrap().to_string();
        assert_eq!(person("author", &nothing), "Ada, at work <ada@example.org>");
        assert_eq!(person("committer", &nothing), "Ada <ada@example.org>");
        let env = |name: &str| (name == "GIT_COMMITTER_EMAIL").then(|| "bot@example.org".to_owned());
        assert_eq!(person("committer", &env), "Ada <bot@example.org>");
    }

    #[test]
    fn without_a_name_or_an_address_nobody_is_known() {
        assert_eq!(listing(&[("global", "user.name", "Ada")]).person("author", &nothing), None);
        assert_eq!(
            listing(&[("global", "user.name", " . "), ("global", "user.email", "a")]).person("author", &nothing),
            None
        );
    }

    #[test]
    fn the_repository_may_choose_the_key_but_not_the_program() {
        let settings = listing(&[
            ("global", "commit.gpgsign", "true"),
            ("system", "gpg.program", "/opt/gpg"),
            ("global", "gpg.program", "/usr/bin/gpg2"),
            ("local", "gpg.program", "evil"),
            ("local", "gpg.openpgp.program", "evil"),
            ("local", "user.signingkey", "ABCD"),
        ]);
        assert_eq!(settings.signing().unwrap().to_string(), "openpgp by /usr/bin/gpg2 (key ABCD)");
        let ssh = listing(&[
            ("local", "commit.gpgsign", "on"),
            ("local", "gpg.format", "ssh"),
            ("local", "gpg.ssh.program", "evil"),
        ]);
        assert_eq!(ssh.signing().unwrap().program, "ssh-keygen");
        assert_eq!(listing(&[("global", "commit.gpgsign", "true"), ("local", "commit.gpgsign", "no")]).signing(), None);
        assert!(Settings::parse(b"global\0commit.gpgsign\0").signing().is_some(), "a key without a value is true");
    }
}
