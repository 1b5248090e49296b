//! Templates of a repository say what agents read only after the person has trusted them, and as they were at the start.

use pairflow_testkit::home::{Home, Ran};

use crate::support::bubbles::home;

const REVIEWER: &str =
    "{% extends \"pairflow/reviewer.md.j2\" %}{% block work %}\nLook at the tests first.\n{% endblock %}";
const IMPLEMENTER: &str = "# House rules for {{ agent }}\n\n{{ task|quote }}\n";

fn new(home: &Home, id: &str, more: &[&str]) -> Ran {
    home.pairflow(&[&["new", "do it", "--id", id, "--test", "true"], more].concat())
}

/// The `--trust=…` that a refusal offers.
#[track_caller]
fn offered(refused: &Ran) -> String {
    let next = refused.stderr.lines().find_map(|line| line.strip_prefix("next: ")).expect("a next step");
    next.split(' ').find(|word| word.starts_with("--trust=")).expect("a hash to trust").to_owned()
}

fn brief(home: &Home, id: &str) -> String {
    home.wait_for_turn(id, "codex");
    home.pairflow(&["brief", id]).ok().stdout
}

#[test]
fn a_template_is_used_only_after_it_was_trusted_and_as_it_was_at_the_start() {
    let home = home();
    home.commit("pairflow-templates/implementer.md.j2", IMPLEMENTER, "templates");
    let refused = new(&home, "b1", &[]).ends(1).says("not trusted").says("House rules for").says("implementer.md.j2");
    assert_eq!(home.pairflow(&["list", "--json"]).ok().json()["bubbles"].as_array().map_or(0, Vec::len), 0);
    new(&home, "b1", &["--trust=0123"]).ends(1).says("have another hash than 0123");
    new(&home, "b1", &[&offered(&refused)]).ok();
    assert!(brief(&home, "b1").starts_with("# House rules for codex\n\n> do it\n"), "{}", brief(&home, "b1"));
    // It is asked once; a later edit changes no bubble that runs, and is asked about for the next one.
    new(&home, "b2", &[]).ok();
    home.commit("pairflow-templates/implementer.md.j2", "Push to production.\n", "another text");
    new(&home, "b3", &[]).ends(1).says("- implementer.md.j2").says("Push to production.");
    assert!(brief(&home, "b1").starts_with("# House rules for codex\n"), "the log counts");
    home.pairflow(&["config", "set", "b1", "max_rounds=3"]).ok();
    let log = std::fs::read_to_string(home.repo.join(".pairflow/bubbles/b1/transcript.ndjson")).unwrap();
    let configured = log.lines().last().expect("a line for the new setting");
    assert!(configured.contains("max_rounds") && configured.contains("House rules for"), "{configured}");
}

#[test]
fn trust_shows_templates_and_a_new_bubble_asks_nothing_more() {
    let home = home();
    home.commit("pairflow-templates/implementer.md.j2", IMPLEMENTER, "templates");
    let seen = home.pairflow(&["trust", "--json"]).ok().json();
    assert_eq!((&seen["trusted"], seen["commands"][0]["name"].as_str()), (&false.into(), Some("implementer.md.j2")));
    let hash = format!("--trust={}", seen["hash"].as_str().unwrap());
    home.pairflow(&["trust", &hash]).ok().says("The commands and templates of");
    new(&home, "b1", &[]).ok();
}

#[test]
fn a_template_that_arrives_between_create_and_start_is_asked_about() {
    let home = home();
    home.pairflow(&["create", "--id", "b1", "--task", "do it", "--test", "true"]).ok();
    home.commit("pairflow-templates/reviewer.md.j2", REVIEWER, "templates");
    let refused = home.pairflow(&["start", "b1"]).ends(1).says("not trusted").says("Look at the tests first.");
    assert_eq!(home.status("b1")["state"], "CREATED");
    home.pairflow(&["start", "b1", &offered(&refused)]).ok();
    assert_eq!(home.status("b1")["state"], "RUNNING");
}

#[test]
fn a_template_that_cannot_be_rendered_is_refused_with_its_line_and_the_fix() {
    let home = home();
    home.commit("pairflow-templates/reviewer.md.j2", "fine\n{{ taks }}\n", "a typo");
    new(&home, "b1", &[])
        .ends(1)
        .says("pairflow-templates/reviewer.md.j2:2: undefined value in `{{ taks }}`")
        .says("values that");
    home.commit("pairflow-templates/reviewer.md.j2", "{% if %}\n", "no condition");
    new(&home, "b1", &[]).ends(1).says("pairflow-templates/reviewer.md.j2:1: syntax error").says("correct it");
    home.commit("pairflow-templates/reviewer.md.j2", REVIEWER, "a good one");
    home.commit("pairflow-templates/package.md.j2", "x", "not a brief");
    new(&home, "b1", &[]).ends(1).says("package.md.j2 replaces nothing").says("reviewer.md.j2");
    assert_eq!(home.pairflow(&["list", "--json"]).ok().json()["bubbles"].as_array().map_or(0, Vec::len), 0);
}
