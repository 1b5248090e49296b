//! What the lines of a script mean. A line that is not understood ends the test with the line and the reason.

use pairflow_core::bubble::{Command, HeadSeen, PassCommand};
use pairflow_core::facts::{
    AcceptanceFile, AcceptanceTests, Answers, Dispute, Explanation, Finding, FixTest, Judgement, Outcome, Ruling, Seat,
    Severity, Step, StepName,
};
use pairflow_core::ids::{AgentId, CommitId, FindingId, MsgId};
use pairflow_core::log::{Decision, Intent, RetryKey, Waivable};
use pairflow_core::rules::{Agents, BubbleKind, Check, ChecksIn, ContextMode, DriverKind, ReviewDepth};

use super::run::{ScriptRun, Sent, check_named};
use super::words::Words;

impl ScriptRun {
    /// Plays one line; an empty one and a comment (`--`) mean nothing.
    pub fn line(&mut self, line: &str) {
        let line = line.trim();
        if line.is_empty() || line.starts_with("--") {
            return;
        }
        let (text, hold) = line.strip_suffix("(hold)").map_or((line, false), |text| (text, true));
        let mut words = Words::of(text);
        let one = text.trim() == "step";
        let sent = self.act(&mut words);
        words.end();
        if let Some(sent) = sent {
            if !hold && !one {
                self.settle();
            }
            let shown = self.render(&sent);
            self.lines.push(shown);
        }
    }

    /// Does what the line says; returns what became of the command, if there is one.
    fn act(&mut self, words: &mut Words) -> Option<Sent> {
        let first = words.need("an act");
        if first == "given" {
            self.given(words);
            return None;
        }
        self.create();
        match first.as_str() {
            "start" => Some(self.send(&Command::Start { rules: Box::new(self.rules.clone()) })),
            "human:" => Some(self.person(words)),
            "wait" => Some(self.wait(words)),
            "clock" => self.clock(words),
            "reboot" => self.reboot(),
            "crash" => self.crash(),
            "adopted" => Some(self.adopted()),
            "settle" => Some(self.catch_up()),
            "step" => Some(self.pay_one()),
            "raw" => Some(self.raw(words)),
            "env" => Some(self.mint(words)),
            "notice" => Some(self.notice(words)),
            "trouble" => Some(self.send(&Command::Trouble { reason: words.need_quoted("the trouble") })),
            "lost" => Some(self.send(&Command::GiveUp { reason: words.need_quoted("what is lost") })),
            "head" => self.head(words),
            "workspace" | "commit" | "update" | "base" => self.world_act(&first, words),
            agent if agent.ends_with(':') => Some(self.agent(agent.trim_end_matches(':'), words)),
            who => self.edit_or_check(who, words),
        }
    }

    /// The rules of the bubble that is about to be created.
    fn given(&mut self, words: &mut Words) {
        match words.need("what is given").as_str() {
            "policy" => self.rules.policy = words.need("the name of a policy"),
            "max_rounds" => self.rules.max_rounds = number(words),
            "watchdog" => self.rules.watchdog_timeout_minutes = number(words),
            "agents" => {
                let names = words.list();
                let mut names = names.iter().map(|name| agent(name, words));
                let mut next = || names.next();
                let (Some(implementer), Some(reviewer)) = (next(), next()) else { words.reject("two or three agents") };
                self.rules.agents = Agents { implementer, reviewer, second_reviewer: next() };
            }
            // `checks in the worktree`: where the agents work.
            "checks" if words.take("in") => {
                words.take("the");
                words.take("worktree");
                self.rules.checks_in = ChecksIn::Worktree;
            }
            "checks" => self.rules.checks = words.list().iter().map(|name| check_named(name)).collect(),
            "no" if words.take("checks") => self.rules.checks.clear(),
            "manual" => self.rules.manual_checks.push(words.need_quoted("what to try by hand")),
            "risk" => self.rules.risk = words.list(),
            "thorough" => self.rules.review_depth = ReviewDepth::Thorough,
            "min_looks" => self.rules.min_looks = number(words),
            // How many lines each changed file adds.
            "lines" => self.world.lines = number(words).into(),
            "document" => {
                self.rules.kind = BubbleKind::Document;
                self.rules.checks = Check::of_documents();
            }
            "allow" => self.rules.scope.allow = words.list(),
            "deny" => self.rules.scope.deny = words.list(),
            "task" => self.task = words.need_quoted("the task").replace("\\n", "\n"),
            "criterion" => self.criteria.push(words.need_quoted("the criterion")),
            "scripted" => self.rules.driver = DriverKind::Script,
            "panes" => self.rules.driver = DriverKind::Tmux,
            "turns" => self.rules.max_turn_minutes = number(words),
            "persistent" => self.rules.reviewer_context_mode = ContextMode::Persistent,
            _ => words.reject("a known rule"),
        }
    }

    fn agent(&mut self, name: &str, words: &mut Words) -> Sent {
        let by = agent(name, words);
        let command = match words.need("pass, judges, converged or asks").as_str() {
            "pass" => self.pass(by, words),
            "upholds" => judge(by, Ruling::Upheld, words),
            "dismisses" => judge(by, Ruling::Dismissed, words),
            "converged" => Command::Converged {
                by,
                summary: words.quoted().unwrap_or_else(|| "no blocking finding is left".to_owned()),
                seen: self.world.seen(self.state.tree()),
                // A claim brings its explanation along, unless the line says otherwise.
                explanation: (!words.take("unexplained")).then(|| explanation(words).unwrap_or_else(whole)),
                refs: words.after("ref").into_iter().collect(),
                reviewed: Vec::new(),
                key: words.after("key").map(RetryKey),
            },
            "asks" => Command::AskHuman {
                by,
                question: words.need_quoted("the question"),
                refs: words.after("ref").into_iter().collect(),
                key: words.after("key").map(RetryKey),
            },
            what => return self.program(by, what, words),
        };
        self.send(&command)
    }

    fn pass(&mut self, by: AgentId, words: &mut Words) -> Command {
        let summary = words.quoted().map(|text| text.replace("\\n", "\n"));
        // An agent that hands work over has done something, unless the line says otherwise.
        let produces = self.state.phase.turn().is_some_and(|turn| turn.agent == by && turn.seat == Seat::Implementer);
        if !words.take("empty") && produces && self.world.tree() == self.world.base_tree() {
            self.world.edit("work.rs");
        }
        let mut findings = words.take("clean").then(Vec::new);
        while let Some(severity) = severity(words) {
            let title = words.need_quoted("the finding's title");
            let found = finding(Finding::new(severity, title), words);
            findings.get_or_insert_default().push(found);
        }
        let answers = answers(words);
        let (explanation, steps, blockers) = (explanation(words), steps(words), blockers(words));
        // Whose review may be the last one needed also explains, unless the line says otherwise.
        let holds = self.state.phase.turn().is_some_and(|turn| turn.agent == by);
        let explains =
            !words.take("unexplained") && holds && findings.is_some() && !self.state.rounds.streak.is_empty();
        let explanation = explanation.or_else(|| explains.then(|| self.unexplained()).flatten());
        let intent = words.after("intent").map(|word| match word.as_str() {
            "task" => Intent::Task,
            "review" => Intent::Review,
            "fix_request" => Intent::FixRequest,
            _ => words.reject("task, review or fix_request"),
        });
        let mut refs = Vec::new();
        while let Some(one) = words.after("ref") {
            refs.push(one);
        }
        let own_branch = || HeadSeen::Branch(self.state.rules.bubble_branch.clone());
        let summary = summary.unwrap_or_else(|| if findings.is_some() { "reviewed" } else { "done" }.to_owned());
        let head = self.world.head.clone().unwrap_or_else(own_branch);
        let (discuss, insists) = (words.take("discuss"), words.take("insists"));
        // As the engine does, the worktree is looked at only where it matters.
        let tree = self.state.returned_to(&by).is_some().then(|| self.world.tree());
        let key = words.after("key").map(RetryKey);
        let plain = PassCommand { insists, tree, key, ..PassCommand::new(by, summary, head) };
        let (acceptance, no_acceptance) = (acceptance(words), words.take("unaccepted"));
        let plain = PassCommand { explanation, steps, blockers, acceptance, no_acceptance, ..plain };
        Command::Pass(PassCommand { refs, intent, findings, answers, discuss, ..plain })
    }

    /// What is not explained yet, if anything.
    fn unexplained(&self) -> Option<Explanation> {
        let missing = self.state.gate.explanation.missing();
        let said = |part: &str, text: String| if missing.contains(&part) { text } else { String::new() };
        let Explanation { what, why, risks, test_plan } = whole();
        let (what, why) = (said("what changed", what), said("why", why));
        let left =
            Explanation { what, why, risks: said("risks", risks), test_plan: said("manual test plan", test_plan) };
        (!missing.is_empty()).then_some(left)
    }

    fn person(&mut self, words: &mut Words) -> Sent {
        let command = match words.need("a human verb").as_str() {
            "reply" => self.reply(words),
            "approve" => {
                let up = self.state.phase.request().map(|request| request.package_sha256.clone());
                let package_sha256 = words.after("package").or(up).unwrap_or_default();
                let seen = self.world.seen(self.state.tree());
                Command::Approve { package_sha256, seen, key: words.after("key").map(RetryKey) }
            }
            "rework" => rework(words),
            "commit" => {
                let message = words.quoted();
                let override_scope = words.take("override").then(|| words.need_quoted("the reason"));
                Command::Commit { message, override_scope, hooks: words.take("hooks"), author: None }
            }
            "merge" => Command::Merged { commit: CommitId("merge1".to_owned()) },
            // `escaped P0 'tokens leak'`: without a severity it is a P1.
            "escaped" => {
                let named = ["P0", "P1", "P2", "P3"].into_iter().find(|name| words.take(name));
                let severity = named.and_then(|name| name.parse().ok()).unwrap_or(Severity::P1);
                Command::Escaped { severity, text: words.need_quoted("the defect") }
            }
            "pause" => Command::Pause { reason: words.quoted().unwrap_or_default() },
            "resume" => Command::Resume,
            "waive" => {
                let name = words.need("a finding or a check");
                let what = name.parse().map_or(Waivable::Check(name), Waivable::Finding);
                let withdraw = words.take("withdraw");
                let reason = words.quoted().unwrap_or_default();
                if withdraw { Command::Withdraw { what, reason } } else { Command::Waive { what, reason } }
            }
            // `config test './test --all'`: another command for a check, or `setup`; without one, none. `config checks_in`: in a
            // checkout of pairflow's own.
            "config" => {
                let (name, mut rules) = (words.need("a check"), self.state.rules.clone());
                match (words.quoted(), rules.checks.iter().position(|check| check.name == name)) {
                    (command, _) if name == "setup" => rules.setup = command,
                    (_, _) if name == "checks_in" => rules.checks_in = ChecksIn::Checkout,
                    (Some(command), Some(at)) => rules.checks[at].command = command,
                    (Some(command), None) => rules.checks.push(Check { name, command }),
                    (None, _) => rules.checks.retain(|check| check.name != name),
                }
                Command::Configure { rules: Box::new(rules) }
            }
            "restart" => Command::Restart { reason: words.quoted().unwrap_or_default() },
            "stop" => Command::Stop { reason: words.quoted().unwrap_or_default() },
            "update" => Command::Update,
            _ => words.reject("a human verb"),
        };
        self.send(&command)
    }

    fn reply(&self, words: &mut Words) -> Command {
        let message = words.quoted().unwrap_or_default();
        let known = [
            ("accept", Decision::Accept),
            ("continue", Decision::Continue),
            ("side-with-finding", Decision::SideWithFinding),
            ("side-with-implementer", Decision::SideWithImplementer),
        ];
        let decision = known.into_iter().find_map(|(word, decision)| words.take(word).then_some(decision));
        // `to 2` names the second open question, `to msg_…` one that may not be open.
        let question = words.after("to").map(|which| match which.parse::<usize>() {
            Ok(nth) => self.state.gate.questions.get(nth - 1).map_or(MsgId(which), |open| open.id.clone()),
            Err(_) => MsgId(which),
        });
        Command::Reply { message, question, decision, refs: Vec::new(), key: words.after("key").map(RetryKey) }
    }

    fn mint(&mut self, words: &mut Words) -> Sent {
        let agent = agent(&words.need("an agent"), words);
        let token_sha256 = words.quoted().unwrap_or_else(|| format!("token of {agent}"));
        self.send(&Command::MintToken { agent, token_sha256 })
    }

    fn wait(&mut self, words: &mut Words) -> Sent {
        self.world.pass_time(u64::try_from(millis(words)).expect("a script does not wait for the past"));
        let active = words.take("active").then_some(self.world.now);
        self.send(&Command::Tick { active })
    }

    /// `clock jumps +10y`: the wall clock alone.
    fn clock(&mut self, words: &mut Words) -> Option<Sent> {
        words.take("jumps");
        let by = millis(words);
        self.world.jump(by);
        None
    }

    /// The uptime begins anew; the wall clock goes on.
    fn reboot(&mut self) -> Option<Sent> {
        self.world.now.up = 0;
        None
    }

    /// Everything but the log is forgotten.
    fn crash(&mut self) -> Option<Sent> {
        self.state = self.refold();
        None
    }

    /// A supervisor comes back.
    fn catch_up(&mut self) -> Sent {
        let before = self.log.len();
        self.settle();
        self.log.get(before).map_or(Sent::Nothing, |envelope| Sent::Recorded(envelope.id.clone()))
    }

    /// `raw commit-made`: a command out of the blue, as [`super::samples`] makes it for this state.
    fn raw(&mut self, words: &mut Words) -> Sent {
        let name = words.need("a command");
        let sample = super::samples(&self.state).into_iter().find(|sample| sample.name == name);
        let Some(sample) = sample else { words.reject("the name of a sample") };
        self.send(&sample.command)
    }

    /// `head on main`, `head detached`, `head missing`, `head back`.
    fn head(&mut self, words: &mut Words) -> Option<Sent> {
        self.world.head = match words.need("where HEAD is").as_str() {
            "on" => Some(HeadSeen::Branch(words.need("a branch"))),
            "detached" => Some(HeadSeen::Detached),
            "missing" => Some(HeadSeen::Missing),
            _ => None,
        };
        None
    }

    /// `commit fails 'why'`, `commit works`, `base moves a.rs`: what the world will do when asked.
    fn world_act(&mut self, what: &str, words: &mut Words) -> Option<Sent> {
        if words.take("moves") {
            words.list().iter().for_each(|path| self.world.move_base(path));
            return None;
        }
        let fails = words.take("fails").then(|| words.need_quoted("why it fails"));
        if fails.is_none() && !words.take("works") {
            words.reject("fails 'why' or works");
        }
        match what {
            "workspace" => self.world.start_fails = fails,
            "commit" => self.world.commit_fails = fails,
            _ => self.world.update_fails = fails,
        }
        None
    }

    /// `human edits a.rs`, `codex ends 'with exit code 3' 'its last lines'`, `test fails`.
    fn edit_or_check(&mut self, who: &str, words: &mut Words) -> Option<Sent> {
        words.take("reproducer");
        match words.need("edits, deletes, restores, ends, passes, fails or cannot run").as_str() {
            "edits" => words.list().iter().for_each(|path| self.world.edit(path)),
            "deletes" => words.list().iter().for_each(|path| self.world.delete(path)),
            "restores" => words.list().iter().for_each(|path| self.world.restore(path)),
            "ends" => {
                let turn = self.state.phase.turn().map_or(0, |turn| turn.number);
                let how = words.need_quoted("how it ended");
                let output = words.quoted().unwrap_or_default();
                return Some(self.send(&Command::AgentEnded { turn, how, output }));
            }
            "passes" if who.parse::<FindingId>().is_ok() => self.outcome(who, words, Outcome::Passed),
            "passes" => drop(self.world.checks.remove(&placed(who, words))),
            "fails" => self.outcome(who, words, Outcome::Failed { exit: Some(1), timed_out: false }),
            "cannot" => {
                words.take("run");
                self.outcome(who, words, Outcome::CouldNotCheck { why: "no such program".to_owned() });
            }
            _ => words.reject("edits, deletes, restores, ends, passes, fails or cannot run"),
        }
        None
    }

    fn outcome(&mut self, check: &str, words: &mut Words, outcome: Outcome) {
        self.world.checks.insert(placed(check, words), outcome);
    }
}

/// The check that is meant: `test fails`, `test fails on base`, `test fails afresh`; `F1 passes before`: the test of the fix
/// of F1 on the tree before the fix.
fn placed(check: &str, words: &mut Words) -> String {
    for (word, place) in [("afresh", "fresh"), ("before", "before"), ("after", "after")] {
        if words.take(word) {
            return format!("{check} {place}");
        }
    }
    if words.take("on") && words.take("base") { format!("{check} base") } else { check.to_owned() }
}

/// `upholds F1 'why'`, `dismisses F1 'why'`.
fn judge(by: AgentId, ruling: Ruling, words: &mut Words) -> Command {
    let finding = row(&words.need("F1, F2, …"), words);
    let reason = words.quoted().unwrap_or_else(|| "the code says so".to_owned());
    Command::Judge { by, judgement: Judgement { finding, ruling, reason }, key: words.after("key").map(RetryKey) }
}

/// `accepts './run' tests/a.py,tests/b.py`: acceptance tests from the task alone.
fn acceptance(words: &mut Words) -> Option<AcceptanceTests> {
    let run = words.take("accepts").then(|| words.need_quoted("the command of the acceptance tests"))?;
    let file = |path: &String| AcceptanceFile { path: path.clone(), content: "artifact://acceptance/0".to_owned() };
    Some(AcceptanceTests { run, files: words.list().iter().map(file).collect() })
}

/// What follows a finding: `at a.rs:3`, `class security`, `by './repro'`, `late`, `undoes F1`,
/// `repeats F2`.
fn finding(mut finding: Finding, words: &mut Words) -> Finding {
    if let Some(place) = words.after("at") {
        let (file, line) = place.split_once(':').unwrap_or((&place, ""));
        finding.file = Some(file.to_owned());
        finding.line = line.parse().ok();
    }
    finding.class = words.after("class").map(|name| name.parse().unwrap_or_else(|_| words.reject("a class")));
    finding.reproducer = words.take("by").then(|| words.need_quoted("the reproducer"));
    finding.seen = words.take("late").then_some(1);
    finding.reverses = words.after("undoes").map(|name| row(&name, words));
    finding.repeats = words.after("repeats").map(|name| row(&name, words));
    finding
}

/// `fixes F1`, `disputes F2 'why'`, `confirms F1`, `reopens F1`, `retracts F1`, as often as they come. A fix names its test,
/// unless the line says `untested` or `untestable 'why'`.
fn answers(words: &mut Words) -> Answers {
    let mut answers = Answers::default();
    loop {
        if let Some(name) = words.after("fixes") {
            let finding = row(&name, words);
            answers.fixed.push(finding);
            if words.take("untestable") {
                answers.untestable.push(Dispute { finding, reason: words.need_quoted("why there is no test") });
            } else if !words.take("untested") {
                let command =
                    if words.take("by") { words.need_quoted("the test") } else { format!("./test {finding}") };
                answers.tests.push(FixTest { finding, command });
            }
        } else if let Some(name) = words.after("disputes") {
            let finding = row(&name, words);
            answers.disputed.push(Dispute { finding, reason: words.quoted().unwrap_or_default() });
        } else if let Some(name) = words.after("confirms") {
            answers.confirmed.push(row(&name, words));
        } else if let Some(name) = words.after("reopens") {
            answers.reopened.push(row(&name, words));
        } else if let Some(name) = words.after("retracts") {
            answers.retracted.push(row(&name, words));
        } else {
            return answers;
        }
    }
}

/// `explained`: all four parts; `explaining 'markdown'`: those in the text.
fn explanation(words: &mut Words) -> Option<Explanation> {
    if words.take("explained") {
        return Some(whole());
    }
    words.take("explaining").then(|| Explanation::read(&words.need_quoted("the text").replace("\\n", "\n")))
}

fn whole() -> Explanation {
    let said = |part: &str| format!("the {part}");
    Explanation { what: said("what"), why: said("why"), risks: said("risks"), test_plan: said("test plan") }
}

/// `blocked 'no limit'`: what the implementer of a document cannot resolve.
fn blockers(words: &mut Words) -> Vec<String> {
    let mut blockers = Vec::new();
    while words.take("blocked") {
        blockers.push(words.need_quoted("the blocker"));
    }
    blockers
}

/// `stepped`: all steps of a document review; `step dry-run`: one of them, or the implementer's.
fn steps(words: &mut Words) -> Vec<Step> {
    let step = |step: StepName| Step { step, result: format!("{} done", step.name()) };
    if words.take("stepped") {
        return StepName::ALL.into_iter().map(step).collect();
    }
    let mut steps = Vec::new();
    while let Some(name) = words.after("step") {
        let found = StepName::ALL.into_iter().find(|one| one.name() == name);
        steps.push(step(found.unwrap_or_else(|| words.reject("a step"))));
    }
    steps
}

fn row(name: &str, words: &Words) -> FindingId {
    name.parse().unwrap_or_else(|_| words.reject("F1, F2, …"))
}

fn rework(words: &mut Words) -> Command {
    let message = words.quoted().unwrap_or_default();
    let reject = words.take("reject");
    let key = words.after("key").map(RetryKey);
    let findings = words.list();
    let finding = |name: &String| row(name, words);
    Command::Rework { message, reject, findings: findings.iter().map(finding).collect(), refs: Vec::new(), key }
}

fn agent(name: &str, words: &Words) -> AgentId {
    name.parse().unwrap_or_else(|_| words.reject("an agent's name"))
}

fn number(words: &mut Words) -> u32 {
    words.need("a number").parse().unwrap_or_else(|_| words.reject("a number"))
}

fn severity(words: &mut Words) -> Option<Severity> {
    [("P0", Severity::P0), ("P1", Severity::P1), ("P2", Severity::P2), ("P3", Severity::P3)]
        .into_iter()
        .find_map(|(name, severity)| words.take(name).then_some(severity))
}

/// Reads a time such as `90s`, `6m`, `-10y`.
pub(super) fn millis(words: &mut Words) -> i64 {
    let word = words.need("a time such as 6m");
    let unit = match word.chars().last() {
        Some('s') => 1000,
        Some('m') => 60_000,
        Some('h') => 3_600_000,
        Some('y') => 365 * 86_400_000,
        _ => words.reject("a time that ends in s, m, h or y"),
    };
    let count: i64 = word[..word.len() - 1].parse().unwrap_or_else(|_| words.reject("a time such as 6m"));
    count * unit
}
