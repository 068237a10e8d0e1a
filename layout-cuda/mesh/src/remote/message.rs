//! Messages of the meeting place: a length, then numbers and texts one after the other.
//!
//! Law: nothing longer than the reader says is read, and memory grows with what has come, not with what a length says. A message
//! that has begun ends within a time. What is read is a [`Reader`]'s to understand, or to refuse.

use crate::call::Reader;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What a connection opens with.
pub(super) const GREETING: u64 = 0x6c61_796f_7574_0003;
/// The longest greeting, and the longest answer to one.
pub(super) const SHORT: u64 = 1 << 12;
/// The longest message otherwise: between simulators the elements are in it.
pub(super) const LONG: u64 = 1 << 30;

/// The kinds of requests.
pub(super) const MEET: u64 = 1;
pub(super) const ASKS: u64 = 2;
pub(super) const FAIL: u64 = 3;
pub(super) const FAREWELL: u64 = 4;

/// The kinds of answers: done, or an error's text; to a greeting also that another time may do.
pub(super) const DONE: u64 = 0;
pub(super) const WRONG: u64 = 1;
pub(super) const LATER: u64 = 2;

/// A connection of which each read and write ends by then, if it is said.
struct Timed<'a> {
    stream: &'a mut TcpStream,
    until: Option<Instant>,
}

impl Timed<'_> {
    fn rest(&self) -> Result<Option<Duration>> {
        let Some(until) = self.until else { return Ok(None) };
        match until.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(Error::new(ErrorKind::TimedOut, "it took too long")),
            rest => Ok(Some(rest)),
        }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize> {
        self.stream.set_read_timeout(self.rest()?)?;
        self.stream.read(bytes)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.stream.set_write_timeout(self.rest()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.stream.flush()
    }
}

/// Within so much time.
pub(super) fn write(stream: &mut TcpStream, message: &Message, time: Duration) -> Result<()> {
    let mut output = Timed { stream, until: Instant::now().checked_add(time) };
    output.write_all(&(message.0.len() as u64).to_le_bytes())?;
    output.write_all(&message.0)
}

/// A message of so many bytes at most, which begins within the first time, if one is given, and has come within the second one
/// from then on.
pub(super) fn read(
    stream: &mut TcpStream,
    most: u64,
    (begins, time): (Option<Duration>, Duration),
) -> Result<Vec<u8>> {
    let until = begins.and_then(|time| Instant::now().checked_add(time));
    let mut input = Timed { stream, until };
    let mut len = [0; 8];
    input.read_exact(&mut len[..1])?;
    input.until = Instant::now().checked_add(time);
    input.read_exact(&mut len[1..])?;
    let len = length(len, most).map_err(Error::other)?;
    let mut message = Vec::new();
    input.take(len).read_to_end(&mut message)?;
    match message.len() as u64 == len {
        true => Ok(message),
        false => Err(ErrorKind::UnexpectedEof.into()),
    }
}

/// What a message's first bytes say of the rest.
pub(super) fn length(bytes: [u8; 8], most: u64) -> std::result::Result<u64, String> {
    let len = u64::from_le_bytes(bytes);
    match len <= most {
        true => Ok(len),
        false => Err(format!("a message of {len} bytes, of which there may be {most}")),
    }
}

/// Numbers and texts one after the other.
#[derive(Default)]
pub(super) struct Message(pub(super) Vec<u8>);

impl Message {
    /// One that begins with its kind.
    pub(super) fn of(kind: u64) -> Message {
        Message::default().number(kind)
    }

    pub(super) fn number(mut self, number: u64) -> Message {
        self.0.extend(number.to_le_bytes());
        self
    }

    pub(super) fn bytes(self, bytes: &[u8]) -> Message {
        let mut own = self.number(bytes.len() as u64);
        own.0.extend(bytes);
        own
    }

    pub(super) fn numbers(self, list: impl ExactSizeIterator<Item = u64>) -> Message {
        let own = self.number(list.len() as u64);
        list.fold(own, Message::number)
    }
}

pub(super) fn numbers(reader: &mut Reader<'_>) -> Option<Vec<u64>> {
    let count = reader.number()?;
    (0..count).map(|_| reader.number()).collect()
}
