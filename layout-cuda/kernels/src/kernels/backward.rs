//! Attention backward on Hopper: the gradients of Q, K and V from that of O.
//!
//! ```text
//! prepare:     of each query  D = Σ dO O,  and the logarithm of its weights' sum
//! of_keys:     a tile of keys stays, queries go by:    Sᵀ = K Qᵀ, dPᵀ = V dOᵀ   from shared memory
//!                                                      Pᵀ = exp(Sᵀ - log), dSᵀ = Pᵀ (dPᵀ - D)
//!                                                      dV += Pᵀ dO, dK += dSᵀ Q   the left sides from registers
//!              and with SUMMED                         dQ += dS K   of the block before, added in memory by TMA
//! finish:      dQ from these sums
//! of_queries:  instead, without SUMMED: a tile of queries stays, keys go by:  S = Q Kᵀ, dP = dO Vᵀ;  P, dS as above;  dQ += dS K
//! ```
//!
//! With `SUMMED` there are 5 products, and the order of the additions to dQ is open. Without it S and dP are computed twice, 7
//! products, each sum has one order, and the bits are the same in every run. `of_keys` and `of_queries` have one body: some rows stay
//! (the left operands), others go by (the right ones). The sums are in memory as the registers of a warpgroup have them.
//!
//! Law: with `o = softmax(SCORE(scale Q Kᵀ)) V` and its weights `w`: `dV[k] = Σ w[q, k] dO[q]`, `dS[q, k] = w[q, k] (dO[q]
//! · V[k] - D[q])`, `dK[k] = scale Σ dS[q, k] SLOPE Q[q]`, and `dQ[q]` likewise over keys. Heads of Q that share a head of
//! K and V are summed in their order. Weights and dS are rounded to the elements' type before they multiply. A weight is within
//! 2⁻²² `|log|` of its size, since `log` is float32: of scores up to a hundred thousand 2 %. A query whose logarithm is NaN makes its
//! own dQ NaN, and dK and dV of the keys in its tiles.
//! Source: Dao: FlashAttention-2, 2023.

use layout_cuda::tiled_kernels;

pub use kernels::{finish, of_keys, of_queries, prepare};

#[tiled_kernels(open = backward_with, functions = attention_scores)]
mod kernels {
    /// Allocates the shared memory and the barriers of a block. Then the next launch may begin, and this one waits for those before. Each
    /// row that goes by has two facts, in `columns` columns.
    fn begin(
        columns: usize,
    ) -> (
        (View<T, Write>, View<T, Write>, View<T, Write>, View<T, Write>, View<f32, Write>),
        (Mbarrier, Mbarriers, Mbarriers),
    ) {
        let f1 = shared::<T>(row_major([D / W, FIXED, W]).swizzle_bytes(2 * W));
        let f2 = shared::<T>(row_major([DV / W, FIXED, W]).swizzle_bytes(2 * W));
        let m1 = shared::<T>(row_major([STAGES, D / W, MOVING, W]).swizzle_bytes(2 * W));
        let m2 = shared::<T>(row_major([STAGES, DV / W, MOVING, W]).swizzle_bytes(2 * W));
        let moving_facts = shared::<f32>(row_major([STAGES, 2, columns]));
        let (stays, full, empty) =
            (mbarriers(1, 1).at(0), mbarriers(STAGES, 1), mbarriers(STAGES, 4 * CONSUMERS));
        barrier();
        launch_dependents();
        grid_dependency_wait();
        ((f1, f2, m1, m2, moving_facts), (stays, full, empty))
    }

    /// The producer: it loads the rows that stay, then those that go by, of each head that reads them.
    fn load(
        (fixed_1, fixed_2): (impl Tensor<Elem = T>, impl Tensor<Elem = T>),
        (moving_1, moving_2, facts): (impl Tensor<Elem = T>, impl Tensor<Elem = T>, impl Tensor<Elem = f32>),
        (mut f1, mut f2, m1, m2, moving_facts): (
            View<T, Write>,
            View<T, Write>,
            View<T, Write>,
            View<T, Write>,
            View<f32, Write>,
        ),
        (stays, full, empty): (Mbarrier, Mbarriers, Mbarriers),
        (row, first_head, heads, sizes): (usize, usize, usize, (i32, i32, i32)),
        (own, other): (usize, usize),
    ) {
        stays.arrive_expect(f1.bytes() + f2.bytes());
        tma_load(&mut f1, &fixed_1.window([FIXED, D], [own + row, 0]), stays);
        tma_load(&mut f2, &fixed_2.window([FIXED, DV], [own + row, 0]), stays);
        let mut next = pipeline_state(STAGES);
        for head in first_head..first_head + heads {
            for block in 0..blocks_of(sizes) {
                let (counts, _) = pair(row as i32, (block * MOVING) as i32, sizes);
                if counts {
                    let arrived = full.at(next.stage());
                    let (mut to_1, mut to_2) = (m1.slice(next.stage()), m2.slice(next.stage()));
                    empty.at(next.stage()).wait(1 - next.phase());
                    let mut to = moving_facts.slice(next.stage());
                    arrived.arrive_expect(to_1.bytes() + to_2.bytes() + if OF_KEYS { to.bytes() } else { 0 });
                    tma_load(
                        &mut to_1,
                        &moving_1.slice(head).window([MOVING, D], [other + block * MOVING, 0]),
                        arrived,
                    );
                    tma_load(
                        &mut to_2,
                        &moving_2.slice(head).window([MOVING, DV], [other + block * MOVING, 0]),
                        arrived,
                    );
                    if OF_KEYS {
                        // Of the copies the one in which the sequence begins at a multiple of 16 bytes, as TMA wants.
                        let begin = if PACKED { (other + 3) / 4 * 4 } else { other };
                        let at = [2 * (begin - other), begin + block * MOVING];
                        tma_load(&mut to, &facts.slice(head).window([2, MOVING], at), arrived);
                    }
                    next.advance();
                }
            }
        }
    }

    /// Applies the score's function, and hides keys where some query does not see them all: their scores become minus infinity.
    fn judge(
        mut scores: View<f32, Write>,
        (fixed, moving, hides): (i32, i32, bool),
        (queries, keys, window): (i32, i32, i32),
        (batch, head, scale, strength): (i32, i32, f32, f32),
    ) {
        if SCORED {
            for h in unroll(0..2) {
                for i in unroll(0..MOVING / 4) {
                    let (query, key) = pair_of(h, i, fixed, moving);
                    let place = query + keys - queries;
                    scores[[h, i]] = SCORE(scores[[h, i]] * scale, batch, head, place, key, strength);
                }
            }
        }
        if hides {
            for h in unroll(0..2) {
                for i in unroll(0..MOVING / 4) {
                    let (query, key) = pair_of(h, i, fixed, moving);
                    let place = query + keys - queries;
                    let ends = key >= keys || PACKED && OF_KEYS && query >= queries;
                    if ends || !KEEP(batch, head, place, key, window) {
                        scores[[h, i]] = f32::NEG_INFINITY;
                    }
                }
            }
        }
    }

    /// The query and the key of a thread's score.
    fn pair_of(h: usize, i: usize, fixed: i32, moving: i32) -> (i32, i32) {
        let own = fixed + 8 * h as i32;
        let other = moving + accumulator_column(i) as i32;
        if OF_KEYS { (other, own) } else { (own, other) }
    }

    /// Rounds the weights, and replaces each score by the factor of dS: the weight times the score's derivative. `of_columns` holds
    /// the logarithms of the columns, `own` those of the rows.
    fn weigh(
        mut scores: View<f32, Write>,
        mut weights: View<T, Write>,
        of_columns: View<f32, Write>,
        own: View<f32, Write>,
        (factor, strength): (f32, f32),
    ) {
        for j in unroll(0..MOVING / 8) {
            let mut logs = local::<f32>(row_major([2]));
            if OF_KEYS {
                logs.vectorize([2])
                    .copy_from(&of_columns.slice(0).tile([2], [4 * j + lane_id() % 4]).vectorize([2]));
            }
            for h in unroll(0..2) {
                for e in unroll(0..2) {
                    let log = if OF_KEYS { logs[[e]] } else { own[[0, h]] };
                    let score = scores[[h, 2 * j + e]];
                    let weight = score.mul_add(factor, -log).exp2_approx();
                    if OF_KEYS {
                        weights[[h, 2 * j + e]] = weight.cast::<T>();
                    }
                    scores[[h, 2 * j + e]] = if SLOPED { weight * SLOPE(score, strength) } else { weight };
                }
            }
        }
    }

    /// Turns dP into dS: subtracts `Σ dO O` of the column or the row, and multiplies by the factor from `weigh`.
    fn change(
        mut rest: View<f32, Write>,
        weights: View<f32, Write>,
        of_columns: View<f32, Write>,
        own: View<f32, Write>,
    ) {
        for j in unroll(0..MOVING / 8) {
            let mut sums = local::<f32>(row_major([2]));
            if OF_KEYS {
                sums.vectorize([2])
                    .copy_from(&of_columns.slice(1).tile([2], [4 * j + lane_id() % 4]).vectorize([2]));
            }
            for h in unroll(0..2) {
                for e in unroll(0..2) {
                    let less = if OF_KEYS { sums[[e]] } else { own[[1, h]] };
                    rest[[h, 2 * j + e]] = weights[[h, 2 * j + e]] * (rest[[h, 2 * j + e]] - less);
                }
            }
        }
    }

    /// Clears the rows that go by behind a sequence's end, which belong to the next one: a weight of zero times a NaN would be
    /// NaN.
    fn clear(
        (mut m1, mut m2, mut moving_facts): (View<T, Write>, View<T, Write>, View<f32, Write>),
        left: i32,
    ) {
        let (thread, group) = (thread_idx.x % 128, warp_group() - 1);
        for line in (group..MOVING).step_by(CONSUMERS) {
            if line as i32 >= left {
                for column in (thread..D).step_by(128) {
                    m1[[column / W, line, column % W]] = T::ZERO;
                }
                for column in (thread..DV).step_by(128) {
                    m2[[column / W, line, column % W]] = T::ZERO;
                }
                if OF_KEYS && thread < 2 {
                    moving_facts[[thread, line]] = 0.0;
                }
            }
        }
        fence_async_proxy();
        named_barrier(7, 128 * CONSUMERS);
    }

    /// A warp releases a stage: its products and its lanes have read it.
    fn release(empty: Mbarriers, read: &mut PipelineState) {
        sync_warp();
        if lane_id() == 0 {
            empty.at(read.stage()).arrive();
        }
        read.advance();
    }

    /// Stores a warpgroup's 64 rows, times a factor, by way of shared memory.
    fn store(
        to: impl Tensor<Elem = T, Access = Write>,
        mut staged: View<T, Write>,
        mut sums: View<f32, Write>,
        factor: f32,
        left: i32,
    ) {
        let (thread, group, columns) = (thread_idx.x % 128, warp_group() - 1, to.dim(1));
        for i in unroll(0..columns / 4) {
            sums[[0, i]] *= factor;
            sums[[1, i]] *= factor;
        }
        store_matrix(&mut staged, &sums);
        named_barrier(1 + group, 128);
        for part in unroll(0..columns / 16) {
            let (line, column) =
                ((128 * part + thread) / (columns / 8), (128 * part + thread) % (columns / 8));
            if (line as i32) < left {
                let from = staged.slice(column / (W / 8)).tile([1, 8], [line, column % (W / 8)]);
                to.tile([1, 8], [line, column]).vectorize([1, 8]).copy_from(&from.vectorize([1, 8]));
            }
        }
    }

    /// Memory for dS of some blocks, and for what each warpgroup adds to dQ.
    fn begin_sums() -> ((View<T, Write>, View<f32, Write>), (Mbarriers, Mbarriers)) {
        let found = shared::<T>(row_major([STAGES, if SUMMED { FIXED } else { 8 }, 64]).swizzle_bytes(128));
        let staged = shared::<f32>(row_major([CONSUMERS, if SUMMED { COLUMNS / 4 } else { 1 }, 256]));
        ((found, staged), (mbarriers(STAGES, 4 * CONSUMERS), mbarriers(STAGES, 4 * CONSUMERS)))
    }

    /// Leaves a warpgroup's part of dS in shared memory, for all of them.
    fn leave(
        found: View<T, Write>,
        rest: View<f32, Write>,
        (made, used): (Mbarriers, Mbarriers),
        at: &mut PipelineState,
    ) {
        let group = warp_group() - 1;
        used.at(at.stage()).wait(1 - at.phase());
        store_matrix(&mut found.slice(at.stage()).tile([64, 64], [group, 0]), &rest);
        fence_async_proxy();
        sync_warp();
        if lane_id() == 0 {
            made.at(at.stage()).arrive();
        }
    }

    /// The products of a warpgroup's rows that stay and a tile of rows that go by, not yet waited for.
    fn beside_all(mut product: View<f32, Write>, fixed: View<T, Write>, moving: View<T, Write>) {
        let group = warp_group() - 1;
        for slab in unroll(0..fixed.dim(0)) {
            wgmma(
                &mut product,
                &fixed.slice(slab).tile([64, W], [group, 0]),
                &moving.slice(slab).transpose(),
                slab > 0,
            );
        }
        wgmma_commit_group();
    }

    /// The stage and the phase before those of a state.
    fn before(at: &mut PipelineState) -> (usize, usize) {
        let phase = if at.stage() == 0 { 1 - at.phase() } else { at.phase() };
        ((at.stage() + STAGES - 1) % STAGES, phase)
    }

    /// A warpgroup's product of dS of a block and columns of K, waited for, times the scale; of narrow heads one block is one
    /// warpgroup's, the next one the other's. ptxas sees by the multiplication that the matrix units are done with these registers;
    /// without it ptxas waits after each product (its warning 7517).
    fn multiply_changes(
        mut to: View<f32, Write>,
        (found, k): (View<T, Write>, View<T, Write>),
        (made, used): (Mbarriers, Mbarriers),
        (stage, phase): (usize, usize),
        (block, scale): (usize, f32),
    ) {
        let part = (warp_group() + block) % CONSUMERS;
        made.at(stage).wait(phase);
        if part < D / COLUMNS {
            let mut product = accumulator([64, COLUMNS]).fill(0.0);
            let columns = k.tile([COLUMNS / W, FIXED, W], [part, 0, 0]);
            wgmma(&mut product, &found.slice(stage).transpose(), &columns, false);
            wgmma_commit_group();
            wgmma_wait_group(0);
            for h in unroll(0..2) {
                for i in unroll(0..COLUMNS / 4) {
                    to[[h, i]] = product[[h, i]] * scale;
                }
            }
        }
        if lane_id() == 0 {
            used.at(stage).arrive();
        }
    }

    /// Adds this product to dQ in memory.
    fn add(
        to: impl Tensor<Elem = f32, Access = Write>,
        product: View<f32, Write>,
        staged: View<f32, Write>,
        block: usize,
    ) {
        let (thread, group) = (thread_idx.x % 128, warp_group() - 1);
        let part = (warp_group() + block) % CONSUMERS;
        if part < D / COLUMNS {
            let own = staged.slice(group);
            // What was added before has been read.
            if thread == 0 {
                bulk_wait_group_read(0);
            }
            named_barrier(1 + group, 128);
            for j in unroll(0..COLUMNS / 8) {
                let mut four = local::<f32>(row_major([1, 4]));
                for i in unroll(0..4) {
                    four[[0, i]] = product[[i / 2, 2 * j + i % 2]];
                }
                let mut to = own.tile([1, 4], [2 * j + thread / 64, thread % 64]).vectorize([1, 4]);
                to.copy_from(&four.vectorize([1, 4]));
            }
            fence_async_proxy();
            named_barrier(1 + group, 128);
            if thread == 0 {
                tma_add(&mut to.tile([COLUMNS / 4, 256], [block * (D / COLUMNS) + part, 0]), &own);
                bulk_commit_group();
            }
        }
    }

    /// The facts of two rows that stay, if these are queries.
    fn facts_of(of_head: impl Tensor<Elem = f32>, row: usize) -> View<f32, Write> {
        let mut own = local::<f32>(row_major([2, 2]));
        if !OF_KEYS {
            for h in unroll(0..2) {
                own[[0, h]] = of_head.slice(0).tile([1], [row + 8 * h])[[0]];
                own[[1, h]] = of_head.slice(1).tile([1], [row + 8 * h])[[0]];
            }
        }
        own
    }

    /// Adds the product that is held and that of the last block, and waits until TMA is done with shared memory.
    fn add_the_rest(
        of_q: impl Tensor<Elem = f32, Access = Write>,
        mut product: View<f32, Write>,
        (parts, k): ((View<T, Write>, View<f32, Write>), View<T, Write>),
        part_barriers: (Mbarriers, Mbarriers),
        next: &mut PipelineState,
        (held, last, scale): (i32, i32, f32),
    ) {
        if held >= 0 {
            add(of_q, product, parts.1, held as usize);
        }
        product.fill(0.0);
        if last >= 0 {
            multiply_changes(product, (parts.0, k), part_barriers, before(next), (last as usize, scale));
            add(of_q, product, parts.1, last as usize);
        }
        if thread_idx.x % 128 == 0 {
            bulk_wait_group(0);
        }
        // K makes room for what is stored.
        named_barrier(7, 128 * CONSUMERS);
    }

    /// A consumer: 64 rows that stay. Gives the sums of dS times the rows that go by, and the sums of the weights times
    /// them.
    fn multiply(
        facts: impl Tensor<Elem = f32>,
        of_q: impl Tensor<Elem = f32, Access = Write>,
        (parts, part_barriers): ((View<T, Write>, View<f32, Write>), (Mbarriers, Mbarriers)),
        (f1, f2, m1, m2, moving_facts): (
            View<T, Write>,
            View<T, Write>,
            View<T, Write>,
            View<T, Write>,
            View<f32, Write>,
        ),
        (stays, full, empty): (Mbarrier, Mbarriers, Mbarriers),
        (row, first_head, heads, sizes): (usize, usize, usize, (i32, i32, i32)),
        (own_first, batch, scale, strength): (usize, usize, f32, f32),
    ) -> (View<f32, Write>, View<f32, Write>) {
        let group = warp_group() - 1;
        let own_row = 64 * group + 16 * (thread_idx.x % 128 / 32) + lane_id() / 4;
        let (unit, _) = UNITS(0, strength);
        let factor = if SCORED { unit * consts::LOG2_E } else { scale * consts::LOG2_E };
        let (mut scores, mut rest) =
            (accumulator([64, MOVING]).fill(0.0), accumulator([64, MOVING]).fill(0.0));
        let mut sums = accumulator([64, D]).fill(0.0);
        let mut values = accumulator([64, if OF_KEYS { DV } else { 8 }]).fill(0.0);
        let (mut weights, mut changes) =
            (local::<T>(row_major([2, MOVING / 4])), local::<T>(row_major([2, MOVING / 4])));
        let own = facts_of(facts.slice(first_head), own_first + row + own_row);
        let (mut next, mut read) = (pipeline_state(STAGES), pipeline_state(STAGES));
        stays.wait(0);
        let mut begun = false;
        // The block before, counted over heads, and the one whose product is held.
        let (mut last, mut held): (i32, i32) = (-1, -1);
        let mut product = local::<f32>(row_major([2, COLUMNS / 4]));
        for head in first_head..first_head + heads {
            let (_, strength) = UNITS(head as i32, strength);
            for block in 0..blocks_of(sizes) {
                let moving = (block * MOVING) as i32;
                let (counts, whole) = pair(row as i32, moving, sizes);
                if counts {
                    let (own_1, own_2) = (m1.slice(next.stage()), m2.slice(next.stage()));
                    full.at(next.stage()).wait(next.phase());
                    let (queries, keys, _) = sizes;
                    let left = if OF_KEYS { queries - moving } else { keys - moving };
                    if PACKED && left < MOVING as i32 {
                        clear((own_1, own_2, moving_facts.slice(next.stage())), left);
                    }
                    beside_all(scores, f1, own_1);
                    if SUMMED && held >= 0 {
                        add(of_q, product, parts.1, held as usize);
                    }
                    beside_all(rest, f2, own_2);
                    // The scores, and the sums of the block before, which were beside them.
                    wgmma_wait_group(1);
                    if BESIDE && begun {
                        release(empty, &mut read);
                    }
                    begun = true;
                    judge(
                        scores,
                        ((row + own_row) as i32, moving, !whole),
                        sizes,
                        (batch as i32, head as i32, scale.div_approx(unit), strength),
                    );
                    let of_columns = moving_facts.slice(next.stage());
                    weigh(scores, weights, of_columns, own, (factor, strength));
                    if OF_KEYS {
                        wgmma(&mut values, &weights, &own_2, true);
                        wgmma_commit_group();
                    }
                    wgmma_wait_group(if OF_KEYS && !(SUMMED && D + DV > 128) { 1 } else { 0 });
                    change(rest, scores, of_columns, own);
                    changes.copy_from(&rest.cast::<T>());
                    wgmma(&mut sums, &changes, &own_1, true);
                    wgmma_commit_group();
                    if SUMMED {
                        leave(parts.0, rest, part_barriers, &mut next);
                        product.fill(0.0);
                        if last >= 0 {
                            let (operands, stage) = ((parts.0, f1), before(&mut next));
                            multiply_changes(product, operands, part_barriers, stage, (last as usize, scale));
                        }
                        held = last;
                        last = ((batch * facts.dim(0) + head) * (facts.dim(2) / MOVING) + block) as i32;
                    }
                    if BESIDE {
                        next.advance();
                    } else {
                        wgmma_wait_group(0);
                        release(empty, &mut next);
                    }
                }
            }
        }
        if SUMMED {
            add_the_rest(of_q, product, (parts, f1), part_barriers, &mut next, (held, last, scale));
        }
        wgmma_wait_group(0);
        (sums, values)
    }

    /// For each query the logarithm of its weights' sum, to base 2, and `Σ dO O`. A query that sees no key, and a row
    /// behind the last query, has plus infinity and 0, so its weights are 0. Of packed sequences there are four copies, each a place
    /// farther on.
    #[tiled_kernel(
        T = [bf16, f16], D = 128, DV = 128, COPIES = [1, 4], FACTS = 2 * COPIES, DEPENDENT = true,
        arch = if DEPENDENT { "sm_90a" } else { "sm_80" }, block = [256], grid = [B * HQ * (MP / 8)], deny(narrowed),
    )]
    pub fn prepare<T, const B: usize, const HQ: usize, const M: usize, const MP: usize, const SUMS: usize>(
        o: &LayoutTensor<T, Pitched<B, HQ, M, DV>>,
        d_o: &LayoutTensor<T, Pitched<B, HQ, M, DV>>,
        logs: &LayoutTensor<f32, RowMajor<B, HQ, M>>,
        facts: &mut LayoutTensor<f32, RowMajor<B, HQ, FACTS, MP>>,
        sums: &mut LayoutTensor<f32, RowMajor<SUMS, 256>>,
    ) {
        if DEPENDENT {
            launch_dependents();
            grid_dependency_wait();
        }
        let (row, rest) = (block_idx.x % (MP / 8) * 8 + warp_id(), block_idx.x / (MP / 8));
        let (head, batch) = (rest % HQ, rest / HQ);
        let mut sum: f32 = 0.0;
        if row < M {
            for part in unroll(0..DV.div_ceil(128)) {
                let column = part * 32 + lane_id();
                if column < DV / 4 {
                    let of_o =
                        o.slice(batch).slice(head).tile([1, 4], [row, column]).vectorize([1, 4]).to_local();
                    let of_d =
                        d_o.slice(batch).slice(head).tile([1, 4], [row, column]).vectorize([1, 4]).to_local();
                    for i in unroll(0..4) {
                        sum += of_o[[0, i]].cast::<f32>() * of_d[[0, i]].cast::<f32>();
                    }
                }
            }
        }
        for part in unroll(0..(2 * D).div_ceil(256)) {
            let own = part * 256 + thread_idx.x;
            if SUMS > 0 && own < 2 * D {
                let at = [block_idx.x * (D / 32) + own / 64, own % 64];
                sums.tile([1, 4], at).vectorize([1, 4]).fill(0.0);
            }
        }
        let sum = sum.warp_sum();
        if lane_id() == 0 {
            let log = if row < M { logs[[batch, head, row]] } else { f32::NEG_INFINITY };
            // A NaN stays one: its weights are not 0.
            let log = if log == f32::NEG_INFINITY { f32::INFINITY } else { log * consts::LOG2_E };
            for copy in unroll(0..COPIES) {
                if row + copy < MP {
                    facts[[batch, head, 2 * copy, row + copy]] = log;
                    facts[[batch, head, 2 * copy + 1, row + copy]] = sum;
                }
            }
        }
    }

    /// dK and dV. Head `h` of Q reads head `h * HK / HQ` of K and V; the last query is at the last key. With `PACKED`
    /// the one batch holds all sequences, as in `attention`.
    #[tiled_kernel(
        T = [bf16, f16], D = 128, DV = 128, CONSUMERS = 2, FIXED = 64 * CONSUMERS, MOVING = 64, SUMMED = [true, false], COLUMNS = if D > 96 { D / 2 } else { D }, STAGES = if SUMMED { 2 } else { 3 }, OF_KEYS = true,
        W = if D % 64 == 0 && DV % 64 == 0 { 64 } else { 32 },
        KEEP = [every, causal, sliding], RANGE = [all_keys, keys_before, keys_within],
        SCORE = [plain, soft_cap, alibi], SLOPE = [one, of_cap], SCORED = SCORE != plain, SLOPED = SLOPE != one,
        DISTANT = SCORE == alibi, UNITS = if SCORE == soft_cap { of_caps } else if SCORE == alibi { of_slopes } else { as_it_is },
        PACKED = [false, true], BESIDE = !OF_KEYS, FACTS = if PACKED { 8 } else { 2 }, BY_HEADS = KEEP == every,
        filter(KEEP == every && RANGE == all_keys || KEEP == causal && RANGE == keys_before || KEEP == sliding && RANGE == keys_within),
        filter((SCORE == soft_cap) == (SLOPE == of_cap), T == bf16 || KEEP == every, SCORE == plain || T == bf16 && KEEP == causal, !PACKED || KEEP == causal && SCORE == plain, !SUMMED || MOVING == 64 && !PACKED && SCORE != soft_cap),
        arch = "sm_90a", block = [128 + 2 * FIXED], min_blocks = 1, grid = [if PACKED { N / FIXED + ENDS } else { N.div_ceil(FIXED) * B } * HK],
        require(HQ % HK == 0, SUMS == if SUMMED { B * HQ * (MP / 64) * (D / 4) } else { 0 }, M + FACTS <= MP + 2, MP % 128 == 0, MP <= 1 << 24, N <= 1 << 24, !DISTANT || M.max(N) <= 1 << 22),
        deny(narrowed, synchronous),
    )]
    pub fn of_keys<
        T,
        const B: usize,
        const HQ: usize,
        const HK: usize,
        const M: usize,
        const MP: usize,
        const N: usize,
        const ENDS: usize,
        const SUMS: usize,
    >(
        q: &LayoutTensor<T, Pitched<B, HQ, M, D>>,
        k: &LayoutTensor<T, Pitched<B, HK, N, D>>,
        v: &LayoutTensor<T, Pitched<B, HK, N, DV>>,
        d_o: &LayoutTensor<T, Pitched<B, HQ, M, DV>>,
        q_ends: &LayoutTensor<i32, RowMajor<ENDS>>,
        k_ends: &LayoutTensor<i32, RowMajor<ENDS>>,
        facts: &LayoutTensor<f32, RowMajor<B, HQ, FACTS, MP>>,
        d_q: &mut LayoutTensor<f32, RowMajor<SUMS, 256>>,
        d_k: &mut LayoutTensor<T, Pitched<B, HK, N, D>>,
        d_v: &mut LayoutTensor<T, Pitched<B, HK, N, DV>>,
        scale: f32,
        strength: f32,
        window: i32,
    ) {
        let sums_of_q = begin_sums();
        let (memory, ring) = begin(MOVING);
        let (f1, f2, _, _, _) = memory;
        let (row, head, sequence, is) = tile_of(k_ends, N, HK, B);
        let (q_first, k_first, sizes) = sequence_of((q_ends, k_ends), sequence, (M, N), window);
        let (batch, shared_by) = (if PACKED { 0 } else { sequence }, HQ / HK);
        let at = (row, head * shared_by, shared_by, sizes);
        if warp_group() == 0 {
            set_max_registers(24);
            if is && thread_idx.x == 0 {
                let fixed = (k.slice(batch).slice(head), v.slice(batch).slice(head));
                let moving = (q.slice(batch), d_o.slice(batch), facts.slice(batch));
                load(fixed, moving, memory, ring, at, (k_first, q_first));
            }
        } else {
            set_max_registers(240);
            if is {
                let group = warp_group() - 1;
                let of_all = (k_first, sequence, scale, strength);
                let (sums, values) = multiply(facts.slice(batch), d_q, sums_of_q, memory, ring, at, of_all);
                let (own, (_, keys, _)) = (row + 64 * group, sizes);
                let (start, left) = (k_first + own, keys - own as i32);
                let (of_k, of_v) = (d_k.slice(batch).slice(head), d_v.slice(batch).slice(head));
                let to_k = of_k.window([64, D], [start, 0]);
                store(to_k, f1.tile([D / W, 64, W], [0, group, 0]), sums, scale, left);
                let to_v = of_v.window([64, DV], [start, 0]);
                store(to_v, f2.tile([DV / W, 64, W], [0, group, 0]), values, 1.0, left);
            }
        }
    }

    /// dQ: the sums of `of_keys`, rounded.
    #[tiled_kernel(
        T = [bf16, f16], D = 128, W = if D % 64 == 0 { 64 } else { 32 },
        arch = "sm_90a", block = [4 * W], grid = [B * HQ * M.div_ceil(64)], deny(narrowed),
    )]
    pub fn finish<T, const B: usize, const HQ: usize, const M: usize, const SUMS: usize>(
        sums: &LayoutTensor<f32, RowMajor<SUMS, 256>>,
        d_q: &mut LayoutTensor<T, Pitched<B, HQ, M, D>>,
    ) {
        launch_dependents();
        grid_dependency_wait();
        let blocks = SUMS / (B * HQ).max(1) / (D / 4);
        let (block, rest) = (block_idx.x % M.div_ceil(64), block_idx.x / M.div_ceil(64));
        for slab in unroll(0..D / W) {
            // A thread has 8 columns of two rows.
            let (column, quad) = (thread_idx.x % (W / 8), thread_idx.x / (W / 8));
            let row = 64 * block + quad / 8 * 16 + quad % 8;
            let first = ((rest * blocks + block) * (D / W) + slab) * (W / 4);
            let at = [first + 2 * column + quad / 16, quad % 16];
            let own = sums.tile([1, 16], at).vectorize([1, 4]).to_local();
            for h in unroll(0..2) {
                let mut rounded = local::<T>(row_major([1, 8]));
                for i in unroll(0..8) {
                    rounded[[0, i]] = own[[0, 4 * (i / 2) + 2 * h + i % 2]].cast::<T>();
                }
                if row + 8 * h < M {
                    let of_head = d_q.slice(rest / HQ).slice(rest % HQ);
                    let mut to = of_head.tile([1, 8], [row + 8 * h, slab * (W / 8) + column]);
                    to.vectorize([1, 8]).copy_from(&rounded.vectorize([1, 8]));
                }
            }
        }
    }

    /// dQ; otherwise as `of_keys`.
    #[tiled_kernel(
        T = [bf16, f16], D = 128, DV = 128, CONSUMERS = 2, FIXED = 64 * CONSUMERS, MOVING = 64, STAGES = 3, OF_KEYS = false, SUMMED = false, COLUMNS = 8,
        W = if D % 64 == 0 && DV % 64 == 0 { 64 } else { 32 },
        KEEP = [every, causal, sliding], RANGE = [all_keys, keys_before, keys_within],
        SCORE = [plain, soft_cap, alibi], SLOPE = [one, of_cap], SCORED = SCORE != plain, SLOPED = SLOPE != one,
        DISTANT = SCORE == alibi, UNITS = if SCORE == soft_cap { of_caps } else if SCORE == alibi { of_slopes } else { as_it_is },
        PACKED = [false, true], BESIDE = !OF_KEYS, FACTS = if PACKED { 8 } else { 2 }, BY_HEADS = KEEP == every,
        filter(KEEP == every && RANGE == all_keys || KEEP == causal && RANGE == keys_before || KEEP == sliding && RANGE == keys_within),
        filter((SCORE == soft_cap) == (SLOPE == of_cap), T == bf16 || KEEP == every, SCORE == plain || T == bf16 && KEEP == causal, !PACKED || KEEP == causal && SCORE == plain, !SUMMED),
        arch = "sm_90a", block = [128 + 2 * FIXED], min_blocks = 1, grid = [if PACKED { M / FIXED + ENDS } else { M.div_ceil(FIXED) * B } * HQ],
        require(HQ % HK == 0, M + FACTS <= MP + 2, MP % 128 == 0, MP <= 1 << 24, N <= 1 << 24, !DISTANT || M.max(N) <= 1 << 22),
        deny(narrowed, synchronous),
    )]
    pub fn of_queries<
        T,
        const B: usize,
        const HQ: usize,
        const HK: usize,
        const M: usize,
        const MP: usize,
        const N: usize,
        const ENDS: usize,
    >(
        q: &LayoutTensor<T, Pitched<B, HQ, M, D>>,
        k: &LayoutTensor<T, Pitched<B, HK, N, D>>,
        v: &LayoutTensor<T, Pitched<B, HK, N, DV>>,
        d_o: &LayoutTensor<T, Pitched<B, HQ, M, DV>>,
        q_ends: &LayoutTensor<i32, RowMajor<ENDS>>,
        k_ends: &LayoutTensor<i32, RowMajor<ENDS>>,
        facts: &LayoutTensor<f32, RowMajor<B, HQ, FACTS, MP>>,
        d_q: &mut LayoutTensor<T, Pitched<B, HQ, M, D>>,
        scale: f32,
        strength: f32,
        window: i32,
    ) {
        let (memory, ring) = begin(4);
        let (f1, _, m1, _, moving_facts) = memory;
        let (_, full, empty) = ring;
        let (row, head, sequence, is) = tile_of(q_ends, M, HQ, B);
        let (q_first, k_first, sizes) = sequence_of((q_ends, k_ends), sequence, (M, N), window);
        let (batch, group_of) = (if PACKED { 0 } else { sequence }, head * HK / HQ);
        if warp_group() == 0 {
            set_max_registers(24);
            if is && thread_idx.x == 0 {
                let fixed = (q.slice(batch).slice(head), d_o.slice(batch).slice(head));
                let moving = (k.slice(batch), v.slice(batch), facts.slice(batch));
                load(fixed, moving, memory, ring, (row, group_of, 1, sizes), (q_first, k_first));
            }
        } else {
            set_max_registers(240);
            if is {
                let group = warp_group() - 1;
                let of_all = (q_first, sequence, scale, strength);
                // The second and third argument are those of sums, of which there are none.
                let (sums, _) = multiply(
                    facts.slice(batch),
                    moving_facts,
                    ((m1, moving_facts), (full, empty)),
                    memory,
                    ring,
                    (row, head, 1, sizes),
                    of_all,
                );
                let (own, (queries, _, _)) = (row + 64 * group, sizes);
                let (start, left) = (q_first + own, queries - own as i32);
                let to_q = d_q.slice(batch).slice(head).window([64, D], [start, 0]);
                store(to_q, f1.tile([D / W, 64, W], [0, group, 0]), sums, scale, left);
            }
        }
    }
}
