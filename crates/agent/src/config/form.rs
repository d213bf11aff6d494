//! The form of a value: which TOML types a key takes in a file.

/// Which TOML types a key takes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A string.
    Text,
    /// An integer.
    Count,
    /// A string or an integer.
    TextOrCount,
    /// A boolean.
    Switch,
    /// A string or an array of strings.
    List,
}

impl Form {
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Form::Text => "a string",
            Form::Count => "an integer",
            Form::TextOrCount => "a string or an integer",
            Form::Switch => "true or false",
            Form::List => "a string or an array of strings",
        }
    }
}
