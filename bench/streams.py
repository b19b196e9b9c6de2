"""Mixtures of compressed texts on several workers of one thread: a row of bench/run.

Two inputs of 16 .jsonl.zst files, in shares of 0.7 and 0.3. `packed` filters, tokenizes and packs them on 1 and 2
workers; `waiting` waits 10 ms a document on 1, 4 and 8. All orders equal a local read's."""
import subprocess

import tokens
from measure import BUILD, ROOT, Service, check, median, ratio, rounds, run_json, say, write

FILES, PASSES = 16, 6  # of each input; of the texts in a file
# Lower limits of the figures.
MARKS = {"packed_2_workers": 1.8, "waiting_4_workers": 3.4, "waiting_8_workers": 6.5}
SLEEPY = BUILD / "bench" / "feedmill_sleepy"


def inputs():
    """Returns the folder of the inputs, made once; None without the peer that makes the texts."""
    texts, folder = tokens.data(), ROOT / "build" / "streams"
    if texts is None or (folder / "complete").exists():
        return texts and folder
    folder.mkdir(parents=True, exist_ok=True)
    lines = (texts / "texts.jsonl").read_text().splitlines(keepends=True)
    for number in range(2 * FILES):
        part = "".join(lines[number::2 * FILES]) * PASSES
        path = folder / f"{number // FILES}-{number % FILES:02}.jsonl.zst"
        subprocess.run(["zstd", "-q", "-f", "-o", path], input=part, text=True, check=True)
    (folder / "complete").touch()
    return folder


def mixture(folder, steps, last):
    files = (f"{{jsonl: {{files: '{folder}/{k}-*.jsonl.zst', fields: {{text: bytes}}}}}}" for k in range(2))
    each = "".join(f"      - {{source: {one}, steps: [{{filter: len(text) > 1000}}, {steps}]}}\n" for one in files)
    return ("source:\n  mixture:\n    weights: [0.7, 0.3]\n    stop: first_exhausted\n    inputs:\n" + each
            + f"steps: [{last}]\noptions: {{seed: 3}}\n")


def on_workers(folder, pipeline, workers, binary):
    service = Service(folder, workers, ("--threads", "1"), binary)
    try:
        return run_json([binary, "read", pipeline, "--service", service.address, "--format", "summary"])
    finally:
        service.stop()


def bench(folder, count, _rows):
    streams = inputs()
    if streams is None:
        return {}
    ids = f"{{map: {{ids: \"sentencepiece(text, '{ROOT}/build/texts/pieces.model')\"}}}}"
    packed = write(folder, "packed.yaml", mixture(streams, ids + ", {pack: {length: 2048, longer: split}}", "{batch: 8}"))
    waiting = {n: write(folder, f"waiting{n}.yaml", mixture(
        streams, "{map: \"sleep_ms(len(text), 10)\"}", f"{{take: {800 * n}}}, {{batch: 8}}"))
        for n in (1, 4, 8)}
    got = rounds(count, {
        "local": lambda: run_json([BUILD / "bin" / "feedmill", "read", packed, "--local", "--format", "summary"]),
        **{f"packed_{n}": lambda n=n: on_workers(folder, packed, n, BUILD / "bin" / "feedmill") for n in (1, 2)},
        **{f"waiting_{n}": lambda n=n: on_workers(folder, waiting[n], n, SLEEPY) for n in (1, 4, 8)}})
    check(len({r["order_hash"] for side in ("local", "packed_1", "packed_2") for r in got[side]}) == 1, "streams: the order")
    rate = {side: median(results, lambda r: r["elements"] / r["seconds"]) for side, results in got.items()}
    found = {"packed_2_workers": ratio(rate["packed_2"], rate["packed_1"]),
             **{f"waiting_{n}_workers": ratio(rate[f"waiting_{n}"], rate["waiting_1"]) for n in (4, 8)}}
    say("streams: batches a second: " + ", ".join(f"{side} {value:.1f}" for side, value in rate.items()))
    for name, mark in MARKS.items():
        if found[name] < mark:
            say(f"streams: {name} is {found[name]:.2f}, below {mark}")
    return found
