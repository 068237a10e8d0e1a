//! How far a load has come.
//!
//! ```
//! use layout_files::progress::Progress;
//! let mut seen = 0;
//! let mut progress = |moved: u64, total: u64| seen = 100 * moved / total.max(1);
//! progress.moved(1, 2);
//! assert_eq!(seen, 50);
//! ```

/// Is called with each piece that has gone to the device.
pub trait Progress {
    /// So many bytes of so many.
    fn moved(&mut self, moved: u64, total: u64);
}

impl<F: FnMut(u64, u64)> Progress for F {
    fn moved(&mut self, moved: u64, total: u64) {
        self(moved, total);
    }
}

/// Reports no progress.
pub(crate) fn silent() -> impl Progress {
    |_, _| {}
}

/// A bar on the terminal, for loads of at least `from` bytes; it is gone when the load has ended.
///
/// ```
/// # use layout_files::progress::{Progress, bar};
/// let mut bar = bar("weights", 1 << 20);
/// bar.moved(1, 10); // too small to be worth a bar
/// ```
#[cfg(feature = "progress")]
pub fn bar(name: &str, from: u64) -> impl Progress + use<> {
    let name = name.to_owned();
    let mut shown: Option<indicatif::ProgressBar> = None;
    move |moved: u64, total: u64| {
        if total < from {
            return;
        }
        let bar = shown.get_or_insert_with(|| {
            let style = indicatif::ProgressStyle::with_template(
                "{msg} {bar:40} {bytes} of {total_bytes}, {bytes_per_sec}",
            );
            let bar = indicatif::ProgressBar::new(total).with_message(name.clone());
            style.into_iter().for_each(|style| bar.set_style(style));
            bar
        });
        bar.set_position(moved);
        if moved == total {
            bar.finish_and_clear();
        }
    }
}
