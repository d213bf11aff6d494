//! What must hold when all is over.

use tidings_tasks_core::tuple::Stored;

use super::*;

impl World {
    pub(super) fn check_end(&mut self) {
        for (id, kind) in self.tasks.clone() {
            let finished: Option<Finished> = self.value(&keys::finished(PART, id));
            let Some(finished) = finished else {
                if self.forgotten.contains(&id) {
                    continue;
                }
                assert!(!self.acknowledged.contains(&id), "{id} was acknowledged, and is lost");
                continue;
            };
            self.check_outcome(id, kind, &finished);
        }
        self.totals.poisoned = u64::from(self.store.poisoned);
        self.totals.staged = u64::from(self.store.staged);
        self.totals.released = u64::from(self.store.released);
        self.totals.doomed = u64::from(self.store.doomed);
        self.totals.claims = u64::from(self.store.tokens.claims);
        self.check_claims();
        let semaphore: Option<Semaphore> = self.value(&keys::semaphore(PART, "s"));
        // Where nobody has made it, those that want its permits ask on.
        let is_made = semaphore.is_some();
        if let Some(semaphore) = semaphore {
            let is_free = semaphore.held.is_empty() && semaphore.waiting.is_empty();
            assert!(is_free, "permits are left: {semaphore:?} at {:?}", self.now);
        }
        for party in &self.parties {
            assert!(party.hand.is_empty(), "{} still has {:?}", party.name(), party.hand);
            let waits: Vec<_> = party.calls.values().collect();
            let is_beat = |request: &Request| matches!(request, Request::Heartbeat);
            let in_vain =
                |request: &Request| !is_made && matches!(request, Request::Acquire { .. });
            let asked = waits.iter().find(|(request, _)| !is_beat(request) && !in_vain(request));
            assert!(asked.is_none(), "{} has no answer to {asked:?}", party.name());
        }
        self.check_coordinator();
    }

    /// What is claimed is claimed by one that lives.
    fn check_claims(&self) {
        let prefix = keys::tuples(PART);
        let page = self.store.ledger.scan(&prefix, prefix.after_prefix().as_ref(), usize::MAX);
        for record in page.records {
            let stored: Stored = minicbor::decode(&record.value).expect("a tuple");
            let Some(claim) = stored.claim else { continue };
            let lives = self.parties.iter().any(|party| party.name() == claim.holder);
            assert!(lives, "{} has ended, and has claimed {:?}", claim.holder, stored.tuple);
        }
    }

    fn check_outcome(&mut self, id: TaskId, kind: Kind, finished: &Finished) {
        let outcome = &finished.outcome;
        let is_cancelled = *outcome == Outcome::Cancelled;
        assert!(!is_cancelled || self.cancelled.contains(&id), "{id}: nobody has cancelled it");
        let is_done = matches!(outcome, Outcome::Done(_));
        self.totals.done += u64::from(is_done);
        self.totals.cancelled += u64::from(is_cancelled);
        self.totals.failed += u64::from(*outcome == Outcome::Failed);
        let count = (finished.task.attempt.0, finished.ended_ms);
        self.totals.digest = tidings_primitives::chance::mix(
            self.totals.digest ^ (u64::from(count.0) << 32) ^ count.1,
        );
        if is_cancelled || self.has_lost_input(finished) {
            return;
        }
        match kind {
            Kind::Plain | Kind::Parent | Kind::WithEffect | Kind::FailsFirst => {
                assert!(is_done, "{id} should have been done: {finished:?}");
            }
            Kind::Fails | Kind::Poison => assert!(!is_done, "{id} cannot be done"),
            Kind::Rival => {}
        }
        if is_done && kind == Kind::Parent {
            for child in (0..CHILDREN).map(|n| id.child(n)) {
                let ended: Option<Finished> = self.value(&keys::finished(PART, child));
                let is_done = |one: Finished| matches!(one.outcome, Outcome::Done(_));
                assert!(ended.is_some_and(is_done), "the child {child} of {id}");
            }
        }
        if kind == Kind::WithEffect {
            let key = keys::effect(format!("of/{id}").as_bytes()).expect("a short key");
            let written = self.store.ledger.get(&key).map(|record| record.value);
            let attempt = finished.task.attempt.0.to_be_bytes();
            assert_eq!(written.as_deref(), Some(&attempt[..]), "the effect of the try that counts");
        }
    }

    /// Whether a task has failed since an input was not done: one that has failed or was cancelled,
    /// or had before somebody tried it again.
    fn has_lost_input(&self, finished: &Finished) -> bool {
        let last = finished.task.failures.last().filter(|last| last.cause == Cause::Input);
        let (Some(last), Outcome::Failed) = (last, &finished.outcome) else { return false };
        let input = last.text.split(' ').nth(1).and_then(|id| id.parse().ok());
        let input: TaskId = input.expect("the text names the input");
        assert!(finished.task.inputs.contains(&input), "{}", last.text);
        let ended: Option<Finished> = self.value(&keys::finished(PART, input));
        let is_done = ended.is_some_and(|one| matches!(one.outcome, Outcome::Done(_)));
        let was_lost = !is_done || self.store.was_revived(input);
        assert!(was_lost, "its input is done, and it has failed: {}", last.text);
        true
    }

    /// The one that coordinates at last has nothing left.
    fn check_coordinator(&mut self) {
        let mut serving = 0;
        for process in &self.processes {
            let Some(coordinator) = &process.coordinator else { continue };
            self.totals.superseded += coordinator.counters().superseded;
            if !coordinator.is_serving() {
                continue;
            }
            serving += 1;
            assert_eq!(coordinator.live(), 0);
            // Without what it remembers for those who look on, which is bounded.
            let inside = format!("{coordinator:?}");
            let of_tasks = |id: &TaskId| inside.contains(&id.to_string());
            let left = self.tasks.iter().map(|(id, _)| *id).find(of_tasks);
            assert_eq!(left, None, "it is forgotten: {inside}");
            // Sessions, and for each of the last classes of tasks those that could take one.
            assert!(inside.len() < 32_000, "{} bytes are left: {inside:.9000}", inside.len());
        }
        assert_eq!(serving, 1, "one coordinator is left");
    }
}
