//! A bundle of the tests' kernel: written, read, damaged, older than the kernel, and asked for every kind of device.

use super::*;
use crate::test_kernels::{scale_add, unguarded};
use layout_compiler::ParamValue;

fn recipe(architectures: &[&str]) -> Recipe {
    let set = layout_compiler::ParamSet::default().with("THREADS", ParamValue::Int(128));
    Recipe::new(architectures).expect("architectures").set(scale_add(), set)
}

fn arch(name: &str) -> Arch {
    name.parse().expect("an architecture")
}

#[test]
fn what_is_written_is_read_and_serves_the_nearest_device() {
    let recipe = recipe(&["sm_80", "sm_90a"]);
    let bytes = recipe.build().expect("NVRTC takes the kernel");
    let bundle = Bundle::read(bytes.clone()).expect("a bundle");
    assert_eq!(recipe.stale(&bundle), Ok(vec![]));
    assert!(bundle.compiler().starts_with("NVRTC "), "{}", bundle.compiler());
    // Two of alignment, two of extents, and as many with the condition that implies alignment: each for three targets.
    assert_eq!(bundle.entries().len(), 6 * 3, "{:?}", bundle.entries());
    for entry in bundle.entries() {
        let (code, log) = bundle.code(entry).expect("code");
        let elf = code.starts_with(b"\x7fELF");
        assert!(elf != entry.ptx && (entry.ptx || log.contains("registers")), "{entry:?}: {log}");
    }
    let key = bundle.entries()[0].key;
    let found =
        |device: &str| bundle.find(key, arch(device)).map(|entry| (entry.arch.to_string(), entry.ptx));
    let rows = [
        ("sm_80", Some(("sm_80", false))),
        ("sm_89", Some(("sm_80", false))),
        ("sm_90a", Some(("sm_90a", false))),
        ("sm_100a", Some(("sm_80", true))),
        ("sm_120a", Some(("sm_80", true))),
        ("sm_75", None),
    ];
    for (device, wanted) in rows {
        assert_eq!(found(device), wanted.map(|(name, ptx)| (name.to_string(), ptx)), "{device}");
    }
    assert_eq!(bundle.find(key ^ 1, arch("sm_80")), None, "another text");

    // Any other bytes: an error, or code that is not given out.
    let head = bytes.windows(2).position(|two| two == b"\n\x7f").expect("the first code") + 1;
    for cut in (0..head).step_by(7).chain([head, bytes.len() - 1]) {
        assert!(Bundle::read(bytes[..cut].to_vec()).is_err(), "cut at {cut}");
    }
    assert!(Bundle::read([&bytes[..], b"x"].concat()).is_err());
    for at in (0..head).chain([head + 100]) {
        let mut other = bytes.clone();
        other[at] ^= 1;
        if let Ok(other) = Bundle::read(other) {
            for entry in other.entries() {
                let _ = other.code(entry);
            }
        }
    }
    let mut other = bytes;
    other[head + 100] ^= 1;
    let other = Bundle::read(other).expect("a head");
    assert!(matches!(other.code(&other.entries()[0]), Err(BundleError::Damaged { .. })));
}

/// A kernel that names no architecture is made for a card before the baseline, too, and for nothing but it where no other is named.
#[test]
fn cards_before_the_baseline_have_their_own_code() {
    for (architectures, wanted) in
        [(&["sm_75", "sm_86"][..], &["sm_75", "sm_86"][..]), (&["sm_75"], &["sm_75"])]
    {
        let recipe = recipe(architectures);
        let bundle = Bundle::read(recipe.build().expect("NVRTC takes the kernel")).expect("a bundle");
        assert_eq!(recipe.stale(&bundle), Ok(vec![]));
        for name in wanted {
            let own = |entry: &&Entry| entry.arch == arch(name) && !entry.ptx;
            assert_eq!(bundle.entries().iter().filter(own).count(), 6, "{name}: {:?}", bundle.entries());
        }
        let mut all: Vec<_> =
            bundle.entries().iter().map(|entry| (entry.key, entry.arch.code(), entry.ptx)).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!((all.len(), count), (count, 12 * wanted.len()), "each once: {:?}", bundle.entries());
    }
}

#[test]
fn an_older_bundle_is_noticed() {
    let bundle = Bundle::read(recipe(&["sm_80"]).build().expect("a bundle")).expect("a bundle");
    let more = recipe(&["sm_80", "sm_86"]).stale(&bundle).expect("texts");
    assert!(
        more.len() == 6 && more.iter().all(|one| one.arch == arch("sm_86") && !one.other_text),
        "{more:?}"
    );
    let other = Recipe::new(&["sm_80"]).expect("a recipe").kernel(unguarded()).stale(&bundle).expect("texts");
    assert!(other.iter().all(|one| one.to_string().ends_with("it is not there")), "{other:?}");
    // The same function of another text, as after a change of the kernel.
    let mut entries = bundle.entries().to_vec();
    entries.iter_mut().for_each(|entry| entry.key ^= 1);
    let changed = recipe(&["sm_80"]).stale(&Bundle { entries, ..bundle }).expect("texts");
    assert!(changed.len() == 12 && changed.iter().all(|one| one.other_text), "{changed:?}");
}

#[test]
fn what_cannot_be_made_is_reported() {
    assert!(matches!(Recipe::new(&["sm_80", "compute_90"]), Err(BundleError::Arch(_))));
    let set = layout_compiler::ParamSet::default().with("WARPS", ParamValue::Int(4));
    let error =
        Recipe::new(&["sm_80"]).expect("a recipe").set(scale_add(), set).build().expect_err("no WARPS");
    assert!(matches!(error, BundleError::Kernel(_)) && error.to_string().contains("WARPS"), "{error}");
}
