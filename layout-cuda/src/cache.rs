//! Compiled kernels on disk: a folder per entry, named by the hash of what went into the compilation.
//!
//! ```text
//! <cache>/<hash of compiler, architecture, flags, text>/kernel.cu      the text, to read and to compare
//!                                                       kernel.cubin   the device code
//!                                                       kernel.log     NVRTC's log
//!                                                       entry.txt      compiler, architecture, flags, checksums
//! ```
//!
//! Law: [`Cache::get`] gives the bytes that were put under the same key, or nothing. An entry is made in a folder of its
//! own and renamed in one step, so a reader sees all of it or none. Of several writers one wins, and all wrote the same. An
//! entry that is damaged, truncated or of another key counts as absent, and the next writer replaces it. Checksums find damage;
//! what keeps others from choosing the code is that only the cache's user may write the folder.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_128;

use crate::nvrtc::{Compiled, resources};
use crate::trusted;

/// What the result of a compilation depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// The compiler, such as [`crate::nvrtc::identity`] says it.
    pub compiler: &'a str,
    /// The architecture, such as `sm_90a`.
    pub arch: &'a str,
    /// All flags, in their order.
    pub flags: &'a [&'a str],
    /// The CUDA C.
    pub text: &'a str,
}

impl Key<'_> {
    /// The first lines of `entry.txt`; every part ends where its line does, so that no two keys give the same lines.
    fn lines(&self) -> String {
        let flags: Vec<String> = self.flags.iter().map(|flag| flag.escape_debug().to_string()).collect();
        format!(
            "layout-cuda cache 1\ncompiler {}\narch {}\nflags {}\n",
            self.compiler.escape_debug(),
            self.arch.escape_debug(),
            flags.join(" ; ")
        )
    }

    /// The name of the entry's folder.
    fn folder(&self) -> String {
        format!("{:032x}", xxh3_128(format!("{}{}", self.lines(), self.text).as_bytes()))
    }
}

/// Why an entry could not be written. The kernel runs all the same, and is compiled again by the next process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheError {
    /// The folder or file.
    pub path: PathBuf,
    /// The system's words.
    pub why: String,
}

impl fmt::Display for CacheError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(
            f,
            "the kernel cache cannot be written at {path}: {}; set LAYOUT_CACHE to another folder",
            self.why
        )
    }
}

impl std::error::Error for CacheError {}

/// A cache in a folder, or none at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    folder: Option<PathBuf>,
}

impl Cache {
    /// The user's cache: the folder in `LAYOUT_CACHE` (`off` for none), else `layout-cuda` in the system's folder for
    /// caches; no cache where there is no such folder.
    ///
    /// What is in the cache runs on the GPU as it is, and reads and writes all of this process's memory there. So a folder that
    /// another user owns or may write is not used ([`crate::trusted`]); a new one is its user's alone.
    pub fn user() -> Cache {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        match variable("LAYOUT_CACHE") {
            Some(off) if off == Path::new("off") => return Cache::off(),
            Some(folder) => return Cache::at(folder),
            None => {}
        }
        let caches = if cfg!(windows) {
            variable("LOCALAPPDATA")
        } else if cfg!(target_os = "macos") {
            variable("HOME").map(|home| home.join("Library/Caches"))
        } else {
            variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")))
        };
        Cache { folder: caches.map(|caches| caches.join("layout-cuda")) }
    }

    /// A cache in this folder, which is made at the first [`Cache::put`]. It is held to the same as the user's.
    pub fn at(folder: impl Into<PathBuf>) -> Cache {
        Cache { folder: Some(folder.into()) }
    }

    /// No cache: [`Cache::get`] finds nothing and [`Cache::put`] does nothing.
    pub fn off() -> Cache {
        Cache { folder: None }
    }

    /// The folder, if there is one.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// What was put under `key`, if it is there and whole.
    pub fn get(&self, key: &Key<'_>) -> Option<Compiled> {
        read(&private(self.folder.as_ref()?).ok()?.join(key.folder()), key)
    }

    /// The folder where `key`'s entry is or would be.
    pub fn entry(&self, key: &Key<'_>) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(key.folder()))
    }

    /// Keeps `compiled` under `key`. Where a whole entry is there already, it stays.
    ///
    /// # Errors
    /// [`CacheError`] where the folder cannot be written, or is not this user's alone to write; nothing of the entry is then left
    /// behind.
    pub fn put(&self, key: &Key<'_>, compiled: &Compiled) -> Result<(), CacheError> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let failed = |why: String| CacheError { path: folder.clone(), why };
        make(folder).map_err(|error| failed(error.to_string()))?;
        let folder = private(folder).map_err(failed)?;
        let entry = folder.join(key.folder());
        let fresh = folder.join(temporary_name("new"));
        let written = write(&fresh, key, compiled).and_then(|()| place(&fresh, &entry, key));
        if written.is_err() {
            // What could not be written may be there in part; that it cannot be removed either is no news.
            let _ = fs::remove_dir_all(&fresh);
        }
        written.map_err(|error| CacheError { path: entry, why: error.to_string() })
    }
}

/// Makes the folder, and what is missing above it, for this user alone.
fn make(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// The folder without links, which others could turn, or why it is not used: it is another user's to change.
fn private(folder: &Path) -> Result<PathBuf, String> {
    let real = fs::canonicalize(folder).map_err(|error| error.to_string())?;
    trusted::refusal(&real).map_or(Ok(real), |why| Err(why.to_string()))
}

/// A name that no other process and no other thread gives.
fn temporary_name(what: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanoseconds = now.map_or(0, |time| time.as_nanos());
    format!(".{what}-{}-{count}-{nanoseconds:x}", std::process::id())
}

/// Renames `fresh` to `entry`. A whole entry that came first stays; a damaged one makes way.
fn place(fresh: &Path, entry: &Path, key: &Key<'_>) -> io::Result<()> {
    const TURNS: usize = 64; // each further one means that another writer came between
    let mut turn = 1;
    loop {
        match fs::rename(fresh, entry) {
            Ok(()) => return Ok(()),
            Err(_) if read(entry, key).is_some() => return fs::remove_dir_all(fresh),
            Err(error) if turn == TURNS => return Err(error),
            Err(_) => {
                // Whether an entry is what was in the way cannot be asked: another writer may move it at any
                // moment. So the next attempt decides, also where there was nothing to move.
                let away = entry.with_file_name(temporary_name("old"));
                if fs::rename(entry, &away).is_ok() {
                    let _ = fs::remove_dir_all(&away).or_else(|_| fs::remove_file(&away));
                }
            }
        }
        turn += 1;
    }
}

fn checksums(compiled: &Compiled) -> String {
    let sum = |name: &str, bytes: &[u8]| format!("{name} {} bytes {:032x}\n", bytes.len(), xxh3_128(bytes));
    sum("kernel.cubin", &compiled.cubin) + &sum("kernel.log", compiled.log.as_bytes())
}

fn write(folder: &Path, key: &Key<'_>, compiled: &Compiled) -> io::Result<()> {
    make(folder)?;
    fs::write(folder.join("kernel.cu"), key.text)?;
    fs::write(folder.join("kernel.cubin"), &compiled.cubin)?;
    fs::write(folder.join("kernel.log"), &compiled.log)?;
    fs::write(folder.join("entry.txt"), key.lines() + &checksums(compiled))
}

/// The entry in `folder`, if it is of this key and its files are those that were written.
fn read(folder: &Path, key: &Key<'_>) -> Option<Compiled> {
    // A link would lead out of the folder that was checked.
    if !fs::symlink_metadata(folder).ok()?.is_dir() {
        return None;
    }
    let entry = String::from_utf8(file(folder, "entry.txt")?).ok()?;
    let expected = entry.strip_prefix(&key.lines())?;
    let text = file(folder, "kernel.cu")?;
    let log = String::from_utf8(file(folder, "kernel.log")?).ok()?;
    let cubin = file(folder, "kernel.cubin")?;
    let compiled = Compiled { cubin, resources: resources::parse(&log), log };
    (text == key.text.as_bytes() && expected == checksums(&compiled)).then_some(compiled)
}

/// A file of an entry: neither a link nor a pipe, which could block for ever, and no more bytes than a kernel has.
fn file(folder: &Path, name: &str) -> Option<Vec<u8>> {
    use io::Read as _;
    const MOST: u64 = 1 << 28;
    let path = folder.join(name);
    let found = fs::symlink_metadata(&path).ok()?;
    if !found.is_file() || found.len() > MOST {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(&path).ok()?.take(found.len()).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    const KEY: Key<'static> =
        Key { compiler: "13.0", arch: "sm_80", flags: &["--std=c++17"], text: "void k() {}\n" };

    fn compiled() -> Compiled {
        let log = "ptxas info    : Compiling entry function 'k' for 'sm_80'\n\
            ptxas info    : Used 7 registers\n"
            .to_string();
        Compiled { cubin: (0..=255).cycle().take(5000).collect(), resources: resources::parse(&log), log }
    }

    fn entries(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .expect("the cache's folder")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn hit_and_miss() {
        let folder = TestFolder::new("hit");
        let cache = Cache::at(folder.path().join("made/when/needed"));
        assert_eq!(cache.get(&KEY), None);
        cache.put(&KEY, &compiled()).expect("written");
        assert_eq!(cache.get(&KEY), Some(compiled()));
        let entry = cache.entry(&KEY).expect("a folder");
        assert_eq!(fs::read_to_string(entry.join("kernel.cu")).expect("the text"), KEY.text);

        let others = [
            Key { compiler: "13.1", ..KEY },
            Key { arch: "sm_90a", ..KEY },
            Key { flags: &[], ..KEY },
            Key { flags: &["--std=c++17", "-G"], ..KEY },
            Key { text: "void k() { }\n", ..KEY },
            Key { compiler: "13.0\narch sm_80", ..KEY },
        ];
        for other in others {
            assert_eq!(cache.get(&other), None, "{other:?}");
        }
        cache.put(&KEY, &compiled()).expect("a second writer finds it done");
        assert_eq!(entries(cache.folder().expect("a folder")).len(), 1);
    }

    #[test]
    fn damaged_entries_are_absent_and_replaced() {
        let whole = |file: &Path| fs::read(file).expect("a file");
        type Damage = fn(&Path);
        const DAMAGES: usize = if cfg!(unix) { 12 } else { 9 };
        let damages: [(&str, Damage); DAMAGES] = [
            ("a flipped bit", |entry| {
                let file = entry.join("kernel.cubin");
                let mut bytes = fs::read(&file).expect("the CUBIN");
                bytes[4000] ^= 1;
                fs::write(file, bytes).expect("written");
            }),
            ("a cut CUBIN", |entry| {
                let file = entry.join("kernel.cubin");
                let bytes = fs::read(&file).expect("the CUBIN");
                fs::write(file, &bytes[..100]).expect("written");
            }),
            ("an empty CUBIN", |entry| fs::write(entry.join("kernel.cubin"), b"").expect("written")),
            ("no CUBIN", |entry| fs::remove_file(entry.join("kernel.cubin")).expect("removed")),
            ("another text", |entry| fs::write(entry.join("kernel.cu"), "void other() {}").expect("written")),
            ("another log", |entry| fs::write(entry.join("kernel.log"), b"\xff\xfe").expect("written")),
            ("a cut entry.txt", |entry| {
                fs::write(entry.join("entry.txt"), "layout-cuda cache 1").expect("written")
            }),
            #[cfg(unix)]
            ("a pipe that nobody writes", |entry| {
                fs::remove_file(entry.join("kernel.cubin")).expect("removed");
                let made = std::process::Command::new("mkfifo").arg(entry.join("kernel.cubin")).status();
                assert!(made.expect("mkfifo").success());
            }),
            #[cfg(unix)]
            ("a link to a file of the same bytes", |entry| {
                let (file, other) = (entry.join("kernel.cubin"), entry.with_extension("elsewhere"));
                fs::rename(&file, &other).expect("moved");
                std::os::unix::fs::symlink(fs::canonicalize(&other).expect("there"), &file).expect("a link");
                fs::remove_file(&other).expect("removed");
            }),
            #[cfg(unix)]
            ("a link to a file without end", |entry| {
                fs::remove_file(entry.join("kernel.log")).expect("removed");
                std::os::unix::fs::symlink("/dev/zero", entry.join("kernel.log")).expect("a link");
            }),
            ("a file of a terabyte", |entry| {
                let file = fs::File::options().write(true).open(entry.join("kernel.cu")).expect("a file");
                // Of holes; a file system without them takes none as long.
                let _ = file.set_len(1 << 40).or_else(|_| file.set_len(1 << 20));
            }),
            ("a file in its place", |entry| {
                fs::remove_dir_all(entry).expect("removed");
                fs::write(entry, b"not a folder").expect("written");
            }),
        ];
        for (what, damage) in damages {
            let folder = TestFolder::new("damaged");
            let cache = Cache::at(folder.path());
            cache.put(&KEY, &compiled()).expect("written");
            let entry = cache.entry(&KEY).expect("a folder");
            damage(&entry);
            assert_eq!(cache.get(&KEY), None, "{what}");
            cache.put(&KEY, &compiled()).expect("replaced");
            assert_eq!(cache.get(&KEY), Some(compiled()), "{what}");
            assert_eq!(entries(folder.path()).len(), 1, "{what}: nothing else is left");
            assert_eq!(whole(&entry.join("kernel.cubin")), compiled().cubin);
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_its_user_may_write_it() {
        use std::os::unix::fs::{PermissionsExt, chown, symlink};
        let folder = TestFolder::new("private");
        let made = folder.path().join("caches/own");
        let cache = Cache::at(&made);
        cache.put(&KEY, &compiled()).expect("written");
        for new in [folder.path().join("caches"), made.clone(), cache.entry(&KEY).expect("a folder")] {
            let mode = fs::metadata(&new).expect("there").permissions().mode() & 0o777;
            assert_eq!(mode, 0o700, "{}", new.display());
        }
        let refused = |words: &str| {
            assert_eq!(cache.get(&KEY), None, "{words}");
            let error = cache.put(&KEY, &compiled()).expect_err(words).to_string();
            assert!(error.contains(words) && error.contains("LAYOUT_CACHE"), "{error}");
        };
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("own folders");
        };
        for (changed, open) in [(&made, 0o777), (&made, 0o1777), (&folder.path().join("caches"), 0o777)] {
            mode(changed, open);
            refused("other users may write");
            mode(changed, 0o755);
            assert_eq!(cache.get(&KEY), Some(compiled()), "others may read it");
        }
        if crate::trusted::user() == 0 {
            chown(&made, Some(1234), None).expect("the administrator");
            refused("user 1234 owns");
            chown(&made, Some(0), None).expect("the administrator");
        }
        // An entry is no link: what it names is not in the folder that was checked.
        let (entry, elsewhere) = (cache.entry(&KEY).expect("a folder"), folder.path().join("elsewhere"));
        fs::rename(&entry, &elsewhere).expect("moved");
        symlink(&elsewhere, &entry).expect("a link");
        assert_eq!(cache.get(&KEY), None);
        cache.put(&KEY, &compiled()).expect("in the link's place");
        assert!(elsewhere.join("kernel.cubin").is_file() && cache.get(&KEY).is_some());
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_reported() {
        let folder = TestFolder::new("unwritable");
        let file = folder.path().join("file");
        fs::write(&file, b"in the way").expect("written");
        let cache = Cache::at(file.join("cache"));
        assert_eq!(cache.get(&KEY), None);
        let error = cache.put(&KEY, &compiled()).expect_err("a file is no folder");
        assert!(error.to_string().contains("LAYOUT_CACHE"), "{error}");
        assert_eq!(entries(folder.path()), ["file"]);
        assert_eq!(Cache::off().put(&KEY, &compiled()), Ok(()));
        assert_eq!(Cache::off().get(&KEY), None);
    }

    #[test]
    fn threads_race() {
        let folder = TestFolder::new("threads");
        let cache = Cache::at(folder.path());
        let keys: Vec<String> = (0..8).map(|i| format!("void k{i}() {{}}")).collect();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (cache, keys) = (&cache, &keys);
                scope.spawn(move || {
                    for round in 0..40 {
                        let key = Key { text: &keys[(round + thread) % keys.len()], ..KEY };
                        match cache.get(&key) {
                            Some(found) => assert_eq!(found, compiled()),
                            None => cache.put(&key, &compiled()).expect("written"),
                        }
                        if round % 7 == thread % 7 {
                            // A crash of another process may leave a cut file at any time.
                            let entry = cache.entry(&key).expect("a folder");
                            let _ = fs::write(entry.join("kernel.cubin"), b"cut");
                        }
                    }
                });
            }
        });
        for text in &keys {
            let key = Key { text, ..KEY };
            cache.put(&key, &compiled()).expect("written");
            assert_eq!(cache.get(&key), Some(compiled()));
        }
        assert_eq!(entries(folder.path()).len(), keys.len(), "no temporary folder is left");
    }

    /// The processes of [`processes_race`] run this same test program with the folder in `LAYOUT_CACHE_RACE`.
    #[test]
    fn one_of_the_racing_processes() {
        let own = TestFolder::new("process");
        let shared = std::env::var_os("LAYOUT_CACHE_RACE").map(PathBuf::from);
        let cache = Cache::at(shared.unwrap_or(own.path().to_path_buf()));
        for round in 0..100 {
            let text = format!("void k{}() {{}}", round % 10);
            let key = Key { text: &text, ..KEY };
            cache.put(&key, &compiled()).expect("written");
            assert_eq!(cache.get(&key), Some(compiled()));
        }
    }

    #[test]
    fn processes_race() {
        let folder = TestFolder::new("processes");
        let program = std::env::current_exe().expect("this test program");
        let run = || {
            std::process::Command::new(&program)
                .args(["--exact", "cache::tests::one_of_the_racing_processes"])
                .env("LAYOUT_CACHE_RACE", folder.path())
                .output()
        };
        std::thread::scope(|scope| {
            let runs: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
            for run in runs {
                let output = run.join().expect("the thread").expect("the process starts");
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                assert!(output.status.success() && text.contains("1 passed"), "{text}");
            }
        });
        assert_eq!(entries(folder.path()).len(), 10);
    }
}
