//! The face of a kernel, which the program around it sees: its name, its visibility, its arguments.
//!
//! Law: whatever tokens follow `fn name`, there is a face, and it has as many arguments as are written. So a
//! half-written kernel leaves its callers as they are.

use crate::report::Errors;
use crate::signature::{self, Argument, Kind, Signature};
use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use syn::{Attribute, FnArg, ItemFn, Visibility};

/// The outside of a kernel.
pub struct Face {
    /// The documentation, `cfg`s and lint levels of the function.
    pub attributes: Vec<Attribute>,
    /// The function's visibility.
    pub visibility: TokenStream,
    /// The function's name.
    pub name: Ident,
    /// The type parameters.
    pub types: Vec<Ident>,
    /// The arguments.
    pub arguments: Vec<Argument>,
}

impl Face {
    /// The face of a function whose signature was read.
    pub fn of(function: &ItemFn, signature: Signature) -> Face {
        let visibility = &function.vis;
        Face {
            attributes: function.attrs.clone(),
            visibility: quote::quote!(#visibility),
            name: function.sig.ident.clone(),
            types: signature.types,
            arguments: signature.arguments,
        }
    }

    /// The face of tokens that are no function: what can be recovered from them, `None` where not even the name is.
    pub fn recover(item: TokenStream) -> Option<Face> {
        let trees: Vec<TokenTree> = item.into_iter().collect();
        let keyword = trees.iter().position(|tree| matches!(tree, TokenTree::Ident(word) if word == "fn"))?;
        let Some(TokenTree::Ident(name)) = trees.get(keyword + 1) else { return None };
        let parenthesis = |tree: &TokenTree| match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => Some(group.stream()),
            _ => None,
        };
        let inputs = trees[keyword + 2..].iter().find_map(parenthesis).unwrap_or_default();
        let types = type_parameters(&trees[keyword + 2..]);
        let arguments = split(inputs)
            .into_iter()
            .enumerate()
            .map(|(number, tokens)| recover_argument(number, tokens, &types))
            .collect();
        Some(Face {
            attributes: vec![],
            visibility: visibility(&trees[..keyword]),
            name: name.clone(),
            types,
            arguments,
        })
    }
}

/// `pub`, `pub(crate)` and the like in front of `fn`.
fn visibility(before: &[TokenTree]) -> TokenStream {
    let start = before.iter().position(|tree| matches!(tree, TokenTree::Ident(word) if word == "pub"));
    let tokens: TokenStream = before[start.unwrap_or(before.len())..]
        .iter()
        .enumerate()
        .take_while(|(number, tree)| *number == 0 || matches!(tree, TokenTree::Group(_)))
        .map(|(_, tree)| tree.clone())
        .collect();
    match syn::parse2::<Visibility>(tokens.clone()) {
        Ok(_) => tokens,
        Err(_) => TokenStream::new(),
    }
}

/// The names between `<` and `>` that are not const generics.
fn type_parameters(after: &[TokenTree]) -> Vec<Ident> {
    let is = |tree: Option<&TokenTree>, wanted| matches!(tree, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted);
    if !is(after.first(), '<') {
        return vec![];
    }
    let mut types = vec![];
    for number in 1..after.len() {
        match &after[number] {
            TokenTree::Punct(punct) if punct.as_char() == '>' => break,
            TokenTree::Group(_) => break,
            TokenTree::Ident(name) if *name != "const" => {
                let first = is(after.get(number - 1), '<') || is(after.get(number - 1), ',');
                let ends = is(after.get(number + 1), ',') || is(after.get(number + 1), '>');
                if first && ends && !types.contains(name) {
                    types.push(name.clone());
                }
            }
            _ => {}
        }
    }
    types
}

/// The tokens between commas that are in no `<..>`.
fn split(inputs: TokenStream) -> Vec<TokenStream> {
    let (mut arguments, mut argument, mut angles, mut arrow) = (vec![], TokenStream::new(), 0usize, false);
    for tree in inputs {
        if let TokenTree::Punct(punct) = &tree {
            match punct.as_char() {
                '<' => angles += 1,
                '>' if !arrow => angles = angles.saturating_sub(1),
                ',' if angles == 0 => {
                    arguments.push(std::mem::take(&mut argument));
                    continue;
                }
                _ => {}
            }
        }
        arrow = matches!(&tree, TokenTree::Punct(punct) if punct.as_char() == '-');
        argument.extend([tree]);
    }
    if !argument.is_empty() {
        arguments.push(argument);
    }
    arguments
}

fn recover_argument(number: usize, tokens: TokenStream, types: &[Ident]) -> Argument {
    let unnamed = Ident::new(&format!("argument_{number}"), Span::call_site());
    match syn::parse2::<FnArg>(tokens) {
        // Its errors are not reported: the syntax is, and comes first.
        Ok(input) => signature::argument(&input, number, types, &mut Errors::default()),
        Err(_) => Argument { name: unnamed, kind: Kind::Unknown },
    }
}
