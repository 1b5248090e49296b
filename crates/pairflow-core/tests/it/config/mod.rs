//! Configuration: layers, sources, errors with their place.

mod interactive;
mod layers;
mod reference;
