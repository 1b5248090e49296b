//! Tests that failed: which, their last lines, and the command that repeats each alone.

use anyhow::Context;

use crate::say;

/// How many of its last lines are shown of a test that failed.
const LINES: usize = 20;

/// A test program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target {
    pub(crate) package: String,
    /// How `cargo test` calls it: `--lib`, `--bin NAME` or `--test NAME`.
    which: String,
}

impl Target {
    /// Describes a target by its kind and name in `cargo metadata`.
    pub(crate) fn new(package: &str, kind: &str, name: &str) -> Self {
        let which = match kind {
            "bin" => format!("--bin {name}"),
            "test" => format!("--test {name}"),
            _ => "--lib".to_owned(),
        };
        Self { package: package.to_owned(), which }
    }

    /// Reads nextest's name of a program: `pairflow-core`, `pairflow::it` or `xtask::bin/xtask`.
    fn of_binary_id(id: &str) -> Self {
        match id.split_once("::") {
            None => Self::new(id, "lib", id),
            Some((package, rest)) => match rest.split_once('/') {
                Some((kind, name)) => Self::new(package, kind, name),
                None => Self::new(package, "test", rest),
            },
        }
    }

    /// Returns the words by which `cargo test` is told of it.
    pub(crate) fn selector(&self) -> Vec<String> {
        ["-p", &self.package].into_iter().chain(self.which.split(' ')).map(str::to_owned).collect()
    }
}

/// A test that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) target: Target,
    /// The name; nothing if the whole program ended without saying which.
    pub(crate) test: Option<String>,
    /// What it said.
    pub(crate) output: String,
}

impl Failure {
    /// Returns the command that repeats it alone.
    pub(crate) fn again(&self) -> String {
        let selector = self.target.selector().join(" ");
        match &self.test {
            Some(test) => format!("cargo test {selector} -- --exact {test}"),
            None => format!("cargo test {selector}"),
        }
    }

    /// Returns its last lines.
    pub(crate) fn last_lines(&self) -> Vec<&str> {
        let lines: Vec<&str> = self.output.trim().lines().collect();
        lines[lines.len().saturating_sub(LINES)..].to_vec()
    }
}

/// What came of running tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Results {
    /// How many ran.
    pub(crate) ran: usize,
    /// Those that failed.
    pub(crate) failed: Vec<Failure>,
}

impl Results {
    /// Adds up two runs.
    pub(crate) fn and(mut self, mut other: Self) -> Self {
        self.failed.append(&mut other.failed);
        Self { ran: self.ran + other.ran, ..self }
    }
}

/// Prints each failure.
pub(crate) fn print_failures(failed: &[Failure]) {
    for failure in failed {
        let name = failure.test.as_deref().unwrap_or("(the whole program)");
        say::line(format_args!("\nFAILED  {}  {name}", failure.target.package));
        failure.last_lines().iter().for_each(|line| say::line(format_args!("  | {line}")));
        say::line(format_args!("  repeat it: {}", failure.again()));
    }
}

/// Reads the report of nextest.
pub(crate) fn of_junit(text: &str) -> anyhow::Result<Results> {
    // Two characters that XML forbids and nextest lets through.
    let text = text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    let document = roxmltree::Document::parse(&text).context("the report of nextest is not XML")?;
    let cases = document.descendants().filter(|node| node.has_tag_name("testcase"));
    let ran = cases.clone().count();
    let failed =
        cases.filter(|case| case.children().any(|child| child.has_tag_name("failure") || child.has_tag_name("error")));
    let said = |case: roxmltree::Node<'_, '_>, name: &str| {
        let found = case.children().find(|child| child.has_tag_name(name));
        found.and_then(|child| child.text()).unwrap_or_default().trim().to_owned()
    };
    let read = |case: roxmltree::Node<'_, '_>| {
        let id = case.attribute("classname").context("a test case names its program")?;
        let how = case.children().find(|child| child.has_tag_name("failure")).and_then(|child| child.attribute("type"));
        let output = [said(case, "system-out"), said(case, "system-err"), how.unwrap_or("error").to_owned()].join("\n");
        let test = case.attribute("name").map(str::to_owned);
        Ok(Failure { target: Target::of_binary_id(id), test, output })
    };
    Ok(Results { ran, failed: failed.map(read).collect::<anyhow::Result<_>>()? })
}

/// Reads what the test program of `cargo test` printed. One that ended in the middle has said nothing of its tests.
pub(crate) fn of_libtest(target: &Target, text: &str, success: bool) -> Results {
    // `test result: ok. 3 passed; 0 failed; …`
    let counts = text.lines().filter_map(|line| line.strip_prefix("test result: "));
    let number = |part: &str| part.split_whitespace().rev().nth(1)?.parse::<usize>().ok();
    let ran = counts.flat_map(|line| line.split(';').take(2).filter_map(number)).sum();
    // A test that ends the program with exit code 0 leaves the others out, and the last line.
    let begun = text.lines().filter_map(|line| line.strip_prefix("running ")?.split(' ').next()?.parse::<usize>().ok());
    let whole = begun.sum::<usize>() == ran && text.contains("\ntest result: ok.");
    Results { ran, failed: if success && whole { Vec::new() } else { failures_of_libtest(target, text) } }
}

fn failures_of_libtest(target: &Target, text: &str) -> Vec<Failure> {
    let failure = |test: Option<&str>, output: &str| Failure {
        target: target.clone(),
        test: test.map(str::to_owned),
        output: output.trim().to_owned(),
    };
    // Each section begins with `---- NAME stdout ----`; the list of names ends the last one.
    let (sections, names) = text.rsplit_once("\nfailures:\n").unwrap_or((text, ""));
    let names: Vec<&str> = names.lines().take_while(|line| line.starts_with("    ")).map(str::trim).collect();
    let said = |name: &str| {
        let after = sections.split_once(&format!("\n---- {name} stdout ----\n")).map_or("", |(_, after)| after);
        after.split("\n---- ").next().unwrap_or_default()
    };
    if names.is_empty() {
        return vec![failure(None, text)];
    }
    names.into_iter().map(|name| failure(Some(name), said(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_nextest_is_read() {
        let text = r#"<testsuites><testsuite name="pairflow::it">
            <testcase name="a::good" classname="pairflow::it"/>
            <testcase name="a::bad" classname="pairflow::it"><failure type="test failure with exit code 101">x</failure>
              <system-out>running 1 test</system-out><system-err>boom &amp; &lt;b&gt;</system-err></testcase>
            <testcase name="slow" classname="pairflow-core"><failure type="test timeout"/></testcase>
            <testcase name="c" classname="xtask::bin/xtask"><failure type="test abort"/></testcase>
            </testsuite></testsuites>"#;
        let Results { ran, failed } = of_junit(text).unwrap();
        assert_eq!(ran, 4);
        let again: Vec<String> = failed.iter().map(Failure::again).collect();
        assert_eq!(
            again,
            [
                "cargo test -p pairflow --test it -- --exact a::bad",
                "cargo test -p pairflow-core --lib -- --exact slow",
                "cargo test -p xtask --bin xtask -- --exact c"
            ]
        );
        assert_eq!(failed[0].last_lines(), ["running 1 test", "boom & <b>", "test failure with exit code 101"]);
        assert_eq!(failed[1].last_lines(), ["test timeout"]);
        assert!(of_junit("<testsuites").is_err());
        assert_eq!(of_junit("<testsuites>\u{fffe}</testsuites>").unwrap().ran, 0, "a character that XML forbids");
    }

    #[test]
    fn what_cargo_test_prints_is_read() {
        let target = Target::new("pairflow", "test", "it");
        let text = "\nrunning 3 tests\n..FF\nfailures:\n\n---- a::bad stdout ----\nfirst\nboom\n\n---- b stdout ----\n\nbang\n\n\
                    \nfailures:\n    a::bad\n    b\n\ntest result: FAILED. 1 passed; 2 failed\n\n";
        let Results { ran, failed } = of_libtest(&target, text, false);
        assert_eq!(ran, 3);
        let read: Vec<_> = failed.iter().map(|one| (one.test.as_deref(), one.last_lines())).collect();
        assert_eq!(read, [(Some("a::bad"), vec!["first", "boom"]), (Some("b"), vec!["bang"])]);
    }

    #[test]
    fn a_program_that_died_is_a_failure_without_a_name() {
        let target = Target::new("pairflow-core", "lib", "pairflow_core");
        let failed = of_libtest(&target, "\nrunning 3 tests\n.", false).failed;
        assert_eq!((failed.len(), failed[0].test.clone()), (1, None));
        assert_eq!(failed[0].again(), "cargo test -p pairflow-core --lib");
    }

    #[test]
    fn a_filter_that_fits_no_test_has_run_none() {
        let target = Target::new("a", "lib", "a");
        let text = "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out\n";
        assert_eq!(of_libtest(&target, text, true), Results::default());
        assert_eq!(of_junit("<testsuites/>").unwrap(), Results::default());
    }

    #[test]
    fn a_program_that_ends_well_before_its_tests_do_has_failed() {
        let target = Target::new("a", "lib", "a");
        assert_eq!(of_libtest(&target, "\nrunning 4 tests\n.", true).failed.len(), 1);
        let text = "\nrunning 2 tests\n..\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured\n";
        assert_eq!(of_libtest(&target, text, true), Results { ran: 2, failed: Vec::new() });
    }

    #[test]
    fn of_a_long_output_the_end_is_shown() {
        let output: String = (1..=50).map(|number| format!("{number}\n")).collect();
        let failure = Failure { target: Target::new("a", "lib", "a"), test: None, output };
        assert_eq!((failure.last_lines()[0], failure.last_lines().len()), ("31", LINES));
    }
}
