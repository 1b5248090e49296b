//! What a person does every day: set up, start, look, answer, approve.

mod demo;
mod doctor;
mod flows;
mod hints;
mod setup;
