//! The text of indices and reasons, in the names of the kernel.

use crate::check::Checked;
use crate::elem::Elem;
use crate::index::{Atom, AtomFacts, AtomId, Index, Monomial, VarId, Width};
use crate::ir::{BinaryOp, Special};
use crate::program::{
    Access, Comparison, Part, PlaceId, Reason, Space, Statement, StatementKind, Value, VariableKind, walk,
};
use crate::prove::Facts;
use std::collections::HashMap;

/// Words for the indices of a variant.
pub(super) struct Words<'c> {
    checked: &'c Checked,
    /// The values of the variables that the user's program has no names for.
    values: HashMap<VarId, &'c Value<Access>>,
    /// What holds in every launch, and in each round of a loop.
    facts: Facts,
}

impl<'c> Words<'c> {
    pub(super) fn new(checked: &'c Checked) -> Words<'c> {
        let (mut values, mut facts) = (HashMap::new(), Facts::default());
        checked.facts.iter().for_each(|fact| facts.assume(fact, true));
        walk::statements(checked.body(), &mut |part| match part {
            Part::Statement(Statement { kind: StatementKind::Let(variable, Some(value)), .. })
                if checked.tables().variable(*variable).unnamed =>
            {
                values.insert(*variable, value);
            }
            Part::Statement(Statement { kind: StatementKind::For { variable, end, .. }, .. }) => {
                if let Some(id) = checked.tables().atoms.find(&Atom::Variable(*variable, 0)) {
                    let (left, right) = (Index::atom(id), end.clone());
                    facts.assume(&Comparison { op: BinaryOp::Lt, left, right }, true);
                }
            }
            _ => {}
        });
        Words { checked, values, facts }
    }

    pub(super) fn elem(&self, access: &Access) -> Elem {
        self.checked.tables().place(access.place).elem
    }

    fn place(&self, id: PlaceId) -> &str {
        &self.checked.tables().place(id).name
    }

    /// Whether a condition depends on more than which thread it is.
    pub(super) fn depends(&self, condition: &Comparison) -> bool {
        self.is_of_more(&condition.left) || self.is_of_more(&condition.right)
    }

    fn is_of_more(&self, index: &Index) -> bool {
        let atoms = &self.checked.tables().atoms;
        let Ok(expanded) = atoms.expand(index) else { return true };
        expanded.atoms().any(|id| match atoms.atom(id) {
            Atom::Special(special, _) => *special != Special::ThreadIdx,
            Atom::Dim { .. } | Atom::Stride { .. } | Atom::Argument(_) | Atom::Variable(..) => true,
            compound => compound.parts().any(|part| self.is_of_more(part)),
        })
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
                let help =
                    "vectorise the contiguous mode, or change the layout so that this mode is contiguous";
                (text, help.to_owned())
            }
            Reason::Edge { place, extent, by } => {
                let (_, help) = self.multiple(extent, *by);
                let (name, extent) = (self.place(*place), self.index(extent));
                (format!("a vector of {by} may cross the edge of `{name}` at `{extent}`"), help)
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
        let index = &atoms.congruent(index, by);
        let (_, loose) = index.partition(|monomial, factor| {
            let one = Index::product(monomial, factor);
            atoms.divisor(&one) % by == 0
        });
        let loose = match loose.offset() % by {
            0 => loose.plus(-loose.offset()).unwrap_or(loose),
            _ => loose,
        };
        // What is a multiple in one round of a loop that the compiler wrote is one in each.
        let shown = &self.per_round(if loose.as_constant() == Some(0) { index } else { &loose });
        let text = match shown.as_constant() {
            Some(number) => format!("{number} is no multiple of {by}"),
            None => format!("`{}` is not known to be a multiple of {by}", self.index(shown)),
        };
        let strides = shown.atoms().any(|id| matches!(atoms.atom(id), Atom::Stride { .. }));
        let argument = shown.atoms().find(|id| matches!(atoms.atom(*id), Atom::Argument(_)));
        let help = match (self.promised(shown, by), strides, argument) {
            (Some(promise), ..) => format!("promise it: `require({promise})`, or `variant_if({promise})`"),
            (None, true, _) => {
                "take the tensor as `Pitched` or `Contiguous`: their rows are aligned in the variant for aligned tensors"
                    .into()
            }
            (None, false, Some(id)) => {
                format!("count `{}` in vectors: pass a number of them and multiply by {by}", self.atom(id).0)
            }
            (None, false, None) => format!("let it be a product with a multiple of {by}"),
        };
        (text, help)
    }

    /// The index without the counters of loops that the compiler wrote.
    fn per_round(&self, index: &Index) -> Index {
        index.terms().iter().fold(Index::constant(index.offset()), |sum, (monomial, factor)| {
            let others: Monomial = monomial.iter().copied().filter(|id| !self.is_counter(*id)).collect();
            sum.add(&Index::product(&others, *factor)).unwrap_or(sum)
        })
    }

    /// Which dimensions, being multiples, make an index one: of each term a factor, as few in all as there are; of equally good
    /// ones the last, which is the extent of the inner mode. `None` where a term has no dimension.
    fn promised(&self, index: &Index, by: i64) -> Option<String> {
        let atoms = &self.checked.tables().atoms;
        let is_dim = |id: &AtomId| matches!(atoms.atom(*id), Atom::Dim { .. });
        let mut open: Vec<&Monomial> = index.terms().iter().map(|(monomial, _)| monomial).collect();
        let mut chosen: Vec<AtomId> = Vec::new();
        while !open.is_empty() {
            let dims = open.iter().flat_map(|monomial| monomial.iter().copied().filter(is_dim));
            let best = dims.max_by_key(|id| (open.iter().filter(|one| one.contains(id)).count(), *id))?;
            open.retain(|monomial| !monomial.contains(&best));
            chosen.push(best);
        }
        let promises: Vec<String> =
            chosen.iter().map(|id| format!("{} % {by} == 0", self.atom(*id).0)).collect();
        (index.offset() % by == 0 && !promises.is_empty()).then(|| promises.join(", "))
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
        let all = texts.join(" && ").replace('`', "");
        let whole: Option<Vec<String>> = conditions.iter().map(|condition| self.whole(condition)).collect();
        let mut whole = whole.unwrap_or_default();
        whole.sort();
        whole.dedup();
        // Around a copy of the block no condition of one thread can be written.
        let guard = format!("guard it: `if {all} {{ .. }}`");
        let help = match whole.is_empty() {
            true => guard,
            false => {
                format!(
                    "promise whole tiles: `require({})`; or, of a single element, {guard}",
                    whole.join(", ")
                )
            }
        };
        (format!("{} {verb}", texts.join(", ")), help)
    }

    /// The first variable of 64 bits in an index of a variant whose tensors fit 32, with its range.
    pub(super) fn wide(&self, access: &Access) -> Option<(String, String)> {
        let tables = self.checked.tables();
        let masks = access.mask.iter().chain(&access.loss.guards);
        let compared = masks.flat_map(|mask| [&mask.left, &mask.right]);
        let is_wide = |id: &AtomId| {
            let AtomFacts { atom: Atom::Variable(variable, _), range, .. } = tables.atoms.facts(*id) else {
                return false;
            };
            let wide = match tables.variable(*variable).kind {
                VariableKind::Index(width) => matches!(width, Width::Long | Width::Natural),
                VariableKind::Elem(elem) => elem.bytes() == 8,
                VariableKind::Pointer(_) => false,
            };
            wide && !range.fits_i32()
        };
        // What wraps is computed in 64 bits, whatever comes of it.
        let inside = |id: AtomId| match tables.atoms.atom(id) {
            Atom::Wrapped { index, .. } => index.atoms().collect(),
            _ => vec![id],
        };
        let found = std::iter::once(&access.index).chain(compared).flat_map(Index::atoms);
        let id = found.flat_map(inside).find(is_wide).filter(|_| self.checked.plan().promises.narrow)?;
        let (name, range) = (self.atom(id).0, tables.atoms.facts(id).range);
        let far = i128::from(i64::MAX) / 2;
        let reason = match range.low < -far || range.high > far {
            true => format!("`{name}` is made of 64 bits, any number of them"),
            false => format!("`{name}` is made of 64 bits, from {} to {}", range.low, range.high),
        };
        let help = format!(
            "state a bound where it is made: `assume({name} < ..)` with an extent; or compute it in `u32` or `i32`"
        );
        Some((reason, help))
    }

    /// The condition on a dimension by which a comparison with it is proved: that it is a multiple of a number in the other side.
    fn whole(&self, comparison: &Comparison) -> Option<String> {
        let atoms = &self.checked.tables().atoms;
        let Comparison { op: BinaryOp::Lt, left, right } = comparison else { return None };
        let [(monomial, _)] = right.terms() else { return None };
        let [id] = monomial.as_slice() else { return None };
        if !matches!(atoms.atom(*id), Atom::Dim { .. }) || right.offset() != 0 {
            return None;
        }
        let left = atoms.expand(left).ok()?;
        let mut sizes: Vec<i64> =
            left.terms().iter().map(|(_, factor)| *factor).filter(|by| *by > 1).collect();
        sizes.sort_unstable();
        let goal = right.sub(&left).ok()?.plus(-1).ok()?;
        let size = sizes.into_iter().find(|by| {
            let mut facts = self.facts.clone();
            // Rounded up or not, the quotient of a multiple is exact.
            atoms.iter().for_each(|(quotient, known)| {
                let Atom::Div(n, d) = &known.atom else { return };
                let more = n.sub(right).ok().and_then(|more| more.as_constant());
                if d.as_constant() == Some(*by) && more.is_some_and(|more| (0..*by).contains(&more)) {
                    right
                        .add_scaled(&Index::atom(quotient), -by)
                        .into_iter()
                        .for_each(|fact| facts.add(fact));
                }
            });
            facts.prove(atoms, &goal)
        })?;
        Some(format!("{} % {size} == 0", self.atom(*id).0))
    }

    /// A comparison as Rust; of a loop that the compiler wrote, in the round in which it is hardest to meet.
    fn comparison(&self, comparison: &Comparison) -> String {
        let Comparison { op, left, right } = comparison;
        let (left, right) = match op {
            BinaryOp::Lt | BinaryOp::Le => (self.last(left, true), self.last(right, false)),
            BinaryOp::Gt | BinaryOp::Ge => (self.last(left, false), self.last(right, true)),
            _ => (left.clone(), right.clone()),
        };
        format!("{} {} {}", self.index(&left), op.symbol(), self.index(&right))
    }

    /// The index at its largest, or smallest, number of rounds of loops that the compiler wrote.
    fn last(&self, index: &Index, largest: bool) -> Index {
        let atoms = &self.checked.tables().atoms;
        let expanded = atoms.expand_where(index, &|id| self.is_unnamed(id)).unwrap_or_else(|_| index.clone());
        let mut sum = Index::constant(expanded.offset());
        for (monomial, factor) in expanded.terms() {
            let (counters, others): (Monomial, Monomial) =
                monomial.iter().partition(|id| self.is_counter(**id));
            let at = |id: &AtomId| {
                let range = atoms.facts(*id).range;
                i64::try_from(if (*factor > 0) == largest { range.high } else { range.low }).unwrap_or(0)
            };
            let number = counters.iter().map(at).fold(*factor, i64::saturating_mul);
            match sum.add(&Index::product(&others, number)) {
                Ok(next) => sum = next,
                Err(_) => return expanded,
            }
        }
        sum
    }

    fn is_unnamed(&self, id: AtomId) -> bool {
        let tables = self.checked.tables();
        matches!(tables.atoms.atom(id), Atom::Variable(variable, _) if tables.variable(*variable).unnamed)
    }

    /// Whether it is the counter of a loop that the compiler wrote.
    fn is_counter(&self, id: AtomId) -> bool {
        let atoms = &self.checked.tables().atoms;
        let has_value = |variable| self.values.contains_key(variable) || atoms.ways(id).is_some();
        matches!(atoms.atom(id), Atom::Variable(variable, _) if self.is_unnamed(id) && !has_value(variable))
            && atoms.facts(id).definition.is_none()
            && atoms.facts(id).range.fits_i32()
    }

    /// A value as Rust, as far as it has a short form.
    fn value(&self, value: &Value<Access>) -> String {
        match value {
            Value::Load(access) => format!("{}[[..]]", self.place(access.place)),
            Value::Cast(_, inner) => self.value(inner),
            Value::Variable(variable) => self.variable(*variable),
            Value::Index(index, _) => self.factor(index),
            Value::Argument(number, _) => self.argument(*number).to_owned(),
            Value::Constant(constant) if constant.elem.is_integer() => constant.as_i128().to_string(),
            Value::Binary(op, left, right) => {
                format!("({} {} {})", self.value(left), op.symbol(), self.value(right))
            }
            Value::Constant(_)
            | Value::Compare(_)
            | Value::Unary(..)
            | Value::Math(..)
            | Value::Select(..) => "..".into(),
        }
    }

    /// The user's name of a variable, or what it holds.
    fn variable(&self, variable: VarId) -> String {
        let tables = self.checked.tables();
        let facts = tables.variable(variable);
        if !facts.unnamed {
            return facts.name.clone();
        }
        let id = tables.atoms.find(&Atom::Variable(variable, 0));
        let definition = id.and_then(|id| tables.atoms.facts(id).definition.as_ref());
        match (self.values.get(&variable), definition, id.and_then(|id| tables.atoms.ways(id))) {
            (Some(value), ..) => self.value(value),
            (None, Some(definition), _) => self.factor(definition),
            (None, None, Some([first, second])) => {
                let [first, second] = [first, second].map(|way| self.index(&way.value));
                format!("(if .. {{ {first} }} else {{ {second} }})")
            }
            (None, None, None) => "..".into(),
        }
    }

    fn argument(&self, number: u32) -> &str {
        self.checked.plan().arguments.get(number as usize).map_or("..", |argument| argument.name.as_str())
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

    /// An entry of `grid`, where it is one quotient as a user writes it.
    pub(super) fn blocks(&self, index: &Index) -> String {
        let atom = index.as_atom().map(|id| self.checked.tables().atoms.atom(id));
        let Some(Atom::Div(left, right)) = atom else { return self.index(index) };
        let rounded = right.as_constant().filter(|by| left.offset() == by - 1);
        match rounded.and_then(|by| left.add_scaled(&Index::constant(1), 1 - by).ok()) {
            Some(count) => format!("{}.div_ceil({})", self.factor(&count), self.index(right)),
            None => format!("{} / {}", self.factor(left), self.factor(right)),
        }
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
                (format!("{}.stride({mode})", self.argument(*number)), *divisor)
            }
            Atom::Argument(number) => (self.argument(*number).to_owned(), 1),
            Atom::Variable(variable, _) => (self.variable(*variable), 1),
            Atom::Div(left, right) => both(left, right, "/"),
            Atom::Rem(left, right) => both(left, right, "%"),
            Atom::Xor(left, right) => both(left, right, "^"),
            Atom::And(left, right) => both(left, right, "&"),
            Atom::Or(left, right) => both(left, right, "|"),
            Atom::Min(left, right) => (format!("min({}, {})", self.index(left), self.index(right)), 1),
            Atom::Max(left, right) => (format!("max({}, {})", self.index(left), self.index(right)), 1),
            // What wraps is Rust's arithmetic; a sign that changes is a cast.
            Atom::Wrapped { index, signed: false } if tables.atoms.range(index).low < 0 => {
                (format!("({} as usize)", self.factor(index)), 1)
            }
            Atom::Wrapped { index, .. } => (self.factor(index), 1),
        }
    }

    /// An index as an operand: in parentheses where it is a sum.
    fn factor(&self, index: &Index) -> String {
        let text = self.index(index);
        if index.as_constant().is_some() || index.as_atom().is_some() { text } else { format!("({text})") }
    }
}
