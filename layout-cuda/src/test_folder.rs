//! A folder for one test, removed when the test ends. Its name holds the process and a count, so that tests can run at once.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The folder; it exists while this value lives.
pub struct TestFolder(PathBuf);

impl TestFolder {
    /// An empty folder below the system's folder for temporary files.
    pub fn new(name: &str) -> TestFolder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = format!("layout-cuda-{}-{count}-{name}", std::process::id());
        let path = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&path).expect("a folder for a test");
        let path = std::fs::canonicalize(path).expect("the folder just made");
        TestFolder(path)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        // A test that failed must show its own message, not one of a folder left behind.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
