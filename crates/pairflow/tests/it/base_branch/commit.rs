//! The commit is made by the person's own hands, and a worktree that is gone comes back whole.

use pairflow_testkit::home::{Home, write_program};

use crate::support::bubbles::{home, ready};

/// A program that signs for those who have `SIGNER` in their environment.
const SIGN: &str = "#!/bin/sh
cat >/dev/null
[ \"$SIGNER\" = ada ] || { echo 'no key is unlocked' >&2; exit 1; }
echo '[GNUPG:] SIG_CREATED D' >&2
printf -- '-----BEGIN PGP SIGNATURE-----\\nada\\n-----END PGP SIGNATURE-----\\n'
";

fn sign_commits(home: &Home) {
    let program = home.root().join("home/sign");
    write_program(&program, SIGN);
    home.git(&["config", "--global", "gpg.program", program.to_str().unwrap()]);
    home.git(&["config", "--global", "commit.gpgSign", "true"]);
}

#[test]
fn a_commit_is_signed_in_the_environment_of_the_person_who_asks_for_it() {
    let home = home();
    sign_commits(&home);
    ready(&home, "x");
    home.pairflow(&["approve", "x", "--yes"]).ok();
    home.pairflow(&["commit", "x", "--yes"]).ends(3).says("no key is unlocked").says("pairflow commit x");
    assert_eq!(home.status("x")["state"], "APPROVED_FOR_COMMIT");
    let mut command = home.command(&["commit", "x", "--yes"]);
    command.env("SIGNER", "ada");
    home.finish(command).ok();
    assert!(home.git(&["cat-file", "-p", "bubble/x"]).contains("BEGIN PGP SIGNATURE"));
}

#[test]
fn a_worktree_that_is_gone_comes_back_with_its_setup_in_every_state() {
    let home = home();
    home.commit(".gitignore", "built\n.env\n", "ignore");
    std::fs::write(home.repo.join(".worktreeinclude"), ".env\n").unwrap();
    std::fs::write(home.repo.join(".env"), "secret\n").unwrap();
    let test = "test -f built && test -f .env && test -f done.txt || git log -1 --format=%s | grep -qv snapshot";
    home.pairflow(&["create", "--id", "x", "--task", "t", "--test", test, "--setup", "touch built", "--start"]).ok();
    home.wait_for_turn("x", "codex");
    let (codex, claude) = (home.agent("x", "codex"), home.agent("x", "claude"));
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for_turn("x", "claude");
    claude.pairflow(&["pass", "--summary", "right", "--no-findings"]).ok();
    home.wait_for_turn("x", "codex");
    codex.converged("right").ok();
    home.wait_for_state("x", "READY_FOR_APPROVAL");
    std::fs::remove_dir_all(&codex.worktree).unwrap();
    home.pairflow(&["resume", "x"]).ok().says("was gone").says("READY_FOR_APPROVAL");
    for file in ["built", ".env", "done.txt"] {
        assert!(codex.worktree.join(file).is_file(), "{file}");
    }
    std::fs::remove_dir_all(&codex.worktree).unwrap();
    home.pairflow(&["approve", "x", "--yes"]).ok();
    assert!(codex.worktree.join("built").is_file());
    std::fs::remove_dir_all(&codex.worktree).unwrap();
    home.pairflow(&["commit", "x", "--yes"]).ok();
    assert_eq!(home.git(&["show", "bubble/x:done.txt"]), "done");
}
