"""PyTorch's collectives and products over several GPUs: a line `name: milliseconds` each, of the slowest rank.

torchrun --standalone --nproc-per-node 2 examples/bench/mesh/peers.py
"""
import os
import sys
import time

import torch
import torch.distributed as dist


def timed(call):
    def run(calls):
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
        return time.perf_counter() - start

    run(3)
    calls = torch.tensor([0.08 / max(run(4) / 4, 1e-6)], device="cuda")
    dist.broadcast(calls, 0)
    calls = int(min(max(calls.item(), 5), 2000))
    times = sorted(run(calls) * 1e3 / calls for _ in range(5))
    slowest = torch.tensor([times[2]], device="cuda")
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return slowest.item()


def main():
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))

    def say(name, call):
        try:
            value = timed(call)
        except Exception as error:  # a peer that is not there is said
            value = None
            if rank == 0:
                print(f"{name}: failed: {type(error).__name__}: {str(error).splitlines()[0][:120]}", flush=True)
        if rank == 0 and value is not None:
            print(f"{name}: {value:.4f}", flush=True)

    # With an argument only what is no collective alone.
    for mebi in [] if len(sys.argv) > 1 else [1, 16, 256, 1024]:
        count = mebi << 18
        whole, other = torch.ones(count, device="cuda"), torch.empty(count, device="cuda")
        part = torch.empty(count // size, device="cuda")
        say(f"all-reduce {mebi} MiB", lambda: dist.all_reduce(other))
        say(f"reduce-scatter {mebi} MiB", lambda: dist.reduce_scatter_tensor(part, whole))
        say(f"all-gather {mebi} MiB", lambda: dist.all_gather_into_tensor(other, part))
        say(f"all-to-all {mebi} MiB", lambda: dist.all_to_all_single(other, whole))
    square = 32768
    rows = torch.zeros(square // size, square, device="cuda")
    columns = torch.empty(square, square // size, device="cuda")

    def turned():
        packed = rows.view(square // size, size, square // size).permute(1, 0, 2).contiguous()
        dist.all_to_all_single(columns.view(-1), packed.view(-1))

    say(f"rows to columns {square}", turned)
    del rows, columns
    m, n, k = 16384, 8192, 8192
    rand = lambda *shape: (torch.rand(*shape, device="cuda") * 2 - 1).bfloat16()
    group = dist.group.WORLD.group_name
    own, b = rand(m // size, k), rand(k, n // size)
    gathered = torch.empty(m, k, device="cuda", dtype=torch.bfloat16)

    def one_after_the_other():
        dist.all_gather_into_tensor(gathered, own)
        return gathered @ b

    say(f"gathered product, one after the other {m} {n} {k}", one_after_the_other)
    say(f"product alone {m} {n // size} {k}", lambda: gathered @ b)
    import torch.distributed._symmetric_memory as symmetric

    try:
        symmetric.enable_symm_mem_for_group(group)
    except Exception:
        pass
    say(f"gathered product {m} {n} {k}", lambda: torch.ops.symm_mem.fused_all_gather_matmul(own, [b], 0, group))
    del own, b, gathered
    a, b = rand(m, k // size), rand(k // size, n)
    share = torch.empty(m // size, n, device="cuda", dtype=torch.bfloat16)
    say(f"scattered product, one after the other {m} {n} {k}", lambda: dist.reduce_scatter_tensor(share, a @ b))
    say(f"scattered product {m} {n} {k}", lambda: torch.ops.symm_mem.fused_matmul_reduce_scatter(a, b, "sum", 0, group))
    del a, b, share
    # Attention by heads: 32 of queries on 8 of keys, 128 elements each.
    sequences, length, width, d = 4, 4096, 4096, 128
    queries, keys = 32 // size, 8 // size
    x, into = rand(sequences * length // size, width), rand(width, (queries + 2 * keys) * d) / 16
    out, all_x = rand(queries * d, width), torch.empty(sequences * length, width, device="cuda", dtype=torch.bfloat16)
    y = torch.empty(sequences * length // size, width, device="cuda", dtype=torch.bfloat16)

    def by_heads():
        dist.all_gather_into_tensor(all_x, x)
        q, k, v = (all_x @ into).view(sequences, length, -1, d).transpose(1, 2).split([queries, keys, keys], 1)
        o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        dist.reduce_scatter_tensor(y, o.transpose(1, 2).reshape(sequences * length, -1) @ out)

    say("attention by heads 4 x 4096, 32 on 8 of 128", by_heads)
    dist.destroy_process_group()


main()
