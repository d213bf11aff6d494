//! Outputs that stay on the nodes that made them: where each lies.
//!
//! What a task has come to may be larger than a store should carry, and is often read next on the
//! node where it was made. So it stays there, in a *depot*, and the record of the task says in
//! which ones. A depot goes with its node. Then the task is done again, if its output is still
//! needed and lies nowhere else.
//!
//! Source: the dataflow coordinator of the FOX final report, §3.2: "generated outputs are stored
//! locally", and the coordinator has the location, not the data.

use core::fmt;
use core::str::FromStr;

use minicbor::{Decode, Encode};

/// The most nodes that are to have an output.
pub const MAX_COPIES: u32 = 8;

/// The most depots that one answer names.
pub const MAX_NODES: usize = 1_000;

/// The bytes of the address at which a depot is reached.
pub const MAX_ADDRESS_BYTES: usize = 300;

/// The bytes of the path of a depot's folder.
pub const MAX_FOLDER_BYTES: usize = 4_096;

/// The most bytes of a shared blob: 1 TiB.
pub const MAX_SHARED_BYTES: u64 = 1 << 40;

/// The bytes of the name of a depot's host.
pub const MAX_HOST_BYTES: usize = 255;

/// A folder of a node in which outputs stay, and from which others fetch them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Depot {
    /// A number of its own, drawn at random when the folder was made: a folder that was emptied is
    /// another depot, whatever its host is called.
    #[n(0)]
    pub id: u64,
    /// The host, as the board names it.
    #[n(1)]
    pub host: String,
}

/// A blob in the memory of a node that others read there, by its handle: which bytes, how many, and
/// the depot of the node that has put it. It is there as long as somebody holds it, or a tuple or a
/// task names it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Encode, Decode)]
#[cbor(map)]
pub struct SharedBlob {
    /// SHA-256 of the bytes.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub hash: [u8; 32],
    /// How many they are, at most [`MAX_SHARED_BYTES`].
    #[n(1)]
    pub bytes: u64,
    /// Where it was put.
    #[n(2)]
    pub depot: Depot,
}

impl SharedBlob {
    /// What is wrong with it.
    ///
    /// # Errors
    /// It has more bytes than a blob may, or its host a longer name.
    pub fn check(&self) -> Result<(), String> {
        if self.bytes > MAX_SHARED_BYTES {
            return Err(format!(
                "a handle of {} bytes; at most {MAX_SHARED_BYTES} are possible",
                self.bytes
            ));
        }
        match self.depot.host.len() {
            0..=MAX_HOST_BYTES => Ok(()),
            bytes => Err(format!(
                "a handle whose host has a name of {bytes} bytes; at most {MAX_HOST_BYTES}"
            )),
        }
    }
}

impl fmt::Display for SharedBlob {
    /// `HASH:BYTES:DEPOT:HOST`, hash and depot in hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hash.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, ":{}:{:016x}:{}", self.bytes, self.depot.id, self.depot.host)
    }
}

/// What is no handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no handle of a shared blob: write HASH:BYTES:DEPOT:HOST as a list of tuples shows it")]
pub struct SharedBlobError;

impl FromStr for SharedBlob {
    type Err = SharedBlobError;

    fn from_str(text: &str) -> Result<Self, SharedBlobError> {
        let mut parts = text.splitn(4, ':');
        let mut next = || parts.next().ok_or(SharedBlobError);
        let (digits, bytes, depot, host) = (next()?, next()?, next()?, next()?.to_owned());
        let mut hash = [0; 32];
        if digits.len() != 64 || !digits.is_ascii() {
            return Err(SharedBlobError);
        }
        for (at, byte) in hash.iter_mut().enumerate() {
            let digits = &digits[2 * at..2 * at + 2];
            *byte = u8::from_str_radix(digits, 16).map_err(|_| SharedBlobError)?;
        }
        let bytes = bytes.parse().map_err(|_| SharedBlobError)?;
        let id = u64::from_str_radix(depot, 16).map_err(|_| SharedBlobError)?;
        let blob = Self { hash, bytes, depot: Depot { id, host } };
        // One text for each handle, and none of what is no blob.
        let is_one = blob.check().is_ok() && blob.to_string() == text;
        is_one.then_some(blob).ok_or(SharedBlobError)
    }
}

/// A number that changes when one of these numbers of depots does, or another one comes or goes.
pub fn digest(ids: impl IntoIterator<Item = u64>) -> u64 {
    let mix = tidings_primitives::chance::mix;
    ids.into_iter().fold(0, |all, id| mix(all ^ mix(id)))
}

/// Where an output lies.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Kept {
    /// How long it is.
    #[n(0)]
    pub bytes: u64,
    /// The depots that have it: 1 to [`MAX_COPIES`], the first one that of the node that made it.
    #[n(1)]
    pub depots: Vec<Depot>,
}

/// A depot, and where it is reached at present.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Reached {
    /// Which.
    #[n(0)]
    pub depot: Depot,
    /// Where its node serves it.
    #[n(1)]
    pub address: String,
    /// Of a depot of shared blobs: its folder, for processes of the same host. Outputs are not
    /// copied there.
    #[n(2)]
    pub folder: Option<String>,
}

/// One that has a blob.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Encode, Decode)]
pub enum Owner {
    /// Whoever holds the store, for all that lies with it.
    #[n(0)]
    Store,
    /// The depot of this number.
    #[n(1)]
    Depot(#[n(0)] u64),
}

/// From where a depot is to copy a blob.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Source {
    /// From whoever holds the store.
    #[n(0)]
    Store,
    /// From another depot.
    #[n(1)]
    Depot(#[n(0)] Reached),
    /// From nowhere: another process of its host has copied it.
    #[n(2)]
    Here,
    /// Nobody that is there has it.
    #[n(3)]
    Nowhere,
}

impl Kept {
    /// What is wrong with it.
    ///
    /// # Errors
    /// No depot has it, or more than may.
    pub fn check(&self) -> Result<(), String> {
        match self.depots.len() {
            0 => Err("an output that no node has".to_owned()),
            count if count > MAX_COPIES as usize => {
                Err(format!("an output on {count} nodes; at most {MAX_COPIES} are possible"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn handles_are_read_as_they_are_written(
            hash: [u8; 32], bytes in 0..=MAX_SHARED_BYTES, id: u64, host in "[a-z:.]{0,20}",
        ) {
            let blob = SharedBlob { hash, bytes, depot: Depot { id, host } };
            prop_assert_eq!(blob.to_string().parse(), Ok(blob));
        }

        #[test]
        fn no_text_makes_it_panic(text: String, hash: [u8; 32]) {
            let _ = text.parse::<SharedBlob>();
            let depot = Depot { id: 1, host: String::new() };
            let right = SharedBlob { hash, bytes: 3, depot }.to_string();
            let _ = right.replacen('0', &text, 1).parse::<SharedBlob>();
        }
    }

    #[test]
    fn what_is_outside_of_the_bounds_is_no_handle() {
        let depot = Depot { id: 1, host: "h".to_owned() };
        let right = SharedBlob { hash: [7; 32], bytes: 3, depot }.to_string();
        for bytes in ["+3", "03", "1099511627777", ""] {
            let wrong = right.replace(":3:", &format!(":{bytes}:"));
            assert_eq!(wrong.parse::<SharedBlob>(), Err(SharedBlobError), "{wrong}");
        }
        for wrong in [&right[2..], &right.to_uppercase().replace('H', "h").replace("07", "0A")] {
            assert_eq!(wrong.parse::<SharedBlob>(), Err(SharedBlobError), "{wrong}");
        }
    }
}
