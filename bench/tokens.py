"""bench/run tokens: tokenize beside tokenizers and tiktoken, and the pipeline of a language model.

Ratios are of CPU seconds, all threads together. The ids of all sides have one sum."""
from measure import ROOT, Service, check, median, ours, paired, ratio, rounds, run_peer, say, write

# Lower limits of the figures.
MARKS = {"tokenizer_json_mb_per_cpu_s": 80, "ranks_mb_per_cpu_s": 40, "tokenizer_json_vs_tokenizers": 40,
         "ranks_vs_tiktoken": 8, "sentencepiece_vs_sentencepiece": 1, "pretrain_service_vs_local": 0.95}
PASSES = 20  # of the texts, so that loading the tokenizer does not count


def data():
    """Returns the folder of the texts and their tokenizers, made once; None without the peers."""
    folder = ROOT / "build" / "texts"
    if not (folder / "complete").exists():
        if run_peer("tokenizers", "tokenize_texts.py", "make", folder) is None:
            say("tokens: skipped, tokenizers makes the files (bench/run --setup-peers)")
            return None
        (folder / "complete").touch()
    return folder


def source(folder):
    return f'{{jsonl: {{files: "{folder / "texts.jsonl"}", fields: {{text: bytes}}}}}}'


def per_byte(result):
    return result["bytes"] / result["cpu_s"]


def row_tokenize(folder, count):
    """One pass of the peers; of feedmill the difference of many passes and none of the tokenizer."""
    texts = data()
    if texts is None:
        return {}
    read = write(folder, "read.yaml", f"source: {source(texts)}\nsteps: [{{repeat: {PASSES}}}, {{map: len(text)}}]\n")
    files = {"tokenizer_json": texts / "bpe.json", "ranks": texts / "cl100k_base.tiktoken"}
    pipelines = {name: write(folder, f"{name}.yaml", f"source: {source(texts)}\nsteps:\n  - repeat: {PASSES}\n"
                             f"  - map: \"sum(cast(tokenize(text, '{file}'), int64))\"\n")
                 for name, file in files.items()}
    got = rounds(count, {
        "read": lambda: ours(read, "sum"),
        **{name: lambda pipeline=pipeline: ours(pipeline, "sum") for name, pipeline in pipelines.items()},
        "tokenizers": lambda: run_peer("tokenizers", "tokenize_texts.py", "tokenizers", texts),
        "tiktoken": lambda: run_peer("tokenizers", "tokenize_texts.py", "tiktoken", texts)})
    size, found = got["read"][0]["check"], {}
    for name, peer in (("tokenizer_json", "tokenizers"), ("ranks", "tiktoken")):
        for result, other in zip(got[name], got[peer]):
            check(result["check"] == PASSES * other["check"] and other["bytes"] * PASSES == size, f"tokens, {name}")
            result["bytes"] = size
        speed, other = (median(got[side], per_byte) / 1e6 for side in (name, peer))
        alone = size / 1e6 / (median(got[name], lambda r: r["cpu_s"]) - median(got["read"], lambda r: r["cpu_s"]))
        say(f"{name}: {speed:.1f} MB a CPU second with reading, {alone:.1f} without; {peer}, without, {other:.2f}")
        found |= {f"{name}_mb_per_cpu_s": speed, f"{name}_vs_{peer}": ratio(alone, other)}
    return found


def row_sentencepiece(folder, count):
    """One pass of the package; of feedmill the difference of one pass and reading alone."""
    texts = data()
    if texts is None:
        return {}
    read = write(folder, "read.yaml", f"source: {source(texts)}\nsteps: [{{map: len(text)}}]\n")
    pipeline = write(folder, "pieces.yaml", f"source: {source(texts)}\nsteps:\n"
                     f"  - map: \"sum(cast(sentencepiece(text, '{texts / 'pieces.model'}'), int64))\"\n")
    got = rounds(count, {"read": lambda: ours(read, "sum"), "feedmill": lambda: ours(pipeline, "sum"),
                         "package": lambda: run_peer("tokenizers", "tokenize_texts.py", "sentencepiece", texts)})
    check(len({r["check"] for r in got["feedmill"] + got["package"]}) == 1, "tokens, sentencepiece")
    alone = median(got["feedmill"], lambda r: r["cpu_s"]) - median(got["read"], lambda r: r["cpu_s"])
    size, theirs = got["package"][0]["bytes"] / 1e6, median(got["package"], lambda r: r["cpu_s"])
    say(f"sentencepiece: {size / alone:.1f} MB a CPU second, the package {size / theirs:.1f}")
    return {"sentencepiece_vs_sentencepiece": ratio(theirs, alone)}


def row_pretrain(folder, count):
    """Three sources, filtered, in shares of tokens, packed: local and through a service."""
    texts = data()
    if texts is None:
        return {}
    steps = (f"{{source: {source(texts)}, steps: [{{filter: len(text) > 1000}}, "
             f"{{map: {{ids: \"tokenize(text, '{texts / 'bpe.json'}')\"}}}}]}}")
    pipeline = write(folder, "pretrain.yaml", "source:\n  mixture:\n    inputs:\n" + f"      - {steps}\n" * 3
                     + "    weights: [0.6, 0.3, 0.1]\n    unit: items\n    component: ids\n    stop: first_exhausted\n"
                     "steps:\n  - pack: {length: 4096, longer: split}\n  - batch: 8\n"
                     '  - map: "sum(cast(ids, int64))"\n')
    service = Service(folder)
    try:
        got = rounds(count, {"local": lambda: ours(pipeline, "sum"), "service": lambda: ours(pipeline, "sum", service)})
    finally:
        service.stop()
    results = got["local"] + got["service"]
    check(len({(r["check"], r["elements"]) for r in results}) == 1, "tokens, pretrain")
    tokens = got["local"][0]["elements"] * 8 * 4096
    local, served = (median(got[side], lambda r: tokens / r["cpu_s"]) / 1e6 for side in ("local", "service"))
    say(f"pretrain: {local:.1f} million tokens a CPU second, through a service {served:.1f}")
    return {"pretrain_mtokens_per_cpu_s": local,
            "pretrain_service_vs_local": paired(got["service"], got["local"], lambda r: 1 / r["cpu_s"])}


ROWS = {"tokenize": row_tokenize, "sentencepiece": row_sentencepiece, "pretrain": row_pretrain}


def bench(folder, count, rows):
    found = {}
    for name in rows or ROWS:
        if name in ROWS:
            found |= ROWS[name](folder, count)
    for name, mark in MARKS.items():
        if found.get(name) is not None and found[name] < mark:
            say(f"tokens: {name} is {found[name]:.2f}, below {mark}")
    return found
