//! Who makes the commit: author, signature and hooks are those of the person, whatever agents write (S8).

use std::path::{Path, PathBuf};

use pairflow_testkit::home::{Agent, Home, write_program};

use crate::support::bubbles::{CHECK, home, ready};

/// A program that signs nothing, but in the form that git expects.
const SIGNER: &str = "cat >/dev/null
printf '\\n[GNUPG:] SIG_CREATED x\\n' >&2
printf -- '-----BEGIN PGP SIGNATURE-----\\nfake\\n-----END PGP SIGNATURE-----\\n'";

/// Makes a bubble whose work is approved. `work` is what codex does besides writing done.txt.
#[track_caller]
fn approved(home: &Home, work: impl Fn(&Agent<'_>)) -> PathBuf {
    home.pairflow(&["create", "--id", "b1", "--task", "Write done.txt", "--test", CHECK]).ok();
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    codex.write("done.txt", "done\n");
    work(&codex);
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["pass", "--summary", "looks right", "--no-findings"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.converged("nothing left").ok();
    home.wait_for_state("b1", "READY_FOR_APPROVAL");
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    codex.worktree
}

/// Returns author and committer of the bubble's commit.
#[track_caller]
fn people(home: &Home) -> String {
    home.git(&["log", "-1", "--format=%an <%ae>, %cn <%ce>", "bubble/b1"])
}

/// A script that leaves its name and its environment in `trace`.
fn tracer(name: &str, trace: &Path) -> String {
    format!("#!/bin/sh\n{{ echo 'hook={name}'; env; }} >>'{}'\n", trace.display())
}

fn trace(home: &Home) -> PathBuf {
    home.root().join("tmp/trace")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn settings_that_an_agent_writes_decide_neither_author_nor_signature() {
    let home = home();
    home.install("signer", SIGNER);
    let signer = home.root().join("programs/signer");
    home.git(&["config", "--global", "gpg.program", &signer.display().to_string()]);
    home.git(&["config", "--global", "commit.gpgSign", "true"]);
    home.git(&["config", "--global", "user.signingKey", "ABCD"]);
    let worktree = approved(&home, |_| ());
    let canary = home.root().join("programs/canary");
    write_program(&canary, &tracer("signer", &trace(&home)));
    for (key, value) in [
        ("user.name", "Eve"),
        ("user.email", "eve@example.org"),
        ("author.name", "Eve"),
        ("committer.email", "eve@example.org"),
        ("commit.gpgSign", "false"),
        ("user.signingKey", "EVIL"),
        ("gpg.format", "x509"),
        ("gpg.program", &canary.display().to_string()),
        ("gpg.openpgp.program", &canary.display().to_string()),
        ("gpg.x509.program", &canary.display().to_string()),
    ] {
        home.git_in(&worktree, &["config", key, value]);
    }
    let (shown, listed) = (home.pairflow(&["status", "b1"]).ok(), home.status("b1"));
    let committed = home.pairflow(&["commit", "b1", "--yes"]).ok();
    assert_eq!(people(&home), "Ada <ada@example.org>, Ada <ada@example.org>");
    assert!(home.git(&["cat-file", "commit", "bubble/b1"]).contains("gpgsig -----BEGIN PGP SIGNATURE-----"));
    assert_eq!(read(&trace(&home)), "", "no program of the repository ran");
    let changed = "the author was Ada <ada@example.org>, is Eve <eve@example.org>";
    let committed = committed.says(changed);
    assert!(!committed.stderr.contains("identity=current"), "it is too late for that: {}", committed.stderr);
    home.pairflow(&["config", "set", "b1", "identity=current"]).ends(1);
    shown.says("is Eve <eve@example.org>").says("pairflow config set b1 identity=current");
    assert_eq!(listed["identity_changes"][0], changed);
}

#[test]
fn a_changed_identity_is_shown_before_the_work_is_approved() {
    let (way_on, changed) = ("pairflow config set b1 identity=current", "the author was Ada <ada@example.org>, is Eve");
    let home = home();
    ready(&home, "b1");
    home.git(&["config", "user.name", "Eve"]);
    home.pairflow(&["status", "b1"]).ok().says("is Eve").says(way_on);
    // Without a terminal nobody can be asked, so nothing is approved; what there is to know is shown before that.
    let asked = home.pairflow(&["ok", "b1"]).ends(1).says(changed).says(way_on);
    let (note, question) = (asked.stderr.find(way_on), asked.stderr.find("--yes"));
    assert!(note.is_some() && note < question, "{}", asked.stderr);
    assert_eq!(home.status("b1")["state"], "READY_FOR_APPROVAL");
    home.pairflow(&["approve", "b1", "--yes"]).ok().says(changed).says(way_on);
    home.pairflow(&["config", "set", "b1", "identity=current"]).ok();
    let committed = home.pairflow(&["commit", "b1", "--yes"]).ok();
    assert!(!committed.stderr.contains("identity"), "{}", committed.stderr);
    assert_eq!(people(&home), "Eve <ada@example.org>, Eve <ada@example.org>");
}

#[test]
fn a_changed_identity_is_used_once_the_person_says_so() {
    let home = home();
    approved(&home, |_| ());
    home.git(&["config", "user.name", "Ada Lovelace"]);
    home.pairflow(&["config", "set", "b1", "identity=me"]).ends(2).says("can only be set to `current`");
    home.pairflow(&["config", "set", "b1", "identity=current"]).ok().says("Ada Lovelace");
    assert_eq!(home.status("b1")["identity_changes"], serde_json::json!([]));
    home.pairflow(&["commit", "b1", "--yes"]).ok();
    assert_eq!(people(&home), "Ada Lovelace <ada@example.org>, Ada Lovelace <ada@example.org>");
}

#[test]
fn the_identity_is_the_one_of_the_creation_with_the_repositorys_own_settings() {
    let mut home = home();
    home.git(&["config", "author.email", "ada@work.example"]);
    home.set_env(vec![("GIT_COMMITTER_NAME".to_owned(), "Ada's robot".to_owned())]);
    approved(&home, |_| ());
    home.set_env(Vec::new());
    home.git(&["config", "--unset", "author.email"]);
    home.pairflow(&["commit", "b1", "--yes"]).ok();
    assert_eq!(people(&home), "Ada <ada@work.example>, Ada's robot <ada@example.org>");
}

#[test]
fn a_commit_that_an_agent_has_made_is_not_taken_for_the_persons() {
    let home = home();
    let worktree = approved(&home, |_| ());
    home.git_in(&worktree, &["add", "-A"]);
    let (name, email) = ("user.name=Eve", "user.email=eve@example.org");
    home.git_in(&worktree, &["-c", name, "-c", email, "commit", "--quiet", "-m", "Write done.txt"]);
    let forged = home.git(&["rev-parse", "bubble/b1"]);
    home.pairflow(&["commit", "b1", "-m", "Write done.txt", "--yes"]).ok();
    assert_eq!(people(&home), "Ada <ada@example.org>, Ada <ada@example.org>");
    assert_eq!(home.git(&["rev-parse", "refs/pairflow/b1/old-tip"]), forged);
}

#[test]
fn where_git_knows_nobody_creation_warns_and_the_commit_says_who_it_takes() {
    let home = home();
    home.git(&["config", "--global", "--remove-section", "user"]);
    let created = home.pairflow(&["create", "--id", "b0", "--task", "x", "--test", "true"]).ok();
    assert!(created.stderr.contains("git does not know who commits"), "{}", created.stderr);
    approved(&home, |_| ());
    home.pairflow(&["commit", "b1", "--yes"]).says("git does not know who commits");
    home.git(&["config", "--global", "user.name", "Grace"]);
    home.git(&["config", "--global", "user.email", "grace@example.org"]);
    home.pairflow(&["commit", "b1", "--yes"]).ok().says("git now has Grace <grace@example.org>");
    assert_eq!(people(&home), "Grace <grace@example.org>, Grace <grace@example.org>");
}

#[test]
fn hooks_of_the_tree_run_as_the_base_has_them_and_with_the_environment_of_the_checks() {
    let mut home = home();
    let secrets = ["AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "GITHUB_TOKEN", "XDG_SESSION_ID"];
    home.set_env(secrets.map(|name| (name.to_owned(), "a-secret".to_owned())).to_vec());
    let hook = home.repo.join(".githooks/pre-commit");
    std::fs::create_dir_all(home.repo.join(".githooks")).unwrap();
    write_program(&hook, &tracer("base", &trace(&home)));
    home.git(&["add", "-A"]);
    home.git(&["commit", "--quiet", "-m", "hooks"]);
    home.git(&["config", "core.hooksPath", ".githooks"]);
    let evil = home.root().join("tmp/evil");
    approved(&home, |codex| {
        write_program(&codex.worktree.join(".githooks/pre-commit"), &tracer("work", &evil));
    });
    let committed = home.pairflow(&["commit", "b1", "--hooks", "--yes"]).ok();
    assert_eq!(read(&evil), "", "the hook of the work did not run");
    let said = read(&trace(&home));
    assert!(said.contains("hook=base\n") && said.contains("PATH="), "{said}");
    assert!(!said.contains("a-secret"), "{said}");
    committed.says(".githooks/pre-commit").says("the hooks of the base are run");
}

#[test]
fn a_hook_that_git_ignores_does_not_run() {
    let home = home();
    home.commit(".gitignore", ".husky/_/\n", "ignore");
    home.git(&["config", "core.hooksPath", ".husky/_"]);
    approved(&home, |codex| {
        std::fs::create_dir_all(codex.worktree.join(".husky/_")).unwrap();
        write_program(&codex.worktree.join(".husky/_/pre-commit"), &tracer("ignored", &trace(&home)));
    });
    let refused = home.pairflow(&["commit", "b1", "--hooks", "--yes"]);
    assert_eq!(read(&trace(&home)), "");
    assert_ne!(refused.code, 0);
    refused.says("pre-commit in .husky/_ is not on the base");
    home.pairflow(&["commit", "b1", "--yes"]).ok();
    assert_eq!(read(&trace(&home)), "");
}

#[test]
fn a_hook_outside_of_the_tree_runs_only_unchanged() {
    let home = home();
    let hook = home.repo.join(".git/hooks/pre-commit");
    std::fs::create_dir_all(home.repo.join(".git/hooks")).unwrap();
    write_program(&hook, &tracer("person", &trace(&home)));
    approved(&home, |_| ());
    let evil = home.root().join("tmp/evil");
    write_program(&hook, &tracer("agent", &evil));
    let refused = home.pairflow(&["commit", "b1", "--hooks", "--yes"]);
    assert_eq!(read(&evil), "");
    assert_ne!(refused.code, 0);
    refused.says("(pre-commit)").says("commit without --hooks");
    // Another directory that an agent names is not looked into either.
    write_program(&home.root().join("tmp/pre-commit"), &tracer("agent", &evil));
    home.git(&["config", "core.hooksPath", &home.root().join("tmp").display().to_string()]);
    write_program(&hook, &tracer("person", &trace(&home)));
    home.pairflow(&["commit", "b1", "--hooks", "--yes"]).ok().says("the hooks directory was");
    assert_eq!(read(&evil), "");
    assert!(read(&trace(&home)).contains("hook=person\n"));
}

#[test]
fn a_hook_that_is_replaced_after_the_check_does_not_run_and_siblings_are_found() {
    let home = home();
    let hooks = home.repo.join(".git/hooks");
    std::fs::create_dir_all(hooks.join("commit-msg.d")).unwrap();
    let (trace, evil) = (trace(&home), home.root().join("tmp/evil"));
    // The hook that runs first replaces what runs next, as an agent could between the check and the run.
    let replaced = tracer("replaced", &evil);
    let swap = format!(
        "#!/bin/sh\nstat -c 'mode=%a' \"$(dirname \"$0\")\" >>'{}'\nfor hook in commit-msg commit-msg.d/one; do\n\
         rm '{1}'/$hook; cat >'{1}'/$hook <<'END'\n{replaced}END\nchmod 755 '{1}'/$hook\ndone\n",
        trace.display(),
        hooks.display()
    );
    write_program(&hooks.join("pre-commit"), &swap);
    write_program(&hooks.join("commit-msg"), "#!/bin/sh\nexec \"$(dirname \"$0\")\"/commit-msg.d/one\n");
    write_program(&hooks.join("commit-msg.d/one"), &tracer("sibling", &trace));
    approved(&home, |_| ());
    home.pairflow(&["commit", "b1", "--hooks", "--yes"]).ok();
    assert_eq!(read(&evil), "", "the replaced hooks did not run");
    let said = read(&trace);
    assert!(said.starts_with("mode=700\n") && said.contains("hook=sibling\n"), "{said}");
    let left = std::fs::read_dir(home.repo.join(".pairflow/runtime/b1")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("hooks.")), "{left:?}");
}

#[test]
fn a_program_that_the_machine_chose_for_signing_is_used() {
    let mut home = home();
    home.install("signer", SIGNER);
    let (signer, system) = (home.root().join("programs/signer"), home.root().join("gitconfig"));
    let text = format!("[gpg]\n\tprogram = {}\n[commit]\n\tgpgSign = true\n", signer.display());
    std::fs::write(&system, text).unwrap();
    let set = |name: &str, value: String| (name.to_owned(), value);
    home.set_env(vec![
        set("GIT_CONFIG_NOSYSTEM", "0".to_owned()),
        set("GIT_CONFIG_SYSTEM", system.display().to_string()),
    ]);
    approved(&home, |_| ());
    home.pairflow(&["commit", "b1", "--yes"]).ok();
    let commit = home.git(&["cat-file", "commit", "bubble/b1"]);
    assert!(commit.contains("gpgsig"), "{commit}");
}
