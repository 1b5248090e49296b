//! Who makes a bubble's commit: author, committer, signature and hooks, as they were at one moment.
//!
//! The values are read by the engine. Here they are only recorded, compared and shown.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Who makes the commit, how it is signed, and which hooks have a say in it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CommitIdentity {
    /// The author; nothing if git did not know one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Person>,
    /// The committer; nothing if git did not know one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committer: Option<Person>,
    /// How the commit is signed; nothing if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing: Option<Signing>,
    /// The repository's hooks; nothing if they could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<Hooks>,
}

/// A name and an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
}

/// How a commit is signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signing {
    /// The format: `openpgp`, `ssh` or `x509`.
    pub format: String,
    /// The program that signs.
    pub program: String,
    /// The key; without one git chooses it by the committer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The hooks of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Hooks {
    /// They are files of the repository, so those of the base are run.
    Base {
        /// The directory, relative to the root.
        path: String,
    },
    /// They lie outside of the tree, and are run as long as nobody has changed them.
    Directory {
        /// The directory; relative to the root if it lies below it.
        path: String,
        /// Its files, by their paths below it.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        files: BTreeMap<String, HookFile>,
    },
}

/// One file among the hooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookFile {
    /// The SHA-256 of its content.
    pub sha256: String,
    /// Whether it can be executed.
    pub executable: bool,
}

impl CommitIdentity {
    /// Says how `now` differs, one clause for each difference; nothing if it does not.
    pub fn differences(&self, now: &Self) -> Vec<String> {
        let mut found = Vec::new();
        let mut compare = |what: &str, was: String, is: String| {
            if was != is {
                found.push(format!("the {what} was {was}, is {is}"));
            }
        };
        compare("author", shown(self.author.as_ref()), shown(now.author.as_ref()));
        compare("committer", shown(self.committer.as_ref()), shown(now.committer.as_ref()));
        compare("signature", shown(self.signing.as_ref()), shown(now.signing.as_ref()));
        if let (Some(was), Some(is)) = (&self.hooks, &now.hooks) {
            compare("hooks directory", was.path().to_owned(), is.path().to_owned());
            let changed = was.changed(is);
            if !changed.is_empty() {
                found.push(format!("hooks were changed: {}", changed.join(", ")));
            }
        }
        found
    }
}

impl Hooks {
    /// Returns the directory.
    pub fn path(&self) -> &str {
        match self {
            Self::Base { path } | Self::Directory { path, .. } => path,
        }
    }

    /// Names the files that are not the same in `now`. Those of the base are compared nowhere: they are not read.
    pub fn changed(&self, now: &Self) -> Vec<String> {
        let (Self::Directory { path, files: was }, Self::Directory { path: there, files: is }) = (self, now) else {
            return Vec::new();
        };
        if path != there {
            return Vec::new();
        }
        let names = was.keys().chain(is.keys().filter(|name| !was.contains_key(*name)));
        names.filter(|name| was.get(*name) != is.get(*name)).cloned().collect()
    }
}

impl fmt::Display for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <{}>", self.name, self.email)
    }
}

impl fmt::Display for Signing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.as_deref().unwrap_or("chosen by the committer");
        write!(f, "{} by {} (key {key})", self.format, self.program)
    }
}

fn shown(value: Option<&impl fmt::Display>) -> String {
    value.map_or_else(|| "none".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(name: &str, hook: Option<&str>) -> CommitIdentity {
        let person = Some(Person { name: name.to_owned(), email: "ada@example.org".to_owned() });
        let file = |sha: &str| ("pre-commit".to_owned(), HookFile { sha256: sha.to_owned(), executable: true });
        let files = hook.map(file).into_iter().collect();
        let hooks = Some(Hooks::Directory { path: "/repo/.git/hooks".to_owned(), files });
        CommitIdentity { author: person.clone(), committer: person, signing: None, hooks }
    }

    #[test]
    fn an_unchanged_identity_has_no_differences() {
        assert!(identity("Ada", Some("1")).differences(&identity("Ada", Some("1"))).is_empty());
    }

    #[test]
    fn each_difference_says_what_was_and_what_is() {
        let was = identity("Ada", None);
        let signing = Signing { format: "ssh".to_owned(), program: "ssh-keygen".to_owned(), key: None };
        let now = CommitIdentity { signing: Some(signing), ..identity("Eve", Some("1")) };
        assert_eq!(
            was.differences(&now),
            [
                "the author was Ada <ada@example.org>, is Eve <ada@example.org>",
                "the committer was Ada <ada@example.org>, is Eve <ada@example.org>",
                "the signature was none, is ssh by ssh-keygen (key chosen by the committer)",
                "hooks were changed: pre-commit",
            ]
        );
    }

    #[test]
    fn a_hook_that_is_gone_or_not_executable_any_more_is_a_changed_one() {
        let hooks = |executable| {
            let file = HookFile { sha256: "1".to_owned(), executable };
            Hooks::Directory { path: "/h".to_owned(), files: [("commit-msg".to_owned(), file)].into() }
        };
        let none = Hooks::Directory { path: "/h".to_owned(), files: BTreeMap::new() };
        assert_eq!(hooks(true).changed(&none), ["commit-msg"]);
        assert_eq!(hooks(true).changed(&hooks(false)), ["commit-msg"]);
    }
}
