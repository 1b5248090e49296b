//! Fixtures are bubbles like any other: whatever reads a log accepts them.

use pairflow_core::bubble::Phase;
use pairflow_core::log::MessageKind;
use pairflow_engine::clock::{Clock, SystemClock};
use pairflow_engine::store::StateSource;
use pairflow_engine::verbs::verify;
use pairflow_testkit::fixture::{FEWEST, Fixture, FixtureError, Wanted, make};

fn fixture(dir: &std::path::Path, envelopes: u64) -> Result<Fixture, FixtureError> {
    let state = dir.with_extension("state");
    make(Wanted { dir, envelopes, files: 3, now: SystemClock.now(), state: &state })
}

#[test]
fn a_fixture_has_exactly_as_many_envelopes_as_wanted_and_an_open_turn() {
    let dir = tempfile::tempdir().unwrap();
    for envelopes in [FEWEST, FEWEST + 1, 10, 99, 130] {
        let fixture = fixture(&dir.path().join(envelopes.to_string()), envelopes).unwrap();
        let loaded = fixture.bubble.load().unwrap();
        assert_eq!((loaded.head.seq, loaded.from), (envelopes, StateSource::Cache));
        assert!(matches!(&loaded.state.phase, Phase::Running(turn) if turn.is_open() && turn.agent == fixture.agent));
        assert!(fixture.env.iter().any(|(name, _)| name == "PAIRFLOW_TOKEN"));
    }
}

#[test]
fn a_fixture_with_rounds_is_verified_whole_and_its_state_stays_small() {
    let dir = tempfile::tempdir().unwrap();
    let fixture = fixture(&dir.path().join("long"), 1500).unwrap();
    let report = verify(&fixture.bubble).unwrap();
    assert!(report.holds, "{:?}", report.rows);
    assert_eq!((report.envelopes, fixture.state.rounds.round), (1500, 17));
    let kinds: Vec<MessageKind> =
        fixture.bubble.log().envelopes().unwrap().iter().map(|envelope| envelope.event.body.kind()).collect();
    for kind in [
        MessageKind::Pass,
        MessageKind::HumanQuestion,
        MessageKind::HumanReply,
        MessageKind::Evidence,
        MessageKind::ProtocolWarning,
    ] {
        assert!(kinds.contains(&kind), "{kind:?}");
    }
    assert!(std::fs::metadata(fixture.bubble.log().files().state()).unwrap().len() < 64 * 1024);
}

#[test]
fn a_fixture_is_refused_where_something_is_and_with_too_few_envelopes() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("mine"), "").unwrap();
    assert!(matches!(fixture(dir.path(), 10), Err(FixtureError::Taken { .. })));
    assert!(matches!(fixture(&dir.path().join("new"), FEWEST - 1), Err(FixtureError::TooFew { .. })));
}
