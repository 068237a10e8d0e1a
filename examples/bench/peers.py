"""Attention and products with epilogues by turns with PyTorch: cuDNN and FlashAttention-3 (PyPI's fa3-fwd), cuBLASLt.

Run: python3 examples/bench/peers.py PROGRAM attention [--warps] [--only TEXT].. [--set NAME=VALUE,..].., or PROGRAM epilogues; PROGRAM is
the compiled example `bench`. Its cases, its data (noise made of indices, the same numbers here) and its sampled rows are taken from
what it prints; each round times all candidates, each round in another order; a figure is the median of the rounds. Errors of
attention are those of the sampled rows against float64, largest and mean.
"""

import json
import math
import statistics
import subprocess
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

try:
    import fa3_fwd_interface as flash
except ImportError as error:
    flash = None
    print(f"no FlashAttention-3: {error}")

LOW = 0xFFFFFFFF
# Products by mma.sync: the peer is FlashAttention-2, PyTorch's own.
WARPS = "--warps" in sys.argv


def noise(shape, seed, spread):
    """What `noise.rs` says, times the spread, as bf16."""
    index = torch.arange(math.prod(shape), device="cuda", dtype=torch.int64)
    bits = ((index ^ seed) * 0x9E3779B1) & LOW
    bits = ((bits ^ (bits >> 15)) * 0x85EBCA6B) & LOW
    bits = ((bits ^ (bits >> 13)) * 0xC2B2AE35) & LOW
    bits = bits ^ (bits >> 16)
    values = (bits >> 8).float() * 2.0**-23 - 1.0
    return (values * spread).bfloat16().reshape(shape)


def peers(case, q, k, v):
    """The peers that have this case, by name; each gives O as batch, place, head, element."""
    heads, groups = case["heads"]
    causal = case["mask"] != "full"
    plain = not (case["window"] or case["cap"] or case["alibi"])
    found = {}
    if plain and not case["ends"]:
        views = [x.transpose(1, 2) for x in (q, k, v)]

        def cudnn():
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                out = scaled_dot_product_attention(*views, is_causal=causal, enable_gqa=heads != groups)
            return out.transpose(1, 2)

        def fa2():
            with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
                out = scaled_dot_product_attention(*views, is_causal=causal, enable_gqa=heads != groups)
            return out.transpose(1, 2)

        found |= {"fa2": fa2} if WARPS else {"cudnn": cudnn}
    if flash and not WARPS and not case["alibi"]:
        window = (case["window"] - 1, 0) if case["window"] else (-1, -1)
        options = dict(causal=causal, window_size=window, softcap=case["cap"])
        if case["ends"]:
            ends = torch.tensor(case["ends"], device="cuda", dtype=torch.int32)
            longest = max(b - a for a, b in zip(case["ends"], case["ends"][1:]))
            flat = [x[0] for x in (q, k, v)]
            found["fa3"] = lambda: flash.flash_attn_varlen_func(*flat, ends, ends, longest, longest, **options)[None]
        else:
            found["fa3"] = lambda: flash.flash_attn_func(q, k, v, **options)
    return found


def errors(case, q, k, v, out):
    """The largest and the mean error of the sampled rows."""
    heads, groups = case["heads"]
    worst, total, count = 0.0, 0.0, 0
    for (batch, head), rows in case["samples"]:
        keys, values = (x[batch, :, head * groups // heads].double() for x in (k, v))
        at = torch.tensor(rows, device="cuda")
        row, first, last = at[:, :1], at[:, 1:2], at[:, 2:]
        scores = q[batch, row[:, 0], head].double() @ keys.T / math.sqrt(case["depth"])
        place = torch.arange(keys.shape[0], device="cuda")[None]
        if case["cap"]:
            scores = case["cap"] * torch.tanh(scores / case["cap"])
        scores = scores.masked_fill((place < first) | (place >= last), -math.inf)
        exact = torch.softmax(scores, 1) @ values
        difference = (out[batch, row[:, 0], head].double() - exact).abs()
        worst, total, count = max(worst, difference.max().item()), total + difference.sum().item(), count + difference.numel()
    return worst, total / count


def page_table(case):
    """Where a sequence's pages are, as `page_of` in `decode.rs` says."""
    pages = -(-case["length"] // case["page"])
    every = case["sequences"] * pages
    step = next(step for step in (7919, 7907, 7901, 1) if every % step != 0 or step == 1)
    return ((torch.arange(every, device="cuda") * step) % every).int().reshape(case["sequences"], pages)


def decoding(case):
    """The peers of decoding, by name, and the judge of what they give; under `cudnn` what PyTorch itself picks."""
    (heads, groups), depth, length = case["heads"], case["depth"], case["length"]
    table = page_table(case) if case["page"] else None
    places, keys = (table.numel(), case["page"]) if case["page"] else (case["sequences"], length)
    q = noise((case["sequences"], 1, heads, depth), 1, case["spread"])
    k, v = (noise((places, keys, groups, depth), seed, case["spread"]) for seed in (2, 3))
    lengths = torch.full((case["sequences"],), length, device="cuda", dtype=torch.int32)
    found = {}
    if flash and hasattr(flash, "flash_attn_with_kvcache"):
        paged = {"page_table": table} if case["page"] else {}
        found["fa3"] = lambda: flash.flash_attn_with_kvcache(q, k, v, cache_seqlens=lengths, causal=True, **paged)
    if not case["page"]:
        views = [x.transpose(1, 2) for x in (q, k, v)]
        found["cudnn"] = lambda: scaled_dot_product_attention(*views, enable_gqa=heads != groups).transpose(1, 2)

    def judge(out):
        worst, total = 0.0, 0.0
        for sequence, head in case["samples"]:
            take = lambda x: (x[table[sequence].long()].flatten(0, 1)[:length] if case["page"] else x[sequence])[:, head * groups // heads]
            scores = take(k).double() @ q[sequence, 0, head].double() / math.sqrt(depth)
            exact = torch.softmax(scores, 0) @ take(v).double()
            difference = (out[sequence, 0, head].double() - exact).abs()
            worst, total = max(worst, difference.max().item()), total + difference.mean().item()
        return worst, total / len(case["samples"])

    return found, judge


def backward(case):
    """The peers' backward, by name: the gradients of Q, K and V of one forward that was run before; none of packed sequences."""
    if case["ends"]:
        return {}
    shape = (case["sequences"], case["length"], case["heads"][0], case["depth"])
    q, k, v, d_o = (noise(shape, seed, case["spread"]).requires_grad_(seed < 4) for seed in (1, 2, 3, 4))
    views, by_head = [x.transpose(1, 2) for x in (q, k, v)], d_o.transpose(1, 2)
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION if WARPS else SDPBackend.CUDNN_ATTENTION):
        out = scaled_dot_product_attention(*views, is_causal=case["causal"])
    return {"fa2" if WARPS else "cudnn": lambda: torch.autograd.grad(out, (q, k, v), by_head, retain_graph=True)}


def products(case):
    """The libraries' ways to a product with an epilogue, by name."""
    name, side = case["case"], case["side"]
    matrix = lambda seed: noise((side, side), seed, case["spread"])
    if name.startswith("i8"):
        a, b = (torch.randint(-127, 128, (side, side), device="cuda", dtype=torch.int8) for _ in range(2))
        # cuBLASLt takes B by columns, and gives i32.
        return {"cublas": lambda: torch._int_mm(a, b.T)}
    a, b, d = (matrix(seed) for seed in (1, 2, 3))
    silu = torch.nn.functional.silu
    found = {
        "bias gelu": lambda: torch._addmm_activation(d[0], a, b, use_gelu=True),
        "plus": lambda: torch.addmm(d, a, b),
        "silu times": lambda: silu(a @ b) * d,
        "to e4m3": lambda: ((a @ b) * 0.25).to(torch.float8_e4m3fn),
    }
    kind = name.removeprefix("bf16").removesuffix(str(side)).strip()
    return {"cublas": found.get(kind, lambda: a @ b)}


class Timed:
    """A peer's rounds."""

    def __init__(self, call, round_ms):
        self.call, self.launches = call, 1
        for _ in range(2):
            self.launches = max(1, math.ceil(round_ms / self.round()))

    def round(self):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self.call()
        begin.record()
        for _ in range(self.launches):
            self.call()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / self.launches


def ask(ours, word):
    ours.stdin.write(word + "\n")
    ours.stdin.flush()


def answer(ours):
    """The next line of JSON; other lines are passed on. `None` at the end."""
    for line in ours.stdout:
        if line.startswith("{"):
            return json.loads(line)
        print(line, end="")
    return None


def candidates(case):
    """The peers of a case, ready to be timed, and their errors."""
    timed, found = {}, {}
    if "product" in case:
        ways, judge = products(case), None
    elif "backward" in case:
        ways, judge = backward(case), None
    elif "decode" in case:
        ways, judge = decoding(case)
    else:
        batches = 1 if case["ends"] else case["sequences"]
        shape = lambda heads: (batches, case["length"], heads, case["depth"])
        (heads, groups), spread = case["heads"], case["spread"]
        q, k, v = (noise(shape(count), seed, spread) for count, seed in ((heads, 1), (groups, 2), (groups, 3)))
        ways, judge = peers(case, q, k, v), lambda out: errors(case, q, k, v, out)
    for name, call in ways.items():
        try:
            out = call()
            timed[name] = Timed(call, case["round_ms"])
            found[name] = judge(out) if judge else None
        except Exception as error:
            print(f"  {name} has no {case['case']}: {str(error).strip().splitlines()[-1][:100]}")
            timed.pop(name, None)
    return timed, found


def measure(ours, case):
    """Rates of ours, of the peers, and of our other sets; errors."""
    timed, found = candidates(case)
    names, times = ["ours", *timed], {}
    for turn in range(case["rounds"]):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            if name != "ours":
                times.setdefault(name, []).append(timed[name].round())
                continue
            ask(ours, "time")
            reply = answer(ours)
            for key, ms in [("ours", reply["ms"]), *reply["others"].items()]:
                times.setdefault(key, []).append(ms)
    ask(ours, "next")
    # Decoding: gigabytes of K and V a second.
    work = case["bytes"] * 1e3 if "bytes" in case else case["flops"]
    rates = {name: work / statistics.median(all) * 1e-9 for name, all in times.items()}
    return rates, {"ours": (case["worst"], case["mean"]), **found}


def main():
    program, workload, *rest = sys.argv[1:]
    ours = subprocess.Popen([program, workload, "--turns", *rest], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    peers_of = ("fa2",) if WARPS else ("cudnn", "fa3") if workload == "attention" else ("cublas",)
    print(f"{'TFLOP/s':32} {'ours':>7} " + " ".join(f"{name:>7}" for name in peers_of) + "  ratio   errors, largest and mean, of each")
    known, ratios = {}, []
    while case := answer(ours):
        rates, found = measure(ours, case)
        known[case["case"]] = rates["ours"]
        best = max((rates[name] for name in peers_of if name in rates), default=None)
        ratios += [rates["ours"] / best] if best else []
        ratio = f"{rates['ours'] / best:6.3f}" if best else "     -"
        cells = " ".join(f"{rates[name]:7.1f}" if name in rates else "      -" for name in ("ours", *peers_of))
        errors = " | ".join(f"{worst:.1e} {mean:.1e}" for worst, mean in filter(None, found.values()))
        beside = known.get(case["beside"])
        own = f"  {rates['ours'] / beside:.3f} of {case['beside']}" if beside else ""
        wrong = f"  {case['wrong']} WRONG" if case["wrong"] else ""
        others = "".join(f"\n    {rate:7.1f} {rate / rates['ours']:.3f} x ours: {name}" for name, rate in rates.items() if name not in ("ours", *peers_of))
        print(f"{case['case']:32} {cells} {ratio}   {errors}{own}{wrong}{others}", flush=True)
    if ratios:
        print(f"geometric mean of the ratios to the better peer: {statistics.geometric_mean(ratios):.3f}")
    sys.exit(ours.wait())


main()
