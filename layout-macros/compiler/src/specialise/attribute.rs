//! Evaluation of the attribute's entries and of the arguments, before the body.

use super::datum::StaticValue;
use super::evaluator::{Evaluator, Failed, Outcome};
use crate::arch::{Arch, Feature};
use crate::arith::gcd;
use crate::elem::Elem;
use crate::index::{Atom, Index, Range};
use crate::ir::{
    Allowed, Argument, ArgumentKind, ArgumentLayout, BinaryOp, ExprId, ExprKind, RemarkKind, Special,
    TypeRef, VariantIf,
};
use crate::launch::{Extent, LaunchPlan, PlanArgument, PlanArgumentKind, PlanLayout};
use crate::origin::Origin;
use crate::params::ParamValue;
use crate::program::{Comparison, Place, PlaceId, Space, Value};
use crate::prove::Facts;
use crate::view::View;

/// The largest promised divisor of a dimension.
const MAX_DIVISOR: i64 = 1 << 30;

/// What the attribute says of a variant as a whole, but for its launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Head {
    /// The name of the CUDA function.
    pub entry: String,
    pub arch: Option<Arch>,
    pub min_blocks: Option<u32>,
    pub opt_level: Option<u32>,
    /// Whether the compiler may take approximations everywhere.
    pub fast_math: bool,
    /// What no access of this variant may lose.
    pub deny: Vec<RemarkKind>,
    /// Where it may.
    pub allow: Vec<Allowed>,
}

impl Evaluator<'_> {
    /// The head, the plan as far as it is known before the body, and the facts that hold everywhere.
    pub(super) fn attribute(&mut self) -> Outcome<(Head, LaunchPlan, Vec<Comparison>)> {
        let kernel = self.kernel;
        if let Some(id) = kernel.arch {
            let arch = self.architecture(id)?;
            (self.arch, self.shared_limit) = (Some(arch), arch.shared_bytes());
        }
        let promised = self.variant_if().map(|own| own.conditions.clone()).unwrap_or_default();
        // First the divisors that follow from the conditions, which are the form of the dimensions, then the rest. One may
        // follow from another: `N % 8 == 0, K == 4 * N`.
        for _ in 0..=kernel.dims.len() {
            self.open_dims();
            let before = self.dim_divisors.clone();
            for condition in kernel.require.iter().chain(&promised) {
                self.divisors(*condition);
            }
            if self.dim_divisors == before {
                break;
            }
        }
        self.open_dims();
        self.limit_products();
        let block = self.threads();
        let cluster = self.blocks_of_a_cluster();
        let min_blocks = kernel.min_blocks.map(|id| self.numbers(&[id], "min_blocks")).transpose();
        let opt_level = kernel.opt_level.map(|id| {
            let (origin, datum) = (self.origin(id), self.expr(id)?);
            self.number(datum, 3, "ptxas's level", origin)
        });
        let opt_level = opt_level.transpose();
        let fast_math = self.switch(kernel.fast_math, "fast_math");
        let cooperative = self.switch(kernel.cooperative, "cooperative");
        let mut facts = Vec::new();
        let mut require = Vec::new();
        for condition in &kernel.require {
            let text = self.describe(*condition);
            if let Ok((known, tested)) = self.promised(*condition) {
                facts.extend(known);
                require.extend(tested.into_iter().map(|comparison| (comparison, text.clone())));
            }
        }
        let mut variant_if = Vec::new();
        for condition in &promised {
            let (known, tested) = self.promised(*condition).unwrap_or_default();
            facts.extend(known);
            variant_if.extend(tested);
        }
        let mut promises = Facts::default();
        facts.iter().for_each(|fact| promises.assume(fact, true));
        let grid = kernel.grid.as_ref().map(|grid| self.extents(grid, &promises)).transpose();
        let (block, grid, cluster) = (block?, grid?, cluster?);
        let (min_blocks, opt_level, fast_math) = (min_blocks?, opt_level?, fast_math?);
        self.cooperative = cooperative?;
        if let (true, Some(id)) =
            (self.cooperative && cluster.iter().any(|extent| *extent > 1), kernel.cooperative)
        {
            return self.fail_help(
                self.origin(id),
                "a cooperative kernel of clusters",
                "leave `cluster` out: `grid_barrier()` is for the whole grid",
            );
        }
        if let (Some(id), Some([blocks])) = (kernel.min_blocks, min_blocks.as_deref()) {
            self.fits_a_multiprocessor(id, *blocks, &block)?;
        }
        self.block = block;
        cluster.iter().take(3).enumerate().for_each(|(i, n)| self.cluster[i] = *n);
        self.grid = grid.clone().filter(|_| !kernel.open_grid);
        let arguments = self.arguments()?;
        if let Some(grid) = self.grid.clone() {
            for (axis, extent) in grid.iter().enumerate() {
                let range = self.tables.atoms.range(extent);
                let high = range.high.min(i128::from(i32::MAX));
                if high > 1 {
                    let atom = Atom::Special(Special::BlockIdx, axis as u32);
                    let atom = self.tables.atoms.intern(atom, Range::new(0, high - 1), 1, None);
                    facts.push(Comparison {
                        op: BinaryOp::Lt,
                        left: Index::atom(atom),
                        right: extent.clone(),
                    });
                }
            }
        }
        let plan = LaunchPlan {
            name: kernel.name.clone(),
            arguments,
            dims: kernel.dims.clone(),
            block: self.block,
            grid,
            open_grid: kernel.open_grid,
            cluster: self.cluster,
            computed: std::mem::take(&mut self.computed),
            require,
            variant_if,
            promises: self.promises,
            shared_bytes: 0,
            dependent: false,
            cooperative: self.cooperative,
            maps: Vec::new(),
            second_types: Vec::new(),
            divisors: Vec::new(),
            parameters: Vec::new(),
            atoms: self.tables.atoms.clone(),
        };
        let min_blocks = min_blocks.and_then(|n| n.first().copied());
        let head = self.head(min_blocks, opt_level, fast_math);
        Ok((head, plan, facts))
    }

    /// Refuses more blocks than a multiprocessor holds at once.
    fn fits_a_multiprocessor(&mut self, min_blocks: ExprId, blocks: u32, block: &[u32; 3]) -> Outcome<()> {
        let threads: u64 = block.iter().map(|n| u64::from(*n)).product();
        let most_of = self.arch.map_or(Arch::MOST_OF_A_MULTIPROCESSOR, Arch::of_a_multiprocessor);
        let [most_threads, most_blocks] = most_of.map(u64::from);
        let most = (most_threads / threads.next_multiple_of(32).max(32)).min(most_blocks);
        if u64::from(blocks) <= most {
            return Ok(());
        }
        let of =
            self.arch.map_or("a multiprocessor".to_owned(), |arch| format!("a multiprocessor of {arch}"));
        self.fail_help(
            self.origin(min_blocks),
            format!("`min_blocks` is {blocks}; {of} holds at most {most} blocks of {threads} threads"),
            format!("{of} holds at most {most_blocks} blocks and {most_threads} threads"),
        )
    }

    /// The architecture of `arch = ..` under this set of parameters.
    fn architecture(&mut self, id: ExprId) -> Outcome<Arch> {
        let origin = self.origin(id);
        let datum = self.expr(id)?;
        let code = self.expect_index(datum, origin)?.as_constant();
        match code.and_then(|code| Arch::from_code(u64::try_from(code).ok()?)) {
            Some(arch) => Ok(arch),
            None => self.fail_help(
                origin,
                "`arch` is not known at compile time",
                "it may depend on the parameters alone: `arch = if TMA { \"sm_90a\" } else { \"sm_80\" }`",
            ),
        }
    }

    /// The `variant_if` of this variant.
    fn variant_if(&self) -> Option<&VariantIf> {
        self.kernel.variant_if.get(self.promises.variant_if? as usize)
    }

    fn head(&self, min_blocks: Option<u32>, opt_level: Option<u32>, fast_math: bool) -> Head {
        let (kernel, promises) = (self.kernel, self.promises);
        let key = format!("{}{}", self.params.key(), self.promises.suffix());
        let entry = if key.is_empty() {
            kernel.name.clone()
        } else {
            format!("{}_{}", kernel.name, key.trim_start_matches('_'))
        };
        // Variants that exist for what a promise leaves out lose what the promise is for.
        let fast = promises.aligned && (promises.variant_if.is_some() || kernel.variant_if.is_empty());
        let own = self.variant_if().into_iter().flat_map(|own| &own.deny);
        let mut deny: Vec<RemarkKind> = kernel.deny.iter().chain(own).copied().collect();
        // A certificate is of every variant.
        deny.retain(|kind| fast || RemarkKind::CERTIFIED.contains(kind));
        Head { entry, arch: self.arch, min_blocks, opt_level, fast_math, deny, allow: kernel.allow.clone() }
    }

    /// The extents of a cluster, no more blocks than the architecture's hardware runs as one.
    fn blocks_of_a_cluster(&mut self) -> Outcome<Vec<u32>> {
        let kernel = self.kernel;
        let extents = self.numbers(&kernel.cluster, "cluster")?;
        let Some(first) = kernel.cluster.first() else { return Ok(extents) };
        let origin = self.origin(*first);
        self.needs("cluster", Feature::Clusters, origin)?;
        let blocks = extents.iter().fold(1u64, |blocks, extent| blocks.saturating_mul(u64::from(*extent)));
        // A kernel of clusters names its architecture.
        let arch = self.arch.unwrap_or(Arch::SM_90);
        let most = arch.max_cluster();
        if blocks > u64::from(most) {
            return self.fail_help(
                origin,
                format!("a cluster of {blocks} blocks; {arch} runs at most {most} as one"),
                "8 blocks run on every device that has clusters, 16 on sm_90 and sm_100: take fewer blocks, each with more tiles",
            );
        }
        Ok(extents)
    }

    /// An entry that is true or false, and false where it is left out.
    fn switch(&mut self, entry: Option<ExprId>, name: &str) -> Outcome<bool> {
        let Some(id) = entry else { return Ok(false) };
        match self.condition(id)? {
            Ok(known) => Ok(known),
            Err(_) => self.fail(self.origin(id), format!("`{name}` is not known at compile time")),
        }
    }

    /// Each dimension as an index: a number, or `divisor` times an atom.
    fn open_dims(&mut self) {
        let kernel = self.kernel;
        self.dims = kernel
            .dims
            .iter()
            .enumerate()
            .map(|(number, name)| {
                if let Some(ParamValue::Int(value)) = self.params.get(name) {
                    return Index::constant(value);
                }
                let divisor = self.dim_divisors[number];
                let range = Range::new(0, i128::from(self.limit() / divisor));
                let atom =
                    self.tables.atoms.intern(Atom::Dim { dim: number as u32, divisor }, range, 1, None);
                Index::atom(atom).scale(divisor).unwrap_or_default()
            })
            .collect();
    }

    /// A compact tensor has no more elements than a dimension may have, so a grid over all of them is as narrow.
    fn limit_products(&mut self) {
        let (kernel, most) = (self.kernel, self.limit());
        for argument in &kernel.arguments {
            let ArgumentKind::Tensor { extents, layout, .. } = &argument.kind else { continue };
            if !matches!(layout, ArgumentLayout::RowMajor | ArgumentLayout::ColMajor) {
                continue;
            }
            let product = extents.iter().try_fold(Index::constant(1), |product, id| {
                let extent = match &kernel.expr(*id).kind {
                    ExprKind::Dim(dim) => self.dims.get(*dim as usize).cloned(),
                    ExprKind::Int(..) | ExprKind::Parameter(_) => {
                        self.expr(*id).ok().and_then(|datum| match datum {
                            StaticValue::Index(extent) => Some(extent),
                            _ => None,
                        })
                    }
                    _ => None,
                };
                product.mul(&extent?).ok()
            });
            if let Some(product) = product {
                self.tables.atoms.limit_product(&product, most);
            }
        }
    }

    /// The divisors of dimensions that follow from a condition: from `form % m == r` and `form == form`, and conjunctions of
    /// such, where the forms are linear in a dimension.
    fn divisors(&mut self, condition: ExprId) {
        let kernel = self.kernel;
        let ExprKind::Binary(op, left, right) = &kernel.expr(condition).kind else { return };
        match op {
            BinaryOp::And => {
                self.divisors(*left);
                self.divisors(*right);
            }
            BinaryOp::Eq => {
                let mut value = |id: ExprId| match self.expr(id) {
                    Ok(StaticValue::Index(index)) => Some(index),
                    _ => None,
                };
                let (form, modulus) = match &kernel.expr(*left).kind {
                    ExprKind::Binary(BinaryOp::Rem, form, by) => {
                        let by = value(*by).and_then(|by| by.as_constant());
                        (value(*form), by.filter(|by| (1..=MAX_DIVISOR).contains(by)))
                    }
                    _ => (value(*left), Some(0)),
                };
                let (Some(form), Some(right), Some(modulus)) = (form, value(*right), modulus) else { return };
                if let Ok(zero) = form.sub(&right) {
                    self.divides(&zero, modulus);
                }
            }
            _ => {}
        }
    }

    /// What follows for each dimension from `modulus` dividing an index; of modulus 0 the index is 0.
    fn divides(&mut self, zero: &Index, modulus: i64) {
        for number in 0..self.dims.len() {
            let Some((id, divisor)) = self.dims[number].terms().first().and_then(|(monomial, divisor)| {
                let [id] = monomial.as_slice() else { return None };
                Some((*id, *divisor))
            }) else {
                continue;
            };
            let (own, rest) = zero.partition(|monomial, _| monomial.contains(&id));
            let [(monomial, factor)] = own.terms() else { continue };
            if monomial.as_slice() != [id] {
                continue;
            }
            // `factor * atom` is a multiple of this.
            let step = gcd(self.tables.atoms.divisor(&rest), modulus);
            if step == 0 {
                continue;
            }
            let known = divisor.saturating_mul(step / gcd(step, factor.saturating_abs()));
            // An earlier condition's divisor holds, too.
            let before = self.dim_divisors[number];
            let known = before.saturating_mul(known / gcd(before, known));
            if (2..=MAX_DIVISOR).contains(&known) {
                self.dim_divisors[number] = known;
            }
        }
    }

    fn threads(&mut self) -> Outcome<[u32; 3]> {
        let kernel = self.kernel;
        let numbers = self.numbers(&kernel.block, "block")?;
        let origin = kernel.block.first().map_or(Origin(0), |id| self.origin(*id));
        let mut block = [1u32; 3];
        for (axis, count) in numbers.iter().enumerate() {
            block[axis] = *count;
        }
        let threads: u64 = block.iter().map(|n| u64::from(*n)).product();
        if threads > 1024 {
            let parts: Vec<String> = numbers.iter().map(u32::to_string).collect();
            return self.fail_help(
                origin,
                format!("a block of {} = {threads} threads; a GPU takes at most 1024", parts.join(" * ")),
                "give each thread more elements, or choose smaller tiles",
            );
        }
        if block[2] > 64 {
            return self
                .fail(origin, format!("a block of {} threads along z; a GPU takes at most 64", block[2]));
        }
        Ok(block)
    }

    /// One to three positive numbers.
    fn numbers(&mut self, ids: &[ExprId], what: &str) -> Outcome<Vec<u32>> {
        if ids.len() > 3 {
            return self.fail(self.origin(ids[3]), format!("`{what}` has at most 3 entries"));
        }
        ids.iter()
            .map(|id| {
                let origin = self.origin(*id);
                let datum = self.expr(*id)?;
                match self.expect_index(datum, origin)?.as_constant() {
                    Some(value) if (1..=i64::from(u32::MAX)).contains(&value) => Ok(value as u32),
                    Some(value) => {
                        let message = format!("{value} is no entry of `{what}`");
                        self.fail_help(origin, message, "each entry is 1 or more")
                    }
                    None => self.fail_help(
                        origin,
                        format!("an entry of `{what}` is not known at compile time"),
                        format!("take it from a number or a parameter of the attribute: `{what} = [SIZE], SIZE = 128`"),
                    ),
                }
            })
            .collect()
    }

    /// The grid, by what the launch promises.
    fn extents(&mut self, ids: &[ExprId], promises: &Facts) -> Outcome<[Index; 3]> {
        let mut grid = [Index::constant(1), Index::constant(1), Index::constant(1)];
        if ids.len() > 3 {
            return self.fail(self.origin(ids[3]), "`grid` has at most 3 entries");
        }
        for (axis, id) in ids.iter().enumerate() {
            let origin = self.origin(*id);
            let datum = self.expr(*id)?;
            grid[axis] = self.expect_index(datum, origin)?;
            if grid[axis].as_constant() == Some(0) {
                return self.fail_help(
                    origin,
                    "a grid of 0 blocks runs nothing",
                    "each entry is 1 or more, or counts what the tensors have: `grid = [N.div_ceil(256)]`",
                );
            }
            if !promises.prove(&self.tables.atoms, &grid[axis]) {
                let entry = self.describe(*id);
                let message = format!("the entry `{entry}` of `grid` may be negative");
                return self.fail_help(
                    origin,
                    message,
                    format!("promise that it is not: `require({entry} >= 0)`"),
                );
            }
        }
        Ok(grid)
    }

    /// `T == bf16` of the attribute, where both sides are types.
    pub(super) fn types_compared(&self, op: BinaryOp, left: ExprId, right: ExprId) -> Option<bool> {
        let is_type = |id| match self.kernel.constant(id, self.params) {
            Ok(ParamValue::Type(elem)) if self.host => Some(elem),
            _ => None,
        };
        match op {
            BinaryOp::Eq => Some(is_type(left)? == is_type(right)?),
            BinaryOp::Ne => Some(is_type(left)? != is_type(right)?),
            _ => None,
        }
    }

    /// A condition of the attribute as comparisons that all must hold.
    fn host_condition(&mut self, id: ExprId) -> Outcome<Vec<Comparison>> {
        let origin = self.origin(id);
        if let ExprKind::Binary(BinaryOp::And, left, right) = self.kernel.expr(id).kind {
            let (mut left, right) = (self.host_condition(left)?, self.host_condition(right)?);
            left.extend(right);
            return Ok(left);
        }
        match self.expr(id)? {
            StaticValue::Bool(true) => Ok(vec![]),
            StaticValue::Bool(false) => {
                let text = self.describe(id);
                self.fail(origin, format!("`{text}` never holds for {}", self.params.key()))
            }
            StaticValue::Scalar(Value::Compare(comparison), Elem::Bool) => Ok(vec![comparison]),
            StaticValue::Unknown => Err(Failed),
            other => self.fail_help(
                origin,
                format!("expected a comparison of dimensions, found {}", other.kind()),
                match other {
                    StaticValue::Index(_) => format!("compare it: `{} == 0`", self.describe(id)),
                    _ => "conditions are joined by `&&`".to_owned(),
                },
            ),
        }
    }

    /// What a condition says of the dimensions in their divided form, and what a launch tests: the same over the plain
    /// dimensions, since the divided form already relies on it.
    fn promised(&mut self, id: ExprId) -> Outcome<(Vec<Comparison>, Vec<Comparison>)> {
        let known = self.host_condition(id)?;
        let divisors = std::mem::replace(&mut self.dim_divisors, vec![1; self.kernel.dims.len()]);
        self.open_dims();
        let tested = self.host_condition(id);
        self.dim_divisors = divisors;
        self.open_dims();
        Ok((known, tested?))
    }

    /// The arguments: their places, their views, and what a launch checks of them.
    fn arguments(&mut self) -> Outcome<Vec<PlanArgument>> {
        let kernel = self.kernel;
        let mut plan = Vec::new();
        for (number, argument) in kernel.arguments.iter().enumerate() {
            let kind = match &argument.kind {
                ArgumentKind::Tensor { elem, layout, extents, mutable } => {
                    let elem = self.elem(*elem, argument.origin)?;
                    let Some(elem) = elem else {
                        return self.fail(argument.origin, "a tensor of indices; take i32, u32 or i64");
                    };
                    let layout = self.layout(*layout, extents.len(), argument)?;
                    let view =
                        self.tensor(number as u32, elem, layout, extents, *mutable, argument.origin)?;
                    self.arguments.push(StaticValue::View(view.0));
                    PlanArgumentKind::Tensor { elem, mutable: *mutable, layout, extents: view.1 }
                }
                ArgumentKind::Scalar(ty) => match self.elem(*ty, argument.origin)? {
                    Some(elem) => {
                        self.arguments.push(StaticValue::Scalar(Value::Argument(number as u32, elem), elem));
                        // Places are numbered as arguments are, so a scalar takes an empty one.
                        self.empty_place(&argument.name, number as u32, elem, argument.origin);
                        PlanArgumentKind::Scalar(elem)
                    }
                    None => {
                        let index = self.index_argument(number as u32, *ty);
                        self.arguments.push(StaticValue::Index(index));
                        self.empty_place(&argument.name, number as u32, Elem::I64, argument.origin);
                        PlanArgumentKind::Index
                    }
                },
            };
            plan.push(PlanArgument { name: argument.name.clone(), kind });
        }
        Ok(plan)
    }

    fn index_argument(&mut self, number: u32, ty: TypeRef) -> Index {
        let limit = i128::from(self.limit());
        let low = if ty == TypeRef::Usize { 0 } else { -limit };
        Index::atom(self.tables.atoms.intern(Atom::Argument(number), Range::new(low, limit), 1, None))
    }

    /// An argument in the attribute, before the body's arguments are there: a launch has the numbers of those that are indices.
    pub(super) fn argument_of_launch(&mut self, number: u32, origin: Origin) -> Outcome<StaticValue> {
        match self.kernel.arguments.get(number as usize).map(|argument| &argument.kind) {
            Some(ArgumentKind::Scalar(ty @ (TypeRef::Usize | TypeRef::Isize))) if self.host => {
                Ok(StaticValue::Index(self.index_argument(number, *ty)))
            }
            _ => self.fail(origin, "arguments have no value outside the kernel's body"),
        }
    }

    fn empty_place(&mut self, name: &str, number: u32, elem: Elem, origin: Origin) {
        self.tables.places.push(Place {
            name: name.to_owned(),
            space: Space::Global(number),
            elem,
            len: 0,
            align: elem.bytes(),
            mutable: false,
            origin,
        });
    }

    /// The layout, with the mode that the parameters choose.
    fn layout(&mut self, layout: ArgumentLayout, rank: usize, argument: &Argument) -> Outcome<PlanLayout> {
        Ok(match layout {
            ArgumentLayout::RowMajor => PlanLayout::RowMajor,
            ArgumentLayout::ColMajor => PlanLayout::ColMajor,
            ArgumentLayout::Pitched => PlanLayout::Contiguous(rank.saturating_sub(1)),
            ArgumentLayout::Strided => PlanLayout::Strided,
            ArgumentLayout::Contiguous(id) => {
                let (origin, datum) = (self.origin(id), self.expr(id)?);
                let last = rank.saturating_sub(1) as i64;
                let what = format!("the contiguous mode of `{}`", argument.name);
                PlanLayout::Contiguous(self.number(datum, last, &what, origin)? as usize)
            }
        })
    }

    fn tensor(
        &mut self,
        number: u32,
        elem: Elem,
        layout: PlanLayout,
        extents: &[ExprId],
        mutable: bool,
        origin: Origin,
    ) -> Outcome<(View, Vec<Extent>)> {
        let name = self.kernel.arguments[number as usize].name.clone();
        let mut indices = Vec::new();
        let mut plan = Vec::new();
        for id in extents {
            let datum = self.expr(*id)?;
            let index = self.expect_index(datum, origin)?;
            plan.push(match (&self.kernel.expr(*id).kind, index.as_constant()) {
                (_, Some(value)) => Extent::Static(value),
                (ExprKind::Dim(dim), None) => Extent::Dim(*dim),
                _ => {
                    self.computed.push((index.clone(), self.describe(*id)));
                    Extent::Computed(self.computed.len() as u32 - 1)
                }
            });
            indices.push(index);
        }
        let rank = indices.len();
        let align = if self.promises.aligned { 16 } else { elem.bytes() };
        self.tables.places.push(Place {
            name,
            space: Space::Global(number),
            elem,
            len: 0,
            align,
            mutable,
            origin,
        });
        let mut strides = vec![Index::constant(1); rank];
        let order: Vec<usize> =
            if layout == PlanLayout::ColMajor { (0..rank).collect() } else { (0..rank).rev().collect() };
        let mut product = Index::constant(1);
        for mode in order {
            strides[mode] = if layout.is_free(mode) {
                // An aligned variant also has aligned rows; see `Promises::aligned`.
                let pitched = matches!(layout, PlanLayout::Contiguous(_)) && self.promises.aligned;
                let divisor = if pitched { i64::from(16 / elem.bytes()) } else { 1 };
                let range = Range::new(0, i128::from(self.limit() / divisor));
                let atom = Atom::Stride { argument: number, mode: mode as u32, divisor };
                let stride = Index::atom(self.tables.atoms.intern(atom, range, 1, None)).scale(divisor);
                self.index(origin, stride)?
            } else if matches!(layout, PlanLayout::Contiguous(_)) {
                Index::constant(1)
            } else {
                product.clone()
            };
            let next = product.mul(&indices[mode]);
            product = self.index(origin, next)?;
        }
        let view = View::whole(PlaceId(number), indices, strides, mutable);
        Ok((view, plan))
    }

    /// A condition of the attribute as text.
    fn describe(&self, id: ExprId) -> String {
        let kernel = self.kernel;
        match &kernel.expr(id).kind {
            ExprKind::Int(value, _) => value.to_string(),
            ExprKind::Bool(value) => value.to_string(),
            ExprKind::Dim(number) => kernel.dims[*number as usize].clone(),
            ExprKind::Parameter(number) => kernel.parameters[*number as usize].name.clone(),
            ExprKind::Argument(number) => kernel.arguments[*number as usize].name.clone(),
            ExprKind::Binary(op, left, right) => {
                format!("{} {} {}", self.describe(*left), op.symbol(), self.describe(*right))
            }
            ExprKind::Intrinsic(intrinsic, _, arguments) => {
                let parts: Vec<String> = arguments.iter().map(|id| self.describe(*id)).collect();
                match parts.split_first() {
                    Some((first, rest)) => format!("{first}.{}({})", intrinsic.name(), rest.join(", ")),
                    None => format!("{}()", intrinsic.name()),
                }
            }
            _ => "..".into(),
        }
    }
}
