//! Which changes to tests are flagged, and which are left alone.
//!
//! The cases stand in `weakened/*.txt`: a title behind `##`, files behind `@@` (`@@new`, `@@del`; git's heading behind
//! `|`), the lines of a diff, and behind `=>` what is reported.

use pairflow_core::gates::{TestChange, TestChangeKind, diff, is_test_file, weakened};
use proptest::prelude::*;

const CASES: [(&str, &str); 4] = [
    ("rust", include_str!("weakened/rust.txt")),
    ("js", include_str!("weakened/js.txt")),
    ("python", include_str!("weakened/python.txt")),
    ("go", include_str!("weakened/go.txt")),
];

struct Case<'a> {
    title: &'a str,
    diff: String,
    expected: Vec<String>,
}

fn cases(text: &str) -> Vec<Case<'_>> {
    text.split("## ").skip(1).map(case).collect()
}

fn case(text: &str) -> Case<'_> {
    let (title, rest) = text.split_once('\n').unwrap();
    let mut diff = String::new();
    let mut open: Option<(&str, Vec<&str>)> = None;
    let mut expected = Vec::new();
    for line in rest.lines().filter(|line| !line.is_empty()) {
        if let Some(report) = line.strip_prefix("=> ") {
            expected.extend((report != "none").then(|| report.to_owned()));
        } else if let Some(header) = line.strip_prefix("@@") {
            if let Some((header, lines)) = open.replace((header, Vec::new())) {
                diff.push_str(&file(header, &lines));
            }
        } else {
            open.as_mut().unwrap().1.push(line);
        }
    }
    let (header, lines) = open.unwrap();
    diff.push_str(&file(header, &lines));
    Case { title, diff, expected }
}

/// One file of a diff, as git prints it; the hunk starts at line 10.
fn file(header: &str, lines: &[&str]) -> String {
    let (kind, rest) = header.split_once(' ').unwrap();
    let (path, heading) = rest.split_once(" | ").unwrap_or((rest, ""));
    let count = |mark: char| lines.iter().filter(|line| !line.starts_with(mark)).count();
    let (old, new) = (count('+'), count('-'));
    let (mode, from, to) = match kind {
        "new" => ("new file mode 100644\n", "/dev/null".to_owned(), format!("b/{path}")),
        "del" => ("deleted file mode 100644\n", format!("a/{path}"), "/dev/null".to_owned()),
        _ => ("", format!("a/{path}"), format!("b/{path}")),
    };
    let (old_start, new_start) = (if old == 0 { 0 } else { 10 }, if new == 0 { 0 } else { 10 });
    let head = format!("diff --git a/{path} b/{path}\n{mode}index 1..2 100644\n--- {from}\n+++ {to}\n");
    format!("{head}@@ -{old_start},{old} +{new_start},{new} @@ {heading}\n{}\n", lines.join("\n"))
}

fn rendered(change: &TestChange) -> String {
    let kind = serde_json::to_value(change.kind).unwrap();
    format!("{} {}", kind.as_str().unwrap(), change.what)
}

#[test]
fn every_case_is_reported_as_its_table_says() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (language, text) in CASES {
        for case in cases(text) {
            count += 1;
            let mut found: Vec<String> = weakened(&case.diff).iter().map(rendered).collect();
            let mut expected = case.expected;
            found.sort();
            expected.sort();
            if found != expected {
                wrong.push(format!("{language}: {}\n  expected {expected:?}\n  found    {found:?}", case.title));
            }
        }
    }
    assert!(count >= 100, "{count} cases");
    assert!(wrong.is_empty(), "{} of {count} cases:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_case_turned_round_reports_no_deletion_where_a_test_is_added() {
    let diff = file(" tests/a.rs", &["+#[test]", "+fn a() {", "+    assert_eq!(f(), 1);", "+}"]);
    assert_eq!(weakened(&diff), []);
}

#[test]
fn all_the_cases_together_are_read_file_by_file() {
    // Paths repeat between cases, so only the sum of deletions that no other case makes up for is certain.
    let all: String = CASES.iter().flat_map(|(_, text)| cases(text)).map(|case| case.diff).collect();
    let found = weakened(&all);
    assert!(found.iter().any(|change| change.what == "TestAddsNegatives" && change.kind == TestChangeKind::Deleted));
    assert!(found.windows(2).all(|two| two[0] <= two[1]), "sorted");
}

#[test]
fn a_deletion_names_the_old_line_and_everything_else_the_new_one() {
    let deletion = file(" a_test.go", &[" var a int", "", "-func TestA(t *testing.T) {", "-}"]);
    assert_eq!(weakened(&deletion)[0].line, 12);
    let lines = ["+import b", "+", " def test_a():", "-    assert f() == 1", "-    assert g() == 2", "+    assert f()"];
    let found = weakened(&file(" test_a.py", &lines));
    let places: Vec<(u32, &str)> = found.iter().map(|change| (change.line, change.what.as_str())).collect();
    assert_eq!(places, [(13, "assert f()"), (13, "assert g() == 2")]);
}

#[test]
fn reports_are_plain_json_and_bounded() {
    let name = "x".repeat(500);
    let diff = file(" a.test.js", &[&format!("-it('{name}', () => {{"), "-  expect(1).toBe(one);", "-});"]);
    let found = weakened(&diff);
    assert_eq!(found[0].what.chars().count(), 200);
    let json = serde_json::to_value(&found[0]).unwrap();
    assert_eq!((json["kind"].as_str(), json["line"].as_u64()), (Some("deleted"), Some(10)));
    assert_eq!(serde_json::from_value::<TestChange>(json).unwrap(), found[0]);
}

#[test]
fn test_files_are_told_by_their_path() {
    let tests = [
        "tests/a.rs",
        "crates/a/tests/it/b.rs",
        "src/a/tests.rs",
        "src/a_test.rs",
        "a_test.go",
        "pkg/b/a_test.go",
        "test_a.py",
        "app/a_test.py",
        "tests/a.py",
        "app/tests.py",
        "conftest.py",
        "a.test.ts",
        "src/a.spec.tsx",
        "src/__tests__/a.js",
        "a.test.mjs",
        "e2e/login.ts",
        "test/a.js",
        "cypress/a.cy.ts",
    ];
    let others = [
        "src/a.rs",
        "src/testing.rs",
        "src/lib.rs",
        "a.go",
        "testing.go",
        "test_a.go",
        "app/a.py",
        "app/contest.py",
        "attest.py",
        "src/a.ts",
        "src/latest.ts",
        "src/inspect.ts",
        "tests/data.json",
        "tests/README.md",
        "a.test.css",
        "",
        "tests",
        "benches/a.rs",
    ];
    assert_eq!(tests.iter().filter(|path| !is_test_file(path)).collect::<Vec<_>>(), [&""; 0]);
    assert_eq!(others.iter().filter(|path| is_test_file(path)).collect::<Vec<_>>(), [&""; 0]);
}

#[test]
fn a_deleted_test_file_of_an_unknown_framework_is_reported_as_a_file() {
    let diff = file("del src/a.spec.ts", &["-scenario('a', () => {", "-  expect(a()).toBe(1);", "-});"]);
    let found: Vec<String> = weakened(&diff).iter().map(rendered).collect();
    assert_eq!(found, ["deleted src/a.spec.ts"]);
    assert_eq!(weakened(&file("del tests/common/mod.rs", &["-pub fn home() -> Home {", "-    Home::new()", "-}"])), []);
}

#[test]
fn quoted_paths_blanks_binary_files_and_missing_line_ends_are_read() {
    let text = "diff --git \"a/tests/\\303\\244 b.rs\" \"b/tests/\\303\\244 b.rs\"\n--- \"a/tests/\\303\\244 b.rs\"\t\n\
                +++ /dev/null\n@@ -1,3 +0,0 @@\n-#[test]\n-fn a() {\n-}\n\\ No newline at end of file\n\
                diff --git a/logo.png b/logo.png\nindex 1..2 100644\nBinary files a/logo.png and b/logo.png differ\n\
                diff --git a/tests/empty.rs b/tests/empty.rs\ndeleted file mode 100644\nindex 1..0\n";
    let files = diff::read(text);
    let paths: Vec<&str> = files.iter().map(diff::FileDiff::path).collect();
    assert_eq!(paths, ["tests/ä b.rs", "logo.png", "tests/empty.rs"]);
    assert_eq!(files.iter().map(|file| file.binary).collect::<Vec<_>>(), [false, true, false]);
    assert_eq!((files[2].old_path.is_some(), files[2].new_path.is_some()), (true, false));
    let found = weakened(text);
    assert_eq!((found.len(), found[0].path.as_str(), found[0].line), (1, "tests/ä b.rs", 2));
}

#[test]
fn lines_that_look_like_headers_stay_in_their_hunk() {
    let text = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n--- old comment\n+++ new comment\n x\n--- a/b.py\n+++ b/b.py\n\
                @@ -4 +4 @@\n-a\n+b\n";
    let files = diff::read(text);
    assert_eq!(files.iter().map(diff::FileDiff::path).collect::<Vec<_>>(), ["a.py", "b.py"]);
    let numbers: Vec<_> = files[0].hunks[0].lines.iter().map(|line| (line.old, line.new, line.text)).collect();
    assert_eq!(numbers, [(1, 1, "-- old comment"), (2, 1, "++ new comment"), (2, 2, "x")]);
    assert_eq!(files[1].hunks[0].lines[1].new, 4);
}

#[test]
fn later_hunks_that_git_still_calls_by_the_old_name_belong_to_the_renamed_test() {
    let text = "--- a/tests/a.rs\n+++ b/tests/a.rs\n\
                @@ -10,4 +10,4 @@\n #[test]\n-fn old() {\n+fn new() {\n     let look = around();\n     let more = again();\n\
                @@ -30,3 +30,3 @@ fn old() {\n     let x = last(look);\n\
                -    assert_eq!(x.name(), \"a\");\n+    assert_eq!(x.title(), \"a\");\n }\n";
    assert_eq!(weakened(text), []);
}

/// Texts that would cost time by the square if anything looked back, or ahead, without bound.
#[test]
fn work_grows_with_the_length_of_the_diff_and_not_faster() {
    let fragments = [
        "assert!(",
        "expect(",
        "if if ",
        "fn a() {",
        "it('a', () => {",
        "def test_a(): ",
        "func TestA(t) {",
        "!",
        "(",
        ")",
        "}",
        "#[test]",
        "r#\"",
        "'",
        "\"",
        "`",
        "/[",
        "/*",
        "assert a == b\n-",
        "t.Errorf(",
        "assert.Equal(t, a, b)\n-",
        "it('a', () => {\n-",
        "#[test]\n-fn a() {\n-",
        "expect(a).toBe(1)\n-",
        "@",
        "assert(a || ",
        "try { expect(a).toBe(",
    ];
    for path in ["tests/a.rs", "a.test.ts", "test_a.py", "a_test.go"] {
        for fragment in fragments {
            let body = fragment.repeat(20_000 / fragment.len());
            let diff = format!("--- a/{path}\n+++ b/{path}\n@@ -1,900000 +1,900000 @@\n-{body}\n+{body}\n");
            assert!(weakened(&diff).len() < 20_000, "{path}: {fragment}");
        }
    }
}

fn piece() -> impl Strategy<Value = String> {
    let words = vec![
        "#[test]",
        "#[ignore]",
        "fn a() {",
        "}",
        "assert!(",
        "assert_eq!(a, 1);",
        ")",
        "it('a', () => {",
        "it.skip('b'",
        "});",
        "expect(x)",
        ".toBe(1)",
        ".not",
        "def test_a():",
        "    assert x == 1",
        "@pytest.mark.skip",
        "try:",
        "except:",
        "pass",
        "func TestA(t *testing.T) {",
        "if a != b {",
        "t.Errorf(",
        "t.Skip()",
        "\"",
        "'",
        "`",
        "\"\"\"",
        "/*",
        "*/",
        "//",
        "\\",
        "é",
        "r#\"",
        "[",
        "{",
        "==",
        "||",
        "true",
        "\t",
        " ",
    ];
    prop_oneof![4 => proptest::sample::select(words).prop_map(str::to_owned), 1 => ".{0,12}"]
}

proptest! {
    #[test]
    fn garbage_never_panics(text in "\\PC*", lines in proptest::collection::vec("[-+ @\\\\]?.{0,30}", 0..40)) {
        weakened(&text);
        weakened(&lines.join("\n"));
        diff::read(&lines.join("\n"));
    }

    #[test]
    fn odd_code_never_panics_and_reports_stay_inside_the_diff(
        path in proptest::sample::select(vec!["tests/a.rs", "src/a.rs", "a.test.ts", "test_a.py", "a_test.go"]),
        lines in proptest::collection::vec((proptest::sample::select(vec!["-", "+", " "]),
            proptest::collection::vec(piece(), 0..5)), 0..30),
    ) {
        let line = |(mark, pieces): &(&str, Vec<String>)| format!("{mark}{}", pieces.concat().replace('\n', ""));
        let lines: Vec<String> = lines.iter().map(line).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let diff = file(&format!(" {path}"), &lines);
        for change in weakened(&diff) {
            prop_assert!(change.path == path && change.what.chars().count() <= 200);
            prop_assert!(change.line as usize <= lines.len() + 10);
        }
    }

    #[test]
    fn a_diff_without_changed_lines_reports_nothing(
        path in proptest::sample::select(vec!["tests/a.rs", "a.test.ts", "test_a.py", "a_test.go"]),
        lines in proptest::collection::vec(proptest::collection::vec(piece(), 0..5), 0..30),
    ) {
        let lines: Vec<String> = lines.iter().map(|pieces| format!(" {}", pieces.concat().replace('\n', ""))).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let diff = file(&format!(" {path}"), &lines);
        prop_assert_eq!(weakened(&diff), []);
    }
}
