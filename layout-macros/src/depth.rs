//! How deep tokens nest, measured before anything recurses over them.
//!
//! Parsers and stages recurse over the tree. A statement of `n` tokens gives a tree of at most `n` levels and a group
//! adds its own, so the sum along the deepest path bounds the recursion whatever the tokens are. rustc's threads have
//! 8 MiB of stack, and the macro of a user's build is not optimised: tokens that cost a parser more stack weigh more.

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};

/// The most that the tokens along one path weigh: statements, and the groups they are in.
pub const TOKENS: usize = 400;
/// The most groups within groups.
pub const GROUPS: usize = 64;
/// The most expressions within expressions.
pub const EXPRESSIONS: usize = 200;

/// The first group (or the whole) that nests too deep.
pub fn too_deep(tokens: &TokenStream) -> Option<Group> {
    too_deep_for(tokens, 1)
}

/// The same for a thread of so many times the stack.
pub fn too_deep_for(tokens: &TokenStream, stack: usize) -> Option<Group> {
    let mut found = None;
    measure(tokens.clone(), (0, stack), &mut found);
    found
}

/// The tokens along the deepest path of `tokens`, which are in `level` groups.
fn measure(tokens: TokenStream, (level, stack): (usize, usize), found: &mut Option<Group>) -> usize {
    let (mut deepest, mut segment, mut below) = (0, 0, 0);
    let mut before = Before::Start;
    let mut trees = tokens.into_iter().peekable();
    while let Some(tree) = trees.next() {
        segment += weight(&tree, before);
        before = before.then(&tree);
        let mut ends = false;
        match tree {
            TokenTree::Group(group) => {
                let inside = match level < stack * GROUPS {
                    true => measure(group.stream(), (level + 1, stack), found),
                    false => stack * TOKENS,
                };
                below = below.max(inside);
                let goes_on = match trees.peek() {
                    Some(TokenTree::Ident(word)) => word == "else",
                    Some(TokenTree::Punct(_)) => true,
                    _ => false,
                };
                ends = group.delimiter() == Delimiter::Brace && !goes_on;
                if segment + below > stack * TOKENS && found.is_none() {
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

/// What is before a token, as far as it distinguishes an operator between operands from one in front of its operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Start,
    Operand,
    /// The first sign of an operator of several, after an operand.
    Joint,
}

impl Before {
    fn then(self, tree: &TokenTree) -> Before {
        match tree {
            TokenTree::Group(_) | TokenTree::Literal(_) => Before::Operand,
            TokenTree::Ident(word) if is_prefix(&word.to_string()) => Before::Start,
            TokenTree::Ident(_) => Before::Operand,
            TokenTree::Punct(punct) if self == Before::Operand && punct.spacing() == Spacing::Joint => {
                Before::Joint
            }
            TokenTree::Punct(_) => Before::Start,
        }
    }
}

/// A word that is in front of an expression or a type, as many times as one likes.
fn is_prefix(word: &str) -> bool {
    matches!(word, "return" | "break" | "move" | "mut" | "dyn" | "impl")
}

/// Stack that parsing a token takes, in units of 8 KiB: measured on unoptimised parsers.
fn weight(tree: &TokenTree, before: Before) -> usize {
    match tree {
        TokenTree::Punct(punct) => match (punct.as_char(), before) {
            ('<', _) | ('&', Before::Start) => 8,
            ('|', Before::Start) => 2,
            ('=', _) => 2,
            _ => 1,
        },
        TokenTree::Ident(word) if is_prefix(&word.to_string()) => 4,
        TokenTree::Ident(_) | TokenTree::Literal(_) | TokenTree::Group(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::too_deep;

    #[test]
    fn ordinary_code_is_shallow() {
        let body = "let x = a + (b * c); ".repeat(2000);
        let body = format!("{body} let y = {}c;", "a < b && ".repeat(30));
        let tokens = format!("fn f() {{ {body} for i in 0..4 {{ if x {{ y = 1; }} else {{ z = 2; }} }} }}");
        assert!(too_deep(&tokens.parse().expect("tokens")).is_none());
    }

    #[test]
    fn nested_groups_and_long_chains_are_deep() {
        let nested = format!("{}1{}", "(".repeat(150), ")".repeat(150));
        let prefix = format!("{}1", "- ".repeat(2000));
        let chain = format!("if a {{}} {}", "else if a {} ".repeat(1000));
        let types = format!("let x: {}f32 = n;", "&".repeat(100));
        let behind = format!("let x = n {}m;", "&&".repeat(50));
        let generic = format!("let x: {}f32{} = n;", "View<".repeat(60), ">".repeat(60));
        let words = format!("let x = {};", "return ".repeat(150));
        for text in [nested, prefix, chain, types, behind, generic, words] {
            assert!(too_deep(&format!("fn f() {{ {text} }}").parse().expect("tokens")).is_some());
        }
    }
}
