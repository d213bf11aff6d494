//! Counting semaphores as records: permits, who has some, and who waits.
//!
//! Nobody overtakes: permits go to the first that waits, and while they do not suffice for it they
//! go to nobody, so that one who wants five is not starved by many who want one. A holder whose
//! session ends gives back what it has and no longer waits.
//!
//! Each acquisition is known by its holder's name and the number of the holder's request, so that
//! a request that is repeated, since its answer was lost, acquires nothing twice.
//!
//! Invariant: what is held is at most [`Semaphore::permits`], unless that number was lowered since.

use minicbor::{Decode, Encode};

use crate::message::Call;

/// A counting semaphore.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode)]
#[cbor(map)]
pub struct Semaphore {
    /// How many permits there are.
    #[n(0)]
    pub permits: u32,
    /// Who has some of them.
    #[n(1)]
    pub held: Vec<Grant>,
    /// Who waits, the first one first.
    #[n(2)]
    pub waiting: Vec<Grant>,
}

/// Permits of one acquisition.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Grant {
    /// The name of the session.
    #[n(0)]
    pub holder: String,
    /// Its request.
    #[n(1)]
    pub call: Call,
    /// How many.
    #[n(2)]
    pub permits: u32,
}

impl Semaphore {
    /// The permits that nobody has.
    pub fn free(&self) -> u32 {
        let held: u64 = self.held.iter().map(|grant| u64::from(grant.permits)).sum();
        u64::from(self.permits).saturating_sub(held) as u32
    }

    /// Adds a request for permits, and grants it if nobody waits before it and they suffice. What
    /// was requested before by this request stays as it is. Returns what is granted now.
    pub fn acquire(&mut self, wanted: Grant) -> Vec<Grant> {
        let is_same = |grant: &Grant| grant.holder == wanted.holder && grant.call == wanted.call;
        if let Some(held) = self.held.iter().find(|grant| is_same(grant)) {
            return vec![held.clone()];
        }
        if !self.waiting.iter().any(is_same) {
            self.waiting.push(wanted);
        }
        self.grant()
    }

    /// Takes back what a request has acquired, or its place among those that wait. Returns what is
    /// granted to others by that.
    pub fn release(&mut self, holder: &str, call: Call) -> Vec<Grant> {
        self.remove(|grant| grant.holder == holder && grant.call == call)
    }

    /// Takes back all that a holder has, and its places. Returns what is granted to others by that.
    pub fn end(&mut self, holder: &str) -> Vec<Grant> {
        self.remove(|grant| grant.holder == holder)
    }

    /// Changes how many permits there are. Returns what is granted by that.
    pub fn set_permits(&mut self, permits: u32) -> Vec<Grant> {
        self.permits = permits;
        self.grant()
    }

    /// Whether a request has been granted.
    pub fn has(&self, holder: &str, call: Call) -> bool {
        self.held.iter().any(|grant| grant.holder == holder && grant.call == call)
    }

    /// Whether a request waits.
    pub fn awaits(&self, holder: &str, call: Call) -> bool {
        self.waiting.iter().any(|grant| grant.holder == holder && grant.call == call)
    }

    /// Whether a holder has permits, or waits for some.
    pub fn knows(&self, holder: &str) -> bool {
        self.held.iter().chain(&self.waiting).any(|grant| grant.holder == holder)
    }

    fn remove(&mut self, is_gone: impl Fn(&Grant) -> bool) -> Vec<Grant> {
        self.held.retain(|grant| !is_gone(grant));
        self.waiting.retain(|grant| !is_gone(grant));
        self.grant()
    }

    /// Grants permits to those that wait, in their order, as far as they suffice.
    fn grant(&mut self) -> Vec<Grant> {
        let mut free = self.free();
        let mut count = 0;
        for grant in &self.waiting {
            let Some(rest) = free.checked_sub(grant.permits) else { break };
            free = rest;
            count += 1;
        }
        let granted: Vec<Grant> = self.waiting.drain(..count).collect();
        self.held.extend(granted.iter().cloned());
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(holder: &str, call: u64, permits: u32) -> Grant {
        Grant { holder: holder.to_owned(), call: Call(call), permits }
    }

    #[test]
    fn nobody_overtakes() {
        let mut semaphore = Semaphore { permits: 5, ..Semaphore::default() };
        assert_eq!(semaphore.acquire(grant("a", 1, 3)).len(), 1);
        assert_eq!(semaphore.acquire(grant("b", 1, 5)), []);
        assert_eq!(semaphore.acquire(grant("c", 1, 1)), []);
        assert_eq!(semaphore.release("a", Call(1)), [grant("b", 1, 5)]);
        assert_eq!(semaphore.end("b"), [grant("c", 1, 1)]);
    }

    #[test]
    fn a_repeated_request_acquires_nothing_twice() {
        let mut semaphore = Semaphore { permits: 1, ..Semaphore::default() };
        assert_eq!(semaphore.acquire(grant("a", 1, 1)), [grant("a", 1, 1)]);
        assert_eq!(semaphore.acquire(grant("a", 1, 1)), [grant("a", 1, 1)]);
        assert_eq!((semaphore.acquire(grant("b", 4, 1)), semaphore.waiting.len()), (vec![], 1));
        assert_eq!((semaphore.acquire(grant("b", 4, 1)), semaphore.waiting.len()), (vec![], 1));
    }

    #[test]
    fn permits_that_are_taken_away_are_not_free() {
        let mut semaphore = Semaphore { permits: 3, ..Semaphore::default() };
        semaphore.acquire(grant("a", 1, 3));
        semaphore.set_permits(1);
        assert_eq!(semaphore.free(), 0);
        semaphore.acquire(grant("b", 1, 2));
        assert_eq!(semaphore.end("a"), []);
        assert_eq!(semaphore.set_permits(2), [grant("b", 1, 2)]);
    }
}
