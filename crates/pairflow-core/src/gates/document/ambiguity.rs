//! Vague words in scope, requirements and criteria stand next to a measure.

use std::ops::Range;

use super::block::Kind;
use super::measure::is_measured;
use super::outline::{Outline, Placed, Role};
use super::remark::{DocumentCheck, Mark};
use super::section::Section;
use super::token::{Form, tokens};
use super::vague::{Lexicon, Vague};

/// Marks the vague words that no measure gives a meaning.
pub(super) fn check(outline: &Outline<'_>) -> Vec<Mark> {
    let lexicon = Lexicon::english();
    let measured = Measured::of(outline);
    let mut marks = Vec::new();
    for (nth, block) in outline.blocks.iter().enumerate().filter(|(_, block)| is_binding(block)) {
        let tied = measured.around[nth];
        let whole = block.kind != Kind::Paragraph && measured.blocks[nth];
        for sentence in sentences(outline, block) {
            let prose = &outline.pages[block.page].prose;
            let mended = tied || whole || is_measured_in(outline, block.page, sentence.clone());
            for vague in lexicon.find(prose, &tokens(prose, sentence)) {
                if !(mended && vague.mendable) {
                    marks.push(mark(block.page, &vague));
                }
            }
        }
    }
    marks
}

fn is_binding(block: &Placed) -> bool {
    let sections = [Section::Scope, Section::Requirements, Section::Acceptance];
    let kinds = matches!(block.kind, Kind::Paragraph | Kind::Item | Kind::Row);
    kinds && sections.into_iter().any(|section| block.sections.has(section))
}

/// Where the measures are.
struct Measured {
    /// The blocks that carry one, in themselves or in the items under them.
    blocks: Vec<bool>,
    /// The blocks whose requirement has a criterion that carries one, or that announce a list that does.
    around: Vec<bool>,
}

impl Measured {
    fn of(outline: &Outline<'_>) -> Self {
        let own = |block: &Placed| is_measured_in(outline, block.page, block.range.clone());
        let mut blocks: Vec<bool> = outline.blocks.iter().map(own).collect();
        for nth in (0..blocks.len()).rev() {
            if let Some(parent) = outline.blocks[nth].parent {
                blocks[parent] |= blocks[nth];
            }
        }
        let mut entries: Vec<bool> =
            outline.entries.iter().map(|entry| entry.blocks.iter().any(|block| blocks[*block])).collect();
        for nth in (0..entries.len()).rev() {
            if let Some(inside) = outline.entries[nth].inside {
                entries[inside] |= entries[nth];
            }
        }
        let mut around = announced(outline, &blocks);
        let mut tied = vec![false; entries.len()];
        for (requirement, criterion) in &outline.links.pairs {
            tied[*requirement] |= entries[*criterion];
        }
        for (nth, entry) in outline.entries.iter().enumerate().filter(|(_, entry)| entry.role == Role::Requirement) {
            if tied[outline.links.first(nth)] {
                entry.blocks.iter().for_each(|block| around[*block] = true);
            }
        }
        Self { blocks, around }
    }
}

/// Returns the paragraphs that end with a colon before a list that carries a measure.
fn announced(outline: &Outline<'_>, measured: &[bool]) -> Vec<bool> {
    let mut around = vec![false; outline.blocks.len()];
    let mut list = false;
    for (nth, block) in outline.blocks.iter().enumerate().rev() {
        let announces = block.kind == Kind::Paragraph && outline.raw(nth).trim_end().ends_with(':');
        around[nth] = announces && list;
        list = matches!(block.kind, Kind::Item | Kind::Row | Kind::Header) && (list || measured[nth]);
    }
    around
}

fn is_measured_in(outline: &Outline<'_>, page: usize, range: Range<usize>) -> bool {
    is_measured(&tokens(&outline.pages[page].measures, range))
}

/// Returns the sentences of a paragraph; an item and a row are taken as one.
fn sentences(outline: &Outline<'_>, block: &Placed) -> Vec<Range<usize>> {
    let range = block.range.clone();
    if block.kind != Kind::Paragraph {
        return vec![range];
    }
    let words = tokens(&outline.pages[block.page].measures, range.clone());
    let mut found = Vec::new();
    let mut start = range.start;
    for three in words.windows(3) {
        let [before, stop, next] = three else { continue };
        let capital = next.form != Form::Word || next.text.starts_with(char::is_uppercase);
        // The stop of "e.g." ends nothing.
        let ends = stop.among(&[".", "!", "?"]) && stop.end() < next.at && before.text.len() > 1;
        if ends && capital {
            found.push(start..stop.end());
            start = stop.end();
        }
    }
    found.push(start..range.end);
    found
}

fn mark(page: usize, vague: &Vague<'_>) -> Mark {
    let phrase = vague.phrase;
    let what = if vague.mendable {
        format!("\"{phrase}\" says nothing that can be checked: add a measure (a number with a unit, a limit, a count)")
    } else {
        format!("\"{phrase}\" leaves the decision open: decide it, or move it to the open questions")
    };
    Mark { check: DocumentCheck::Ambiguity, page, at: vague.at, what }
}
