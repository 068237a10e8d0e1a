//! Indices and reasons in the kernel's own words.

use crate::check::Checked;
use crate::elem::Elem;
use crate::index::{Atom, AtomId, Index, Monomial};
use crate::ir::Special;
use crate::program::{Access, Comparison, PlaceId, Reason, Space};

/// Words for the indices of a variant.
pub(super) struct Words<'c> {
    checked: &'c Checked,
}

impl<'c> Words<'c> {
    pub(super) fn new(checked: &'c Checked) -> Words<'c> {
        Words { checked }
    }

    pub(super) fn elem(&self, access: &Access) -> Elem {
        self.checked.tables().place(access.place).elem
    }

    fn place(&self, id: PlaceId) -> &str {
        &self.checked.tables().place(id).name
    }

    /// Why, and the way out.
    pub(super) fn reason(&self, reason: &Reason) -> (String, String) {
        match reason {
            Reason::Alignment { place, known, wanted } => {
                let text = format!("`{}` is aligned to {known} bytes, not to {wanted}", self.place(*place));
                let help = match self.checked.tables().place(*place).space {
                    Space::Global(_) => {
                        "give the launch tensors that begin at multiples of 16 bytes; this variant is for others"
                    }
                    _ => "take fewer elements at once",
                };
                (text, help.to_owned())
            }
            Reason::Swizzle { place, run } => (
                format!("the swizzle of `{}` keeps {run} elements together", self.place(*place)),
                "choose a swizzle whose base is the logarithm of the vector's elements".into(),
            ),
            Reason::Start { place, index, by } => {
                let (text, help) = self.multiple(index, *by);
                (format!("{text}, where a vector of `{}` begins", self.place(*place)), help)
            }
            Reason::Apart { place, stride } => {
                let stride = stride.as_ref().map(|stride| self.index(stride));
                let text = match stride.as_deref() {
                    Some("1") | None => {
                        format!("elements of a vector of `{}` do not follow one another", self.place(*place))
                    }
                    Some(stride) => {
                        format!("elements of a vector of `{}` are `{stride}` apart", self.place(*place))
                    }
                };
                let help = "vectorise the mode whose elements lie side by side, or lay the tensor out by it";
                (text, help.to_owned())
            }
            Reason::Edge { place, extent, by } => {
                let (_, help) = self.multiple(extent, *by);
                let (name, extent) = (self.place(*place), self.index(extent));
                (format!("the edge of `{name}` at `{extent}` may lie inside of a vector of {by}"), help)
            }
            Reason::Converts(from, to) => (
                format!("each element is converted by itself from {from} to {to}"),
                format!("load first, then convert: `.to_local().cast::<{to}>()`"),
            ),
            Reason::Bytes(bytes) => (
                format!("`cp.async` moves 4, 8 or 16 bytes, here it is {bytes}"),
                "take more elements at once: `vectorize` both sides, where they are aligned for it".into(),
            ),
            Reason::Pad => (
                "`cp.async` fills with zeros, and the `pad` is another number".into(),
                "leave `pad` out and treat the tail where it is read, or use `copy_dram_to_sram`".into(),
            ),
            Reason::Written => (
                "the tile in shared memory is masked".into(),
                "make the tile a multiple of what its threads copy".into(),
            ),
        }
    }

    /// Which terms keep an index from being a multiple, and what would promise it.
    fn multiple(&self, index: &Index, by: i64) -> (String, String) {
        let atoms = &self.checked.tables().atoms;
        let index = &atoms.expand(index).unwrap_or_else(|_| index.clone());
        let (_, loose) = index.partition(|monomial, factor| {
            let one = Index::product(monomial, factor);
            atoms.divisor(&one) % by == 0
        });
        let loose = match loose.offset() % by {
            0 => loose.plus(-loose.offset()).unwrap_or(loose),
            _ => loose,
        };
        let shown = if loose.as_constant() == Some(0) { index } else { &loose };
        let text = match shown.as_constant() {
            Some(number) => format!("{number} is no multiple of {by}"),
            None => format!("`{}` is not known to be a multiple of {by}", self.index(shown)),
        };
        let mut dims: Vec<String> = Vec::new();
        let mut strides = false;
        let mut arguments: Vec<String> = Vec::new();
        for id in shown.atoms() {
            match atoms.atom(id) {
                Atom::Dim { .. } => dims.push(self.atom(id).0),
                Atom::Stride { .. } => strides = true,
                Atom::Argument(_) => arguments.push(self.atom(id).0),
                _ => {}
            }
        }
        dims.dedup();
        let help = match (dims.first(), strides, arguments.first()) {
            (Some(dim), ..) => {
                format!("promise it: `require({dim} % {by} == 0)`, or `variant_if({dim} % {by} == 0)`")
            }
            (None, true, _) => {
                "take the tensor as `Pitched` or `Contiguous`: their rows are aligned in the variant for aligned tensors"
                    .into()
            }
            (None, false, Some(name)) => {
                format!("count `{name}` in vectors: pass a number of them and multiply by {by}")
            }
            (None, false, None) => format!("let it be a multiple by its form: `{by} * i`"),
        };
        (text, help)
    }

    /// The conditions, and the way out.
    pub(super) fn mask(&self, conditions: &[&Comparison]) -> (String, String) {
        let mut texts: Vec<String> = Vec::new();
        for condition in conditions {
            let text = format!("`{}`", self.comparison(condition));
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let verb = if texts.len() == 1 { "is" } else { "are" };
        let first = conditions.first().map_or(String::new(), |condition| self.comparison(condition));
        let dim = conditions.first().and_then(|condition| {
            let atoms = &self.checked.tables().atoms;
            let dim = |id: &AtomId| matches!(atoms.atom(*id), Atom::Dim { .. });
            condition.right.atoms().chain(condition.left.atoms()).find(dim)
        });
        let promise = dim.map_or(String::new(), |dim| {
            format!(", or promise whole tiles: `require({} % TILE == 0)`", self.atom(dim).0)
        });
        let help = format!("let the condition stand around it: `if {first} {{ .. }}`{promise}");
        (format!("{} {verb}", texts.join(", ")), help)
    }

    fn comparison(&self, comparison: &Comparison) -> String {
        let Comparison { op, left, right } = comparison;
        format!("{} {} {}", self.index(left), op.symbol(), self.index(right))
    }

    /// An index as Rust.
    pub(super) fn index(&self, index: &Index) -> String {
        let mut out = String::new();
        let mut terms: Vec<String> = Vec::new();
        for (monomial, factor) in index.terms() {
            terms.push(self.term(monomial, *factor));
        }
        if index.offset() != 0 || terms.is_empty() {
            terms.push(index.offset().to_string());
        }
        for term in terms {
            match (out.is_empty(), term.strip_prefix('-')) {
                (true, _) => out.push_str(&term),
                (false, Some(positive)) => out.push_str(&format!(" - {positive}")),
                (false, None) => out.push_str(&format!(" + {term}")),
            }
        }
        out
    }

    fn term(&self, monomial: &Monomial, factor: i64) -> String {
        let (mut factor, mut parts) = (factor, Vec::new());
        for id in monomial {
            let (name, divisor) = self.atom(*id);
            if divisor > 1 && factor % divisor == 0 {
                factor /= divisor;
                parts.push(name);
            } else if divisor > 1 {
                parts.push(format!("({name} / {divisor})"));
            } else {
                parts.push(name);
            }
        }
        match factor {
            1 => {}
            -1 => parts[0].insert(0, '-'),
            factor => parts.insert(0, factor.to_string()),
        }
        parts.join(" * ")
    }

    /// The name of an atom, and by what it is divided.
    fn atom(&self, id: AtomId) -> (String, i64) {
        let (tables, plan) = (self.checked.tables(), self.checked.plan());
        let argument =
            |number: u32| plan.arguments.get(number as usize).map_or("?", |argument| argument.name.as_str());
        let both = |left: &Index, right: &Index, op: &str| {
            (format!("({} {op} {})", self.factor(left), self.factor(right)), 1)
        };
        match tables.atoms.atom(id) {
            Atom::Special(special, axis) => {
                let name = match special {
                    Special::ThreadIdx => "thread_idx",
                    Special::BlockIdx => "block_idx",
                    Special::BlockDim => "block_dim",
                    Special::GridDim => "grid_dim",
                };
                (format!("{name}.{}", ["x", "y", "z"][(*axis as usize).min(2)]), 1)
            }
            Atom::Dim { dim, divisor } => {
                (plan.dims.get(*dim as usize).cloned().unwrap_or_else(|| "?".into()), *divisor)
            }
            Atom::Stride { argument: number, mode, divisor } => {
                (format!("(stride {mode} of {})", argument(*number)), *divisor)
            }
            Atom::Argument(number) => (argument(*number).to_owned(), 1),
            Atom::Variable(variable, _) => (tables.variable(*variable).name.clone(), 1),
            Atom::Div(left, right) => both(left, right, "/"),
            Atom::Rem(left, right) => both(left, right, "%"),
            Atom::Xor(left, right) => both(left, right, "^"),
            Atom::And(left, right) => both(left, right, "&"),
            Atom::Or(left, right) => both(left, right, "|"),
            Atom::Min(left, right) => (format!("min({}, {})", self.index(left), self.index(right)), 1),
            Atom::Max(left, right) => (format!("max({}, {})", self.index(left), self.index(right)), 1),
            Atom::Wrapped { index, .. } => (format!("({} modulo 2^64)", self.index(index)), 1),
        }
    }

    /// An index as an operand: in parentheses where it is a sum.
    fn factor(&self, index: &Index) -> String {
        let text = self.index(index);
        if index.as_constant().is_some() || index.as_atom().is_some() { text } else { format!("({text})") }
    }
}
