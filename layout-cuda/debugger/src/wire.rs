//! Messages of the Debug Adapter Protocol on a stream: a head with the length, then JSON.
//!
//! Law: what a client sends never panics, and a message longer than [`LONGEST`] bytes ends the connection.

use serde_json::Value as Json;
use std::io::{BufRead, Error, ErrorKind, Read, Write};

/// The longest message that is taken, in bytes.
const LONGEST: usize = 1 << 24;
/// The longest line of a head, in bytes.
const LONGEST_LINE: u64 = 1 << 12;

/// The next message; `None` at the end of the stream.
pub(crate) fn read(input: &mut dyn BufRead) -> Result<Option<Json>, Error> {
    let wrong = |what: String| Error::new(ErrorKind::InvalidData, what);
    let mut length = None;
    loop {
        let mut line = String::new();
        if input.take(LONGEST_LINE).read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        match line.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse::<usize>().ok().filter(|length| *length <= LONGEST);
            }
            None if line.is_empty() => break,
            _ => {}
        }
    }
    let Some(length) = length else {
        return Err(wrong(format!("a message without a `Content-Length` of at most {LONGEST} bytes")));
    };
    let mut text = vec![0; length];
    input.read_exact(&mut text)?;
    let message = serde_json::from_slice(&text);
    message.map(Some).map_err(|error| wrong(format!("a message that is not JSON: {error}")))
}

/// Sends a message.
pub(crate) fn write(output: &mut dyn Write, message: &Json) -> Result<(), Error> {
    let text = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read() {
        let mut stream = Vec::new();
        for message in [json!({"seq": 1}), json!(["ü", null])] {
            write(&mut stream, &message).expect("memory takes it");
        }
        let mut input = stream.as_slice();
        assert_eq!(read(&mut input).expect("a message"), Some(json!({"seq": 1})));
        assert_eq!(read(&mut input).expect("a message"), Some(json!(["ü", null])));
        assert_eq!(read(&mut input).expect("an end"), None);
    }

    #[test]
    fn no_stream_panics() {
        let texts = [
            "\r\n\r\n",
            "Content-Length: x\r\n\r\n",
            "Content-Length: 9\r\n\r\n{}",
            "Content-Length: 99999999999\r\n\r\n",
            "Content-Length: 2\r\n\r\n{]",
        ];
        for text in texts {
            assert!(read(&mut text.as_bytes()).is_err(), "{text:?} was taken");
        }
        assert!(matches!(read(&mut &b""[..]), Ok(None)));
    }
}
