#!/usr/bin/env bash
# Builds the book and the page into target/book: `bash book/build.sh`, then open target/book/index.html.
#
# Needs a Rust toolchain. What else is missing is installed: mdBook by cargo under target/tools, Rust's library for
# WebAssembly by rustup. Where rustup is not, or reaches no server, Debian's toolchain is taken; it has to be there:
#     apt-get install rustc-web cargo-web rust-web-src lld-22
# (the lld of the LLVM that `rustc-web -vV` names).
# LAYOUT_WASM_CARGO=debian takes it in any case.
#   --page    only the page
#   --test    then follow the book's links, measure its chapters at 1280 and 390 pixels, and drive the page in headless Chromium
#             (CHROMIUM names it: `apt-get install chromium`), with screenshots in target/book-screenshots; needs Node. PAGE_PATIENCE=3 is three times as patient, for a machine with other work
set -euo pipefail
cd "$(dirname "$0")/.."
target="${CARGO_TARGET_DIR:-target}"
out="$PWD/target/book"
only_page=false drive=false
for word in "$@"; do
    case "$word" in
    --page) only_page=true ;;
    --test) drive=true ;;
    *) echo "there are --page and --test" >&2 && exit 2 ;;
    esac
done

wasm=wasm32-unknown-unknown
# Debian's Rust where it was asked for, and where rustup is not or reaches no server.
debian="${LAYOUT_WASM_CARGO:-}"
if [ "$debian" != debian ] && [ ! -d "$(rustc --print sysroot)/lib/rustlib/$wasm" ] && ! rustup target add "$wasm"; then
    debian=debian
fi
if [ "$debian" = debian ]; then
    [ -d /usr/lib/rustlib/src ] || {
        echo "no library for WebAssembly: install it by rustup, or Debian's rustc-web cargo-web rust-web-src lld-22" >&2
        exit 1
    }
    # Debian's rustc asks for `rust-lld`, which Debian does not have; its LLVM's linker has the version in its name.
    linker="$(compgen -c wasm-ld | sort -uV | tail -1 || true)"
    [ -n "$linker" ] || { echo "no linker for WebAssembly: install Debian's lld-22, or rust's by rustup" >&2 && exit 1; }
    export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="$linker"
    RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc /usr/bin/cargo build -Zbuild-std=std,panic_abort \
        --package layout-page --package layout-packed --target "$wasm" --profile page
else
    cargo build --package layout-page --package layout-packed --target "$wasm" --profile page
fi

if ! $only_page; then
    mdbook="$target/tools/with-search/bin/mdbook"
    [ -x "$mdbook" ] || cargo install mdbook --version 0.5.4 --locked --no-default-features --features search --root "$target/tools/with-search"
    "$mdbook" build book
    # What the words of the vocabulary lead to.
    CARGO_TARGET_DIR="$target/book-doc" cargo doc --quiet --no-deps --package layout-core
    rm -rf "$out/doc" && cp -r "$target/book-doc/doc" "$out/doc"
fi

# One script that holds the compiler, packed, and what unpacks it: a page that was opened from a file may not fetch another.
mkdir -p "$out/page"
cp book/page/www/* book/colours.js "$out/page/"
modules="$target/$wasm/page"
cargo run --quiet --release --package layout-packed --features pack --bin pack -- "$modules/layout_page.wasm" "$modules/layout_page.lzma"
printf 'self.LAYOUT_UNPACK = "%s";\nself.LAYOUT_WASM = "%s";\n' "$(base64 -w0 "$modules/layout_packed.wasm")" \
    "$(base64 -w0 "$modules/layout_page.lzma")" >"$out/page/layout.wasm.js"
bytes=$(cat "$out"/page/* | gzip -9 -c | wc -c)
echo "the page: $bytes bytes, compressed: $out/page/index.html"
[ "$bytes" -lt 1000000 ] || { echo "the page has grown beyond 1 MB" >&2 && exit 1; }
if $drive; then
    $only_page || node book/page/test/links.mjs "$out"
    $only_page || node book/page/test/widths.mjs "$out" target/book-screenshots
    node book/page/test/drive.mjs "$out/page/index.html" target/book-screenshots
fi
