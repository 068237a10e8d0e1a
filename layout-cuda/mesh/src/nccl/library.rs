//! NCCL's functions, in a table of our own: cudarc looks for no `libnccl.so.2`, which is the only name that pip's package has,
//! and a function that is missing should be an error.
//!
//! Law: looked for once; never unloaded.

use super::search::{Search, search};
use crate::error::{MeshError, Result};
use libloading::Library;
use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

/// A communicator, opaque.
pub(super) type Comm = *mut c_void;
pub(super) type Stream = *mut c_void;

/// What ranks find each other by.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct UniqueId(pub(super) [u8; 128]);

/// How a communicator is made, as NCCL 2.17 knew it: later ones take what is not there as not said.
#[repr(C)]
pub(super) struct Config {
    size: usize,
    magic: u32,
    version: u32,
    blocking: c_int,
    cluster_size: c_int,
    least_blocks: c_int,
    most_blocks: c_int,
    network: *const c_char,
    shares: c_int,
}

impl Config {
    /// With at most so many thread blocks for each collective, if that is said.
    pub(super) fn new(most_blocks: Option<u32>) -> Config {
        // What NCCL's header calls undefined.
        const UNSAID: c_int = c_int::MIN;
        Config {
            size: size_of::<Config>(),
            magic: 0xcafe_beef,
            version: 21_700,
            blocking: UNSAID,
            cluster_size: UNSAID,
            least_blocks: most_blocks.map_or(UNSAID, |_| 1),
            most_blocks: most_blocks.map_or(UNSAID, |most| c_int::try_from(most).unwrap_or(UNSAID)),
            network: std::ptr::null(),
            shares: UNSAID,
        }
    }
}

/// NCCL's status "still at it" is no error.
const IN_PROGRESS: c_int = 7;

macro_rules! table {
    ($($name:ident: $symbol:literal, fn($($argument:ty),*) -> $result:ty;)*) => {
        pub(crate) struct Nccl {
            pub(crate) library: PathBuf,
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Nccl {
            fn of(path: PathBuf, library: &'static Library) -> std::result::Result<Nccl, String> {
                Ok(Nccl {
                    $($name: {
                        // SAFETY: the type is that of NCCL 2's header; the library is never unloaded.
                        let symbol = unsafe { library.get($symbol.to_bytes_with_nul()) };
                        *symbol.map_err(|error| format!("{}: {error}", path.display()))?
                    },)*
                    library: path,
                })
            }
        }
    };
}

table! {
    get_version: c"ncclGetVersion", fn(*mut c_int) -> c_int;
    get_unique_id: c"ncclGetUniqueId", fn(*mut UniqueId) -> c_int;
    init_rank: c"ncclCommInitRankConfig", fn(*mut Comm, c_int, UniqueId, c_int, *mut Config) -> c_int;
    abort: c"ncclCommAbort", fn(Comm) -> c_int;
    destroy: c"ncclCommDestroy", fn(Comm) -> c_int;
    async_error: c"ncclCommGetAsyncError", fn(Comm, *mut c_int) -> c_int;
    error_string: c"ncclGetErrorString", fn(c_int) -> *const c_char;
    all_reduce: c"ncclAllReduce", fn(*const c_void, *mut c_void, usize, c_int, c_int, Comm, Stream) -> c_int;
    broadcast: c"ncclBroadcast", fn(*const c_void, *mut c_void, usize, c_int, c_int, Comm, Stream) -> c_int;
    all_gather: c"ncclAllGather", fn(*const c_void, *mut c_void, usize, c_int, Comm, Stream) -> c_int;
    reduce_scatter: c"ncclReduceScatter", fn(*const c_void, *mut c_void, usize, c_int, c_int, Comm, Stream) -> c_int;
    send: c"ncclSend", fn(*const c_void, usize, c_int, c_int, Comm, Stream) -> c_int;
    receive: c"ncclRecv", fn(*mut c_void, usize, c_int, c_int, Comm, Stream) -> c_int;
    group_start: c"ncclGroupStart", fn() -> c_int;
    group_end: c"ncclGroupEnd", fn() -> c_int;
}

impl Nccl {
    /// The status of a call as an error.
    pub(super) fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        if code == 0 || code == IN_PROGRESS {
            return Ok(());
        }
        // SAFETY: takes any number and gives a string that is never freed.
        let words = unsafe { (self.error_string)(code) };
        let words = match words.is_null() {
            true => String::new(),
            // SAFETY: as above; it is not null.
            false => unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned(),
        };
        Err(MeshError::Nccl { call, code, words })
    }

    /// Its version, `(major, minor, patch)`.
    pub(crate) fn version(&self) -> Result<(i32, i32, i32)> {
        let mut version = 0;
        // SAFETY: the pointer is to a live integer.
        self.check("ncclGetVersion", unsafe { (self.get_version)(&mut version) })?;
        // 2.9.0 is 20900; before it was 2809.
        Ok((version / 10_000, version % 10_000 / 100, version % 100))
    }
}

/// NCCL, or why there is none.
pub(crate) fn nccl() -> Result<&'static Nccl> {
    static FOUND: OnceLock<Result<Nccl>> = OnceLock::new();
    FOUND.get_or_init(find).as_ref().map_err(Clone::clone)
}

fn find() -> Result<Nccl> {
    let Search { files, folders: searched, left_out } = search(&layout_cuda::nvrtc::search::surroundings());
    let mut refused = Vec::new();
    for file in files {
        // SAFETY: loading runs the library's initialisers, as a program that uses NCCL wants. It is the one that the system's loader has
        // under NCCL's name, one that nobody but this user and the administrator could put there (`search`), or what the user named.
        let loaded = unsafe { Library::new(&file) };
        let found = match loaded {
            Ok(library) => Nccl::of(file.clone(), Box::leak(Box::new(library))),
            Err(error) => Err(error.source().map_or_else(|| error.to_string(), |source| source.to_string())),
        };
        match found {
            Ok(nccl) => return Ok(nccl),
            // That the loader does not know a bare name is no news.
            Err(why) if file.is_file() => refused.push(why),
            Err(_) => {}
        }
    }
    refused.extend(left_out);
    Err(MeshError::NoNccl { searched, refused })
}
