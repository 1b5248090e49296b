//! What a person lives with: a finding or a check, with a reason, and everyone can see it.

use pairflow_core::ids::Party;
use pairflow_core::log::Kind;
use pairflow_testkit::script::{check, play};

#[test]
fn a_waived_finding_keeps_nothing_from_being_accepted() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         human: waive F1 'we roll forward'
         codex: pass
         claude: pass clean
         codex: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #4 RUNNING codex implementer round 2
         #5 RUNNING claude reviewer round 2
         #6 RUNNING codex reviewer round 3 clean: claude
         #7 READY_FOR_APPROVAL round 3 tree1",
    );
}

#[test]
fn a_waived_check_keeps_nothing_from_being_accepted_and_stays_waived_on_later_trees() {
    check(
        "given checks test, lint
         lint fails
         start
         codex edits a.rs
         codex: pass
         human: waive lint 'the linter is broken'
         claude: pass P1 'no rollback'
         codex edits a.rs
         codex: pass fixes F1
         claude: pass clean
         codex: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1 failing: lint
         #3 RUNNING claude reviewer round 1 waived: lint
         #4 RUNNING codex implementer round 2 waived: lint open: F1 P1 no rollback
         #5 RUNNING claude reviewer round 2 waived: lint open: F1 P1 no rollback [fixed]
         #6 RUNNING codex reviewer round 3 clean: claude waived: lint
         #7 READY_FOR_APPROVAL round 3 tree2",
    );
}

#[test]
fn a_waiver_needs_a_reason_and_something_that_is_there() {
    check(
        "given checks test, lint
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         human: waive F1
         human: waive F1 ' '
         human: waive F2 'gone'
         human: waive coverage 'low'
         human: waive F1 'we roll forward'
         human: waive F1 'again'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         refused: the reason of the waiver must not be empty
         refused: the reason of the waiver must not be empty
         refused: F2 is not an open finding
         refused: there is no check 'coverage'; there are test, lint
         #4 RUNNING codex implementer round 2
         refused: F1 is not an open finding",
    );
}

#[test]
fn a_waiver_has_its_place_in_the_loop_only() {
    check(
        "human: waive F1 'x'
         start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass P3 'naming'
         human: waive F1 'x'",
        "refused: 'waive' does not fit a bubble that is CREATED: it has not been started
         #1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 2 clean: claude
         #4 READY_FOR_APPROVAL round 2 tree1
         refused: 'waive' does not fit a bubble that is READY_FOR_APPROVAL: the package waits for a person's decision",
    );
}

#[test]
fn certificate_package_and_log_say_what_was_waived_by_whom_and_why() {
    let play = play(
        "given checks test, lint
         lint fails
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         human: waive F1 'we roll forward'
         human: waive lint 'the linter is broken'
         codex: pass
         claude: pass clean
         codex: pass clean",
    );
    let certificate = play.unit.certificate.as_ref().unwrap();
    let lint = certificate.checks.iter().find(|check| check.check == "lint").unwrap();
    assert_eq!(lint.stand, "waived: the linter is broken");
    assert!(certificate.notes.contains(&"waived by the person: F1 P1 no rollback".to_owned()), "{certificate:?}");
    let package = play.package();
    assert!(package.contains("waived by the person: F1 P1 no rollback"), "{package}");
    assert!(package.contains("check 'lint': waived: the linter is broken"), "{package}");
    let waivers: Vec<_> = play.log.iter().filter(|one| one.event.body.kind() == Kind::Control).collect();
    assert!(waivers.len() == 2 && waivers.iter().all(|one| one.event.sender == Party::Human));
    assert!(waivers[0].event.body.to_json().contains("we roll forward"));
}
