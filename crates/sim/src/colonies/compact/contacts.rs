//! Contacts: the members of another colony whose addresses a member keeps.

use tidings_gossip::wire::record::MAX_CONTACTS;

/// No contact.
pub(super) const NOBODY: u32 = u32::MAX;

/// Contacts in one colony, the latest first.
pub(super) type Contacts = [u32; MAX_CONTACTS];

/// Puts the latest contacts before those that are known, each once.
pub(super) fn meet(contacts: &mut Contacts, latest: &[u32]) {
    let known = *contacts;
    *contacts = [NOBODY; MAX_CONTACTS];
    let mut count = 0;
    for &contact in latest.iter().chain(&known) {
        if contact != NOBODY && count < MAX_CONTACTS && !contacts.contains(&contact) {
            contacts[count] = contact;
            count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_contacts_go_first_each_once() {
        let mut contacts = [4, 5, NOBODY, NOBODY];
        meet(&mut contacts, &[7, NOBODY, 4]);
        assert_eq!(contacts, [7, 4, 5, NOBODY]);
        meet(&mut contacts, &[1, 2, 3]);
        assert_eq!(contacts, [1, 2, 3, 7]);
    }
}
