//! Bad input of every kind: a sentence that names the thing and the way on, a stable exit code, and nothing lost.

mod files;
mod git;
mod text;
mod verbs;
