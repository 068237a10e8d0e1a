//! A function of a Rust file as it is there: its comments, its attributes, its body.
//!
//! Law: of a formatted file, the lines from the first of the item's comments to its closing brace, moved to the margin.

/// The item of the function `name`, or `None` where the text has none.
pub fn function(text: &str, name: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| declares(line, name))?;
    let indent = lines[at].len() - lines[at].trim_start().len();
    let margin = &lines[at][..indent];
    let own = |line: &usize| !lines[*line].trim().is_empty() && lines[*line].starts_with(margin);
    let first = (0..at).rev().take_while(own).last().unwrap_or(at);
    // A brace at the margin above belongs to the item before.
    let closed = (first..at).rev().find(|line| lines[*line].trim_end() == format!("{margin}}}"));
    let first = closed.map_or(first, |line| line + 1);
    let ends = |line: &&str| line.strip_prefix(margin) == Some("}");
    let last = lines[at..].iter().position(ends)? + at;
    let moved = lines[first..=last].iter().map(|line| line.get(indent..).unwrap_or(""));
    Some(moved.map(|line| format!("{line}\n")).collect())
}

fn declares(line: &str, name: &str) -> bool {
    let own = line.trim_start();
    let own = own.strip_prefix("pub ").unwrap_or(own);
    let rest = own.strip_prefix("fn ").and_then(|rest| rest.strip_prefix(name));
    rest.is_some_and(|rest| rest.starts_with(['<', '(']))
}

#[cfg(test)]
mod tests {
    use super::function;

    #[test]
    fn an_item_is_found_with_its_attributes_and_docs() {
        let text = "//! A file.\n\nuse a::b;\n\nmod m {\n    /// One.\n    #[a(\n        b,\n    )]\n    pub fn one<T>() {\n        if x {\n        }\n    }\n    fn one_more() {\n    }\n}\n";
        let one = "/// One.\n#[a(\n    b,\n)]\npub fn one<T>() {\n    if x {\n    }\n}\n";
        assert_eq!(function(text, "one").as_deref(), Some(one));
        assert_eq!(function(text, "one_more").as_deref(), Some("fn one_more() {\n}\n"));
        assert_eq!(function(text, "two"), None);
    }
}
