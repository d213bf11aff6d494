//! Counters: all that a node did, and all that it refused, by reason.
//!
//! Nothing that arrives makes a node fail, so these are where bad input shows.

/// Declares the counters once: field, and what it counts.
macro_rules! counters {
    ($($(#[doc = $help:literal])+ $name:ident,)+) => {
        /// Counts since the node's start; they only grow.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        #[non_exhaustive]
        pub struct Counters {
            $($(#[doc = $help])+ pub $name: u64,)+
        }

        impl Counters {
            /// Each counter's name, what it counts, and its value.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
                [$((stringify!($name), concat!($($help),+).trim_ascii(), self.$name)),+].into_iter()
            }
        }
    };
}

counters! {
    /// Units of time this node has gossiped in.
    rounds,
    /// Units passed over because the node was not run in time.
    rounds_skipped,
    /// Datagrams made, of all kinds.
    datagrams_sent,
    /// Bytes of these datagrams.
    bytes_sent,
    /// Entries in the windows sent.
    entries_sent,
    /// Slots of a window that the next round overtook before they were sent.
    entries_unsent,
    /// Asks sent.
    asks_sent,
    /// Answers sent.
    answers_sent,
    /// Pulls sent: requests for the entries of a row.
    pulls_sent,
    /// Pulls answered.
    pulls_answered,
    /// Calls of other colonies sent.
    calls_sent,
    /// Calls of other colonies answered.
    calls_answered,
    /// Slices given to visitors from other colonies.
    slices_sent,
    /// Bases sent: entries by which later ones are told as changes.
    bases_sent,
    /// Entries sent by a step: with what their base says otherwise than the one before.
    steps_sent,
    /// Bases taken: later than the held ones.
    bases_taken,
    /// Entries in answers to pulls that arrived.
    answer_entries_received,
    /// Bytes of these entries, with all that is said beside them within the seal but records.
    answer_bytes_received,
    /// Entries passed over: told as changes by a base that is not held.
    entries_without_base,
    /// Entries passed over: told as changes by bases of which this node holds others.
    entries_disagreed,
    /// Records of colonies sent to members of the own one.
    records_sent,
    /// Records sent as changes by a base of their colony.
    records_changed_sent,
    /// Bases sent with a record, or as one.
    record_bases_sent,
    /// Records of colonies that arrived.
    records_received,
    /// Records in answers to pulls that arrived.
    answer_records_received,
    /// Bytes of these records.
    answer_record_bytes_received,
    /// Records taken: their aggregates were later than the held ones.
    records_news,
    /// Records refused: no aggregate, the own colony, or max_colonies are known already.
    records_refused,
    /// Bases of colonies taken: later than the held ones.
    record_bases_taken,
    /// Records passed over: told as changes by bases of which this node holds others.
    records_disagreed,
    /// Datagrams that arrived, dropped ones among them.
    datagrams_received,
    /// Bytes of these datagrams.
    bytes_received,
    /// Entries that arrived in accepted datagrams.
    entries_received,
    /// Entries taken: newer than the held ones.
    entries_news,
    /// Entries not newer than the held ones.
    entries_stale,
    /// Entries refused: older than forget_after allows.
    entries_impossible_age,
    /// Entries refused: their incarnation lies further ahead than this node's calendar allows.
    entries_implausible,
    /// Entries refused: they lack the signature of the node that they are about.
    entries_unsigned,
    /// Entries refused: about no member.
    entries_unknown_origin,
    /// Entries refused: a second one about the same origin in one datagram.
    entries_duplicate_origin,
    /// Entries refused: a bounded vector was full of newer ones.
    entries_too_old,
    /// Entries that made room for newer ones in a bounded vector.
    entries_evicted,
    /// Members whose last entry grew older than forget_after.
    members_forgotten,
    /// Members that had left or were dead and gave way to others, since max_nodes were known.
    members_gave_way,
    /// News of this node that it did not write in this life, and overtook by a new incarnation.
    refutations,
    /// Probes sent, for others too.
    probes_sent,
    /// Probes for others that were asked for.
    probes_relayed,
    /// Proofs of life sent, of others too.
    proofs_sent,
    /// Members that gave no answer to direct and indirect probes.
    suspicions,
    /// Suspected members that gave proof of life.
    suspicions_cleared,
    /// Members that this node declared dead.
    deaths_declared,
    /// Tombstones not taken: the member had been heard of since.
    tombstones_refused,
    /// Times others had declared this node dead.
    deaths_outlived,
    /// Datagrams dropped: too short, or of another protocol.
    dropped_foreign,
    /// Datagrams dropped: of a version of the format that this node does not speak.
    dropped_version,
    /// Datagrams dropped: of another cluster.
    dropped_cluster,
    /// Datagrams dropped: sealed with a key that is not on the ring.
    dropped_key,
    /// Datagrams dropped: damaged or forged, the seal does not hold.
    dropped_corrupt,
    /// Datagrams dropped: seen before, or from before the last ones of their sender.
    dropped_replayed,
    /// Datagrams dropped: from an earlier life of their sender.
    dropped_stale_sender,
    /// Datagrams dropped: their sender's incarnation lies further ahead than this node's calendar
    /// allows.
    dropped_implausible,
    /// Datagrams dropped: from a node that is not on the roster.
    dropped_unknown_sender,
    /// Datagrams dropped: from a node with the id of this one (its own echo, or its name in use).
    dropped_own_id,
    /// Datagrams dropped: sealed, but not well formed inside.
    dropped_malformed,
    /// Datagrams dropped: payloads of another schema or length.
    dropped_schema,
    /// Datagrams dropped: meant for another colony, or an answer to no open request of another.
    dropped_colony,
    /// Datagrams dropped or not answered: made for another node, or for an earlier life of this
    /// one.
    dropped_misdirected,
    /// Requests dropped: their sender made more than its share of them.
    dropped_excess,
    /// Cards refused: another name has the same node id.
    dropped_id_collision,
    /// Cards refused: max_nodes members are known already, and all of them live.
    dropped_no_room,
    /// Answers not sent: too many asks or pulls at once.
    dropped_answers,
    /// Rejects sent: why a datagram was dropped, to its sender.
    rejects_sent,
    /// Rejects received: others say that they drop what this node sends.
    rejects_received,
    /// Addresses of members that were tried before anything else was sent there.
    addresses_tried,
    /// Checks answered: a node tries the address of this one, or an operator the way here.
    checks_answered,
    /// Rejects dropped: not well formed, or of no datagram of this node.
    dropped_reject,
    /// Events nobody fetched in time.
    dropped_events,
}

/// Why a datagram was dropped as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dropped {
    Foreign,
    Version,
    Cluster,
    Key,
    Corrupt,
    Replayed,
    StaleSender,
    Implausible,
    UnknownSender,
    OwnId,
    Malformed,
    Schema,
    Colony,
    Misdirected,
    Excess,
    Reject,
}

impl Counters {
    /// Counts a dropped datagram under its reason.
    pub(crate) fn count(&mut self, dropped: Dropped) {
        *match dropped {
            Dropped::Foreign => &mut self.dropped_foreign,
            Dropped::Version => &mut self.dropped_version,
            Dropped::Cluster => &mut self.dropped_cluster,
            Dropped::Key => &mut self.dropped_key,
            Dropped::Corrupt => &mut self.dropped_corrupt,
            Dropped::Replayed => &mut self.dropped_replayed,
            Dropped::StaleSender => &mut self.dropped_stale_sender,
            Dropped::Implausible => &mut self.dropped_implausible,
            Dropped::UnknownSender => &mut self.dropped_unknown_sender,
            Dropped::OwnId => &mut self.dropped_own_id,
            Dropped::Malformed => &mut self.dropped_malformed,
            Dropped::Schema => &mut self.dropped_schema,
            Dropped::Colony => &mut self.dropped_colony,
            Dropped::Misdirected => &mut self.dropped_misdirected,
            Dropped::Excess => &mut self.dropped_excess,
            Dropped::Reject => &mut self.dropped_reject,
        } += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_has_a_name_and_a_meaning() {
        let counters = Counters { dropped_schema: 3, ..Counters::default() };
        let row = counters.iter().find(|(name, ..)| *name == "dropped_schema");
        assert_eq!(row.map(|(_, _, value)| value), Some(3));
        assert!(counters.iter().all(|(name, help, _)| !name.is_empty() && help.ends_with('.')));
    }
}
