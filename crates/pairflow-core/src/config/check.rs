//! Which values are good, wherever they were set, and the address of a webhook. Each function names the key in its message.

use std::fmt;
use std::ops::RangeInclusive;

use serde::{Serialize, Serializer};

use super::origin::Complaint;

/// How many rounds there may be before a person decides.
pub(super) const ROUNDS: RangeInclusive<u64> = 1..=1_000;
/// The fewest reviews before work is accepted; a person decides after twelve.
pub(super) const LOOKS: RangeInclusive<u64> = 0..=12;
/// How long an agent may be silent: up to a week.
pub(super) const MINUTES: RangeInclusive<u64> = 1..=10_080;
/// How long a turn may take: up to a day.
pub(super) const TURN_MINUTES: RangeInclusive<u64> = 1..=1_440;
/// How long one check may run: up to a day.
pub(super) const SECONDS: RangeInclusive<u64> = 1..=86_400;

/// The only word that `open_command` replaces.
const PLACEHOLDER: &str = "{{worktree_path}}";

/// Accepts a text that says something and that an operating system takes as an argument.
pub(super) fn text(key: &str, text: &str) -> Result<String, Complaint> {
    if text.trim().is_empty() {
        return Err(Complaint::new(format!("{key} is empty")).hint("leave the key out instead"));
    }
    argument(key, text)
}

/// Accepts whatever an operating system takes as an argument, also an empty one.
pub(super) fn argument(key: &str, text: &str) -> Result<String, Complaint> {
    if text.contains('\0') {
        return Err(Complaint::new(format!("{key} contains a NUL character")));
    }
    Ok(text.to_owned())
}

/// Accepts the name of an environment variable that is not one of pairflow's own.
pub(super) fn variable(key: &str, name: &str) -> Result<String, Complaint> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(part) {
        let complaint = Complaint::new(format!("{key} holds {name:?}, which is no name of a variable"));
        return Err(complaint.hint("write the name alone, such as \"MY_API_KEY\"; its value stays where it is"));
    }
    if name.starts_with("PAIRFLOW_") {
        return Err(Complaint::new(format!("{key} holds {name:?}, which only pairflow itself sets")));
    }
    Ok(name.to_owned())
}

/// Accepts a number within `range`.
pub(super) fn number(key: &str, number: i128, range: &RangeInclusive<u64>) -> Result<u64, Complaint> {
    let found = u64::try_from(number).ok().filter(|number| range.contains(number));
    found.ok_or_else(|| {
        Complaint::new(format!("{key} = {number} is out of range; it goes from {} to {}", range.start(), range.end()))
    })
}

/// Accepts what git accepts as the name of a branch.
pub(super) fn branch(key: &str, name: &str) -> Result<String, Complaint> {
    let forbidden = |c: char| c.is_control() || c == ' ' || "~^:?*[\\".contains(c);
    let part_fits = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let fits = !name.starts_with('-')
        && !name.ends_with('.')
        && !matches!(name, "@" | "HEAD")
        && !["..", "@{"].iter().any(|pair| name.contains(pair))
        && !name.contains(forbidden)
        && name.split('/').all(part_fits);
    if fits {
        Ok(name.to_owned())
    } else {
        Err(Complaint::new(format!("{key} = {name:?} is no name that git allows for a branch")))
    }
}

/// Accepts a glob that can match something.
pub(super) fn glob(key: &str, glob: &str) -> Result<String, Complaint> {
    let bad = |why: String| Complaint::new(format!("{key} holds the bad glob {glob:?}: {why}"));
    fast_glob::validate(glob).map_err(|error| bad(error.to_string()))?;
    let plain = glob.trim_start_matches('!');
    let relative = plain.trim_start_matches("./").trim_start_matches('/');
    if plain.is_empty() {
        return Err(bad("it is empty".to_owned()));
    }
    if relative.len() < plain.len() {
        let hint = format!("write {:?}", format!("{}{relative}", &glob[..glob.len() - plain.len()]));
        return Err(bad("paths are relative to the root of the repository".to_owned()).hint(hint));
    }
    Ok(glob.to_owned())
}

/// Accepts a path within the repository.
pub(super) fn inside(key: &str, path: &str) -> Result<String, Complaint> {
    let path = text(key, path)?;
    let plain = path.trim_start_matches("./").to_owned();
    if plain.starts_with('/') || plain.split('/').any(|part| part == ".." || part.is_empty()) {
        let hint = "write it relative to the root of the repository, such as \"docs/prd.md\"";
        return Err(Complaint::new(format!("{key} holds {path:?}, which is no path within the repository")).hint(hint));
    }
    Ok(plain)
}

/// Accepts an absolute path.
pub(super) fn absolute(key: &str, path: &str) -> Result<String, Complaint> {
    let path = text(key, path)?;
    if path.starts_with('/') {
        return Ok(path);
    }
    Err(Complaint::new(format!("{key} = {path:?} is a relative path")).hint(format!(
        "write the whole path, such as {key} = {:?}",
        format!("/home/me/{}", path.trim_start_matches("./"))
    )))
}

/// Accepts a command that opens an editor and names no unknown placeholder.
pub(super) fn open_command(key: &str, command: &str) -> Result<String, Complaint> {
    let command = text(key, command)?;
    let rest = command.replace(PLACEHOLDER, "");
    match rest.find("{{") {
        None => Ok(command),
        Some(at) => {
            let end = rest[at..].find("}}").map_or(rest.len(), |end| at + end + 2);
            Err(Complaint::new(format!("{key} holds the unknown placeholder {:?}", &rest[at..end]))
                .hint(format!("the only placeholder is {PLACEHOLDER}")))
        }
    }
}

/// No address that a service hands out is longer.
const MOST_BYTES: usize = 2048;

/// An address that begins with `https://` or `http://` and names a host.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook(String);

impl Webhook {
    /// Reads an address; the complaint does not repeat it.
    pub(super) fn read(key: &str, text: &str) -> Result<Self, Complaint> {
        let wrong = |why: &str| Complaint::new(format!("{key} {why}")).hint("write it as the service shows it");
        let hook = Self(text.to_owned());
        match () {
            () if text.len() > MOST_BYTES => Err(wrong(&format!("has more than {MOST_BYTES} bytes"))),
            () if !text.chars().all(|c| c.is_ascii_graphic()) => Err(wrong("has a character that no address has")),
            () if hook.host().is_empty() => Err(wrong("is no address that begins with https:// or http://")),
            () => Ok(hook),
        }
    }

    /// Returns the whole address, to be used and not to be shown.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// Returns the host, with its port; empty if there is none.
    fn host(&self) -> &str {
        let after = |scheme| self.0.strip_prefix(scheme);
        let rest = after("https://").or_else(|| after("http://")).unwrap_or_default();
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        authority.rsplit('@').next().unwrap_or_default()
    }
}

/// Shows where it leads, and not how.
impl fmt::Display for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.0.split("://").next().unwrap_or_default();
        write!(f, "{scheme}://{}/…", self.host())
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Webhook({self})")
    }
}

impl Serialize for Webhook {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_names_are_those_of_git() {
        for good in ["main", "bubble/b_1", "feature/a.b", "ü", "a@b"] {
            assert_eq!(branch("base_branch", good).as_deref(), Ok(good));
        }
        let bad =
            ["", "-f", "a..b", "a b", "a~1", "a:b", "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.", "@", "a@{1}"];
        for bad in bad.into_iter().chain(["HEAD", "a\\b", "a[b", "a\n"]) {
            let message = branch("base_branch", bad).unwrap_err().message;
            assert_eq!(message, format!("base_branch = {bad:?} is no name that git allows for a branch"));
        }
    }

    #[test]
    fn numbers_stay_in_their_range() {
        assert_eq!(number("max_rounds", 1, &ROUNDS), Ok(1));
        assert_eq!(number("max_rounds", 1000, &ROUNDS), Ok(1000));
        for bad in [0, 1001, -1, i128::from(u64::MAX) + 1] {
            let message = number("max_rounds", bad, &ROUNDS).unwrap_err().message;
            assert_eq!(message, format!("max_rounds = {bad} is out of range; it goes from 1 to 1000"));
        }
    }

    #[test]
    fn globs_have_to_be_whole_and_relative() {
        for good in ["src/**", "*.rs", "!docs/**", "a/{b,c}.txt", "[ab].c", ".github/**"] {
            assert_eq!(glob("scope.allow", good).as_deref(), Ok(good));
        }
        for bad in ["", "src/{a", "src/[a", "a\\", "!"] {
            assert!(glob("scope.allow", bad).is_err(), "{bad:?}");
        }
        assert_eq!(glob("scope.allow", "/src/**").unwrap_err().hint.as_deref(), Some("write \"src/**\""));
        assert_eq!(glob("scope.allow", "./src/**").unwrap_err().hint.as_deref(), Some("write \"src/**\""));
    }

    #[test]
    fn an_unknown_placeholder_is_named() {
        assert!(open_command("open_command", "code -n {{worktree_path}}").is_ok());
        let complaint = open_command("open_command", "code {{path}} x").unwrap_err();
        assert_eq!(complaint.message, "open_command holds the unknown placeholder \"{{path}}\"");
        assert!(open_command("open_command", "code {{path").is_err());
    }

    const SLACK: &str = "https://hooks.slack.com/services/T0/B0/s3cret";

    #[test]
    fn an_address_is_shown_no_further_than_its_host() {
        let hook = Webhook::read("webhook", SLACK).unwrap();
        assert_eq!(hook.secret(), SLACK);
        assert_eq!(hook.to_string(), "https://hooks.slack.com/…");
        assert_eq!(format!("{hook:?}"), "Webhook(https://hooks.slack.com/…)");
        assert_eq!(serde_json::to_string(&hook).unwrap(), "\"https://hooks.slack.com/…\"");
        let user = Webhook::read("webhook", "http://ada:s3cret@127.0.0.1:80?token=s3cret").unwrap();
        assert_eq!(user.to_string(), "http://127.0.0.1:80/…");
    }

    #[test]
    fn what_is_no_address_is_refused_without_being_repeated() {
        let long = format!("https://h/{}", "s3cret".repeat(400));
        for bad in ["", "s3cret", "ftp://h/s3cret", "https:///s3cret", "https://h/s3 cret", "https://h/s3cret\n", &long]
        {
            let complaint = Webhook::read("webhook", bad).unwrap_err();
            assert!(complaint.message.starts_with("webhook "), "{complaint:?}");
            assert!(!complaint.message.contains("s3"), "{complaint:?}");
        }
    }
}
