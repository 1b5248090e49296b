//! When two findings are the same claim, and when one asks to undo the other. Decided by code, from their texts alone.
//!
//! Reviewers word one claim in many ways, and two faults of one line in much the same words; so neither equal titles
//! nor shared words are enough. A finding is taken apart (`claim`): the names and words it mentions, the line of code
//! it is about, and the faults it speaks of, found by a table of what reviews talk about (`lexicon.txt`), in which a
//! fault and its repair are one notion. Two claims of one file are then weighed in points (`compare`): what they share
//! speaks for them, sister faults ("no limit on login", "no limit on reset"), opposites and foreign lines against
//! them. How many points make them one depends on what a wrong join would cost (`matching`): few for remarks, many
//! where both are grave. Findings of different files are never one.
//!
//! Everything is a pure function of the two texts, in whole numbers, of which only the first words are read.

mod claim;
mod compare;
mod lexicon;
mod matching;
mod opposites;
mod reversal;
mod words;

pub use matching::best_match;
pub use reversal::reversed;
