"""Our model compared with transformers' LlamaForCausalLM on one GPU: logits, greedy tokens, times of a step and of a prompt.

    python compare.py PATH_OF_THE_PROGRAM [--seconds 460] [--work FOLDER]

Each part is a process of its own with a time limit: one that fails or hangs leaves the others. A line of JSON for each
result goes to $OUT/compare.jsonl, a table to the terminal at the end. Needs PyTorch and transformers, and no network.
"""

import argparse
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

PROMPT, STEPS, CACHED = 64, 64, 2048
BATCHES = [1, 16, 64]
# Name, seconds at most, and what it is given.
PARTS = (
    [("make", 90, ""), ("ours", 150, ""), ("reference", 120, "")]
    + [("bench", 90, str(b)) for b in BATCHES + [8]]
    + [("steps", 100, str(b)) for b in BATCHES]
    + [("prompts", 60, ""), ("together", 60, ""), ("explain", 60, "1"), ("explain", 60, "64")]
)


def out(name):
    return os.path.join(os.environ.get("OUT", "."), name)


def tell(**result):
    line = json.dumps(result)
    print(line, flush=True)
    with open(out("compare.jsonl"), "a") as file:
        file.write(line + "\n")


def program(arguments, options, seconds=120):
    """The program's lines on its standard output."""
    there = os.path.exists(os.path.join(folder(arguments), "config.json"))
    # Times do not need a checkpoint that could not be made.
    own = ["--model", folder(arguments)] if there else ["--random"]
    command = [arguments.program] + own + [str(option) for option in options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    print(done.stderr.strip()[-2000:], flush=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout.strip().splitlines()


def folder(arguments):
    return os.path.join(arguments.work, "model")


def kept(arguments, name, value=None):
    """Writes a value for later parts, or reads one."""
    path = os.path.join(arguments.work, name)
    if value is not None:
        with open(path, "w") as file:
            json.dump(value, file)
    with open(path) as file:
        return json.load(file)


def commas(ids):
    return ",".join(str(token) for token in ids)


def make(arguments, _):
    """A checkpoint at random, in shards, and prompts."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1)
    numbers = dict(
        hidden_size=2048, num_hidden_layers=arguments.layers, num_attention_heads=32, num_key_value_heads=8,
        head_dim=64, intermediate_size=8192, vocab_size=128256, rms_norm_eps=1e-5, rope_theta=500000.0,
        max_position_embeddings=131072, tie_word_embeddings=False, initializer_range=0.02,
        bos_token_id=None, eos_token_id=None, pad_token_id=None,
    )
    torch.set_default_dtype(torch.bfloat16)
    with torch.device(arguments.device):
        model = LlamaForCausalLM(LlamaConfig(**numbers))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.fill_(1.0) if parameter.dim() == 1 else parameter.normal_(0.0, 0.02)
    model.save_pretrained(folder(arguments), max_shard_size="1GB")
    ids = torch.randint(0, 128256, [5, PROMPT], generator=torch.Generator().manual_seed(2))
    kept(arguments, "prompts.json", ids.tolist())
    tell(part="make", torch=torch.__version__, transformers=__import__("transformers").__version__,
         device=torch.cuda.get_device_name(0) if arguments.device == "cuda" else "cpu",
         files=sorted(os.listdir(folder(arguments))))


def ours(arguments, _):
    """Our logits and tokens."""
    prompt = kept(arguments, "prompts.json")[0]
    begin = time.time()
    options = ["--ids", commas(prompt), "--tokens", STEPS, "--dump-logits", logits_file(arguments)]
    lines = program(arguments, options, 140)
    kept(arguments, "ours.json", [int(word) for word in lines[-1].split(",")])
    tell(part="ours", seconds=round(time.time() - begin, 1))


def logits_file(arguments):
    return os.path.join(arguments.work, "logits.npy")


def read_npy(path, torch):
    with open(path, "rb") as file:
        data = bytearray(file.read())
    begin = 10 + int.from_bytes(data[8:10], "little")
    head = data[10:begin].decode()
    assert "'<f4'" in head, head
    shape = [int(word) for word in head.split("(")[1].split(")")[0].split(",") if word.strip()]
    return torch.frombuffer(data, dtype=torch.float32, offset=begin).reshape(shape)


def load(arguments, dtype):
    import torch
    from transformers import LlamaForCausalLM

    try:
        model = LlamaForCausalLM.from_pretrained(folder(arguments), dtype=dtype)
    except TypeError:
        model = LlamaForCausalLM.from_pretrained(folder(arguments), torch_dtype=dtype)
    torch.set_grad_enabled(False)
    return model.to(arguments.device).eval()


def cache_name(model):
    """What the version calls the cache, as an argument and in what comes back."""
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"


def greedy(model, ids):
    found, made, name = model(ids, use_cache=True), [], cache_name(model)
    for _ in range(STEPS):
        token = found.logits[:, -1].argmax(-1, keepdim=True)
        made.append(int(token))
        found = model(token, use_cache=True, **{name: getattr(found, name)})
    return made


def reference(arguments, _):
    """Logits and tokens of transformers, in float32 and bf16, and ours."""
    import torch

    prompt = kept(arguments, "prompts.json")[0]
    ids = torch.tensor([prompt], device=arguments.device)
    all_logits, tokens = {}, {}
    model = None
    for name, dtype in [("float32", torch.float32), ("bf16", torch.bfloat16)]:
        del model
        model = load(arguments, dtype)
        all_logits[name] = model(ids).logits[0].float().cpu()
        tokens[name] = greedy(model, ids)
        if name == "float32":
            exact = all_logits[name]
            try:
                made = kept(arguments, "ours.json")
                whole = torch.tensor([prompt + made], device=arguments.device)
                rows = model(whole).logits[0, PROMPT - 1 : -1].float().cpu()
                own = rows.gather(1, torch.tensor(made)[:, None])[:, 0]
                tell(part="tokens", what="the largest float32 logit less that of our token, at most",
                     value=float((rows.max(1).values - own).max()), deviation=float(rows.std()))
            except Exception:
                tell(part="tokens", error=traceback.format_exc()[-500:])
    all_logits["ours"] = read_npy(logits_file(arguments), torch)
    tokens["ours"] = kept(arguments, "ours.json")
    for name in ["ours", "bf16"]:
        off = all_logits[name] - exact
        same = (all_logits[name].argmax(1) == exact.argmax(1)).float().mean()
        tell(part="logits", what=f"{name} beside float32", most=float(off.abs().max()),
             rms=float(off.square().mean().sqrt()), of_rms=float(exact.square().mean().sqrt()), same_argmax=float(same))
    agree = lambda a, b: next((i for i, (x, y) in enumerate(zip(tokens[a], tokens[b])) if x != y), STEPS)
    tell(part="greedy", steps=STEPS, ours_as_float32=agree("ours", "float32"), ours_as_bf16=agree("ours", "bf16"),
         bf16_as_float32=agree("bf16", "float32"))


def bench(arguments, batch):
    """Our step and prompts."""
    tell(part="bench", **json.loads(program(arguments, ["--bench", batch, CACHED], 85)[-1]))


def explain(arguments, batch):
    """Our launches."""
    lines = program(arguments, ["--explain", batch, CACHED], 55)
    print("\n".join(lines), flush=True)
    tell(part="explain", sequences=int(batch), lines=lines)


def together(arguments, _):
    """More sequences than slots, and each alone."""
    prompts = kept(arguments, "prompts.json")
    options = ["--slots", 2, "--tokens", 16, "--context", 128]
    ids = [word for number, prompt in enumerate(prompts) for word in ["--ids", commas(prompt[: 20 + 9 * number])]]
    all_lines = program(arguments, ids + options)
    same = [program(arguments, ids[2 * n : 2 * n + 2] + options) == [all_lines[n]] for n in range(3)]
    tell(part="together", same_as_alone=same)


def elapsed(torch, call, count):
    """Milliseconds of a call, by events."""
    if not torch.cuda.is_available():
        begin = time.time()
        [call() for _ in range(count)]
        return 1e3 * (time.time() - begin) / count
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    begin.record()
    for _ in range(count):
        call()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / count


def static_cache(model, batch, torch):
    from transformers import StaticCache

    known = inspect.signature(StaticCache.__init__).parameters
    wanted = dict(config=model.config, max_batch_size=batch, max_cache_len=CACHED + 128)
    wanted.update(device=model.device, dtype=model.dtype)
    return StaticCache(**{name: value for name, value in wanted.items() if name in known})


def steps(arguments, batch):
    """A step of transformers: as it is, then compiled with CUDA graphs over a static cache."""
    import torch

    batch, model = int(batch), load(arguments, torch.bfloat16)
    cache = static_cache(model, batch, torch)
    ids = torch.randint(0, 128256, [batch, CACHED], device=model.device)
    takes_place = "cache_position" in inspect.signature(model.forward).parameters
    places = {"cache_position": torch.arange(CACHED, device=model.device)} if takes_place else {}
    own = {cache_name(model): cache, "use_cache": True}
    model(ids, logits_to_keep=1, **own, **places)
    token = torch.zeros([batch, 1], dtype=torch.long, device=model.device)
    where = torch.tensor([CACHED], device=model.device)

    def one(token, where):
        rest = {"cache_position": where} if takes_place else {}
        found = model(input_ids=token, position_ids=where.expand(batch, 1), **own, **rest)
        return found.logits[:, -1].argmax(-1, keepdim=True)

    one(token, where)
    tell(part="steps", kind="eager", sequences=batch, step_ms=elapsed(torch, lambda: one(token, where), 10))
    compiled = torch.compile(one, mode="reduce-overhead", dynamic=False)

    def step():
        torch.compiler.cudagraph_mark_step_begin()
        return compiled(token, where)

    begin = time.time()
    for _ in range(5):
        step()
    times = [elapsed(torch, step, 10) for _ in range(3)]
    seconds = round(time.time() - begin, 1)
    tell(part="steps", kind="compiled", sequences=batch, step_ms=sorted(times)[1], compile_seconds=seconds)


def prompts(arguments, _):
    """Prompts of transformers."""
    import torch

    model = load(arguments, torch.bfloat16)
    for batch in [1, 8]:
        ids = torch.randint(0, 128256, [batch, CACHED], device=model.device)
        call = lambda: model(ids, use_cache=True, logits_to_keep=1)
        call()
        tell(part="prompts", sequences=batch, prompts_ms=elapsed(torch, call, 5))


def table():
    """The times, side by side."""
    with open(out("compare.jsonl")) as file:
        lines = [json.loads(line) for line in file]
    of = lambda part, **keys: next(
        (line for line in lines if line.get("part") == part and all(line.get(k) == v for k, v in keys.items())), {})
    number = lambda value: f"{value:10.3f}" if isinstance(value, (int, float)) else f"{'-':>10}"
    print("\nms              ours      limit   compiled      eager", flush=True)
    for batch in BATCHES:
        own = of("bench", sequences=batch)
        row = [own.get("step_ms"), own.get("limit_ms")]
        row += [of("steps", sequences=batch, kind=kind).get("step_ms") for kind in ["compiled", "eager"]]
        print(f"step x {batch:3} " + " ".join(number(value) for value in row), flush=True)
    for batch in [1, 8]:
        own, other = of("bench", sequences=batch).get("prompts_ms"), of("prompts", sequences=batch).get("prompts_ms")
        print(f"prompt x {batch} {number(own)} {number(None)} {number(None)} {number(other)}", flush=True)
    for line in lines:
        if line.get("part") in ["logits", "greedy", "tokens", "together"] or "error" in line:
            print(json.dumps(line), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=460)
    parser.add_argument("--work", default=None)
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--part", default=None)
    parser.add_argument("--of", default="")
    arguments = parser.parse_args()
    made = None if arguments.work else tempfile.mkdtemp(prefix="llama-")
    arguments.work = arguments.work or made
    if arguments.part:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        try:
            globals()[arguments.part](arguments, arguments.of)
        except Exception:
            tell(part=arguments.part, of=arguments.of, error=traceback.format_exc()[-1500:])
            sys.exit(1)
        return
    os.makedirs(os.environ.get("OUT", "."), exist_ok=True)
    end = time.time() + arguments.seconds
    for part, most, of in PARTS:
        seconds = min(most, end - time.time())
        if seconds < 5:
            tell(part=part, of=of, error="no time was left")
            continue
        print(f"== {part} {of}", flush=True)
        own = [sys.executable, os.path.abspath(__file__), arguments.program, "--part", part, "--of", of]
        own += ["--work", arguments.work, "--layers", str(arguments.layers), "--device", arguments.device]
        child = subprocess.Popen(own, start_new_session=True)
        try:
            child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            # With the programs that it has started.
            os.killpg(child.pid, 9)
            child.wait()
            tell(part=part, of=of, error=f"longer than {seconds:.0f} s")
    try:
        table()
    except Exception:
        traceback.print_exc()
    if made:
        shutil.rmtree(made, ignore_errors=True)


if __name__ == "__main__":
    main()
