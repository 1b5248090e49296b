//! Whether a run of a test command shows anything about a tree. A command that cannot start, a test file that is not there
//! and a runner that finds no test also end with an error, or with none; neither says whether the tests would pass.
//!
//! No runner has a format for that, so its words are read. Where a runner reports failed tests, its failure counts whatever
//! else the output says.

/// Returns why a run shows nothing, because the command itself could not run or no test ran; `None` if it counts. `exit` is
/// 0 for a run that passed.
pub fn could_not_run(command: &str, exit: Option<i32>, output: &str) -> Option<&'static str> {
    match exit {
        Some(126) => return Some("a command could not be executed (exit code 126)"),
        Some(127) => return Some("a command was not found (exit code 127)"),
        Some(0) => return ran_nothing(output).then_some(NO_TEST),
        _ if is_unknown_module(output) => return Some(NO_FILE),
        _ if reports_failures(output) => return None,
        _ => {}
    }
    let pytest = command.contains("pytest") || command.contains("py.test");
    match exit {
        Some(4) if pytest => Some(NO_FILE),
        Some(5) if pytest => Some(NO_TEST),
        _ if ran_nothing(output) => Some(NO_TEST),
        _ if output.lines().any(is_missing_program) => Some("a command or a module is not installed"),
        _ if output.lines().any(|line| is_missing_target(line) || misses_named_file(command, line)) => Some(NO_FILE),
        _ => None,
    }
}

/// Returns why the test of a fix shows nothing: the same as [`could_not_run`], and any missing file. Such a test fails
/// without the fix for another reason than the defect.
pub fn shows_no_fix(command: &str, exit: Option<i32>, output: &str) -> Option<&'static str> {
    let failed = exit != Some(0) && !reports_failures(output);
    let missing = || failed && output.lines().any(|line| is_missing_file(line) || is_missing_node_module(line, output));
    could_not_run(command, exit, output).or_else(|| missing().then_some(NO_FILE))
}

const NO_FILE: &str = "a file or a target that it names does not exist";
const NO_TEST: &str = "no test ran";

/// Whether a runner says that tests failed: a count of failures that is not 0, or the words of one that counts none.
fn reports_failures(output: &str) -> bool {
    const BEGINNINGS: [&str; 5] = ["FAILED ", "FAIL: ", "--- FAIL:", "not ok ", "test result: FAILED"];
    output.lines().any(|line| {
        let line = line.trim_start();
        BEGINNINGS.iter().any(|beginning| line.starts_with(beginning)) || counts_failures(line)
    })
}

/// Whether a line counts failures, such as `1 failed`, `2 examples, 1 failure`, `Failures: 3` or `# fail 1`.
fn counts_failures(line: &str) -> bool {
    const AFTER: [&str; 4] = ["failed", "failing", "failure", "failures"];
    const BEFORE: [&str; 4] = ["fail", "failed", "failures", "errors"];
    let words: Vec<_> = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let some = |word: &str| word.parse::<u64>().is_ok_and(|count| count > 0);
    let is = |word: &str, list: [&str; 4]| list.iter().any(|one| word.eq_ignore_ascii_case(one));
    words.windows(2).any(|pair| (some(pair[0]) && is(pair[1], AFTER)) || (is(pair[0], BEFORE) && some(pair[1])))
}

/// Whether a runner says that it ran no test at all.
fn ran_nothing(output: &str) -> bool {
    const SAID: [&str; 7] = [
        "no tests ran",
        "no tests found",
        "no test files found",
        "collected 0 items",
        "ran 0 tests",
        "starting 0 tests",
        "# tests 0",
    ];
    let lower = output.to_lowercase();
    let tests = |line: &str| line.strip_prefix("running ")?.split(' ').next()?.parse::<u64>().ok();
    let counted: Vec<_> = lower.lines().filter_map(|line| tests(line.trim())).collect();
    // Go says it for each package; one with tests is enough.
    let empty = |line: &str| line.contains("[no tests to run]") || line.contains("[no test files]");
    let passed = |line: &str| line.starts_with("ok ") || line.starts_with("ok\t");
    let no_package = lower.lines().any(empty) && !lower.lines().any(|line| passed(line) && !empty(line));
    let no_harness = !counted.is_empty() && counted.iter().all(|count| *count == 0);
    no_package || no_harness || SAID.iter().any(|said| lower.contains(said))
}

/// Whether a line of a shell, of make or of an interpreter says that a program is not there.
fn is_missing_program(line: &str) -> bool {
    let line = line.trim_end();
    // `python3: No module named pytest` is about `-m`; a failed import has the name in quotes.
    let module = line.split_once(": No module named ").is_some_and(|(_, name)| !name.starts_with('\''));
    let shell = line.ends_with(": command not found") || (line.contains("sh: ") && line.ends_with(": not found"));
    let make = line.starts_with("make") && (line.ends_with(" Error 127") || line.ends_with(" Error 126"));
    module || shell || make
}

/// Whether a line of a runner says that what it was to run does not exist.
fn is_missing_target(line: &str) -> bool {
    const SAID: [&str; 10] = [
        "file or directory not found:",
        "error: not found:",
        "can't open file",
        "no test target named",
        "no test target matches",
        "error: can't find",
        "no such command",
        "no rule to make target",
        "missing script",
        "[setup failed]",
    ];
    let lower = line.to_lowercase();
    SAID.iter().any(|said| lower.contains(said))
}

/// Whether a line says that a file is missing that the command itself names.
fn misses_named_file(command: &str, line: &str) -> bool {
    let path = |word: &&str| word.contains(['/', '.']) && word.len() > 2;
    let words = command.split(|c: char| c.is_whitespace() || "'\"`;|&()<>".contains(c)).filter(path);
    let named = |word: &str| line.contains(word.trim_start_matches("./"));
    let missing = is_missing_file(line) || line.contains("Cannot find module");
    missing && words.into_iter().any(named)
}

fn is_missing_file(line: &str) -> bool {
    line.contains("No such file")
}

/// Whether node misses what it was started with, and not what a test imports.
fn is_missing_node_module(line: &str, output: &str) -> bool {
    line.contains("Cannot find module") && !line.contains("imported from") && !output.contains("Require stack:")
}

/// Whether Python's unittest was called with a module that does not exist: it reports that as a test with an error.
fn is_unknown_module(output: &str) -> bool {
    let named = |line: &str| Some(line.split_once("Failed to import test module: ")?.1.trim().to_owned());
    let unknown = |line: &str| Some(line.split_once("No module named '")?.1.trim_end_matches('\'').to_owned());
    let unknown: Vec<_> = output.lines().filter_map(unknown).collect();
    let is = |module: &String| unknown.iter().any(|name| name == module || name.ends_with(&format!(".{module}")));
    let wanted: Vec<_> = output.lines().filter_map(named).collect();
    // Where other tests failed, too, the run counts.
    !wanted.is_empty() && wanted.iter().all(is) && !output.contains("failures=")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARGO_FAILED: &str =
        "running 1 test\ntest it ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored";
    const CARGO_NONE: &str = "running 0 tests\n\ntest result: ok. 0 passed; 0 failed\n\nrunning 0 tests\n";
    const UNITTEST: &str = "ERROR: test_x (unittest.loader._FailedTest)\nImportError: Failed to import test module: test_x\n\
        ModuleNotFoundError: No module named 'tests.test_x'\n\nRan 1 test in 0.000s\n\nFAILED (errors=1)";
    const MISSING_IMPORT: &str = "Error: Cannot find module '../cart'\nRequire stack:\n- /w/test/cart.js";
    const NOT_INSTALLED: &str = "a command or a module is not installed";

    /// Command, exit code and output of runs that count.
    const COUNTS: &[(&str, i32, &str)] = &[
        ("make test", 2, "sh: 1: cc: oops\nmake: *** [Makefile:2: test] Error 1"),
        ("cargo test it", 101, CARGO_FAILED),
        ("cargo test", 101, "error[E0425]: cannot find function `total` in this scope"),
        ("python3 -m pytest t.py", 1, "FileNotFoundError: No such file or directory: 'a'\n1 failed in 0.1s"),
        ("python3 -m pytest t.py", 2, "E   ImportError: cannot import name 'total'\n1 error in 0.1s"),
        ("python3 -m unittest t", 1, "FAIL: test_a (t.T)\nNo such file or directory\nFAILED (failures=1)"),
        ("go test ./...", 1, "--- FAIL: TestCart (0.00s)\n?   \tx/y\t[no test files]\nFAIL"),
        ("go test ./...", 1, "open a.txt: no such file or directory\n--- FAIL: TestA (0.00s)"),
        ("npx jest", 1, "FAIL test/a.js\nCannot find module 'x' from 'a.js'\nTests: 1 failed, 2 total"),
        ("node --test", 1, "not ok 1 - adds\n# tests 1\n# fail 1"),
        ("node test/cart.js", 1, MISSING_IMPORT),
        ("test -f more.txt", 1, ""),
        ("sh -c 'exit 4'", 4, ""),
        ("sh -c 'exit 5'", 5, ""),
        ("echo No module named pytest; exit 1", 1, "No module named pytest"),
        ("cargo test", 0, "running 0 tests\n\nrunning 3 tests\ntest result: ok. 3 passed; 0 failed"),
        ("go test ./...", 0, "?   \tx/y\t[no test files]\nok  \tx/z\t0.1s"),
        ("pytest -q", 0, "3 passed in 0.1s"),
        ("sh t.sh", 0, "cat: cache: No such file or directory\nok"),
    ];

    /// Command, exit code and output of runs that show nothing, and why.
    const SHOWS_NOTHING: &[(&str, i32, &str, &str)] = &[
        ("./t.sh", 126, "1 failed", "a command could not be executed (exit code 126)"),
        ("t.sh", 127, "1 failed", "a command was not found (exit code 127)"),
        ("pytest t.py", 4, "ERROR: usage", NO_FILE),
        ("python3 -m pytest t.py", 5, "", NO_TEST),
        ("make test", 2, "ERROR: file or directory not found: t.py\nno tests collected", NO_FILE),
        ("make test", 2, "collected 0 items\n\n=== no tests ran in 0.01s ===", NO_TEST),
        ("make test", 2, "make: cc: No such file or directory\nmake: *** [test] Error 127", NOT_INSTALLED),
        ("make tset", 2, "make: *** No rule to make target 'tset'.  Stop.", NO_FILE),
        ("python3 -m pytest t.py", 1, "/usr/bin/python3: No module named pytest", NOT_INSTALLED),
        ("python3 t.py", 2, "python3: can't open file '/w/t.py': [Errno 2] No such file or directory", NO_FILE),
        ("python3 -m unittest tests.test_x", 1, UNITTEST, NO_FILE),
        ("python3 -m unittest", 5, "Ran 0 tests in 0.000s\n\nNO TESTS RAN", NO_TEST),
        ("python3 -m unittest", 0, "Ran 0 tests in 0.000s\n\nOK", NO_TEST),
        ("cargo test --test x", 101, "error: no test target named `x` in default-run packages", NO_FILE),
        ("cargo test --test x", 101, "error: can't find `x` test at `tests/x.rs`", NO_FILE),
        ("cargo test nothing", 0, CARGO_NONE, NO_TEST),
        ("go test ./...", 0, "?   \tx/y\t[no test files]", NO_TEST),
        ("go test -run X ./...", 0, "ok  \tx/y\t0.1s [no tests to run]", NO_TEST),
        ("go test ./nothing", 1, "FAIL\t./nothing [setup failed]", NO_FILE),
        ("npm run tset", 1, "npm error Missing script: \"tset\"", NO_FILE),
        ("npx jest nothing", 1, "No tests found, exiting with code 1", NO_TEST),
        ("node test/none.js", 1, "Error: Cannot find module '/w/test/none.js'\n  requireStack: []", NO_FILE),
        ("bash run", 1, "run: line 2: pytest: command not found", NOT_INSTALLED),
        ("sh t.sh", 2, "sh: 0: cannot open t.sh: No such file", NO_FILE),
        ("grep -q x docs/new.md", 2, "grep: docs/new.md: No such file or directory", NO_FILE),
    ];

    #[test]
    fn a_run_counts_only_if_a_test_ran() {
        let import = UNITTEST.replace("'tests.test_x'", "'shop.cart'");
        let import = ("python3 -m unittest tests.test_x", 1, import.as_str());
        let counts =
            COUNTS.iter().copied().chain([import]).map(|(command, exit, output)| (command, exit, output, None));
        let nothing = SHOWS_NOTHING.iter().map(|(command, exit, output, why)| (*command, *exit, *output, Some(*why)));
        for (command, exit, output, expected) in counts.chain(nothing) {
            for judge in [could_not_run, shows_no_fix] {
                assert_eq!(judge(command, Some(exit), output), expected, "{command}: exit {exit}\n{output}");
            }
        }
    }

    /// A script may find that a file is missing which the work has to make: that shows a defect, but no fix.
    #[test]
    fn a_missing_file_that_the_command_does_not_name_counts_for_a_reproducer_only() {
        let run = ("sh check.sh", Some(1), "cat: out/report.txt: No such file or directory");
        assert_eq!(could_not_run(run.0, run.1, run.2), None);
        assert_eq!(shows_no_fix(run.0, run.1, run.2), Some(NO_FILE));
        assert_eq!(shows_no_fix(run.0, Some(1), &format!("{}\n1 failed", run.2)), None);
        assert_eq!(shows_no_fix("./t", None, "killed"), None, "a signal is a failure");
    }
}
