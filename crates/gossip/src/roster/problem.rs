//! What can be wrong in a roster, and the bounds that it must keep to.

/// The most nodes a roster may name.
pub const MAX_NAMES: usize = 1 << 20;

/// The most bytes a node's name may have: one label of a host name.
pub const MAX_NAME_BYTES: usize = 63;

/// The most digits a number in brackets may have.
pub(super) const MAX_DIGITS: usize = 18;

/// Why a roster was refused, and where. Nothing of the roster is used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("roster, line {line}, column {column}: {problem}")]
pub struct RosterError {
    /// The line, from 1.
    pub line: usize,
    /// The character in that line, from 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong at a place of a roster, with the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The text has no name at all.
    #[error("it names no node; write one name a line, or n[0001-8192]")]
    Empty,
    /// A character that cannot stand here.
    #[error("unexpected text; names are made of A-Z a-z 0-9 . _ - and parted by commas or lines")]
    Unexpected,
    /// A name is missing, or begins with a wrong character.
    #[error("a node's name must begin here, with a letter or a digit")]
    NameExpected,
    /// A bracket is empty, or a range lacks an end.
    #[error("a number is missing; a bracket holds numbers and ranges, such as [1-3,7]")]
    NumberExpected,
    /// A bracket does not end.
    #[error("expected ',' or ']': a bracket holds numbers and ranges, such as [1-3,7]")]
    BracketUnclosed,
    /// A number too large to be meant.
    #[error("the number has {digits} digits; at most {MAX_DIGITS} are allowed")]
    NumberTooLong {
        /// How many digits it has.
        digits: usize,
    },
    /// A range whose end lies before its start.
    #[error("the range {first}-{last} runs backwards; write {last}-{first}")]
    RangeReversed {
        /// The start as written.
        first: String,
        /// The end as written.
        last: String,
    },
    /// The end of a range is padded to another width than its start.
    #[error("the range {first}-{last} is padded unevenly; give both ends as many digits")]
    PaddingUneven {
        /// The start as written.
        first: String,
        /// The end as written.
        last: String,
    },
    /// A name longer than [`MAX_NAME_BYTES`].
    #[error("a name of {bytes} bytes; at most {MAX_NAME_BYTES} are allowed")]
    NameTooLong {
        /// The length of the longest name meant here.
        bytes: usize,
    },
    /// More names than [`MAX_NAMES`].
    #[error("{names} names up to here; a roster may hold at most {MAX_NAMES}")]
    TooManyNames {
        /// How many names the roster would have with those of this place.
        names: u64,
    },
    /// An address behind brackets.
    #[error("one address for a name with brackets; give each node a line with its own address")]
    AddressOfMany,
    /// An address that is neither `host:port` nor `[IPv6]:port`.
    #[error("not an address; write name:9616, 192.0.2.7:9616 or [2001:db8::7]:9616")]
    AddressMalformed,
    /// A name that an earlier place has.
    #[error("the name {name} stands on line {first_line} already; remove one of the two")]
    DuplicateName {
        /// The name.
        name: String,
        /// Where it stands first.
        first_line: usize,
    },
    /// An address that an earlier node has.
    #[error("the address {address} belongs to {owner} on line {first_line}; give each its own")]
    DuplicateAddress {
        /// The address as written here.
        address: String,
        /// The node that has it already.
        owner: String,
        /// The line of that node.
        first_line: usize,
    },
}
