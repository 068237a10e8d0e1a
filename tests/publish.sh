#!/usr/bin/env bash
# What has to pass before a release, which is `cargo publish` of the packages below: the packages as users get them, each built against
# the others; the docs as docs.rs makes them; the oldest Rust that the manifest names; and from the second release on whether the
# version says what changed for users. Wants crates.io's index. Minutes.
#   SINCE=v0.1.0   the tag of the release before, for `cargo semver-checks` (`cargo install cargo-semver-checks`)
set -euo pipefail
cd "$(dirname "$0")/.."
# In their order: each needs those before it.
crates=(layout-core layout-compiler layout-simulator layout-macros layout-cuda layout-mesh layout-kernels)
packages=("${crates[@]/#/-p}")

for crate in "${crates[@]}"; do
    files=$(cargo package --quiet --list --allow-dirty -p "$crate" 2>/dev/null)
    for file in LICENSE-APACHE LICENSE-MIT README.md src/lib.rs; do
        grep -qx "$file" <<<"$files" || { echo "$crate: its package has no $file"; exit 1; }
    done
done

cargo publish --dry-run --allow-dirty --quiet "${packages[@]}"
echo "packages: made, and built against one another"

RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps --all-features "${packages[@]}"
echo "docs: as docs.rs makes them, all features"

oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
toolchain=$(rustup toolchain list 2>/dev/null | grep -oE "^$oldest[.0-9]*" | head -1 || true)
if [ -n "$toolchain" ]; then
    CARGO_TARGET_DIR=target/oldest cargo "+$toolchain" check --quiet --all-features "${packages[@]}"
    echo "Rust $oldest: it is enough"
else
    echo "Rust $oldest: NOT TESTED, since it is not installed: rustup toolchain install $oldest"
fi

if [ -z "${SINCE:-}" ]; then
    echo "changes for users: NOT CHECKED, since SINCE names no earlier release"
else
    cargo semver-checks --baseline-rev "$SINCE" "${packages[@]/#-p/--package=}"
fi
