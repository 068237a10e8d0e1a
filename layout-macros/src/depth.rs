//! How deep tokens nest, measured before anything recurses over them.
//!
//! Parsers and stages recurse over the tree. A statement of `n` tokens gives a tree of at most `n` levels and a group
//! adds its own, so the sum along the deepest path bounds the recursion whatever the tokens are.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// The most tokens along one path: statements, and the groups they stand in.
pub const TOKENS: usize = 600;
/// The most groups within groups.
pub const GROUPS: usize = 100;
/// The most expressions within expressions.
pub const EXPRESSIONS: usize = 200;

/// The first group (or the whole) that nests too deep.
pub fn too_deep(tokens: &TokenStream) -> Option<Group> {
    let mut found = None;
    measure(tokens.clone(), 0, &mut found);
    found
}

/// The tokens along the deepest path of `tokens`, which stand in `level` groups.
fn measure(tokens: TokenStream, level: usize, found: &mut Option<Group>) -> usize {
    let (mut deepest, mut segment, mut below) = (0, 0, 0);
    let mut trees = tokens.into_iter().peekable();
    while let Some(tree) = trees.next() {
        segment += 1;
        let mut ends = false;
        match tree {
            TokenTree::Group(group) => {
                let inside = if level < GROUPS { measure(group.stream(), level + 1, found) } else { TOKENS };
                below = below.max(inside);
                let goes_on = match trees.peek() {
                    Some(TokenTree::Ident(word)) => word == "else",
                    Some(TokenTree::Punct(_)) => true,
                    _ => false,
                };
                ends = group.delimiter() == Delimiter::Brace && !goes_on;
                if segment + below > TOKENS && found.is_none() {
                    *found = Some(group);
                }
            }
            TokenTree::Punct(punct) => ends = matches!(punct.as_char(), ';' | ','),
            TokenTree::Ident(_) | TokenTree::Literal(_) => {}
        }
        deepest = deepest.max(segment + below);
        if ends {
            (segment, below) = (0, 0);
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::too_deep;

    #[test]
    fn ordinary_code_is_shallow() {
        let body = "let x = a + (b * c); ".repeat(2000);
        let tokens = format!("fn f() {{ {body} for i in 0..4 {{ if x {{ y = 1; }} else {{ z = 2; }} }} }}");
        assert!(too_deep(&tokens.parse().expect("tokens")).is_none());
    }

    #[test]
    fn nested_groups_and_long_chains_are_deep() {
        let nested = format!("{}1{}", "(".repeat(150), ")".repeat(150));
        let prefix = format!("{}1", "- ".repeat(2000));
        let chain = format!("if a {{}} {}", "else if a {} ".repeat(1000));
        for text in [nested, prefix, chain] {
            assert!(too_deep(&format!("fn f() {{ {text} }}").parse().expect("tokens")).is_some());
        }
    }
}
