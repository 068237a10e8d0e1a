//! The device functions of `device/*.cuh`: a kernel's text gets those that it calls, and no other.
//!
//! Each file compiles alone. It opens with a comment on the whole; every paragraph after that (blank lines between) is
//! one function with its comment, so that a paragraph can be taken alone. Invariant: no function calls another.

use std::collections::BTreeSet;

const FILES: [&str; 18] = [
    include_str!("device/copy_async.cuh"),
    include_str!("device/barrier.cuh"),
    include_str!("device/mbarrier.cuh"),
    include_str!("device/tensor_map.cuh"),
    include_str!("device/hint.cuh"),
    include_str!("device/matrix.cuh"),
    include_str!("device/warp.cuh"),
    include_str!("device/atomic.cuh"),
    include_str!("device/flag.cuh"),
    include_str!("device/scope.cuh"),
    include_str!("device/mma.cuh"),
    include_str!("device/wrapping.cuh"),
    include_str!("device/integer.cuh"),
    include_str!("device/math.cuh"),
    include_str!("device/approximate.cuh"),
    include_str!("device/saturate.cuh"),
    include_str!("device/float16.cuh"),
    include_str!("device/float8.cuh"),
];

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
        for paragraph in FILES.iter().flat_map(|file| file.split("\n\n").skip(1)) {
            if self.called.iter().any(|head| paragraph.contains(&format!(" {head}"))) {
                text.push_str(paragraph.trim_end());
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
    let lines = FILES.iter().flat_map(|file| file.lines());
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
        for paragraph in FILES.iter().flat_map(|file| file.split("\n\n").skip(1)) {
            let functions = paragraph.matches("__device__").count();
            assert_eq!(functions + paragraph.matches("struct ").count(), 1, "{paragraph}");
        }
        assert_eq!(names().filter(|name| *name == "saturate_i32").count(), 2);
    }
}
