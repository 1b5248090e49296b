//! The only place that writes markup. Tags and classes are ours, known when the program is built; every other text is
//! made safe and escaped, so that none of it can become a tag, an attribute or an entity.

use crate::safe::safe;

/// How many characters of one text are shown at most.
pub(super) const SHOWN: usize = 16_000;

/// A page that is being written.
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Adds markup of our own.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Adds foreign text; of a very long one only the beginning.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        let end = text.char_indices().nth(SHOWN).map(|(at, _)| at);
        escape(&mut self.0, &safe(&text[..end.unwrap_or(text.len())]));
        self.raw(if end.is_some() { "…" } else { "" })
    }

    /// Opens an element.
    pub(super) fn open(&mut self, tag: &'static str, class: &'static str) -> &mut Self {
        self.begin(tag, class);
        self.raw(">")
    }

    /// Opens an element that can be linked to.
    pub(super) fn open_at(&mut self, tag: &'static str, class: &'static str, id: &str) -> &mut Self {
        self.begin(tag, class);
        self.raw(" id=\"");
        escape(&mut self.0, &safe(id));
        self.raw("\">")
    }

    /// Closes an element.
    pub(super) fn close(&mut self, tag: &'static str) -> &mut Self {
        self.raw("</").raw(tag).raw(">")
    }

    /// Adds an element that holds nothing but text.
    pub(super) fn element(&mut self, tag: &'static str, class: &'static str, text: &str) -> &mut Self {
        self.open(tag, class).text(text).close(tag)
    }

    /// Adds a link to another place of the page.
    pub(super) fn link(&mut self, class: &'static str, to: &str, text: &str) -> &mut Self {
        self.begin("a", class);
        self.raw(" href=\"#");
        escape(&mut self.0, &safe(to));
        self.raw("\">").text(text).close("a")
    }

    /// Adds a coloured word.
    pub(super) fn pill(&mut self, class: &'static str, text: &str) -> &mut Self {
        self.raw("<span class=\"pill ").raw(class).raw("\">").text(text).close("span")
    }

    /// How long the page is so far, in bytes.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the page.
    pub(super) fn finish(self) -> String {
        self.0
    }

    fn begin(&mut self, tag: &'static str, class: &'static str) {
        self.raw("<").raw(tag);
        if !class.is_empty() {
            self.raw(" class=\"").raw(class).raw("\"");
        }
    }
}

fn escape(into: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
        into.push_str(&rest[..at]);
        into.push_str(match rest.as_bytes()[at] {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            _ => "&#39;",
        });
        rest = &rest[at + 1..];
    }
    into.push_str(rest);
}

/// Begins a part of the page.
pub(super) fn section(html: &mut Html, anchor: &'static str, title: &'static str) {
    html.raw("<section id=\"").raw(anchor).raw("\">\n<h2>").raw(title).raw("</h2>\n");
}

/// Says how many older entries a list had.
pub(super) fn dropped(html: &mut Html, count: usize, command: &str) {
    if count > 0 {
        html.raw("<p class=\"cut\">").text(&format!("{count} older entries are left out here; "));
        html.element("code", "", command).raw(" shows them.</p>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_never_markup() {
        let mut html = Html::default();
        html.element("p", "x", "<b>\"'&amp;\u{1b}[31m\0");
        html.open_at("i", "", "\"><script>").close("i").link("", "'\"<", ">").pill("good", "<");
        assert_eq!(
            html.finish(),
            "<p class=\"x\">&lt;b&gt;&quot;&#39;&amp;amp;</p><i id=\"&quot;&gt;&lt;script&gt;\"></i>\
             <a href=\"#&#39;&quot;&lt;\">&gt;</a><span class=\"pill good\">&lt;</span>"
        );
    }
}
