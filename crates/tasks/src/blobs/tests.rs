//! What a folder of blobs does within one process.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;

use proptest::prelude::*;

use super::*;

const NONE: Duration = Duration::ZERO;

fn blobs() -> (tempfile::TempDir, Blobs) {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::open(&beside(&folder.path().join("store"))).unwrap();
    (folder, blobs)
}

#[test]
fn a_folder_has_a_number_and_one_in_its_place_another() {
    let (folder, blobs) = blobs();
    let number = blobs.depot_id().unwrap();
    assert_eq!(Blobs::open(blobs.folder()).unwrap().depot_id().unwrap(), number);
    std::fs::remove_dir_all(blobs.folder()).unwrap();
    let other = Blobs::open(blobs.folder()).unwrap();
    assert_ne!(other.depot_id().unwrap(), number);
    drop(folder);
}

#[test]
fn equal_content_lies_there_once() {
    let (_folder, blobs) = blobs();
    let handle = blobs.put(b"some content").unwrap();
    assert_eq!(blobs.put(b"some content").unwrap(), handle);
    assert_eq!(blobs.bytes().unwrap(), 12);
    assert_eq!(*blobs.get(&handle).unwrap(), *b"some content");
    let empty = blobs.put(b"").unwrap();
    assert_eq!(*blobs.get(&empty).unwrap(), *b"");
    let mode = fs::metadata(blobs.path(&handle)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o444);
}

#[test]
fn a_file_is_put_as_its_bytes_are() {
    let (folder, blobs) = blobs();
    let (path, content) = (folder.path().join("input"), vec![7; 3 * CHUNK_BYTES + 5]);
    fs::write(&path, &content).unwrap();
    assert_eq!(blobs.put_file(&path).unwrap(), Handle::of(&content));
    let error = blobs.put_file(&folder.path().join("none")).unwrap_err();
    assert!(error.to_string().contains("none cannot be used"), "{error}");
}

#[test]
fn what_is_pinned_is_not_collected() {
    let (_folder, blobs) = blobs();
    let (kept, other) = (blobs.put(b"kept").unwrap(), blobs.put(b"other").unwrap());
    blobs.pin(&kept, "one").unwrap();
    blobs.pin(&kept, "two").unwrap();
    assert_eq!(blobs.collect(NONE).unwrap(), 5);
    assert!(blobs.has(&kept) && !blobs.has(&other));
    let missing = blobs.get(&other).unwrap_err();
    let folder = blobs.folder().to_owned();
    assert_eq!(missing, BlobError::Missing { handle: other, folder });
    assert!(missing.to_string().contains("submit what needs it again"), "{missing}");
    assert!(matches!(blobs.pin(&other, "late"), Err(BlobError::Missing { .. })));
    blobs.unpin(&kept, "one").unwrap();
    assert_eq!(blobs.collect(NONE).unwrap(), 0);
    blobs.unpin(&kept, "two").unwrap();
    blobs.unpin(&kept, "two").unwrap();
    assert_eq!(blobs.collect(NONE).unwrap(), 4);
    assert_eq!(fs::read_dir(blobs.folder.pins()).unwrap().count(), 0);
}

#[test]
fn what_is_mapped_stays_when_it_is_collected() {
    let (_folder, blobs) = blobs();
    let handle = blobs.put(&[3; 10_000]).unwrap();
    let mapped = blobs.get(&handle).unwrap();
    assert_eq!(blobs.collect(NONE).unwrap(), 10_000);
    assert_eq!(*mapped, [3; 10_000]);
}

#[test]
fn what_is_young_is_left_in_peace() {
    let (_folder, blobs) = blobs();
    let handle = blobs.put(b"content").unwrap();
    blobs.pin(&handle, "task-1").unwrap();
    let age = |path: &Path, hours: u64| {
        let then = SystemTime::now() - Duration::from_secs(hours * 3_600);
        File::open(path).unwrap().set_modified(then).unwrap();
    };
    let pin = blobs.folder.pins().join(handle.hex()).join("task-1");
    let gone: BTreeSet<String> = ["task-1".to_owned()].into();
    assert_eq!(blobs.holders(GRACE).unwrap(), BTreeSet::new());
    assert_eq!(blobs.drop_pins(&gone, GRACE).unwrap(), 0);
    age(&pin, 2);
    assert_eq!(blobs.holders(GRACE).unwrap(), gone);
    // Somebody submits the same task again.
    blobs.pin(&handle, "task-1").unwrap();
    assert_eq!(blobs.drop_pins(&gone, GRACE).unwrap(), 0);
    age(&pin, 2);
    assert_eq!(blobs.drop_pins(&gone, GRACE).unwrap(), 1);
    assert_eq!(blobs.collect(GRACE).unwrap(), 0);
    age(&blobs.path(&handle), 2);
    // Somebody puts the same content again.
    blobs.put(b"content").unwrap();
    assert_eq!(blobs.collect(GRACE).unwrap(), 0);
    age(&blobs.path(&handle), 2);
    assert_eq!(blobs.collect(GRACE).unwrap(), 7);
}

#[test]
fn a_damaged_blob_is_named_with_the_remedy() {
    let (_folder, blobs) = blobs();
    let handle = blobs.put(b"right").unwrap();
    let path = blobs.path(&handle);
    let replace = |by: &[u8]| {
        fs::remove_file(&path).unwrap();
        fs::write(&path, by).unwrap();
    };
    replace(b"wrong");
    let error = blobs.get(&handle).unwrap_err();
    assert!(matches!(error, BlobError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("remove it"), "{error}");
    replace(b"cut");
    let error = blobs.get(&handle).unwrap_err();
    assert!(error.to_string().contains("it has 3 bytes, not 5"), "{error}");
    // Whoever has the content heals it.
    replace(b"wrong");
    blobs.put(b"right").unwrap();
    assert_eq!(*blobs.get(&handle).unwrap(), *b"right");
}

#[test]
fn a_draft_leaves_nothing_unless_it_is_finished() {
    let (_folder, blobs) = blobs();
    let mut draft = blobs.draft().unwrap();
    draft.write(b"half").unwrap();
    // Its writer lives: it is not swept.
    blobs.collect(NONE).unwrap();
    assert_eq!(names(&blobs.folder.new_ones()).unwrap().len(), 1);
    drop(draft);
    assert_eq!(names(&blobs.folder.new_ones()).unwrap().len(), 0);
    assert_eq!(blobs.bytes().unwrap(), 0);
}

/// What comes from whom nobody believes has the bytes of its handle; what is proven to come from a
/// holder of the key has their number at least.
#[test]
fn what_comes_is_the_blob_that_was_asked_for() {
    let (_folder, blobs) = blobs();
    let handle = Handle::of(b"these bytes");
    let comes = |from, pieces: &[&[u8]]| {
        let mut incoming = blobs.incoming(handle, from)?;
        pieces.iter().try_for_each(|piece| incoming.write(piece))?;
        incoming.finish()
    };
    let wrong: [&[&[u8]]; 3] = [&[b"these ", b"byte"], &[], &[b"these bytes", b"!"]];
    for from in [Source::Any, Source::Proven] {
        for pieces in wrong {
            let error = comes(from, pieces).unwrap_err();
            assert!(matches!(error, BlobError::Damaged { .. }), "{from:?}: {error}");
        }
        comes(from, &[b"these ", b"bytes"]).unwrap();
        assert_eq!(*blobs.get(&handle).unwrap(), *b"these bytes");
    }
    let error = comes(Source::Any, &[b"other bytes"]).unwrap_err();
    assert!(matches!(error, BlobError::Damaged { .. }), "{error}");
    assert_eq!(names(&blobs.folder.new_ones()).unwrap().len(), 0);
}

/// Nothing tells whether bytes are those of a drawn name: they are taken from whom that is proven.
#[test]
fn what_has_no_hash_is_believed_of_nobody_else() {
    let ((_folder, blobs), (_other, other)) = (blobs(), blobs());
    let draft = blobs.draft().unwrap();
    fs::write(draft.path(), b"any bytes").unwrap();
    let handle = draft.finish_unhashed().unwrap();
    assert_eq!(*blobs.get(&handle).unwrap(), *b"any bytes");
    let error = other.incoming(handle, Source::Any).unwrap_err();
    assert!(error.to_string().contains("without a hash"), "{error}");
    let mut incoming = other.incoming(handle, Source::Proven).unwrap();
    incoming.write(b"any bytes").unwrap();
    incoming.finish().unwrap();
    assert_eq!(*other.get(&handle).unwrap(), *b"any bytes");
}

#[test]
fn a_folder_of_something_else_is_refused() {
    let (_folder, blobs) = blobs();
    let path = blobs.folder().join("format");
    // What a crash while it is made leaves.
    fs::write(&path, "").unwrap();
    Blobs::open(blobs.folder()).unwrap();
    fs::write(&path, "tidings blobs 9\n").unwrap();
    let error = Blobs::open(blobs.folder()).unwrap_err();
    assert!(error.to_string().contains("`tidings blobs 9`, not `tidings blobs 1`"), "{error}");
}

#[test]
fn holders_have_names_of_files() {
    let (_folder, blobs) = blobs();
    let handle = blobs.put(b"x").unwrap();
    let long = "h".repeat(129);
    for wrong in ["", ".", "..", "a/b", "../x", "a b", "\0", "ü", &long] {
        assert!(matches!(blobs.pin(&handle, wrong), Err(BlobError::Holder(_))), "{wrong}");
        assert!(matches!(blobs.unpin(&handle, wrong), Err(BlobError::Holder(_))), "{wrong}");
    }
    let task = TaskId::of("task", 1);
    blobs.pin(&handle, &holder_of(task)).unwrap();
    let holders = blobs.holders(NONE).unwrap();
    assert_eq!(holders.iter().map(|holder| task_of(holder)).collect::<Vec<_>>(), [Some(task)]);
    assert_eq!(task_of("somebody"), None);
}

/// What is done to a folder.
#[derive(Clone, Copy, Debug)]
enum Step {
    Put(u8),
    Pin(u8, u8),
    Unpin(u8, u8),
    Drop(u8),
    Collect,
}

fn step() -> impl Strategy<Value = Step> {
    let (content, holder) = (0..3_u8, 0..3_u8);
    prop_oneof![
        content.clone().prop_map(Step::Put),
        (content.clone(), holder.clone()).prop_map(|(of, by)| Step::Pin(of, by)),
        (content, holder.clone()).prop_map(|(of, by)| Step::Unpin(of, by)),
        holder.prop_map(Step::Drop),
        Just(Step::Collect),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// A map from content to its holders is all that a folder is.
    #[test]
    fn a_folder_is_a_map_to_holders(steps in proptest::collection::vec(step(), 0..24)) {
        let (_folder, blobs) = blobs();
        let mut model: BTreeMap<u8, BTreeSet<u8>> = BTreeMap::new();
        let content = |of: u8| vec![of; 1 + usize::from(of)];
        for step in steps {
            match step {
                Step::Put(of) => {
                    blobs.put(&content(of)).unwrap();
                    model.entry(of).or_default();
                }
                Step::Pin(of, by) => {
                    let pinned = blobs.pin(&Handle::of(&content(of)), &by.to_string());
                    prop_assert_eq!(pinned.is_ok(), model.contains_key(&of));
                    model.get_mut(&of).map(|holders| holders.insert(by));
                }
                Step::Unpin(of, by) => {
                    blobs.unpin(&Handle::of(&content(of)), &by.to_string()).unwrap();
                    model.get_mut(&of).map(|holders| holders.remove(&by));
                }
                Step::Drop(by) => {
                    let dropped = blobs.drop_pins(&[by.to_string()].into(), NONE).unwrap();
                    let had = model.values_mut().map(|holders| u64::from(holders.remove(&by)));
                    prop_assert_eq!(dropped, had.sum::<u64>());
                }
                Step::Collect => {
                    let garbage = model.iter().filter(|(_, holders)| holders.is_empty());
                    let bytes: u64 = garbage.map(|(of, _)| u64::from(*of) + 1).sum();
                    prop_assert_eq!(blobs.collect(NONE).unwrap(), bytes);
                    model.retain(|_, holders| !holders.is_empty());
                }
            }
            for of in 0..3 {
                let read = blobs.get(&Handle::of(&content(of))).map(|mapped| mapped.to_vec()).ok();
                prop_assert_eq!(read, model.contains_key(&of).then(|| content(of)));
            }
        }
    }
}
