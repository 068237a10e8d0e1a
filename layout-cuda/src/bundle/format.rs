//! The file: a head of lines that a person can read, then the code.
//!
//! ```text
//! layout-cuda bundle 1
//! compiler NVRTC 13.0, ...
//! entries 2
//! sm_90a cubin <hash of text and flags> <bytes of code> <hash of code> <bytes of log> gemm_BM64
//! sm_80 ptx ...
//! <code and log of each, one after the other>
//! ```
//!
//! Law: `read(write(x)) == x`; any other bytes are an error, never a panic, and code is given out only where it has its hash.

use super::{Bundle, BundleError, Entry};
use std::borrow::Cow;
use xxhash_rust::xxh3::xxh3_128;

const MAGIC: &str = "layout-cuda bundle 1";

/// What is written of one entry.
pub(super) struct Made {
    pub entry: String,
    pub arch: layout_compiler::Arch,
    pub ptx: bool,
    pub key: u128,
    pub code: Vec<u8>,
    pub log: String,
}

/// The hash that distinguishes a text with its flags from any other.
pub(super) fn key(text: &str, flags: &[&str]) -> u128 {
    let flags: String = flags.iter().map(|flag| format!("{}\n", flag.escape_debug())).collect();
    xxh3_128(format!("{flags}\n{text}").as_bytes())
}

pub(super) fn write(compiler: &str, made: &[Made]) -> Vec<u8> {
    let mut head = format!("{MAGIC}\ncompiler {}\nentries {}\n", compiler.escape_debug(), made.len());
    for Made { entry, arch, ptx, key, code, log } in made {
        let kind = if *ptx { "ptx" } else { "cubin" };
        let (bytes, sum, log) = (code.len(), xxh3_128(code), log.len());
        head += &format!("{arch} {kind} {key:032x} {bytes} {sum:032x} {log} {entry}\n");
    }
    let parts = made.iter().flat_map(|made| [made.code.as_slice(), made.log.as_bytes()]);
    [head.as_bytes()].into_iter().chain(parts).collect::<Vec<&[u8]>>().concat()
}

fn damaged<T>(why: impl Into<String>) -> Result<T, BundleError> {
    Err(BundleError::Damaged { why: why.into() })
}

/// The line that begins at `at`, and where the next one does.
fn line(bytes: &[u8], at: usize) -> Option<(&str, usize)> {
    let rest = bytes.get(at..)?;
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    Some((std::str::from_utf8(&rest[..end]).ok()?, at + end + 1))
}

pub(super) fn read(bytes: Cow<'static, [u8]>) -> Result<Bundle, BundleError> {
    let Some((_, at)) = line(&bytes, 0).filter(|(first, _)| *first == MAGIC) else {
        return damaged(format!("the first line is not `{MAGIC}`"));
    };
    let named = |at, name: &str| {
        let (line, next) = line(&bytes, at)?;
        Some((line.strip_prefix(name)?.strip_prefix(' ')?.to_owned(), next))
    };
    let Some((compiler, at)) = named(at, "compiler") else {
        return damaged("there is no line `compiler`");
    };
    let Some((count, mut at)) = named(at, "entries").and_then(|(n, at)| Some((n.parse::<usize>().ok()?, at)))
    else {
        return damaged("there is no line `entries`");
    };
    let mut entries = vec![];
    for number in 0..count {
        let Some((entry, next)) = line(&bytes, at).and_then(|(line, next)| Some((parse(line)?, next))) else {
            return damaged(format!("entry {number} of {count} cannot be read"));
        };
        entries.push(entry);
        at = next;
    }
    let length = bytes.len();
    for entry in &mut entries {
        let mut place = |bytes: usize| {
            let begin = at;
            at = at.saturating_add(bytes);
            begin..at
        };
        entry.code = place(entry.code.len());
        entry.log = place(entry.log.len());
    }
    if at != length {
        return damaged(format!("it has {length} bytes and should have {at}"));
    }
    Ok(Bundle { bytes, compiler, entries })
}

/// An entry whose places begin at 0.
fn parse(line: &str) -> Option<Entry> {
    let mut words = line.splitn(7, ' ');
    let mut word = || words.next();
    let arch = word()?.parse().ok()?;
    let ptx = match word()? {
        "ptx" => true,
        "cubin" => false,
        _ => return None,
    };
    let key = u128::from_str_radix(word()?, 16).ok()?;
    let bytes: usize = word()?.parse().ok()?;
    let sum = u128::from_str_radix(word()?, 16).ok()?;
    let log: usize = word()?.parse().ok()?;
    Some(Entry { entry: word()?.to_owned(), arch, ptx, key, code: 0..bytes, sum, log: 0..log })
}

pub(super) fn code<'a>(bytes: &'a [u8], entry: &Entry) -> Result<(&'a [u8], &'a str), BundleError> {
    let own = bytes.get(entry.code.clone()).filter(|code| xxh3_128(code) == entry.sum);
    let log = bytes.get(entry.log.clone()).and_then(|log| std::str::from_utf8(log).ok());
    match (own, log) {
        (Some(code), Some(log)) => Ok((code, log)),
        _ => damaged(format!("the code of `{}` for {} is not what was written", entry.entry, entry.arch)),
    }
}
