//! The part of etcd's interface that the engine uses, as protobuf messages.
//!
//! They are written by hand, since a generator would need `protoc` wherever Tidings is built. Only
//! fields that are used stand here; others are skipped when they come. The numbers are fixed for
//! ever: programs of all versions of etcd 3 rely on them.
//!
//! Source: `api/etcdserverpb/rpc.proto` and `api/mvccpb/kv.proto` of etcd 3.5.

use prost::{Message, Oneof};

/// The comparison `==`, and `>`.
pub(super) const EQUAL: i32 = 0;
pub(super) const GREATER: i32 = 1;

/// What is compared: the revision that last wrote a key.
pub(super) const OF_MOD_REVISION: i32 = 2;

/// The kind of an event that deletes.
pub(super) const DELETED: i32 = 1;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Header {
    #[prost(uint64, tag = "1")]
    pub(super) cluster: u64,
    #[prost(uint64, tag = "2")]
    pub(super) member: u64,
    #[prost(int64, tag = "3")]
    pub(super) revision: i64,
    /// Rises with each election.
    #[prost(uint64, tag = "4")]
    pub(super) term: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct KeyValue {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub(super) mod_revision: i64,
    #[prost(bytes = "vec", tag = "5")]
    pub(super) value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Range {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    /// Without it the range is the key alone.
    #[prost(bytes = "vec", tag = "2")]
    pub(super) end: Vec<u8>,
    /// 0: all.
    #[prost(int64, tag = "3")]
    pub(super) limit: i64,
    /// 0: the present one.
    #[prost(int64, tag = "4")]
    pub(super) revision: i64,
    #[prost(bool, tag = "8")]
    pub(super) keys_only: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RangeAnswer {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<Header>,
    #[prost(message, repeated, tag = "2")]
    pub(super) kvs: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Put {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) value: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub(super) lease: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Delete {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Operation {
    #[prost(message, tag = "1")]
    Range(Range),
    #[prost(message, tag = "2")]
    Put(Put),
    #[prost(message, tag = "3")]
    Delete(Delete),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Requested {
    #[prost(oneof = "Operation", tags = "1, 2, 3")]
    pub(super) operation: Option<Operation>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Done {
    /// What a range has found; others have nothing to say.
    #[prost(message, optional, tag = "1")]
    pub(super) range: Option<RangeAnswer>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Compare {
    #[prost(int32, tag = "1")]
    pub(super) result: i32,
    #[prost(int32, tag = "2")]
    pub(super) target: i32,
    #[prost(bytes = "vec", tag = "3")]
    pub(super) key: Vec<u8>,
    /// One of a set of alternatives, so it is there also where it is 0.
    #[prost(int64, optional, tag = "6")]
    pub(super) mod_revision: Option<i64>,
    #[prost(bytes = "vec", tag = "64")]
    pub(super) range_end: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Txn {
    #[prost(message, repeated, tag = "1")]
    pub(super) compare: Vec<Compare>,
    #[prost(message, repeated, tag = "2")]
    pub(super) success: Vec<Requested>,
    #[prost(message, repeated, tag = "3")]
    pub(super) failure: Vec<Requested>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TxnAnswer {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<Header>,
    #[prost(bool, tag = "2")]
    pub(super) succeeded: bool,
    #[prost(message, repeated, tag = "3")]
    pub(super) responses: Vec<Done>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Compaction {
    #[prost(int64, tag = "1")]
    pub(super) revision: i64,
}

/// An answer of which nothing but its arrival matters.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Nothing {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Grant {
    /// In seconds.
    #[prost(int64, tag = "1")]
    pub(super) ttl: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Granted {
    #[prost(int64, tag = "2")]
    pub(super) id: i64,
    /// In seconds.
    #[prost(int64, tag = "3")]
    pub(super) ttl: i64,
}

/// What a server says of itself.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Status {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<Header>,
    #[prost(string, tag = "2")]
    pub(super) version: String,
    #[prost(int64, tag = "3")]
    pub(super) database_bytes: i64,
    /// 0: none.
    #[prost(uint64, tag = "4")]
    pub(super) leader: u64,
    /// Alarms too.
    #[prost(string, repeated, tag = "8")]
    pub(super) errors: Vec<String>,
    #[prost(int64, tag = "9")]
    pub(super) in_use_bytes: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Members {
    #[prost(message, repeated, tag = "2")]
    pub(super) members: Vec<Nothing>,
}

/// Asks to end a lease, or to keep it.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Lease {
    #[prost(int64, tag = "1")]
    pub(super) id: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Kept {
    /// 0 if there is no such lease.
    #[prost(int64, tag = "3")]
    pub(super) ttl: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Watching {
    #[prost(message, optional, tag = "1")]
    pub(super) create: Option<WatchCreate>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WatchCreate {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) range_end: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub(super) start_revision: i64,
    /// Large answers come in pieces.
    #[prost(bool, tag = "8")]
    pub(super) fragment: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Watched {
    #[prost(bool, tag = "3")]
    pub(super) created: bool,
    #[prost(bool, tag = "4")]
    pub(super) canceled: bool,
    #[prost(int64, tag = "5")]
    pub(super) compact_revision: i64,
    #[prost(string, tag = "6")]
    pub(super) cancel_reason: String,
    /// More of the same answer follows.
    #[prost(bool, tag = "7")]
    pub(super) fragment: bool,
    #[prost(message, repeated, tag = "11")]
    pub(super) events: Vec<Event>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Event {
    #[prost(int32, tag = "1")]
    pub(super) kind: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) kv: Option<KeyValue>,
}
