//! What a task says about when it is done: the entries of its section "Acceptance criteria".

/// Returns the entries of every section of `task` that is titled "Acceptance criteria".
///
/// The title is a Markdown heading of any level, or a line of its own that ends in a colon or is bold. List items and
/// plain lines are entries; indented lines continue the one above.
pub fn acceptance_criteria(task: &str) -> Vec<String> {
    let mut reading =
        TaskReading { entries: Vec::new(), section: TaskSection::Other, after_gap: false, open: false, fenced: false };
    let lines: Vec<&str> = task.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        reading.line(line, lines.get(index + 1).copied().unwrap_or(""));
    }
    reading.entries
}

struct TaskReading {
    entries: Vec<String>,
    section: TaskSection,
    /// Whether the line above was blank.
    after_gap: bool,
    /// Whether the last entry may go on.
    open: bool,
    fenced: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TaskSection {
    Other,
    /// Below a heading of this level: lasts until a heading of the same or a higher one.
    Heading(usize),
    /// Below a label: lasts until the text goes on as something else.
    Label,
}

impl TaskReading {
    fn line(&mut self, line: &str, next: &str) {
        if is_fence(line) {
            self.fenced = !self.fenced;
        } else if self.fenced {
            self.inside_fence(line);
        } else if let Some((level, title)) = heading(line, next) {
            self.heading(level, title);
        } else if let Some(rest) = label(line) {
            self.section = TaskSection::Label;
            self.open = false;
            self.entry(rest);
        } else if self.section != TaskSection::Other && !is_ornament(line) {
            self.content(line);
        }
        self.after_gap = line.trim().is_empty();
    }

    fn heading(&mut self, level: usize, title: &str) {
        self.open = false;
        if is_title(title) {
            self.section = TaskSection::Heading(level);
        } else if !matches!(self.section, TaskSection::Heading(own) if level > own) {
            self.section = TaskSection::Other;
        }
    }

    fn content(&mut self, line: &str) {
        let indented = line.starts_with([' ', '\t']);
        match item(line) {
            _ if line.trim().is_empty() => {}
            Some(text) => self.entry(text),
            None if self.open && (indented || !self.after_gap) => self.extend(line),
            None if self.section == TaskSection::Label && self.after_gap && !self.entries.is_empty() => {
                self.section = TaskSection::Other;
            }
            None => {
                self.entry(line);
                // Only a list item goes on over several lines; plain lines are entries of their own.
                self.open = false;
            }
        }
    }

    fn inside_fence(&mut self, line: &str) {
        if self.section != TaskSection::Other && !self.entries.is_empty() {
            self.extend(line);
        }
    }

    fn entry(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            self.entries.push(text.to_owned());
            self.open = true;
        }
    }

    fn extend(&mut self, line: &str) {
        let (Some(last), line) = (self.entries.last_mut(), line.trim()) else { return };
        if !line.is_empty() {
            last.push(' ');
            last.push_str(line);
        }
    }
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// Whether a line is a rule, the underline of a heading or a comment.
fn is_ornament(line: &str) -> bool {
    let line = line.trim();
    is_rule(line, '-')
        || is_rule(line, '=')
        || is_rule(line, '*')
        || (line.starts_with("<!--") && line.ends_with("-->"))
}

fn is_rule(line: &str, mark: char) -> bool {
    line.len() >= 3 && line.chars().all(|c| c == mark)
}

/// Reads a heading: `## Title`, or a line that the next one underlines.
fn heading<'a>(line: &'a str, next: &str) -> Option<(usize, &'a str)> {
    let line = line.trim();
    let level = line.chars().take_while(|c| *c == '#').count();
    if (1..=6).contains(&level) {
        let title = line[level..].strip_prefix([' ', '\t'])?;
        return Some((level, title.trim_end_matches('#').trim()));
    }
    let underlined = |mark| is_rule(next.trim(), mark) && !line.is_empty() && item(line).is_none();
    match () {
        () if underlined('=') => Some((1, line)),
        () if underlined('-') => Some((2, line)),
        () => None,
    }
}

/// Returns what follows the label `Acceptance criteria:` on its line.
fn label(line: &str) -> Option<&str> {
    let line = line.trim();
    let bare = line.trim_matches(['*', '_']);
    if bare.len() < line.len() && is_title(bare) {
        return Some("");
    }
    let (title, rest) = line.split_once(':')?;
    is_title(title.trim_matches(['*', '_'])).then(|| rest.trim_start_matches(['*', '_']))
}

fn is_title(text: &str) -> bool {
    let plain = text.trim().trim_matches(['*', '_']).trim_end_matches(':').trim().to_lowercase();
    matches!(plain.as_str(), "acceptance criteria" | "acceptance criterion")
}

/// Returns the text of a list item, without its mark and its checkbox.
fn item(line: &str) -> Option<&str> {
    let line = line.trim();
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let numbered = (1..=9).contains(&digits).then(|| line[digits..].strip_prefix(['.', ')'])).flatten();
    let text = numbered.or_else(|| line.strip_prefix(['-', '*', '+']))?;
    let text = text.strip_prefix([' ', '\t'])?.trim_start();
    let boxed = ["[ ]", "[x]", "[X]"].into_iter().find_map(|mark| text.strip_prefix(mark));
    Some(boxed.unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(task: &str, expected: &[&str]) {
        assert_eq!(acceptance_criteria(task), expected, "{task}");
    }

    #[test]
    fn a_task_without_the_section_has_no_criteria() {
        check("", &[]);
        check("Fix the login race.\n\n- not a criterion\n", &[]);
        check("# Other\n- a\n", &[]);
        check("The acceptance criteria are in the wiki.\n- a\n", &[]);
    }

    #[test]
    fn a_heading_of_any_level_opens_the_section() {
        check("# Acceptance criteria\n- a\n- b\n", &["a", "b"]);
        check("intro\n\n#### ACCEPTANCE Criteria ####\n\n* a\n+ b\n", &["a", "b"]);
        check("## **Acceptance criteria:**\n1. a\n2) b\n", &["a", "b"]);
        check("Acceptance criteria\n-------------------\n- a\n", &["a"]);
        check("Acceptance criteria\r\n===\r\n- a\r\n", &["a"]);
    }

    #[test]
    fn the_next_heading_of_its_level_ends_the_section() {
        check("## Acceptance criteria\n- a\n### Later\n- b\n## Notes\n- c\n", &["a", "b"]);
        check("## Acceptance criteria\n- a\n# Notes\n- c\n", &["a"]);
        check("## Acceptance criteria\n- a\n\nNotes\n-----\n- c\n", &["a"]);
    }

    #[test]
    fn a_label_opens_the_section_until_the_text_goes_on() {
        check("Fix it.\nAcceptance criteria:\n- a\n\n- b\n\nThanks for the work.\n- c\n", &["a", "b"]);
        check("**Acceptance criteria**\n- a\n", &["a"]);
        check("**Acceptance criteria:** it builds\n", &["it builds"]);
        check("Acceptance criteria: it builds", &["it builds"]);
        check("Acceptance criteria:\n\nit builds\nit runs\n\nBye\n", &["it builds", "it runs"]);
    }

    #[test]
    fn checkboxes_and_continued_lines_are_read_as_one_entry() {
        let task = "## Acceptance criteria\n- [ ] a\n  goes on\n- [x] b\nlazily\n\n  and on\n- ```\n";
        check(task, &["a goes on", "b lazily and on", "```"]);
        check("# Acceptance criteria\nplain one\nplain two\n", &["plain one", "plain two"]);
    }

    #[test]
    fn fences_comments_and_rules_are_no_entries() {
        check("```\n# Acceptance criteria\n- a\n```\n", &[]);
        check(
            "# Acceptance criteria\n<!-- fill in -->\n- run:\n```sh\n# test\nmake\n```\n---\n- b\n",
            &["run: # test make", "b"],
        );
    }
}
