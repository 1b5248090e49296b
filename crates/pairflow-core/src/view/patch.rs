//! Reads a patch as git prints it, line by line, and cuts a long one into slices that can be read with care.
//!
//! Unlike `gates::diff`, which reads what changed, it keeps every line as it is, so that a patch can be shown again.

use crate::gates::diff::{HunkHeader, read_path};

/// How many changed lines stand in one slice, and in a brief itself.
pub const SLICE_LINES: usize = 400;
/// How many slices a difference is cut into at most; above that each of them is longer.
const MAX_SLICES: usize = 50;

/// One slice of a patch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PatchSlice {
    /// The files that it changes, in order.
    pub files: Vec<String>,
    /// How many lines it adds and removes.
    pub changed: usize,
    /// The patch.
    pub text: String,
}

/// What a patch does to one file.
#[derive(Debug, Clone, Default)]
pub(super) struct FilePatch<'a> {
    pub(super) path: String,
    /// What git says of the file before the first hunk.
    pub(super) head: Vec<&'a str>,
    pub(super) hunks: Vec<PatchHunk<'a>>,
}

/// One hunk, or a part of one.
#[derive(Debug, Clone)]
pub(super) struct PatchHunk<'a> {
    /// The header as git printed it.
    pub(super) head: &'a str,
    pub(super) header: HunkHeader<'a>,
    pub(super) lines: Vec<&'a str>,
}

/// Returns how many lines a patch adds and removes.
pub fn changed_lines(patch: &str) -> usize {
    read(patch).iter().map(FilePatch::changed).sum()
}

/// Cuts a patch into slices, in its own order. Every line of it is in exactly one of them; what comes before a hunk is
/// repeated in each slice that has a part of the same file.
pub fn cut_into_slices(patch: &str) -> Vec<PatchSlice> {
    let files = read(patch);
    let changed: usize = files.iter().map(FilePatch::changed).sum();
    // Two neighbours have more than one limit together, so this many slices are enough.
    let limit = SLICE_LINES.max(2 * changed / MAX_SLICES + 1);
    let mut slices: Vec<PatchSlice> = Vec::new();
    for part in files.iter().flat_map(|file| file.parts(limit)) {
        match slices.last_mut().filter(|last| last.changed + part.changed <= limit) {
            Some(last) => {
                last.changed += part.changed;
                last.text.push_str(&part.text);
                let more: Vec<_> = part.files.into_iter().filter(|file| last.files.last() != Some(file)).collect();
                last.files.extend(more);
            }
            None => slices.push(part),
        }
    }
    slices
}

/// Reads a patch. A line of a file's text begins with a blank, a sign or a backslash, so the first character alone tells
/// it from what git says. Only a line feed ends a line: it may contain anything else.
pub(super) fn read(patch: &str) -> Vec<FilePatch<'_>> {
    let mut files: Vec<FilePatch<'_>> = Vec::new();
    for line in patch.split_terminator('\n') {
        if let Some(paths) = line.strip_prefix("diff --git ") {
            let path = paths.get(paths.len() / 2 + 1..).and_then(read_path).unwrap_or_default();
            files.push(FilePatch { path, head: vec![line], hunks: Vec::new() });
            continue;
        }
        if files.is_empty() {
            files.push(FilePatch::default());
        }
        let Some(file) = files.last_mut() else { continue };
        match (HunkHeader::read(line), file.hunks.last_mut()) {
            (Some(header), _) => file.hunks.push(PatchHunk { head: line, header, lines: Vec::new() }),
            (None, Some(hunk)) => hunk.lines.push(line),
            (None, None) => file.head.push(line),
        }
    }
    files
}

impl<'a> FilePatch<'a> {
    /// How many lines are added and removed.
    pub(super) fn counts(&self) -> (usize, usize) {
        self.hunks.iter().fold((0, 0), |sum, hunk| (sum.0 + hunk.count('+'), sum.1 + hunk.count('-')))
    }

    /// How many lines its hunks have.
    pub(super) fn lines(&self) -> usize {
        self.hunks.iter().map(|hunk| hunk.lines.len()).sum()
    }

    /// What git says of the file beside its name and its hashes: that it is new, deleted or binary, a change of mode.
    pub(super) fn notes(&self) -> impl Iterator<Item = &'a str> {
        let told = self
            .head
            .iter()
            .skip(1)
            .filter(|line| !["index ", "--- ", "+++ "].iter().any(|mark| line.starts_with(mark)));
        told.map(|line| if line.starts_with("Binary files ") { "binary" } else { line })
    }

    fn changed(&self) -> usize {
        self.hunks.iter().map(PatchHunk::changed).sum()
    }

    /// The whole file as one part if it fits, else several, each with what git says of the file before it.
    fn parts(&self, limit: usize) -> Vec<PatchSlice> {
        let text = self.head.iter().fold(String::new(), |text, line| text + line + "\n");
        let files = Some(self.path.clone()).filter(|path| !path.is_empty()).into_iter().collect();
        let mut part = PatchSlice { files, changed: 0, text };
        let empty = part.clone();
        let mut parts = Vec::new();
        for hunk in self.hunks.iter().flat_map(|hunk| hunk.cut(limit)) {
            if part.changed + hunk.changed() > limit {
                parts.push(std::mem::replace(&mut part, empty.clone()));
            }
            part.changed += hunk.changed();
            part.text.push_str(&hunk.text());
        }
        parts.push(part);
        parts
    }
}

impl<'a> PatchHunk<'a> {
    fn count(&self, sign: char) -> usize {
        self.lines.iter().filter(|line| line.starts_with(sign)).count()
    }

    fn changed(&self) -> usize {
        self.count('+') + self.count('-')
    }

    /// Cuts it so that no part changes more than `limit` lines.
    fn cut(&self, limit: usize) -> Vec<PatchHunk<'a>> {
        let mut parts = Vec::new();
        let mut part = PatchHunk { head: self.head, header: self.header, lines: Vec::new() };
        let mut changed = 0;
        for line in &self.lines {
            let counts = line.starts_with(['+', '-']);
            if counts && changed == limit {
                let (old, new) = part.sides();
                let mut header = part.header;
                header.old.from = header.old.from.saturating_add(old);
                header.new.from = header.new.from.saturating_add(new);
                parts.push(std::mem::replace(&mut part, PatchHunk { head: self.head, header, lines: Vec::new() }));
                changed = 0;
            }
            changed += usize::from(counts);
            part.lines.push(line);
        }
        parts.push(part);
        parts
    }

    /// How many of the lines are in the file before, and after.
    fn sides(&self) -> (u32, u32) {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let kept = self.count(' ');
        (number(kept + self.count('-')), number(kept + self.count('+')))
    }

    fn text(&self) -> String {
        let HunkHeader { old, new, heading } = self.header;
        let (before, after) = self.sides();
        let head = format!("@@ -{},{before} +{},{after} @@{heading}\n", old.from, new.from);
        self.lines.iter().fold(head, |text, line| text + line + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::diff::LineRange;

    fn file(name: &str, added: usize) -> String {
        let lines: String = (1..=added).map(|n| format!("+line {n}\n")).collect();
        format!(
            "diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1,{added} @@\n{lines}"
        )
    }

    fn shape(slices: &[PatchSlice]) -> Vec<(String, usize)> {
        slices.iter().map(|slice| (slice.files.join(" "), slice.changed)).collect()
    }

    #[test]
    fn files_that_fit_stay_whole_and_share_a_slice() {
        let patch = file("a/one", 150) + &file("a/two", 200) + &file("b/three", 100) + &file("pic", 0);
        let found = cut_into_slices(&patch);
        assert_eq!(shape(&found), [("a/one a/two".to_owned(), 350), ("b/three pic".to_owned(), 100)]);
        assert_eq!(found.iter().map(|slice| slice.text.as_str()).collect::<String>(), patch);
        assert_eq!(changed_lines(&patch), 450);
    }

    #[test]
    fn a_long_file_is_cut_inside_with_the_numbers_going_on() {
        let found = cut_into_slices(&file("long", 900));
        assert_eq!(shape(&found), [("long".to_owned(), 400), ("long".to_owned(), 400), ("long".to_owned(), 100)]);
        let heads: Vec<_> =
            found.iter().flat_map(|slice| slice.text.lines().filter(|line| line.starts_with("@@"))).collect();
        assert_eq!(heads, ["@@ -0,0 +1,400 @@", "@@ -0,0 +401,400 @@", "@@ -0,0 +801,100 @@"]);
        assert!(found.iter().all(|slice| slice.text.starts_with("diff --git a/long b/long\n")));
        assert!(found[1].text.contains("\n+line 401\n") && found[1].text.ends_with("+line 800\n"));
    }

    #[test]
    fn kept_and_removed_lines_count_on_their_own_side() {
        let body: String = (0..300).map(|n| format!("-old {n}\n+new {n}\n kept {n}\n")).collect();
        let patch = format!("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -10,600 +20,600 @@ fn here()\n{body}");
        let found = cut_into_slices(&patch);
        let heads: Vec<_> =
            found.iter().flat_map(|slice| slice.text.lines().filter(|line| line.starts_with("@@"))).collect();
        assert_eq!(heads, ["@@ -10,400 +20,400 @@ fn here()", "@@ -410,200 +420,200 @@ fn here()"]);
        assert_eq!(shape(&found), [("x".to_owned(), 400), ("x".to_owned(), 200)]);
    }

    #[test]
    fn a_huge_change_has_fewer_but_longer_slices_and_loses_no_line() {
        let patch: String = (0..300).map(|n| file(&format!("dir/f{n:03}"), 399)).collect();
        let found = cut_into_slices(&patch);
        assert!(found.len() <= MAX_SLICES, "{}", found.len());
        assert_eq!(found.iter().map(|slice| slice.changed).sum::<usize>(), 300 * 399);
        assert_eq!(found.iter().map(|slice| slice.text.as_str()).collect::<String>(), patch);
    }

    #[test]
    fn text_that_looks_like_a_patch_is_text() {
        let patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,3 @@\n-diff --git a/y b/y\n+@@ -9 +9 @@\n+--- a/z\n++++ b/z\n";
        let found = cut_into_slices(patch);
        assert_eq!(shape(&found), [("x".to_owned(), 4)]);
        for odd in ["", "\n", "no patch at all\n", "@@ -1 +1 @@\n+x\n", "diff --git ", "diff --git ä\n"] {
            assert!(cut_into_slices(odd).len() <= 1, "{odd:?}");
        }
    }

    const PATCH: &str = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n\
        @@ -1,2 +1,3 @@ fn main\n context\n--- a/looks like a header\n+++ b/and this\n+new\n@@ -9 +10 @@\n-x\n+y\n\
        \\ No newline at end of file\n\
        diff --git a/pic b/pic\nnew file mode 100644\nindex 0..1\nBinary files /dev/null and b/pic differ\n\
        diff --git \"a/\\303\\244 b\" \"b/\\303\\244 b\"\ndeleted file mode 100644\n--- \"a/\\303\\244 b\"\n+++ /dev/null\n\
        @@ -1 +0,0 @@\n-gone\n";

    #[test]
    fn files_hunks_and_lines_are_told_apart() {
        let files = read(PATCH);
        let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["src/a.rs", "pic", "ä b"]);
        let first = &files[0];
        assert_eq!((first.hunks.len(), first.counts(), first.lines()), (2, (3, 2), 7));
        assert_eq!(first.hunks[1].header.new, LineRange { from: 10, count: 1 });
        assert_eq!(files[1].notes().collect::<Vec<_>>(), ["new file mode 100644", "binary"]);
        assert_eq!(files.iter().map(FilePatch::lines).sum::<usize>(), 8);
    }

    #[test]
    fn anything_else_is_read_without_complaint() {
        for text in ["", "\n\n", "@@ no file @@\n+x", "diff --git ", "diff --git x\n@@ -1 +9999999999999 @@\n"] {
            assert_eq!(read(text).iter().map(FilePatch::lines).sum::<usize>(), 0, "{text:?}");
        }
    }
}
