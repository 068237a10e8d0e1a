//! A text's device code: from the cache, or from NVRTC and then into the cache.
//!
//! Law: a hit loads nothing of NVRTC; a cache that cannot be written costs time, never the result.

use crate::cache::{Cache, CacheError, Key};
use crate::nvrtc::{self, Compiled, FLAGS, NvrtcError};

/// Where the code came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The cache had it.
    Cache,
    /// NVRTC compiled it; why it was not kept, where it was not.
    Nvrtc(Option<CacheError>),
}

/// Compiles `text` for `arch`, or finds it compiled in `cache`.
///
/// # Errors
/// No NVRTC, or what it says of the text: see [`NvrtcError`].
///
/// ```
/// use layout_cuda::{cache::Cache, compile::compile_cached};
///
/// let folder = std::env::temp_dir().join(format!("layout-cuda-doc-{}", std::process::id()));
/// let cache = Cache::at(&folder);
/// let text = r#"extern "C" __global__ void zero(int* x) { x[threadIdx.x] = 0; }"#;
/// let (first, _) = compile_cached(&cache, text, "sm_80", &[])?;
/// let (second, origin) = compile_cached(&cache, text, "sm_80", &[])?;
/// assert_eq!(origin, layout_cuda::compile::Origin::Cache);
/// assert_eq!(first, second);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compile_cached(
    cache: &Cache,
    text: &str,
    arch: &str,
    flags: &[&str],
) -> Result<(Compiled, Origin), NvrtcError> {
    let all_flags: Vec<&str> = FLAGS.iter().chain(flags).copied().collect();
    let expected = nvrtc::identity()?;
    let key = Key { compiler: &expected, arch, flags: &all_flags, text };
    if let Some(compiled) = cache.get(&key) {
        return Ok((compiled, Origin::Cache));
    }
    let nvrtc = nvrtc::nvrtc()?;
    // The library that loaded is not the expected one where the first that was found did not load.
    let key = Key { compiler: nvrtc.identity(), ..key };
    if nvrtc.identity() != expected
        && let Some(compiled) = cache.get(&key)
    {
        return Ok((compiled, Origin::Cache));
    }
    let compiled = nvrtc.compile(text, arch, flags)?;
    let kept = cache.put(&key, &compiled);
    Ok((compiled, Origin::Nvrtc(kept.err())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    const TEXT: &str = r#"extern "C" __global__ void add(float* x) { x[threadIdx.x] += 1.0f; }"#;

    #[test]
    fn second_time_from_the_cache_and_damage_compiled_again() {
        let folder = TestFolder::new("compile");
        let cache = Cache::at(folder.path());
        let compile = || compile_cached(&cache, TEXT, "sm_90a", &[]).expect("NVRTC takes the text");
        let (first, origin) = compile();
        assert_eq!(origin, Origin::Nvrtc(None));
        assert_eq!(compile(), (first.clone(), Origin::Cache));

        let entry = std::fs::read_dir(folder.path()).expect("the cache").next().expect("one entry");
        let cubin = entry.expect("the entry").path().join("kernel.cubin");
        std::fs::write(&cubin, &first.cubin[..first.cubin.len() / 2]).expect("cut");
        assert_eq!(compile(), (first.clone(), Origin::Nvrtc(None)));
        assert_eq!(compile(), (first, Origin::Cache));
    }

    #[test]
    fn unwritable_cache_gives_the_code_and_a_note() {
        let folder = TestFolder::new("note");
        let file = folder.path().join("file");
        std::fs::write(&file, b"in the way").expect("written");
        let (compiled, origin) =
            compile_cached(&Cache::at(file), TEXT, "sm_80", &[]).expect("NVRTC takes the text");
        assert!(!compiled.cubin.is_empty());
        assert!(matches!(origin, Origin::Nvrtc(Some(_))), "{origin:?}");
        let (_, origin) = compile_cached(&Cache::off(), TEXT, "sm_80", &[]).expect("NVRTC takes the text");
        assert_eq!(origin, Origin::Nvrtc(None));
    }
}
