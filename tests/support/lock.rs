//! Facts about compiled texts, kept in `tests/nvrtc.lock`: registers, spills, warnings, vector stores, opcode counts.
//!
//! Law: a row holds for one text, architecture and set of flags under the build of NVRTC that the file's first line names. A text
//! whose hash is new is compiled; of the other rows a tenth, chosen by `NVRTC_SEED`, is compiled again and has to agree.
//!
//! `NVRTC_LOCK=write cargo test -p layout-tests --test root` updates the rows; `NVRTC_LOCK=anew` starts from no rows and so drops
//! those of deleted kernels. The diff of the file shows what a change costs in registers.

use layout_cuda::nvrtc;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// One of how many rows is compiled again.
const SAMPLE: u64 = 10;

/// What a row describes.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The kind of fact, such as `cubin`.
    pub kind: &'a str,
    /// The kernel's entry, which names its parameters and promises.
    pub entry: &'a str,
    /// The architecture of the code.
    pub arch: &'a str,
    /// The CUDA C.
    pub text: &'a str,
    /// The flags of the compilation.
    pub flags: &'a [&'a str],
}

impl Subject<'_> {
    fn key(&self) -> String {
        format!("{} {} {}", self.kind, self.entry, self.arch)
    }

    fn hash(&self) -> u64 {
        xxh3_64([self.text, &self.flags.join(" ")].join("\0").as_bytes())
    }
}

/// The file's rows: the fact, by key and hash of the text. Kernels of one name are rows of one key.
struct Lock {
    build: String,
    rows: BTreeMap<(String, u64), String>,
    /// Whether the rows are of this build, or there is nothing to compare with.
    is_current: bool,
    mode: Option<String>,
    seed: u64,
    /// The rows that this run has asked for.
    used: BTreeSet<(String, u64)>,
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../nvrtc.lock")
}

/// NVRTC's version and the size of its library, without the time of its installation.
fn build() -> String {
    let identity = nvrtc::identity().unwrap_or_else(|error| panic!("{error}; `tests/run.sh` installs it"));
    identity.split(" of ").next().unwrap_or_default().to_string()
}

impl Lock {
    fn read() -> Lock {
        let (build, mode) = (build(), std::env::var("NVRTC_LOCK").ok());
        let seed =
            std::env::var("NVRTC_SEED").ok().map_or(0, |seed| seed.parse().expect("NVRTC_SEED is a number"));
        let text = match std::fs::read_to_string(path()) {
            Ok(text) => text,
            // A binary that was carried to another machine has no repository; there all is compiled.
            Err(_) if mode.is_some() || !path().parent().is_some_and(Path::exists) => String::new(),
            Err(error) => panic!("tests/nvrtc.lock: {error}"),
        };
        let mut lines = text.lines();
        let is_current = lines.next() == Some(&build);
        let taken = is_current && mode.as_deref() != Some("anew");
        let rows = lines.filter(|_| taken).map(|line| {
            let (key, rest) = line.split_once(": ").expect("a key and a fact");
            let (hash, fact) = rest.split_once(' ').expect("a hash and a fact");
            ((key.to_string(), u64::from_str_radix(hash, 16).expect("a hash")), fact.to_string())
        });
        Lock { build, rows: rows.collect(), is_current, mode, seed, used: BTreeSet::new() }
    }

    fn write(&self) {
        let rows = self.rows.iter().map(|((key, hash), fact)| format!("{key}: {hash:016x} {fact}\n"));
        let text = format!("{}\n{}", self.build, rows.collect::<String>());
        std::fs::write(path(), text).expect("tests/nvrtc.lock is writable");
    }

    /// The fact of the row, where its text is unchanged and it is not in this run's sample.
    fn known(&mut self, key: &str, hash: u64) -> Option<String> {
        let row = (key.to_string(), hash);
        let sampled = xxh3_64_with_seed(key.as_bytes(), self.seed).is_multiple_of(SAMPLE);
        let fact = self.rows.get(&row).filter(|_| !sampled).cloned();
        self.used.insert(row);
        fact
    }

    /// Compares a fact with its row. Writing, it takes the place of the rows of the same key that this run has not asked for.
    fn record(&mut self, key: String, hash: u64, fact: &str) -> Result<(), String> {
        let row = (key, hash);
        if self.rows.get(&row).is_some_and(|known| known == fact) {
            return Ok(());
        }
        let key = &row.0;
        if self.mode.is_some() {
            self.rows.retain(|own, _| own.0 != *key || self.used.contains(own));
            self.rows.insert(row, fact.to_string());
            self.write();
            return Ok(());
        }
        if !self.is_current {
            return Ok(());
        }
        let before = self.rows.iter().filter(|(own, _)| own.0 == *key).map(|(_, fact)| format!("`{fact}`"));
        let before: Vec<String> = before.collect();
        Err(format!(
            "{key}: tests/nvrtc.lock has {before:?}, NVRTC makes `{fact}` of a text with hash {hash:016x}; \
             NVRTC_LOCK=write cargo test -p layout-tests --test root"
        ))
    }
}

/// The fact of a subject: that of its row, or what `make` finds.
///
/// # Panics
/// Where the file's rows are of this NVRTC and the subject's is missing or disagrees.
pub fn fact(subject: Subject<'_>, make: impl FnOnce() -> String) -> String {
    static LOCK: OnceLock<Mutex<Lock>> = OnceLock::new();
    let lock =
        || LOCK.get_or_init(|| Mutex::new(Lock::read())).lock().unwrap_or_else(PoisonError::into_inner);
    let (key, hash) = (subject.key(), subject.hash());
    if let Some(fact) = lock().known(&key, hash) {
        return fact;
    }
    let made = make();
    let recorded = lock().record(key, hash, &made);
    recorded.unwrap_or_else(|error| panic!("{error}"));
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(seed: u64) -> Lock {
        let (build, rows, used) = (String::new(), BTreeMap::new(), BTreeSet::new());
        Lock { build, rows, is_current: true, mode: None, seed, used }
    }

    #[test]
    fn a_row_holds_for_its_text_alone() {
        let subject = Subject { kind: "cubin", entry: "k", arch: "sm_80", text: "a", flags: &["--f"] };
        let (key, hash) = (subject.key(), subject.hash());
        assert_ne!(hash, Subject { text: "b", ..subject }.hash());
        assert_ne!(hash, Subject { flags: &[], ..subject }.hash());
        let error = lock(0).record(key.clone(), hash, "8 registers").expect_err("no row");
        assert!(error.contains("has []") && error.contains("8 registers"), "{error}");
        let with_row = |seed| {
            let mut own = lock(seed);
            own.rows.insert((key.clone(), hash), "8 registers".to_string());
            own
        };
        assert_eq!(with_row(0).record(key.clone(), hash, "8 registers"), Ok(()));
        let error = with_row(0).record(key.clone(), hash, "9 registers").expect_err("another fact");
        assert!(error.contains("`8 registers`") && error.contains("`9 registers`"), "{error}");
        // Each row is in the sample of some seeds, and not of others.
        let known = (0..1000).filter(|seed| with_row(*seed).known(&key, hash).is_some()).count();
        assert!((850..950).contains(&known), "{known}");
        assert_eq!(with_row(1).known(&key, hash + 1), None);
    }
}
