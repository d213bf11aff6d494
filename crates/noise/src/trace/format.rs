//! What is in a record of an event: the kernel's `format` files, which differ between kernels.
//!
//! ```text
//! name: irq_handler_entry
//! ID: 225
//! format:
//!   field:int common_pid;  offset:4;  size:4;  signed:1;
//!   field:__data_loc char[] name;  offset:12;  size:4;  signed:0;
//! ```

use std::collections::BTreeMap;

/// Where a field lies in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// From its first byte.
    pub offset: usize,
    /// How many bytes.
    pub size: usize,
    /// Whether it only says where in the record a text of any length lies.
    pub is_elsewhere: bool,
}

/// The records of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// By which a record is known.
    pub id: u16,
    fields: BTreeMap<String, Field>,
}

impl Format {
    /// Reads a format file; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
        let fields = text.lines().filter_map(field).collect();
        Some(Self { id, fields })
    }

    /// A number in a record; `None` where there is none of this name.
    pub fn number(&self, record: &[u8], name: &str) -> Option<u64> {
        let field = self.fields.get(name)?;
        let bytes = record.get(field.offset..field.offset.checked_add(field.size)?)?;
        if bytes.len() > 8 {
            return None;
        }
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        Some(u64::from_le_bytes(word))
    }

    /// A text in a record, up to its first zero.
    pub fn text(&self, record: &[u8], name: &str) -> Option<String> {
        let field = self.fields.get(name)?;
        let (offset, size) = if field.is_elsewhere {
            let word = self.number(record, name)? as usize;
            (word & 0xffff, word >> 16 & 0xffff)
        } else {
            (field.offset, field.size)
        };
        let bytes = record.get(offset..offset.checked_add(size)?)?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

/// A field by its line. Also those of `header_page` have this form.
pub fn field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.trim().split(';').map(str::trim);
    let declared = parts.next()?.strip_prefix("field:")?;
    let number = |part: Option<&str>, key: &str| {
        part.and_then(|part| part.strip_prefix(key)).and_then(|value| value.parse().ok())
    };
    let offset = number(parts.next(), "offset:")?;
    let size = number(parts.next(), "size:")?;
    let name = declared.split_whitespace().next_back()?;
    let name = name.split('[').next().unwrap_or(name).trim_start_matches('*');
    let is_elsewhere = declared.starts_with("__data_loc");
    Some((name.to_owned(), Field { offset, size, is_elsewhere }))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// As Linux 6.18 prints it.
    pub(crate) const IRQ_ENTRY: &str = "\
name: irq_handler_entry
ID: 225
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;
\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;

print fmt: \"irq=%d name=%s\", REC->irq, __get_str(name)
";

    /// A record of it: thread 77 was current, `eth0` has number 36.
    pub(crate) fn irq_record() -> Vec<u8> {
        let mut record = vec![225, 0, 0, 0, 77, 0, 0, 0, 36, 0, 0, 0, 16, 0, 5, 0];
        record.extend(b"eth0\0\0\0\0");
        record
    }

    #[test]
    fn numbers_and_texts_are_found_where_the_kernel_says() {
        let format = Format::parse(IRQ_ENTRY).expect("a format");
        assert_eq!(format.id, 225);
        let record = irq_record();
        assert_eq!(format.number(&record, "common_pid"), Some(77));
        assert_eq!(format.number(&record, "irq"), Some(36));
        assert_eq!(format.text(&record, "name").as_deref(), Some("eth0"));
        assert_eq!(format.number(&record, "vector"), None);
    }

    #[test]
    fn a_record_that_is_too_short_or_points_outside_gives_nothing() {
        let format = Format::parse(IRQ_ENTRY).expect("a format");
        let record = irq_record();
        for length in 0..16 {
            assert_eq!(format.text(&record[..length], "name"), None, "{length} bytes");
        }
        let mut outside = record;
        outside[14] = 200;
        assert_eq!(format.text(&outside, "name"), None);
        assert_eq!(Format::parse("name: x\nID: many\n"), None);
        let line = field("\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;");
        assert_eq!(line.expect("a field").0, "prev_comm");
    }
}
