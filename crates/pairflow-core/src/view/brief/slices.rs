//! Cuts a long difference into slices that can be read with care: whole files where they fit, else parts of one.

use crate::gates::diff::HunkHeader;

/// How many changed lines stand in one slice, and in a brief itself.
pub const SLICE_LINES: usize = 400;
/// How many slices a difference is cut into at most; above that each of them is longer.
const MOST: usize = 50;

/// One slice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Piece {
    /// The files that it is about, in order.
    pub files: Vec<String>,
    /// How many lines it adds and removes.
    pub changed: usize,
    /// The patch.
    pub text: String,
}

/// Returns how many lines a patch adds and removes.
pub fn changed_lines(patch: &str) -> usize {
    files(patch).iter().map(FilePatch::changed).sum()
}

/// Cuts a patch into slices, in its own order. Every line of it is in exactly one of them; what comes before a hunk is
/// said again in each slice that has a part of the same file.
pub fn pieces(patch: &str) -> Vec<Piece> {
    let files = files(patch);
    let changed: usize = files.iter().map(FilePatch::changed).sum();
    // Two neighbours have more than one limit together, so this many slices are enough.
    let limit = SLICE_LINES.max(2 * changed / MOST + 1);
    let mut pieces: Vec<Piece> = Vec::new();
    for part in files.iter().flat_map(|file| file.parts(limit)) {
        match pieces.last_mut().filter(|last| last.changed + part.changed <= limit) {
            Some(last) => last.take(part),
            None => pieces.push(part),
        }
    }
    pieces
}

impl Piece {
    fn take(&mut self, part: Piece) {
        self.changed += part.changed;
        self.text.push_str(&part.text);
        let news = part.files.into_iter().filter(|file| self.files.last() != Some(file)).collect::<Vec<_>>();
        self.files.extend(news);
    }
}

/// What a patch does to one file.
#[derive(Default)]
struct FilePatch<'a> {
    path: &'a str,
    head: Vec<&'a str>,
    hunks: Vec<Hunk<'a>>,
}

/// One hunk, or a part of one.
struct Hunk<'a> {
    /// The numbers of its first line on both sides.
    from: (u64, u64),
    /// What git says behind the numbers.
    heading: &'a str,
    lines: Vec<&'a str>,
}

/// Reads a patch. A line of a file's text begins with a blank, a sign or a backslash, so what git says is told from it by
/// the first character alone.
fn files(patch: &str) -> Vec<FilePatch<'_>> {
    let mut files: Vec<FilePatch<'_>> = Vec::new();
    for line in patch.split_terminator('\n') {
        if let Some(paths) = line.strip_prefix("diff --git ") {
            files.push(FilePatch { path: path(paths), head: vec![line], hunks: Vec::new() });
            continue;
        }
        if files.is_empty() {
            files.push(FilePatch::default());
        }
        let Some(file) = files.last_mut() else { continue };
        match (HunkHeader::read(line), file.hunks.last_mut()) {
            (Some(header), _) => file.hunks.push(Hunk::of(&header)),
            (None, Some(hunk)) => hunk.lines.push(line),
            (None, None) => file.head.push(line),
        }
    }
    files
}

impl<'a> FilePatch<'a> {
    fn changed(&self) -> usize {
        self.hunks.iter().map(Hunk::changed).sum()
    }

    /// The whole file as one part if it fits, else several, each with what git says of the file before it.
    fn parts(&self, limit: usize) -> Vec<Piece> {
        let mut parts = vec![self.part()];
        for hunk in self.hunks.iter().flat_map(|hunk| hunk.cut(limit)) {
            let fits = parts.last().is_some_and(|part| part.changed + hunk.changed() <= limit);
            if !fits {
                parts.push(self.part());
            }
            if let Some(part) = parts.last_mut() {
                part.changed += hunk.changed();
                part.text.push_str(&hunk.text());
            }
        }
        parts
    }

    fn part(&self) -> Piece {
        let text = self.head.iter().fold(String::new(), |text, line| text + line + "\n");
        let files = if self.path.is_empty() { Vec::new() } else { vec![self.path.to_owned()] };
        Piece { files, changed: 0, text }
    }
}

impl<'a> Hunk<'a> {
    fn of(header: &HunkHeader<'a>) -> Self {
        let from = (header.old.from.into(), header.new.from.into());
        Self { from, heading: header.heading, lines: Vec::new() }
    }

    fn changed(&self) -> usize {
        self.lines.iter().filter(|line| line.starts_with(['+', '-'])).count()
    }

    /// How many of the lines are in the file before, and after.
    fn sides(&self) -> (u64, u64) {
        let count = |signs: [char; 2]| self.lines.iter().filter(|line| line.starts_with(signs)).count() as u64;
        (count([' ', '-']), count([' ', '+']))
    }

    /// Cuts it so that no part changes more than `limit` lines.
    fn cut(&self, limit: usize) -> Vec<Hunk<'a>> {
        let begin = |from| Hunk { from, heading: self.heading, lines: Vec::new() };
        let mut parts = vec![begin(self.from)];
        let mut changed = 0;
        for line in &self.lines {
            let counts = line.starts_with(['+', '-']);
            if let Some(last) = parts.last().filter(|_| counts && changed == limit) {
                let (old, new) = last.sides();
                parts.push(begin((last.from.0 + old, last.from.1 + new)));
                changed = 0;
            }
            changed += usize::from(counts);
            parts.iter_mut().rev().take(1).for_each(|part| part.lines.push(line));
        }
        parts
    }

    fn text(&self) -> String {
        let ((old, new), (before, after)) = (self.from, self.sides());
        let head = format!("@@ -{old},{before} +{new},{after} @@{}\n", self.heading);
        self.lines.iter().fold(head, |text, line| text + line + "\n")
    }
}

/// Reads `a/path b/path`, in which both are the same; an odd path stays in git's quotes.
fn path(paths: &str) -> &str {
    let half = paths.get(..paths.len() / 2).unwrap_or(paths);
    half.strip_prefix("a/").unwrap_or(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, added: usize) -> String {
        let lines: String = (1..=added).map(|n| format!("+line {n}\n")).collect();
        format!(
            "diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1,{added} @@\n{lines}"
        )
    }

    fn shape(pieces: &[Piece]) -> Vec<(String, usize)> {
        pieces.iter().map(|piece| (piece.files.join(" "), piece.changed)).collect()
    }

    #[test]
    fn files_that_fit_stay_whole_and_share_a_slice() {
        let patch = file("a/one", 150) + &file("a/two", 200) + &file("b/three", 100) + &file("pic", 0);
        let found = pieces(&patch);
        assert_eq!(shape(&found), [("a/one a/two".to_owned(), 350), ("b/three pic".to_owned(), 100)]);
        assert_eq!(found.iter().map(|piece| piece.text.as_str()).collect::<String>(), patch);
        assert_eq!(changed_lines(&patch), 450);
    }

    #[test]
    fn a_long_file_is_cut_inside_with_the_numbers_going_on() {
        let found = pieces(&file("long", 900));
        assert_eq!(shape(&found), [("long".to_owned(), 400), ("long".to_owned(), 400), ("long".to_owned(), 100)]);
        let heads: Vec<_> =
            found.iter().flat_map(|piece| piece.text.lines().filter(|line| line.starts_with("@@"))).collect();
        assert_eq!(heads, ["@@ -0,0 +1,400 @@", "@@ -0,0 +401,400 @@", "@@ -0,0 +801,100 @@"]);
        assert!(found.iter().all(|piece| piece.text.starts_with("diff --git a/long b/long\n")));
        assert!(found[1].text.contains("\n+line 401\n") && found[1].text.ends_with("+line 800\n"));
    }

    #[test]
    fn kept_and_removed_lines_count_on_their_own_side() {
        let body: String = (0..300).map(|n| format!("-old {n}\n+new {n}\n kept {n}\n")).collect();
        let patch = format!("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -10,600 +20,600 @@ fn here()\n{body}");
        let found = pieces(&patch);
        let heads: Vec<_> =
            found.iter().flat_map(|piece| piece.text.lines().filter(|line| line.starts_with("@@"))).collect();
        assert_eq!(heads, ["@@ -10,400 +20,400 @@ fn here()", "@@ -410,200 +420,200 @@ fn here()"]);
        assert_eq!(shape(&found), [("x".to_owned(), 400), ("x".to_owned(), 200)]);
    }

    #[test]
    fn a_huge_change_has_fewer_but_longer_slices_and_loses_no_line() {
        let patch: String = (0..300).map(|n| file(&format!("dir/f{n:03}"), 399)).collect();
        let found = pieces(&patch);
        assert!(found.len() <= MOST, "{}", found.len());
        assert_eq!(found.iter().map(|piece| piece.changed).sum::<usize>(), 300 * 399);
        assert_eq!(found.iter().map(|piece| piece.text.as_str()).collect::<String>(), patch);
    }

    #[test]
    fn text_that_looks_like_a_patch_is_text() {
        let patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,3 @@\n-diff --git a/y b/y\n+@@ -9 +9 @@\n+--- a/z\n++++ b/z\n";
        let found = pieces(patch);
        assert_eq!(shape(&found), [("x".to_owned(), 4)]);
        for odd in ["", "\n", "no patch at all\n", "@@ -1 +1 @@\n+x\n", "diff --git ", "diff --git ä\n"] {
            assert!(pieces(odd).len() <= 1, "{odd:?}");
        }
    }
}
