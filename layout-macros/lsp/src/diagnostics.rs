//! The errors of a document as diagnostics.
//!
//! Law: a diagnostic for each error that the macro reports, at the same place; its code is the stage that found it.

use crate::analysis::{Analysis, Fault};
use crate::text::Text;
use lsp_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, Position, Range,
    Uri,
};
use std::path::{Path, PathBuf};

/// The diagnostics of the present text.
pub fn diagnostics(analysis: &Analysis, text: &Text) -> Vec<Diagnostic> {
    analysis.faults.iter().map(|fault| diagnostic(fault, text)).collect()
}

fn diagnostic(fault: &Fault, text: &Text) -> Diagnostic {
    let elsewhere = fault.elsewhere.as_ref().and_then(|other| {
        let line = other.position.line.saturating_sub(1);
        // The column is of characters; the other file's text is not at hand.
        let at = Position { line, character: other.position.column.saturating_sub(1) };
        let location = Location { uri: uri_of(Path::new(&other.file))?, range: Range { start: at, end: at } };
        Some(vec![DiagnosticRelatedInformation { location, message: "the function that is wrong".into() }])
    });
    Diagnostic {
        range: text.range(fault.range.0, fault.range.1),
        severity: Some(DiagnosticSeverity::ERROR),
        code: Some(NumberOrString::String(fault.stage.into())),
        source: Some("layout".into()),
        message: fault.message.clone(),
        related_information: elsewhere,
        ..Diagnostic::default()
    }
}

/// The path of a document that is a file.
pub fn path_of(uri: &Uri) -> Option<PathBuf> {
    uri.scheme().filter(|scheme| scheme.as_str() == "file")?;
    let path = uri.path().as_estr().decode().into_string().ok()?;
    // `/C:/folder`
    let drive = path.as_bytes().get(2) == Some(&b':');
    Some(PathBuf::from(&path[usize::from(drive)..]))
}

/// The document of a path.
pub fn uri_of(path: &Path) -> Option<Uri> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~:".contains(&byte);
    let text = path.to_str()?.replace('\\', "/");
    let text: String = text
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    format!("file://{}{text}", if text.starts_with('/') { "" } else { "/" }).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_comes_back() {
        for path in ["/a b/ü/k.rs", "/x/100%/[y].rs"] {
            let uri = uri_of(Path::new(path)).expect("a URI");
            assert_eq!(path_of(&uri).as_deref(), Some(Path::new(path)), "{}", uri.as_str());
        }
        let drive: Uri = "file:///c%3A/k.rs".parse().expect("a URI");
        assert_eq!(path_of(&drive).as_deref(), Some(Path::new("c:/k.rs")));
        assert_eq!(path_of(&"untitled:1".parse().expect("a URI")), None);
    }
}
