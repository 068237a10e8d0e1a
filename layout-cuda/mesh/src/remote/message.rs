//! Messages of the meeting place: a length, then numbers and texts one after the other.
//!
//! Law: nothing longer than the reader says is read; what is read is a [`Reader`]'s to understand, or to refuse.

use crate::call::Reader;
use std::io::{Error, Read, Result, Write};
use std::net::TcpStream;

/// What a connection opens with.
pub(super) const GREETING: u64 = 0x6c61_796f_7574_0002;
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

pub(super) fn write(stream: &mut TcpStream, message: &Message) -> Result<()> {
    stream.write_all(&(message.0.len() as u64).to_le_bytes())?;
    stream.write_all(&message.0)
}

/// A message of so many bytes at most.
pub(super) fn read(stream: &mut TcpStream, most: u64) -> Result<Vec<u8>> {
    let mut len = [0; 8];
    stream.read_exact(&mut len)?;
    let len = u64::from_le_bytes(len);
    if len > most {
        return Err(Error::other(format!("a message of {len} bytes, of which there may be {most}")));
    }
    let mut message = vec![0; len as usize];
    stream.read_exact(&mut message)?;
    Ok(message)
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
