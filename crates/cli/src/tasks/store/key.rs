//! Keys, read as they are printed.

use tidings_tasks_core::transaction::Key;

/// A key as it is printed: text, in which a backslash begins what is none (`\xff`, `\n`, `\\`).
pub(super) fn key(text: &str) -> Result<Key, String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let hex = |rest: &mut std::str::Bytes<'_>| {
            let digits = [rest.next()?, rest.next()?].map(char::from);
            let value = digits[0].to_digit(16)? * 16 + digits[1].to_digit(16)?;
            u8::try_from(value).ok()
        };
        let meant = match rest.next() {
            Some(b'x') => hex(&mut rest),
            Some(b'n') => Some(b'\n'),
            Some(b'r') => Some(b'\r'),
            Some(b't') => Some(b'\t'),
            Some(other @ (b'\\' | b'\'' | b'"')) => Some(other),
            _ => None,
        };
        bytes.push(meant.ok_or("write a backslash as \\\\, and other bytes as \\xff")?);
    }
    Key::new(bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_is_printed() {
        for bytes in [&b"p0000/role"[..], b"e/\xff\x00a\n", b"e/\\x", "e/\u{e4}\"'".as_bytes()] {
            let one = Key::new(bytes).unwrap();
            assert_eq!(key(&one.to_string()), Ok(one));
        }
        for wrong in ["", "e/\\", "e/\\x1", "e/\\q", "e/\\xg0"] {
            assert!(key(wrong).is_err(), "{wrong}");
        }
    }
}
