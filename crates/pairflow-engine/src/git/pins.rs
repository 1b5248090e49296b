//! What a repository may not decide: every setting that could make git run a program of the repository's choice.
//!
//! Fixed settings come first. Filters, merge drivers and signing programs have names of their own, so those that the
//! repository's own configuration defines are looked up and set to what the person's global configuration says, or off.
//! The same holds for what decides which files count and which bytes of a file are its content.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// One setting: key and value.
pub(super) type Setting = (OsString, OsString);

/// Settings that hold for every call.
const FIXED: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.sshCommand", "false"),
    ("core.gitProxy", ""),
    ("core.askPass", ""),
    ("core.editor", "false"),
    ("core.pager", "cat"),
    ("core.alternateRefsCommand", "true"),
    ("credential.helper", ""),
    ("protocol.ext.allow", "never"),
    ("diff.external", ""),
    ("commit.gpgSign", "false"),
    ("i18n.commitEncoding", "UTF-8"),
    ("tag.gpgSign", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("user.useConfigOnly", "true"),
    // These decide whether git notices a change. Those who change files must not also decide that.
    ("core.untrackedCache", "false"),
    ("core.splitIndex", "false"),
    ("core.trustctime", "true"),
    ("core.checkStat", "default"),
    ("core.ignoreStat", "false"),
    ("add.ignoreErrors", "false"),
];

/// Settings that make what a call writes survive a power cut.
pub(super) const DURABLE: &[(&str, &str)] = &[("core.fsync", "committed,reference"), ("core.fsyncMethod", "batch")];

/// The expression that finds the settings with names of their own.
pub(super) const NAMED: &str =
    r"^((filter|merge|gpg|hook)\.|core\.(excludesfile|attributesfile|autocrlf|eol|safecrlf)$)";

/// A custom merge driver that git would not know: git's own text merge, and a conflict if that is impossible.
const PLAIN_MERGE: &str = "git merge-file -q %A %O %B || exit 1";

/// The commands that run no program and read no content of a worktree, whatever the configuration says.
const HARMLESS: [&str; 11] = [
    "--version",
    "cat-file",
    "check-ref-format",
    "for-each-ref",
    "ls-files",
    "ls-tree",
    "merge-base",
    "rev-list",
    "rev-parse",
    "update-ref",
    "write-tree",
];

/// Whether a call with these arguments must be kept from settings with names of their own.
pub(super) fn needed(args: &[OsString]) -> bool {
    let harmless = args.first().is_some_and(|verb| HARMLESS.iter().any(|harmless| verb == harmless));
    let reads = |arg: &OsString| ["--modified", "--filters", "--textconv"].iter().any(|option| arg == option);
    !harmless || args.iter().any(reads)
}

/// Returns the fixed settings.
pub(super) fn fixed() -> impl Iterator<Item = Setting> {
    FIXED.iter().map(|(key, value)| (key.into(), value.into()))
}

/// Returns what switches off the named settings of a repository, from the output of
/// `git config --includes --show-scope -z --get-regexp`.
pub(super) fn neutralise(listing: &[u8]) -> Vec<Setting> {
    let mut global: BTreeMap<&[u8], &[u8]> = BTreeMap::new();
    let mut local: Vec<&[u8]> = Vec::new();
    for (scope, key, value) in entries(listing) {
        if scope == b"global" {
            global.insert(key, value);
        } else if off(key).is_some() && !local.contains(&key) {
            local.push(key);
        }
    }
    let setting = |key: &&[u8]| {
        let person = global.get(key).map(|value| OsString::from_vec(value.to_vec()));
        Some((OsStr::from_bytes(key).to_owned(), person.or_else(|| off(key))?))
    };
    local.iter().filter_map(setting).collect()
}

/// Returns scope, key and value of each setting, from the output of `git config --show-scope -z --get-regexp`.
pub(super) fn entries(listing: &[u8]) -> impl Iterator<Item = (&[u8], &[u8], &[u8])> {
    let mut words = listing.split(|byte| *byte == 0);
    std::iter::from_fn(move || {
        let (scope, entry) = (words.next()?, words.next()?);
        // A key without a value has no line break; git reads it as true.
        Some(match entry.iter().position(|byte| *byte == b'\n') {
            Some(at) => (scope, &entry[..at], &entry[at + 1..]),
            None => (scope, entry, &b"true"[..]),
        })
    })
}

/// Returns where git looks for the person's file `name` (`ignore`, `attributes`) if no setting names another one.
pub(super) fn usual(name: &str) -> OsString {
    let absolute = |dir: &OsString| Path::new(dir).is_absolute();
    let config = std::env::var_os("XDG_CONFIG_HOME").filter(absolute).map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME").filter(absolute)?).join(".config"));
    config.or_else(home).map_or_else(|| "/dev/null".into(), |dir| dir.join("git").join(name).into_os_string())
}

/// Returns the harmless value of a setting that is not for a repository to make; nothing for any other.
fn off(key: &[u8]) -> Option<OsString> {
    Some(match key {
        b"core.excludesfile" => usual("ignore"),
        b"core.attributesfile" => usual("attributes"),
        _ => plain(key)?.into(),
    })
}

fn plain(key: &[u8]) -> Option<&'static str> {
    let last = key.rsplit(|byte| *byte == b'.').next()?;
    match (key.split(|byte| *byte == b'.').next()?, last) {
        (b"core", b"autocrlf") => Some("false"),
        (b"core", b"eol") => Some("native"),
        (b"core", b"safecrlf") => Some("warn"),
        (b"filter", b"clean" | b"smudge" | b"process") => Some(""),
        (b"filter", b"required") => Some("false"),
        (b"merge", b"driver") => Some(PLAIN_MERGE),
        (b"gpg", b"defaultkeycommand") => Some("false"),
        // Newer versions of git run hooks that the configuration names.
        (b"hook", b"command") => Some("true"),
        (b"gpg", b"program") => Some(match key {
            b"gpg.ssh.program" => "ssh-keygen",
            b"gpg.x509.program" => "gpgsm",
            _ => "gpg",
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(listing: &[u8]) -> Vec<String> {
        let line = |(key, value): Setting| format!("{}={}", key.to_string_lossy(), value.to_string_lossy());
        neutralise(listing).into_iter().map(line).collect()
    }

    #[test]
    fn a_filter_of_the_repository_is_off_unless_the_person_has_it_too() {
        let listing =
            b"global\0filter.lfs.clean\ngit-lfs clean\0local\0filter.lfs.clean\nevil\0local\0filter.x.smudge\nevil\0";
        assert_eq!(shown(listing), ["filter.lfs.clean=git-lfs clean", "filter.x.smudge="]);
        assert_eq!(shown(b"local\0hook.x.command\nevil\0local\0hook.x.event\npre-commit\0"), ["hook.x.command=true"]);
    }

    #[test]
    fn line_ends_and_excludes_are_the_persons_own() {
        let listing = b"global\0core.eol\nlf\0local\0core.eol\ncrlf\0local\0core.autocrlf\ntrue\0worktree\0core.excludesfile\n/x\0";
        let shown = shown(listing);
        assert_eq!(shown[..2], ["core.eol=lf", "core.autocrlf=false"]);
        assert!(shown[2].starts_with("core.excludesfile=/") && !shown[2].ends_with("=/x"), "{shown:?}");
    }

    #[test]
    fn a_key_without_value_and_an_odd_name_are_seen() {
        let listing = b"worktree\0filter.a=b.c.required\0local\0filter.\xff.process\nevil\0";
        assert_eq!(shown(listing), ["filter.a=b.c.required=false", "filter.\u{fffd}.process="]);
    }

    #[test]
    fn the_persons_own_settings_are_left_alone() {
        assert!(neutralise(b"global\0filter.lfs.clean\ngit-lfs clean\0local\0merge.ff\nonly\0").is_empty());
    }
}
