//! Scheduling classes: tasks that the same sessions can take.
//!
//! Two tasks are of one class if they need the same, may run on the same nodes, are to stay away
//! from the same hosts and are stopped by a loss on the same ones. So what can be said of one can
//! be said of all: a queue asks class by class which of its tasks could go now, however many wait.
//! Classes are few where tasks are many; what clients may add to them is bounded.
//!
//! A class lasts while a task is of it, and a little longer: a part that is idle gets one task at a
//! time, each of the class of the last.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::resources::Need;
use crate::retry::Last;

/// The classes of one part that submissions may make.
pub(crate) const MAX_CLASSES: usize = 1_000;

/// The classes without a task that are kept.
const MAX_IDLE: usize = 16;

/// A class, by number. The number is used again once no task is of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ClassId(u32);

/// What decides which sessions can take a task.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Class {
    pub(crate) need: Arc<Need>,
    /// The nodes on which it may run; empty: all.
    pub(crate) filter: Box<str>,
    /// Hosts on which it was lost: it goes there only if there is no other.
    pub(crate) avoid: Box<[String]>,
    /// Where one more loss stops it.
    pub(crate) last: Last,
}

impl Class {
    /// Whether a host is one on which it was lost.
    pub(crate) fn avoids(&self, host: &str) -> bool {
        self.avoid.iter().any(|one| one == host)
    }

    /// Whether it does not go to a host that has a task of another class: both were lost on the
    /// same hosts, and one more loss there would stop it, whichever of them is the cause.
    pub(crate) fn stays_apart(&self, host: &str, other: &Self) -> bool {
        let is_stopped = match self.last {
            Last::Nowhere => false,
            Last::Elsewhere => !self.avoids(host),
            Last::Anywhere => true,
        };
        is_stopped && other.last != Last::Nowhere && self.avoid == other.avoid
    }
}

/// A class, and how many tasks are of it.
#[derive(Debug)]
struct Counted {
    class: Arc<Class>,
    tasks: usize,
}

/// All classes.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    ids: BTreeMap<Arc<Class>, ClassId>,
    all: BTreeMap<ClassId, Counted>,
    idle: usize,
    filters_made: u64,
    /// The class that was found last: the next task is likely of it.
    found: Option<ClassId>,
}

impl Classes {
    /// The class of a task.
    pub(crate) fn find(
        &mut self,
        need: &Need,
        filter: &str,
        avoid: &[String],
        last: Last,
    ) -> (ClassId, Arc<Class>) {
        let found = self.found.and_then(|id| Some((id, &self.all.get(&id)?.class)));
        let is_it = |class: &Class| {
            *class.need == *need
                && *class.filter == *filter
                && *class.avoid == *avoid
                && class.last == last
        };
        if let Some((id, class)) = found.filter(|(_, class)| is_it(class)) {
            return (id, class.clone());
        }
        let need = Arc::new(need.clone());
        let (filter, avoid) = (filter.into(), avoid.into());
        let class = Arc::new(Class { need, filter, avoid, last });
        let known = self.ids.get_key_value(&class).map(|(class, id)| (*id, class.clone()));
        let (id, class) = known.unwrap_or_else(|| (self.add(&class), class));
        self.found = Some(id);
        (id, class)
    }

    fn add(&mut self, class: &Arc<Class>) -> ClassId {
        self.keep_idle(MAX_IDLE - 1);
        let is_free = |number: &u32| !self.all.contains_key(&ClassId(*number));
        let last = self.all.last_key_value().map_or(0, |(id, _)| id.0 + 1);
        // Those that were freed are used again once there are as many as are in use.
        let id = if last as usize > 2 * self.all.len() + MAX_IDLE {
            ClassId((0..last).find(is_free).unwrap_or(last))
        } else {
            ClassId(last)
        };
        self.filters_made += u64::from(!class.filter.is_empty());
        self.ids.insert(class.clone(), id);
        self.all.insert(id, Counted { class: class.clone(), tasks: 0 });
        self.idle += 1;
        id
    }

    pub(crate) fn get(&self, id: ClassId) -> Option<&Arc<Class>> {
        self.all.get(&id).map(|counted| &counted.class)
    }

    /// One more task is of a class.
    pub(crate) fn enter(&mut self, id: ClassId) {
        if let Some(counted) = self.all.get_mut(&id) {
            self.idle -= usize::from(counted.tasks == 0);
            counted.tasks += 1;
        }
    }

    /// One task less is of a class.
    pub(crate) fn leave(&mut self, id: ClassId) {
        if let Some(counted) = self.all.get_mut(&id) {
            counted.tasks -= 1;
            self.idle += usize::from(counted.tasks == 0);
        }
        self.keep_idle(MAX_IDLE);
    }

    /// Forgets all classes without a task if there are more than so many.
    fn keep_idle(&mut self, most: usize) {
        if self.idle > most {
            self.all.retain(|_, counted| counted.tasks > 0);
            let all = &self.all;
            self.ids.retain(|_, id| all.contains_key(id));
            self.idle = 0;
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The filters of all, each once or more.
    pub(crate) fn filters(&self) -> impl Iterator<Item = &str> {
        self.all.values().map(|counted| &*counted.class.filter).filter(|one| !one.is_empty())
    }

    /// How many classes with a filter were made so far.
    pub(crate) fn filters_made(&self) -> u64 {
        self.filters_made
    }

    /// Whether there is room for the classes of new tasks.
    ///
    /// # Errors
    /// There is not, for the reason that is given.
    pub(crate) fn check<'t>(
        &self,
        tasks: impl Iterator<Item = (&'t Need, &'t str)>,
    ) -> Result<(), String> {
        let (mut new, mut seen) = (0, BTreeSet::new());
        for (need, filter) in tasks {
            if seen.insert((need, filter)) {
                let need = Arc::new(need.clone());
                let (filter, avoid) = (filter.into(), Box::default());
                let class = Class { need, filter, avoid, last: Last::Nowhere };
                let known = self.ids.get(&class).and_then(|id| self.all.get(id));
                new += usize::from(known.is_none_or(|counted| counted.tasks == 0));
            }
        }
        let is_own = |counted: &&Counted| counted.tasks > 0 && counted.class.avoid.is_empty();
        if new > 0 && new + self.all.values().filter(is_own).count() > MAX_CLASSES {
            return Err(format!(
                "tasks with more than {MAX_CLASSES} different needs and filters have not ended; \
                 round the amounts, or submit the others when some have ended"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn need(amount: u64) -> Need {
        Need::new([("cpus".to_owned(), amount)]).unwrap()
    }

    proptest! {
        #[test]
        fn a_number_stands_for_one_class_while_a_task_is_of_it(
            steps in vec((0..60_u64, any::<bool>()), 1..300)
        ) {
            let mut classes = Classes::default();
            let mut live: Vec<(ClassId, u64)> = Vec::new();
            for (amount, enters) in steps {
                if enters {
                    let (id, _) = classes.find(&need(amount), "", &[], Last::Nowhere);
                    classes.enter(id);
                    live.push((id, amount));
                } else if let Some((id, _)) = live.pop() {
                    classes.leave(id);
                }
                for (id, amount) in &live {
                    prop_assert_eq!(classes.get(*id).unwrap().need.of("cpus"), *amount);
                }
                let distinct: BTreeSet<ClassId> = live.iter().map(|(id, _)| *id).collect();
                prop_assert!(classes.len() <= distinct.len() + MAX_IDLE);
                prop_assert!(classes.ids.len() == classes.len());
                prop_assert!(classes.all.keys().all(|id| id.0 < 400));
            }
        }
    }

    #[test]
    fn clients_cannot_make_classes_without_end() {
        let mut classes = Classes::default();
        for amount in 0..MAX_CLASSES as u64 {
            assert_eq!(classes.check([(&need(amount), "")].into_iter()), Ok(()));
            let (id, _) = classes.find(&need(amount), "", &[], Last::Nowhere);
            classes.enter(id);
        }
        assert_eq!(classes.check([(&need(1), "")].into_iter()), Ok(()), "it is known");
        let error = classes.check([(&need(1), "load1 < 1")].into_iter()).unwrap_err();
        assert!(error.contains("round"), "{error}");
        classes.leave(ClassId(5));
        assert_eq!(classes.check([(&need(1), "load1 < 1")].into_iter()), Ok(()));
    }
}
