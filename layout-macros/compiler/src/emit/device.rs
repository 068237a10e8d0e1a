//! The device functions of `device/`: a kernel's text contains those that it calls, and no other.
//!
//! [`super::wrappers`] makes families of similar wrappers from templates. A file begins with a comment on the whole
//! file. Every paragraph after that is one function with its comment, separated by blank lines, so each can be taken
//! alone. Invariant: no function calls another.

use super::wrappers::{self, paragraphs};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// A file of functions that are written as they are.
macro_rules! file {
    ($name:literal) => {
        paragraphs(include_str!(concat!("device/", $name, ".cuh")))
            .map(str::to_owned)
            .collect::<Vec<String>>()
    };
}

/// Every function with its comment, in the order in which texts have them.
static FUNCTIONS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let files = [
        file!("address"),
        file!("unaligned"),
        file!("copy_async"),
        file!("barrier"),
        file!("mbarrier"),
        file!("assertion"),
        wrappers::asynchronous(),
        wrappers::hints(),
        file!("matrix"),
        file!("tcgen05"),
        wrappers::warps(),
        wrappers::atomic_extremes("", ""),
        wrappers::atomic_bits(),
        wrappers::flags(),
        wrappers::atomic_extremes("_system", "; undivided for the host, too"),
        wrappers::matrices(),
        file!("wrapping"),
        file!("integer"),
        wrappers::math(),
        wrappers::approximations(),
        file!("saturate"),
        file!("float16"),
        wrappers::float8(),
    ];
    files.concat()
});

/// The functions that a kernel calls, each as the head of its definition: `copy_async_16(`, `wrapping_add(int`.
#[derive(Debug, Default)]
pub(super) struct Device {
    called: BTreeSet<String>,
    defined: BTreeSet<String>,
}

impl Device {
    /// The function is called.
    pub(super) fn call(&mut self, head: impl Into<String>) {
        self.called.insert(head.into());
    }

    /// A function that is made for its numbers, with an end of line.
    pub(super) fn define(&mut self, text: String) {
        self.defined.insert(text);
    }

    /// The definitions of the called functions, an empty line after each.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for function in FUNCTIONS.iter() {
            if self.called.iter().any(|head| function.contains(&format!(" {head}"))) {
                text.push_str(function);
                text.push_str("\n\n");
            }
        }
        for one in &self.defined {
            text.push_str(one.trim_end());
            text.push_str("\n\n");
        }
        text
    }
}

/// The names of all functions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let lines = FUNCTIONS.iter().flat_map(|function| function.lines());
    let signatures = lines.filter(|line| line.starts_with("__device__"));
    signatures.filter_map(|line| line.split_once('(')?.0.rsplit(' ').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_called_is_taken() {
        let mut device = Device::default();
        assert_eq!(device.text(), "");
        device.call("wrapping_add(int");
        let text = device.text();
        assert_eq!(
            text,
            "// a + b modulo 2^32\n__device__ __forceinline__ int wrapping_add(int a, int b) {\n    \
             return (int)((unsigned int)a + (unsigned int)b);\n}\n\n"
        );
        device.call("copy_async_wait(");
        assert!(device.text().contains("template <int groups>\n"));
    }

    #[test]
    fn every_paragraph_is_one_function() {
        for paragraph in FUNCTIONS.iter() {
            let functions = paragraph.matches("__device__").count();
            assert_eq!(functions + paragraph.matches("struct ").count(), 1, "{paragraph}");
        }
        assert_eq!(names().filter(|name| *name == "saturate_i32").count(), 2);
    }
}
