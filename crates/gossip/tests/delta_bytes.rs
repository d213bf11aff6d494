//! The bytes of entries as changes by bases: those that the module `delta` states, and what becomes
//! of entries whose bases are not held.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};
use tidings_gossip::delta::{Base, Body, Item, Name, Said, Shelf, Step, Taken, decode};
use tidings_gossip::vector::Entry;
use tidings_gossip::wire::window::{Format, Marks, Reads};
use tidings_gossip::{Incarnation, Instant, NodeId, Stamp};

const BYTES: usize = 20;
const FORMAT: Format = Format { schema: 1, payload_bytes: BYTES as u16 };

fn base(id: u32, life: u32, sequence: u32, payload: &[u8]) -> Base<'_> {
    let incarnation = Incarnation::new(life);
    Base { name: Name { id: NodeId(id), incarnation, sequence }, payload }
}

fn stamp(life: u32, sequence: u32) -> Stamp {
    Stamp::new(Incarnation::new(life), sequence)
}

/// Bits as the module's page has them, lowest first, as bytes.
fn packed(bits: &str) -> Vec<u8> {
    let bits: Vec<u8> = bits.bytes().filter(|bit| *bit != b' ').map(|bit| bit - b'0').collect();
    assert_eq!(bits.len() % 8, 0, "whole bytes");
    bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |sum, bit| sum << 1 | bit)).collect()
}

#[expect(clippy::disallowed_methods, reason = "a test may read what the core may not")]
fn golden(name: &str, body: &[u8]) {
    let mut hex = String::new();
    for byte in body {
        write!(hex, "{byte:02x} ").expect("a String can be written to");
    }
    let hex = format!("{}\n", hex.trim_end());
    let file = format!("{}/tests/golden/delta/{name}.hex", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("TIDINGS_BLESS").is_some() {
        std::fs::write(&file, &hex).expect("the golden file can be written");
    }
    assert_eq!(std::fs::read_to_string(&file).expect("the golden file is there"), hex, "{name}");
}

/// The body of two entries by bases that are agreed on, the second with one passed over.
fn agreed(items: [(Item<'_>, u32); 2]) -> Vec<u8> {
    let mut buffer = [0; 100];
    let format = Format { schema: 1, payload_bytes: 4 };
    let mut body = Body::begin(&mut buffer, format, Marks::ANSWER).expect("there is room");
    assert_eq!(body.agreed(NodeId(10), items.into_iter()), 2);
    let bytes = body.finish();
    buffer[..bytes].to_vec()
}

/// The digest of the bases that receivers hold of both.
fn digest_of_both() -> [u8; 8] {
    let mut names = b"tidings bases 1 ".to_vec();
    for (id, life, sequence) in [(10, 5, 100), (30, 6, 7)] {
        names.extend([id, 0, 0, 0, life, 0, 0, sequence, 0, 0]);
    }
    *Sha256::digest(&names).first_chunk().expect("it is longer")
}

/// Two of three bases: the second is passed over.
#[test]
fn agreed_entries_are_the_bytes_that_the_page_states() {
    let items = [
        (
            Item {
                stamp: stamp(5, 103),
                age: 5,
                payload: &[1; 4],
                base: base(10, 5, 100, &[1; 4]),
                from: None,
            },
            0,
        ),
        (
            Item {
                stamp: stamp(6, 9),
                age: 9,
                payload: &[0, 0, 4, 0],
                base: base(30, 6, 7, &[0, 0, 1, 0]),
                from: None,
            },
            1,
        ),
    ];
    let entries = packed("0 100 00 0  100 0 1010 100 01 0000 0 100  0000");
    let expected = [
        &[1, 4, 4, 0, 2, 0][..],
        &[1, 18, 0, 2, 0, 5, 0, 0x01, 10, 0, 0, 0],
        &digest_of_both(),
        &[2, 0],
        &entries,
    ];
    let written = agreed(items);
    assert_eq!(written, expected.concat());
    golden("agreed", &written);
}

/// One with its base, one without.
#[test]
fn named_entries_are_the_bytes_that_the_page_states() {
    let items = [
        (
            Item {
                stamp: stamp(5, 103),
                age: 5,
                payload: &[2; 4],
                base: base(10, 5, 102, &[2; 4]),
                from: None,
            },
            true,
        ),
        (
            Item {
                stamp: stamp(6, 8),
                age: 5,
                payload: &[3; 4],
                base: base(30, 6, 7, &[3; 4]),
                from: None,
            },
            false,
        ),
    ];
    let mut buffer = [0; 100];
    let format = Format { schema: 1, payload_bytes: 4 };
    let mut body = Body::begin(&mut buffer, format, Marks::NONE).expect("there is room");
    assert_eq!(body.named(items.into_iter()), 2);
    let bytes = body.finish();
    let number = |number: u32, bits: usize| -> String {
        (0..bits).map(|bit| if number >> bit & 1 == 1 { '1' } else { '0' }).collect()
    };
    let name =
        |id, life, sequence| [number(id, 32), number(life, 24), number(sequence, 24)].concat();
    let bits = format!("{} 1 100 0 0 {} 0 100 0 0 0000", name(10, 5, 102), name(30, 6, 7));
    let bits = packed(&bits);
    let expected = [&[1, 0, 4, 0, 2, 0][..], &[0, 26, 0, 2, 1, 5, 0, 0], &bits, &[2; 4]].concat();
    assert_eq!(buffer[..bytes], expected);
    golden("named", &buffer[..bytes]);
}

/// Two that are agreed on, the second by a step from the base that the receiver holds.
#[test]
fn agreed_steps_are_the_bytes_that_the_page_states() {
    let (first, second) = (base(10, 5, 100, &[1; 4]), base(30, 6, 9, &[0, 0, 4, 0]));
    let from = Some(base(30, 6, 7, &[0, 0, 1, 0]));
    let items = [
        (Item { stamp: stamp(5, 103), age: 5, payload: &[1; 4], base: first, from: None }, 0),
        (Item { stamp: stamp(6, 12), age: 9, payload: &[0, 0, 4, 0], base: second, from }, 1),
    ];
    let step = "1 0 1000 100 01 0000 0 100";
    let entries = packed(&format!("0 0 0 00 0  100 {step} 0 1010 0  000000"));
    let expected = [
        &[1, 4, 4, 0, 2, 0][..],
        &[4, 19, 0, 2, 0, 5, 0, 0x01, 10, 0, 0, 0],
        &digest_of_both(),
        &[3, 0],
        &entries,
    ];
    let written = agreed(items);
    assert_eq!(written, expected.concat());
    golden("agreed-steps", &written);
}

/// The body of one entry by a step from a base that is named: to sequence 9 from 7.
fn step_to_nine() -> Vec<u8> {
    let (later, from) = (base(30, 6, 9, &[0, 0, 4, 0]), base(30, 6, 7, &[0, 0, 1, 0]));
    let payload = &[0, 0, 4, 0];
    let item = Item { stamp: stamp(6, 9), age: 5, payload, base: later, from: Some(from) };
    let mut buffer = [0; 100];
    let format = Format { schema: 1, payload_bytes: 4 };
    let mut body = Body::begin(&mut buffer, format, Marks::NONE).expect("there is room");
    assert_eq!(body.named([(item, false)].into_iter()), 1);
    let bytes = body.finish();
    buffer[..bytes].to_vec()
}

#[test]
fn named_steps_are_the_bytes_that_the_page_states() {
    let number = |number: u32, bits: usize| -> String {
        (0..bits).map(|bit| if number >> bit & 1 == 1 { '1' } else { '0' }).collect()
    };
    let name = [number(30, 32), number(6, 24), number(7, 24)].concat();
    let bits = packed(&format!("{name} 0 1000 100 01 0000 0 100 0 0 0 000"));
    let expected = [&[1, 0, 4, 0, 1, 0][..], &[5, 13, 0, 1, 0, 5, 0, 0], &bits].concat();
    assert_eq!(step_to_nine(), expected);
    golden("named-steps", &expected);
}

/// Whole entries, and whole entries that are bases: two groups, and what their receiver makes of
/// them.
#[test]
fn whole_entries_are_the_bytes_that_the_page_states() {
    let now = Instant::from_micros(1_000_000);
    let entry = |id, stamp, payload| Entry { id: NodeId(id), stamp, birth: now, payload };
    let (first, second) =
        (entry(10, stamp(5, 103), &[1; 4]), entry(30, stamp(6, 9), &[0, 0, 4, 0]));
    let mut buffer = [0; 100];
    let format = Format { schema: 1, payload_bytes: 4 };
    let mut body = Body::begin(&mut buffer, format, Marks::ANSWER).expect("there is room");
    assert_eq!(body.whole([first].into_iter(), now, true), 1);
    assert_eq!(body.whole([second, first].into_iter(), now, false), 2);
    let bytes = body.finish();
    // As in a window of version 1: id 4, sequence 3, incarnation 3, age 2, payload.
    let [first, second] = [
        [10, 0, 0, 0, 103, 0, 0, 5, 0, 0, 0, 0, 1, 1, 1, 1],
        [30, 0, 0, 0, 9, 0, 0, 6, 0, 0, 0, 0, 0, 0, 4, 0],
    ];
    let expected = [&[1, 4, 4, 0, 3, 0][..], &[3, 1], &first, &[2, 2], &second, &first].concat();
    assert_eq!(buffer[..bytes], expected);
    golden("whole", &buffer[..bytes]);
    let (_, mut entries, _) = decode(&expected, format).expect("it was written so");
    let (shelf, mut read) = (Shelf::new(0, 4), [0; 4]);
    let Some(Step::Entry(said)) = entries.next(&shelf, &mut read) else { panic!("a base") };
    assert_eq!((said.stamp, said.base_sequence), (stamp(5, 103), 103));
    assert_eq!(said.base, Some(&[1; 4][..]));
    let others = [entries.next(&shelf, &mut read), entries.next(&shelf, &mut [0; 4])];
    let stamps = others.map(|step| match step {
        Some(Step::Whole(entry)) => entry.stamp,
        other => panic!("whole, and no base: {other:?}"),
    });
    assert_eq!(stamps, [stamp(6, 9), stamp(5, 103)]);
    assert_eq!(entries.next(&shelf, &mut read), None);
}

/// Who holds the base before takes the step, who holds the later one needs none of it, and who
/// holds another, of another life too, takes nothing.
#[test]
fn a_step_is_taken_from_the_base_before_or_found_done() {
    let body = step_to_nine();
    let format = Format { schema: 1, payload_bytes: 4 };
    for (life, sequence, payload, steps) in [
        (6, 7, [0, 0, 1, 0], Some(true)),
        (6, 9, [0, 0, 4, 0], Some(false)),
        (6, 8, [0, 0, 1, 0], None),
        (5, 7, [0, 0, 1, 0], None),
    ] {
        let mut shelf = Shelf::new(2, 4);
        let said = Said {
            id: NodeId(30),
            stamp: stamp(life, sequence),
            age_micros: 0,
            base_sequence: sequence,
            base: Some(&payload),
            steps: false,
        };
        assert_eq!(shelf.take(&said, &payload), Taken::News);
        let (_, mut entries, _) = decode(&body, format).expect("it was written so");
        let mut read = [0; 4];
        match (entries.next(&shelf, &mut read), steps) {
            (Some(Step::Entry(said)), Some(steps)) => {
                assert_eq!((read, said.steps, said.base_sequence), ([0, 0, 4, 0], steps, 9));
                let said = entries.with_base(said);
                assert_eq!(said.base, steps.then_some(&read[..]));
                let is_news = shelf.take(&said, &read) == Taken::News;
                assert_eq!(is_news, steps, "who has the later base has the entry");
                assert_eq!(
                    shelf.base_before(NodeId(30)).map(|base| base.name.sequence),
                    steps.then_some(7)
                );
            }
            (Some(Step::NoBase(NodeId(30))), None) => {}
            (other, _) => panic!("{life} {sequence}: {other:?}"),
        }
    }
}

/// A receiver without a base says so, and takes nothing.
#[test]
fn bases_that_are_not_held_are_reported() {
    let item = |sequence| Item {
        stamp: stamp(6, sequence),
        age: 1,
        payload: &[0; BYTES],
        base: base(30, 6, 7, &[0; BYTES]),
        from: None,
    };
    let mut buffer = [0; 200];
    let mut written = |agreed: bool| {
        let mut body = Body::begin(&mut buffer, FORMAT, Marks::NONE).expect("there is room");
        if agreed {
            body.agreed(NodeId(30), [(item(9), 0)].into_iter());
        } else {
            body.named([(item(9), false)].into_iter());
        }
        let bytes = body.finish();
        buffer[..bytes].to_vec()
    };
    let (named, agreed) = (written(false), written(true));
    let mut shelf = Shelf::new(2, BYTES);
    let mut payload = [0; BYTES];
    let mut first = |shelf: &Shelf, body: &[u8]| match decode(body, FORMAT) {
        Ok((_, mut entries, _)) => format!("{:?}", entries.next(shelf, &mut payload)),
        Err(error) => format!("{error:?}"),
    };
    assert_eq!(first(&shelf, &named), "Some(NoBase(NodeId(30)))");
    assert_eq!(first(&shelf, &agreed), "Some(Disagreed(1))");
    // It has restarted: the same sequence, another life.
    let said = Said {
        id: NodeId(30),
        stamp: stamp(5, 8),
        age_micros: 0,
        base_sequence: 7,
        base: Some(&[0; BYTES]),
        steps: false,
    };
    assert_eq!(shelf.take(&said, &[0; BYTES]), Taken::News);
    assert_eq!(first(&shelf, &named), "Some(NoBase(NodeId(30)))");
    assert_eq!(first(&shelf, &agreed), "Some(Disagreed(1))");
    shelf.take(&Said { stamp: stamp(6, 8), ..said }, &[0; BYTES]);
    assert!(first(&shelf, &named).starts_with("Some(Entry"));
    assert!(first(&shelf, &agreed).starts_with("Some(Entry"));
    let reads = Reads { schema: 1, least_bytes: 64, most_bytes: 64 };
    assert!(decode(&named, reads).is_err(), "payloads of another length");
}

/// However many entries there are, a body has as many as fit, each of them whole.
#[test]
fn a_body_has_as_many_entries_as_fit() {
    let payloads: Vec<[u8; BYTES]> = (0..400u32).map(|n| [n as u8; BYTES]).collect();
    let items = || {
        payloads.iter().enumerate().map(|(at, payload)| Item {
            stamp: stamp(6, 9 + at as u32),
            age: at as u16,
            payload,
            base: base(at as u32, 6, 7, &[0; BYTES]),
            from: None,
        })
    };
    for room in 0..700 {
        let mut buffer = vec![0; room];
        let Some(mut body) = Body::begin(&mut buffer, FORMAT, Marks::NONE) else { continue };
        let agreed = body.agreed(NodeId(0), items().map(|item| (item, 0)));
        let named = body.named(items().skip(agreed).map(|item| (item, true)));
        let bytes = body.finish();
        assert!(agreed <= 255 && bytes <= room);
        if agreed + named == 0 {
            assert_eq!(bytes, 0);
            continue;
        }
        let (_, mut entries, _) = decode(&buffer[..bytes], FORMAT).expect("it was written so");
        let shelf = Shelf::new(0, BYTES);
        let mut payload = [0; BYTES];
        let first = entries.next(&shelf, &mut payload);
        if agreed > 0 {
            assert_eq!(first, Some(Step::Disagreed(agreed as u8)));
        }
        let others = core::iter::from_fn(|| entries.next(&shelf, &mut payload)).count();
        assert_eq!(others, if agreed > 0 { named } else { named - 1 });
    }
}

/// Readings that are all new each unit: a datagram has as many of them as of whole entries.
#[test]
fn what_is_all_new_takes_no_more_datagrams_than_whole_entries() {
    let format = Format { schema: 1, payload_bytes: 64 };
    let random = |number: u64| Sha256::digest(number.to_le_bytes());
    let payloads: Vec<Vec<u8>> =
        (0..40).map(|number| [random(number), random(number + 99)].concat()).collect();
    let items = payloads.iter().enumerate().map(|(at, payload)| {
        let number = u32::from_le_bytes([payload[0], payload[1], payload[2], payload[3]]);
        let age = 20_000 + (number % 4_096) as u16;
        let base = base(number, 700, at as u32, payload);
        (Item { stamp: stamp(700, at as u32), age, payload, base, from: None }, true)
    });
    let room = 1_452 - 28 - 16;
    let mut buffer = vec![0; room];
    let mut body = Body::begin(&mut buffer, format, Marks::NONE).expect("there is room");
    assert_eq!(body.named(items), format.entries_in(room));
}
