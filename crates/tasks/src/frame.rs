//! Frames: requests and messages as bytes on a stream between processes.
//!
//! A frame is its length, four bytes little endian, and that many bytes of CBOR. The first frame
//! of a connection says which version of this both sides speak. A length is bounded before
//! anything is reserved for it; whatever does not decode ends the connection.
//!
//! Who may connect is decided below: by the socket's owner and mode, or by the cluster's key.

use std::io;

use minicbor::{Decode, Encode};
use tidings_tasks_core::id::Part;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The first frame in both directions, of those that speak with a coordinator.
pub(crate) const HELLO: &str = "tidings-tasks 1";

/// What the first frame says of a part other than the first, before its number.
const OF_PART: &str = " part ";

/// What those say first who speak with the coordinator of a part.
pub(crate) fn hello_of(part: Part) -> String {
    match part {
        Part(0) => HELLO.to_owned(),
        Part(number) => format!("{HELLO}{OF_PART}{number}"),
    }
}

/// With the coordinator of which part somebody wants to speak who says this first.
pub(crate) fn part_of(hello: &str) -> Option<Part> {
    let of = hello.strip_prefix(HELLO)?;
    let part = if of.is_empty() { Part(0) } else { Part(of.strip_prefix(OF_PART)?.parse().ok()?) };
    (hello == hello_of(part)).then_some(part)
}

/// The longest frame, in bytes: a submission of the most tasks, with payloads of 4 KiB.
pub(crate) const MAX_FRAME_BYTES: u32 = 8 << 20;

/// Appends a frame to a buffer.
///
/// # Errors
/// It is longer than [`MAX_FRAME_BYTES`]. The buffer is as it was.
pub(crate) fn append(buffer: &mut Vec<u8>, of: &impl Encode<()>) -> io::Result<()> {
    let start = buffer.len();
    buffer.extend([0; 4]);
    if minicbor::encode(of, &mut *buffer).is_err() {
        buffer.truncate(start);
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it cannot be encoded"));
    }
    let bytes = (buffer.len() - start - 4) as u64;
    match u32::try_from(bytes) {
        Ok(bytes) if bytes <= MAX_FRAME_BYTES => {
            buffer[start..start + 4].copy_from_slice(&bytes.to_le_bytes());
            Ok(())
        }
        _ => {
            buffer.truncate(start);
            let reason =
                format!("a frame of {bytes} bytes; at most {MAX_FRAME_BYTES} are possible");
            Err(io::Error::new(io::ErrorKind::InvalidData, reason))
        }
    }
}

/// Reads a frame; `None` at the end of the stream. The buffer is for its bytes.
///
/// # Errors
/// The stream ends within the frame, or the frame is too long or is not what is expected.
pub(crate) async fn read<T: for<'b> Decode<'b, ()>>(
    stream: &mut (impl AsyncRead + Unpin + Send),
    buffer: &mut Vec<u8>,
) -> io::Result<Option<T>> {
    if !read_bytes(stream, buffer).await? {
        return Ok(None);
    }
    let decoded = minicbor::decode(buffer);
    decoded.map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}

/// Reads the bytes of a frame; whether there is one. All streams are read by the same code.
async fn read_bytes(
    stream: &mut (dyn AsyncRead + Unpin + Send),
    buffer: &mut Vec<u8>,
) -> io::Result<bool> {
    let mut length = [0; 4];
    match stream.read(&mut length[..1]).await? {
        0 => return Ok(false),
        _ => stream.read_exact(&mut length[1..]).await?,
    };
    let length = u32::from_le_bytes(length);
    if length > MAX_FRAME_BYTES {
        let reason = format!("a frame of {length} bytes; at most {MAX_FRAME_BYTES} are possible");
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    buffer.clear();
    // As it arrives: a length alone reserves nothing.
    stream.take(u64::from(length)).read_to_end(buffer).await?;
    if buffer.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(true)
}

/// Says which version this side speaks, and hears which the other does.
///
/// # Errors
/// It is another one, or the stream ends.
pub(crate) async fn greet(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin + Send),
    hello: &str,
) -> io::Result<()> {
    let mut buffer = Vec::new();
    append(&mut buffer, &hello)?;
    stream.write_all(&buffer).await?;
    stream.flush().await?;
    let heard: Option<String> = read(stream, &mut buffer).await?;
    match heard {
        Some(heard) if heard == hello => Ok(()),
        Some(heard) => {
            let heard: String = heard.chars().take(64).collect();
            let reason = format!("the other side speaks {heard:?}, this one {hello:?}");
            Err(io::Error::new(io::ErrorKind::InvalidData, reason))
        }
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Hears what the other side wants, and tells it back; or what there is, if that is something else.
///
/// # Errors
/// The stream ends.
pub(crate) async fn wanted(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin + Send),
    known: &[&str],
) -> io::Result<String> {
    let mut buffer = Vec::new();
    let wants: Option<String> = read(stream, &mut buffer).await?;
    let wants = wants.ok_or(io::ErrorKind::UnexpectedEof)?;
    let is_part = known.contains(&HELLO) && part_of(&wants).is_some();
    let is_known = is_part || known.contains(&wants.as_str());
    let told = if is_known { &*wants } else { known.first().copied().unwrap_or_default() };
    buffer.clear();
    append(&mut buffer, &told)?;
    stream.write_all(&buffer).await?;
    stream.flush().await?;
    Ok(wants)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn frames_are_read_as_they_are_written() {
        let mut bytes = Vec::new();
        append(&mut bytes, &"one").unwrap();
        append(&mut bytes, &"two").unwrap();
        let (mut stream, mut buffer) = (&bytes[..], Vec::new());
        let mut next = || run(read::<String>(&mut stream, &mut buffer)).unwrap();
        assert_eq!(next().as_deref(), Some("one"));
        assert_eq!(next().as_deref(), Some("two"));
        assert_eq!(next(), None);
    }

    #[test]
    fn a_length_is_bounded_before_it_is_believed() {
        let bytes = (MAX_FRAME_BYTES + 1).to_le_bytes();
        let error = run(read::<String>(&mut &bytes[..], &mut Vec::new())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let mut buffer = Vec::new();
        let cut = [&1_000_000u32.to_le_bytes()[..], b"abc"].concat();
        let error = run(read::<String>(&mut &cut[..], &mut buffer)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert!(buffer.capacity() < 4_096);
    }

    #[test]
    fn a_greeting_names_a_part() {
        assert_eq!((hello_of(Part(0)), part_of(HELLO)), (HELLO.to_owned(), Some(Part(0))));
        let third = hello_of(Part(3));
        assert_eq!((&*third, part_of(&third)), ("tidings-tasks 1 part 3", Some(Part(3))));
        for other in ["part 3", " part 0", " part +3", " part 65536", " part "] {
            assert_eq!(part_of(&format!("{HELLO}{other}")), None, "{other:?}");
        }
    }

    #[test]
    fn another_version_is_refused() {
        let error = run(async {
            let (mut here, mut there) = tokio::io::duplex(1_024);
            let mut bytes = Vec::new();
            append(&mut bytes, &"tidings-tasks 9").unwrap();
            there.write_all(&bytes).await.unwrap();
            greet(&mut here, HELLO).await.unwrap_err()
        });
        assert!(error.to_string().contains("tidings-tasks 9"), "{error}");
    }
}
