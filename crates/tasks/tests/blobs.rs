//! A folder of blobs and its processes: what is left after a kill, without space, and when several
//! put at once.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

mod children;

use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use tidings_tasks::blobs::{BlobError, Blobs, Handle};

use children::{child, child_on_a_disk, folder_of_child, lines};

/// A content that follows from its number.
fn content(number: usize) -> Vec<u8> {
    let bytes = (number * 7_919) % 50_000 + 20_000;
    (0..bytes).map(|at| ((at / 251) ^ (at * number)) as u8).collect()
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn what_was_put_and_pinned_survives_kills() {
    let folder = tempfile::tempdir().unwrap();
    let mut known = 0;
    for round in 0..8 {
        let mut writer = child("child_that_puts_until_it_is_killed", folder.path());
        let mut left: i32 = 3 + 5 * round;
        for line in lines(&mut writer, "put ") {
            known = known.max(line.parse::<usize>().unwrap());
            left -= 1;
            if left == 0 {
                writer.kill().unwrap();
            }
        }
        writer.wait().unwrap();
        let blobs = Blobs::open(&folder.path().join("blobs")).unwrap();
        blobs.collect(Duration::ZERO).unwrap();
        assert_eq!(count(&folder.path().join("blobs/new")), 0, "what it left is swept");
        for number in 1..=known {
            let content = content(number);
            assert!(*blobs.get(&Handle::of(&content)).unwrap() == *content, "{number}");
        }
        // The one that was under way may be there, whole and pinned.
        let found = count(&folder.path().join("blobs/data"));
        assert!(found == known || found == known + 1, "{found} of {known}");
    }
}

#[test]
fn child_that_puts_until_it_is_killed() {
    let Some(folder) = folder_of_child() else { return };
    let blobs = Blobs::open(&folder.join("blobs")).unwrap();
    let first = count(&folder.join("blobs/data"));
    for number in first.max(1).. {
        let handle = blobs.put(&content(number)).unwrap();
        blobs.pin(&handle, &format!("task-{number}")).unwrap();
        println!("put {number}");
    }
}

/// A draft of a process that lives is not swept by another one.
#[test]
fn processes_put_the_same_content_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut writers: Vec<Child> =
        (0..4).map(|_| child("child_that_puts_the_same", folder.path())).collect();
    let blobs = Blobs::open(&folder.path().join("blobs")).unwrap();
    let handles: Vec<Handle> = (0..40).map(|number| Handle::of(&content(number))).collect();
    // Meanwhile another process looks for garbage all the time: what is young is not.
    while writers.iter_mut().any(|writer| writer.try_wait().unwrap().is_none()) {
        assert_eq!(blobs.collect(Duration::from_secs(3_600)).unwrap(), 0);
        for handle in &handles {
            match blobs.get(handle) {
                Ok(mapped) => assert_eq!(Handle::of(&mapped), *handle),
                Err(error) => assert!(matches!(error, BlobError::Missing { .. }), "{error}"),
            }
        }
    }
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    assert_eq!(count(&folder.path().join("blobs/data")), 40);
    assert!(handles.iter().all(|handle| blobs.has(handle)));
}

#[test]
fn child_that_puts_the_same() {
    let Some(folder) = folder_of_child() else { return };
    let blobs = Blobs::open(&folder.join("blobs")).unwrap();
    for number in 0..40 {
        let content = content(number);
        let mut draft = blobs.draft().unwrap();
        content.chunks(1_000).for_each(|piece| draft.write(piece).unwrap());
        let handle = draft.finish().unwrap();
        assert!(*blobs.get(&handle).unwrap() == *content);
        assert_eq!(blobs.put(&content).unwrap(), handle);
        blobs.pin(&handle, &format!("process-{}", std::process::id())).unwrap();
    }
}

#[test]
fn a_full_disk_is_an_error_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = child_on_a_disk("child_that_fills_its_disk", folder.path(), "1m");
    let last = lines(&mut writer, "done ").last();
    assert!(writer.wait().unwrap().success());
    assert_eq!(last.as_deref(), Some("all is there"));
}

#[test]
fn child_that_fills_its_disk() {
    let Some(folder) = folder_of_child() else { return };
    let blobs = Blobs::open(&folder.join("blobs")).unwrap();
    let mut kept = Vec::new();
    let error = loop {
        match blobs.put(&content(kept.len())) {
            Ok(handle) => kept.push(handle),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, BlobError::Full { .. }), "{error}");
    assert!(error.to_string().contains("make space"), "{error}");
    assert!(!kept.is_empty());
    assert_eq!(count(&folder.join("blobs/new")), 0);
    assert_eq!(count(&folder.join("blobs/data")), kept.len());
    for handle in &kept {
        blobs.get(handle).unwrap();
    }
    // What is freed is used.
    blobs.collect(Duration::ZERO).unwrap();
    blobs.put(&content(kept.len())).unwrap();
    println!("done all is there");
}
