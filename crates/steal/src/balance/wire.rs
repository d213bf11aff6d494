//! The bytes in which the parts of a balancing send each other tasks.
//!
//! A task's frame says what it took; numbers are little endian. A decoder believes nothing: counts
//! are compared with the bytes that are there before anything is allocated, and costs have a bound,
//! so that a worker can add up what those below it have said.

use tidings_primitives::bytes::Reader;

use super::{Given, Risen};
use crate::frame::Frame;
use crate::message::{FRAME_BYTES, get_frame, put_frame};

/// The most that a message may say tasks take, in nanoseconds: 36 years. A worker adds up those of
/// its arity and its own.
const MOST_NS: u64 = u64::MAX / 16;

/// A task of a balancing: its cost is what it took.
pub type Task = Given<Frame>;

/// A task of worker `from`.
pub fn task(from: u32, frame: Frame) -> Task {
    Given { cost: frame.work_ns, from, task: frame }
}

/// The bytes of what goes up.
pub fn put_risen(out: &mut Vec<u8>, risen: &Risen<Frame>) {
    out.clear();
    out.extend(risen.load.to_le_bytes());
    out.extend(risen.size.to_le_bytes());
    put_all(out, &risen.rest);
}

/// What goes up, of no more than so many workers; `None` if the bytes are none.
pub fn get_risen(bytes: &[u8], workers: u32) -> Option<Risen<Frame>> {
    let mut reader = Reader(bytes);
    let load = reader.array().map(u64::from_le_bytes)?;
    let size = reader.array().map(u64::from_le_bytes)?;
    let rest = get_all(&mut reader, workers)?;
    let fits = (1..=u64::from(workers)).contains(&size) && is_bounded(load, &rest);
    fits.then_some(Risen { load, size, rest })
}

/// The bytes of what goes down.
pub fn put_handed(out: &mut Vec<u8>, tasks: &[Task]) {
    out.clear();
    put_all(out, tasks);
}

/// What goes down, of tasks of so many workers; `None` if the bytes are none.
pub fn get_handed(bytes: &[u8], workers: u32) -> Option<Vec<Task>> {
    get_all(&mut Reader(bytes), workers).filter(|tasks| is_bounded(0, tasks))
}

/// Whether what is kept and all tasks can be added up.
fn is_bounded(load: u64, tasks: &[Task]) -> bool {
    let sum = tasks.iter().try_fold(load, |sum, given| sum.checked_add(given.cost));
    sum.is_some_and(|sum| sum <= MOST_NS)
}

fn put_all(out: &mut Vec<u8>, tasks: &[Task]) {
    out.extend((tasks.len() as u64).to_le_bytes());
    for given in tasks {
        out.extend(given.from.to_le_bytes());
        put_frame(out, &given.task);
    }
}

/// All that is left of the bytes.
fn get_all(reader: &mut Reader<'_>, workers: u32) -> Option<Vec<Task>> {
    let count = usize::try_from(reader.array().map(u64::from_le_bytes)?).ok()?;
    if count > reader.0.len() / (size_of::<u32>() + FRAME_BYTES) {
        return None;
    }
    let mut tasks = Vec::with_capacity(count);
    for _ in 0..count {
        let from = reader.u32().filter(|from| *from < workers)?;
        tasks.push(task(from, get_frame(reader)?));
    }
    reader.0.is_empty().then_some(tasks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks() -> Vec<Task> {
        let long = vec![7; 100];
        let frames = [Frame::new(1, 500, b"ab").unwrap(), Frame::new(2, 0, &long).unwrap()];
        (0..).zip(frames).map(|(from, frame)| task(from, frame)).collect()
    }

    #[test]
    fn what_is_sent_arrives() {
        let (mut bytes, risen) = (vec![1], Risen { load: 9, size: 2, rest: tasks() });
        put_risen(&mut bytes, &risen);
        assert_eq!(get_risen(&bytes, 2), Some(risen));
        put_handed(&mut bytes, &tasks());
        assert_eq!(get_handed(&bytes, 2), Some(tasks()));
    }

    #[test]
    fn other_bytes_are_refused() {
        let mut bytes = Vec::new();
        put_risen(&mut bytes, &Risen { load: 9, size: 2, rest: tasks() });
        for end in 0..bytes.len() {
            assert_eq!(get_risen(&bytes[..end], 2), None, "{end}");
        }
        assert_eq!(get_risen(&bytes, 1), None, "more workers than there are");
        assert_eq!(get_risen(&[&bytes[..], &[0]].concat(), 2), None);
        assert_eq!(get_handed(&u64::MAX.to_le_bytes(), 2), None);
    }

    #[test]
    fn costs_that_nobody_could_add_up_are_refused() {
        let mut bytes = Vec::new();
        let long = || task(0, Frame::new(1, MOST_NS, b"").unwrap());
        put_risen(&mut bytes, &Risen { load: 1, size: 1, rest: vec![long()] });
        assert_eq!(get_risen(&bytes, 2), None);
        put_handed(&mut bytes, &[long()]);
        assert_eq!(get_handed(&bytes, 2), Some(vec![long()]));
        put_handed(&mut bytes, &[long(), long()]);
        assert_eq!(get_handed(&bytes, 2), None);
    }
}
