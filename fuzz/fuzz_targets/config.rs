//! The reader of configuration files, given anything at all.
//!
//! Nothing may make it panic, neither the parser nor what decides between the layers; and a configuration that was
//! accepted can be written as a `bubble.toml` that means the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pairflow_core::config::{Layer, Layers, ConfigSource, render_bubble_toml, resolve};

fuzz_target!(|data: &[u8]| {
    for source in [ConfigSource::User, ConfigSource::Repository, ConfigSource::Bubble] {
        let Ok(layer) = Layer::parse_bytes("fuzzed.toml", data, source) else { continue };
        let layers = match source {
            ConfigSource::User => Layers { user: layer, ..Layers::default() },
            ConfigSource::Repository => Layers { repo: layer, ..Layers::default() },
            ConfigSource::Bubble => Layers { bubble: layer, ..Layers::default() },
        };
        let _ = layers.explain();
        written_again(&layers);
    }
});

fn written_again(layers: &Layers) {
    let Ok(resolved) = resolve(layers) else { return };
    let Some(id) = &layers.bubble.id else { return };
    let text = render_bubble_toml(&resolved, &id.value, "/repository");
    let bubble = Layer::parse("bubble.toml", &text, ConfigSource::Bubble).expect("what we write is what we read");
    let again = resolve(&Layers { bubble, ..Layers::default() }).expect("what was decided can be decided again");
    assert_eq!(again.rules, resolved.rules);
}
