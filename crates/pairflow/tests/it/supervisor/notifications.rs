//! How a person is told that something waits: by sounds, on the desktop, through a webhook; and that none of it can
//! hold up or fail anything else.

use pairflow_testkit::home::Home;
use pairflow_testkit::wait::wait_until;
use serde_json::json;

use crate::support::bubbles::{home, ready, started};
use crate::support::webhook::{Hook, asks, log, noted, noting, still_waits};

#[test]
fn a_question_is_told_once() {
    let home = home();
    noting(&home, "pw-play");
    noting(&home, "notify-send");
    let sound = home.root().join("question.wav");
    std::fs::write(&sound, "").unwrap();
    home.configure(&format!("[notifications]\ndesktop = true\nwaiting_human_sound = \"{}\"\n", sound.display()));
    started(&home, "b1");
    asks(&home, "b1", "Which port?");
    wait_until("the sound", || noted(&home, "pw-play") == [sound.display().to_string()]);
    wait_until("the desktop", || shown(&home) == ["b1: codex asks: Which port?"]);
    // A supervisor that is started again does not tell what was told.
    home.pairflow(&["supervisor", "stop"]).ok();
    home.pairflow(&["supervise"]).ok();
    wait_until("the first look", || {
        let supervisor = home.pairflow(&["supervisor", "status", "--json"]).ok().json();
        supervisor["bubbles"] == 1 && supervisor["busy"] == 0
    });
    home.pairflow(&["reply", "b1", "--message", "8080"]).ok();
    home.wait_for_turn("b1", "codex");
    asks(&home, "b1", "Which host?");
    wait_until("the second question", || shown(&home).len() > 1);
    assert_eq!(shown(&home), ["b1: codex asks: Which port?", "b1: codex asks: Which host?"]);
    wait_until("the second sound", || noted(&home, "pw-play").len() == 2);
    assert_eq!(log(&home), "", "nothing went wrong");
}

/// What the desktop showed, without what is the same each time.
fn shown(home: &Home) -> Vec<String> {
    noted(home, "notify-send").into_iter().skip(3).step_by(4).collect()
}

#[test]
fn convergence_plays_its_own_sound() {
    let home = home();
    noting(&home, "pw-play");
    let sound = home.root().join("home/sounds/done.wav");
    std::fs::create_dir_all(home.root().join("home/sounds")).unwrap();
    std::fs::write(&sound, "").unwrap();
    home.configure("[notifications]\nconverged_sound = \"~/sounds/done.wav\"\n");
    ready(&home, "b1");
    wait_until("the sound", || noted(&home, "pw-play") == [sound.display().to_string()]);
}

#[test]
fn a_player_that_fails_is_followed_by_the_next() {
    let home = home();
    home.install("pw-play", "echo no server >&2; exit 1");
    noting(&home, "paplay");
    home.commit("sounds/q.wav", "", "a sound");
    home.configure("[notifications]\nwaiting_human_sound = \"sounds/q.wav\"\n");
    started(&home, "b1");
    asks(&home, "b1", "Which port?");
    let sound = home.repo.join("sounds/q.wav").display().to_string();
    wait_until("the sound", || noted(&home, "paplay") == [sound.clone()]);
}

#[test]
fn a_sound_that_cannot_be_played_fails_nothing() {
    let home = home();
    for name in ["pw-play", "paplay", "aplay", "afplay", "ffplay"] {
        home.install(name, "exit 3");
    }
    let sound = home.root().join("there.wav");
    std::fs::write(&sound, "").unwrap();
    home.configure(&format!(
        "[notifications]\nwaiting_human_sound = \"/not/there.wav\"\nconverged_sound = \"{}\"\n",
        sound.display()
    ));
    started(&home, "b1");
    asks(&home, "b1", "Which port?");
    wait_until("the missing file is noted", || {
        log(&home).contains("b1: the sound notification failed: there is no file")
    });
    ready(&home, "b2");
    wait_until("the failing player is noted", || log(&home).contains("pw-play ended with exit code 3"));
    home.pairflow(&["reply", "b1", "--message", "8080"]).ok();
    home.wait_for_turn("b1", "codex");
}

#[test]
fn what_is_switched_off_is_silent_and_what_is_on_appears_on_the_desktop() {
    let home = home();
    let hook = Hook::open(&[200]);
    noting(&home, "notify-send");
    noting(&home, "pw-play");
    std::fs::write(home.root().join("q.wav"), "").unwrap();
    let sound = home.root().join("q.wav").display().to_string();
    let all = format!("desktop = true\nwaiting_human_sound = \"{sound}\"\nconverged_sound = \"{sound}\"\n");
    home.configure(&format!("[notifications]\nenabled = false\n{all}webhook = \"{}\"\n", hook.address()));
    started(&home, "quiet");
    ready(&home, "calm");
    home.configure(&format!("[notifications]\nenabled = true\n{all}webhook = \"{}\"\n", hook.address()));
    started(&home, "loud");
    asks(&home, "quiet", "Does anybody hear me?");
    asks(&home, "loud", "Is <b>this</b> heard?");
    let shown = "loud: codex asks: Is &lt;b&gt;this&lt;/b&gt; heard?";
    let words = ["--app-name=pairflow", "--", "pairflow", shown];
    wait_until("the desktop", || noted(&home, "notify-send") == words);
    let posted = hook.next();
    assert_eq!(posted["bubble"], "loud");
    wait_until("the sound", || !noted(&home, "pw-play").is_empty());
    assert_eq!(noted(&home, "pw-play"), [sound], "one of the three is told");
    home.pairflow(&["inbox"]).ok().says("Does anybody hear me?").says("approve?");
}

#[test]
fn a_webhook_gets_the_question_as_json_once_whatever_it_answers() {
    let home = home();
    let hook = Hook::open(&[200, 503, 404, 200]);
    home.configure(&format!("[notifications]\nwebhook = \"{}/s3cret\"\n", hook.address()));
    started(&home, "b1");
    asks(&home, "b1", "Ping <!channel>\nnow & \u{1b}[31mthen?");
    let first = hook.next();
    let expected = json!({
        "text": "b1: codex asks: Ping &lt;!channel&gt; now &amp; then?",
        "bubble": "b1",
        "state": "WAITING_HUMAN",
        "question": "Ping <!channel> now & then?",
    });
    assert_eq!(first, expected);
    home.pairflow(&["reply", "b1", "--message", "no"]).ok();
    home.wait_for_turn("b1", "codex");
    assert!(!log(&home).contains("webhook"), "{}", log(&home));
    asks(&home, "b1", "And now?");
    let second = json!({
        "text": "b1: codex asks: And now?", "bubble": "b1", "state": "WAITING_HUMAN", "question": "And now?",
    });
    assert_eq!(hook.next(), second);
    wait_until("the failure is noted", || log(&home).contains("it answered with status 503"));
    home.pairflow(&["reply", "b1", "--message", "no"]).ok();
    home.wait_for_turn("b1", "codex");
    asks(&home, "b1", "And then?");
    assert_eq!(hook.next()["question"], "And then?", "what it has taken is not sent again");
    wait_until("the failure is noted", || log(&home).contains("it answered with status 404"));
    assert!(
        log(&home).contains(&format!("b1: the webhook notification failed: {}/…", hook.address())),
        "{}",
        log(&home)
    );
    let everything = [log(&home), home.pairflow(&["config", "explain", "b1"]).ok().stdout].concat()
        + &std::fs::read_to_string(home.repo.join(".pairflow/bubbles/b1/transcript.ndjson")).unwrap()
        + &std::fs::read_to_string(home.repo.join(".pairflow/bubbles/b1/bubble.toml")).unwrap();
    assert!(!everything.contains("s3cret"));
}

#[test]
fn a_webhook_that_hangs_holds_up_nothing() {
    let home = home();
    let hook = Hook::silent();
    home.configure(&format!("[notifications]\nwebhook = \"{}\"\n", hook.address()));
    started(&home, "b1");
    asks(&home, "b1", "Which port?");
    let hanging = hook.caller();
    // The caller waits for an answer that never comes; everything else goes on meanwhile.
    assert_eq!(home.status("b1")["state"], "WAITING_HUMAN");
    home.pairflow(&["supervisor", "status", "--json"]).ok().says("\"running\": true");
    home.pairflow(&["reply", "b1", "--message", "8080"]).ok();
    home.wait_for_turn("b1", "codex");
    assert!(still_waits(&hanging), "nobody had to wait for the end of the call");
    ready(&home, "b2");
    let _second = hook.caller();
    home.pairflow(&["supervisor", "stop"]).ok().says("Stopped the supervisor");
}

#[test]
fn a_question_that_nobody_was_there_to_tell_is_told_later() {
    let home = home();
    let hook = Hook::open(&[200, 200]);
    home.configure(&format!("[notifications]\nwebhook = \"{}\"\n", hook.address()));
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    home.pairflow(&["supervisor", "stop"]).ok();
    codex.pairflow(&["ask-human", "--question", "Is anybody there?"]).ok();
    home.pairflow(&["supervise"]).ok();
    assert_eq!(hook.next()["question"], "Is anybody there?");
    home.pairflow(&["supervisor", "stop"]).ok();
    home.pairflow(&["supervise"]).ok();
    // The next one that is told is the next question, not the first one again.
    started(&home, "b2");
    asks(&home, "b2", "And here?");
    assert_eq!(hook.next()["question"], "And here?");
}

#[test]
fn a_question_is_told_while_a_check_still_runs() {
    let home = home();
    let hook = Hook::open(&[200]);
    home.configure(&format!("[notifications]\nwebhook = \"{}\"\n", hook.address()));
    let (begun, go) = (home.root().join("begun"), home.root().join("go"));
    let on_base = "git log -1 --format=%s | grep -q snapshot || exit 0";
    let check =
        format!("{on_base}; touch '{}'; until test -f '{}'; do sleep 0.05; done", begun.display(), go.display());
    home.pairflow(&["create", "--id", "b1", "--task", "x", "--test", &check]).ok();
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
    let codex = home.agent("b1", "codex");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    wait_until("the check", || begun.exists());
    codex.pairflow(&["ask-human", "--question", "Was that right?"]).ok();
    assert_eq!(hook.next()["question"], "Was that right?");
    assert!(!go.exists(), "the check is not over");
    std::fs::write(&go, "").unwrap();
    home.pairflow(&["reply", "b1", "--message", "Yes."]).ok();
    home.wait_for_turn("b1", "claude");
}
