//! The text of a certificate.

use super::{Certificate, Unproved};
use std::fmt;

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |proved: bool| if proved { "proved" } else { "not proved" };
        let counts = |map: &std::collections::BTreeMap<&'static str, usize>| {
            let parts: Vec<String> = map.iter().map(|(rule, count)| format!("{count} by {rule}")).collect();
            if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
        };
        writeln!(f, "{}", self.entry)?;
        writeln!(f, "  races: {}; pairs: {}", said(self.races()), counts(&self.pairs))?;
        writeln!(f, "  bounds: {}; accesses: {}", said(self.bounds()), counts(&self.accesses))?;
        self.unproved.iter().try_for_each(|one| writeln!(f, "  {one}"))
    }
}

impl fmt::Display for Unproved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.first.line, self.first.column)?;
        match self.second {
            Some(second) if second != self.first => write!(f, " and {}:{}", second.line, second.column)?,
            _ => {}
        }
        if !self.tensor.is_empty() {
            write!(f, " `{}`", self.tensor)?;
        }
        write!(f, ": {}", self.reason)
    }
}
