//! A test's way to the stub: a process that has it in the driver's place, and its calls in addition to CUDA's own.

use layout_cuda::{Device, Stream, Tensor, tiled_kernel};
use libloading::{Library, Symbol};
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set in a process that has the stub.
const INSIDE: &str = "LAYOUT_STUB_DRIVER";

/// The driver of this process.
pub struct Stub(Library);

/// Runs a test of this name with the stub as the driver.
pub fn with_stub(name: &str, test: impl FnOnce(&Stub)) {
    if std::env::var_os(INSIDE).is_some() {
        return test(&Stub::open());
    }
    let own = std::env::current_exe().expect("the test's own path");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("stub-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the stub");
    for link in ["libcuda.so", "libcuda.so.1"] {
        std::os::unix::fs::symlink(library(&own), folder.join(link)).expect("a link to the stub");
    }
    let mut paths = vec![folder.clone()];
    paths.extend(std::env::var_os("LD_LIBRARY_PATH").iter().flat_map(std::env::split_paths));
    let paths = std::env::join_paths(paths).expect("paths without colons");
    // The path of the test in this crate, which the harness is asked for.
    let run = Command::new(&own)
        .args(["--nocapture", "--test-threads=1", name])
        .env(INSIDE, "1")
        .env("LD_LIBRARY_PATH", paths)
        .output()
        .expect("the test's own process");
    std::fs::remove_dir_all(&folder).expect("the stub's folder");
    let [out, err] = [run.stdout, run.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(run.status.success(), "{out}\n{err}");
    assert!(out.contains("test result: ok. 1 passed"), "another number of tests is named `{name}`:\n{out}");
    print!("{out}");
}

/// The stub's library, which cargo builds where it builds the tests.
fn library(own: &Path) -> PathBuf {
    let folders = own.ancestors().skip(1).take(2);
    let mut files = folders.map(|folder| folder.join("liblayout_stub_driver.so"));
    files.find(|file| file.exists()).expect("liblayout_stub_driver.so in the folder of the tests")
}

#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
pub fn plus_one<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let i = 32 * block_idx.x + thread_idx.x;
    if i < N {
        y[[i]] = x[[i]] + 1.0;
    }
}

/// Elements of each tensor.
pub const N: usize = 64;

/// `y = x + 1`, on a stream.
pub fn launch(stream: &Stream, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) -> layout_cuda::Result<()> {
    plus_one::launch(stream, x, y)
}

impl Stub {
    fn open() -> Stub {
        // SAFETY: the library is the one of this test, or the test fails below.
        let library = unsafe { Library::new("libcuda.so.1") }.expect("the stub");
        let stub = Stub(library);
        let (name, letters) = (c"plus_one", c"rw");
        type Kernel = unsafe extern "C" fn(*const std::ffi::c_char, *const std::ffi::c_char);
        // SAFETY: the function has this type, and both are C strings.
        unsafe { stub.function::<Kernel>("stub_kernel")(name.as_ptr(), letters.as_ptr()) };
        stub
    }

    /// # Safety
    /// - The function of this name has this type.
    unsafe fn function<T>(&self, name: &str) -> Symbol<'_, T> {
        let name = CString::new(name).expect("a name");
        // SAFETY: as the caller promises.
        unsafe { self.0.get(name.as_bytes_with_nul()) }.expect("a function of the stub")
    }

    /// The first GPU.
    pub fn device(&self) -> Device {
        let device = Device::gpu(0).expect("the stub's GPU");
        assert!(device.describe().contains("Stub"), "{}", device.describe());
        device
    }

    /// What was found since the last call.
    pub fn findings(&self) -> String {
        let mut room = vec![0u8; 1 << 20];
        // SAFETY: the function has this type, and the room is so long.
        let len = unsafe {
            self.function::<unsafe extern "C" fn(*mut u8, usize) -> usize>("stub_findings")(
                room.as_mut_ptr(),
                room.len(),
            )
        };
        room.truncate(len);
        String::from_utf8(room).expect("a text")
    }

    /// Fails where anything was found.
    pub fn is_right(&self, what: &str) {
        assert_eq!(self.findings(), "", "{what}");
    }

    /// Lets a call fail, after so many more.
    pub fn fail(&self, after: u64) {
        // SAFETY: the function has this type.
        unsafe { self.function::<extern "C" fn(u64)>("stub_fail")(after) }
    }

    /// Lets no call fail, and returns whether one did.
    pub fn heal(&self) -> bool {
        // SAFETY: the function has this type.
        unsafe { self.function::<extern "C" fn() -> bool>("stub_heal")() }
    }

    /// Answers by chance where either answer is right.
    pub fn chance(&self, seed: u64) {
        // SAFETY: the function has this type.
        unsafe { self.function::<extern "C" fn(u64)>("stub_chance")(seed) }
    }

    /// Forgets all memory and all order, as if everything so far had ended.
    pub fn restart(&self) {
        // SAFETY: the function has this type.
        unsafe { self.function::<extern "C" fn()>("stub_restart")() }
    }

    /// Calls so far.
    pub fn calls(&self) -> u64 {
        // SAFETY: the function has this type.
        unsafe { self.function::<extern "C" fn() -> u64>("stub_calls")() }
    }

    /// Allocations, events, streams, graphs that have not ended.
    pub fn live(&self) -> [usize; 4] {
        // SAFETY: the function has this type.
        [0, 1, 2, 3].map(|kind| unsafe { self.function::<extern "C" fn(u32) -> usize>("stub_live")(kind) })
    }

    /// Whether what comes on a stream waits for all that was given to another.
    pub fn waits(&self, stream: &Stream, other: &Stream) -> bool {
        let [stream, other] =
            [stream, other].map(|stream| stream.cuda().expect("a GPU's").cu_stream() as usize);
        // SAFETY: the function has this type.
        unsafe { self.function::<extern "C" fn(usize, usize) -> bool>("stub_waits")(stream, other) }
    }

    /// The host writes page-locked memory.
    pub fn host_writes<T>(&self, memory: &[T]) {
        // SAFETY: the function has this type.
        unsafe { self.function::<extern "C" fn(usize)>("stub_host_writes")(memory.as_ptr() as usize) }
    }

    /// Bytes of a GPU's memory.
    pub fn bytes(&self, address: u64, len: usize) -> Vec<u8> {
        let mut room = vec![0; len];
        type Bytes = unsafe extern "C" fn(u64, *mut u8, usize) -> usize;
        // SAFETY: the function has this type, and the room is so long.
        let found = unsafe { self.function::<Bytes>("stub_bytes")(address, room.as_mut_ptr(), len) };
        room.truncate(found);
        room
    }
}
