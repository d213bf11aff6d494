//! Four layers of values, the first that names a key wins: flag, environment, file, default.
//!
//! Values are still text here, each with its origin, so that the parsers and their messages are the
//! same wherever a value comes from. A layer replaces a list as a whole; lists never add up.

use std::collections::BTreeMap;

use super::origin::Origin;
use super::setting::{Form, SETTINGS, Setting};

/// A value as written: one text, or several for a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) texts: Vec<String>,
    pub(crate) origin: Origin,
}

/// The values of one layer, by key.
pub(crate) type Layer = BTreeMap<&'static str, Written>;

/// The environment's layer, as `variable` reads it. An empty variable counts as not set.
pub(crate) fn environment(variable: &dyn Fn(&str) -> Option<String>) -> Layer {
    let read = |setting: &'static Setting| {
        let text = variable(&setting.variable()).filter(|text| !text.is_empty())?;
        let texts = match setting.form {
            Form::List => text.split(',').map(|part| part.trim().to_owned()).collect(),
            _ => vec![text],
        };
        Some((setting.key, Written { texts, origin: Origin::Environment }))
    };
    SETTINGS.iter().filter_map(read).collect()
}

/// The layer below all others.
pub(crate) fn defaults() -> Layer {
    let read = |setting: &'static Setting| {
        let texts = vec![setting.default?.to_owned()];
        Some((setting.key, Written { texts, origin: Origin::Default }))
    };
    SETTINGS.iter().filter_map(read).collect()
}

/// Merges the layers; of two, the earlier in `layers` wins.
pub(crate) fn merge<const LAYERS: usize>(layers: [Layer; LAYERS]) -> Layer {
    layers.into_iter().rev().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Place;

    fn layer(origin: &Origin, text: &str) -> Layer {
        let written = Written { texts: vec![text.to_owned()], origin: origin.clone() };
        Layer::from([("interval", written)])
    }

    /// Every subset of the four layers: the strongest of those that name the key wins.
    #[test]
    fn the_strongest_layer_that_names_a_key_wins() {
        let place = Place { path: "f".into(), line: 1, column: 1 };
        let origins = [Origin::Flag, Origin::Environment, Origin::File(place), Origin::Default];
        for subset in 1_u32..16 {
            let has = |strength: usize| subset & (1 << strength) != 0;
            let named = |strength: usize| {
                if has(strength) {
                    layer(&origins[strength], &format!("{strength}s"))
                } else {
                    Layer::new()
                }
            };
            let merged = merge([named(0), named(1), named(2), named(3)]);
            let strongest = subset.trailing_zeros() as usize;
            assert_eq!(merged["interval"].origin, origins[strongest], "subset {subset:04b}");
            assert_eq!(merged["interval"].texts, [format!("{strongest}s")]);
        }
    }

    #[test]
    fn the_environment_splits_lists_and_only_lists() {
        let layer = environment(&|name| match name {
            "TIDINGS_SEED" => Some("a:1, b:2".to_owned()),
            "TIDINGS_ROSTER" => Some("n[1-2],m1".to_owned()),
            "TIDINGS_NAME" => Some(String::new()),
            _ => None,
        });
        assert_eq!(layer["seed"].texts, ["a:1", "b:2"]);
        assert_eq!(layer["roster"].texts, ["n[1-2],m1"]);
        assert!(!layer.contains_key("name"), "empty counts as not set");
    }
}
