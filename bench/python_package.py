"""bench/run python: the Python package beside the C++ client, tf.data service, PyTorch's DataLoader and Grain.

Ratios are of wall time, paired by round, unless the name says cpu. MARKS are the values that the package must
reach; on a machine that is busy with other work only the ratios of CPU time and the paired ones mean something."""
import math
import os
import statistics

from measure import (
    BUILD,
    FRAMEWORKS,
    PYTHON_TOOLS,
    ROOT,
    check,
    large_pipeline,
    make_photos,
    median,
    ours,
    paired,
    photos_pipeline,
    range_pipeline,
    rate,
    rounds,
    run_json,
    say,
    service_rows,
    shown,
    sum_of_squares,
    tfdata_service,
    write,
)

# Lower limits of the figures, or upper limits if `most`.
MARKS = {
    "batches_vs_client": 0.9,
    "elements_per_s": 3e6,
    "chunks_vs_client": 0.8,
    "photos_vs_tfdata": 1.6,
    "photos_vs_torch": 2,
    "photos_vs_grain": 2,
    "state_percent": 1,
    "traced_vs_function_cpu": 100,
    "import_s": 0.15,
    "functions_number_vs_imap": 0.8,
    "functions_image_vs_imap": 0.8,
    "functions_wait_scaling": 1.8,
}
AT_MOST = {"state_percent", "import_s"}


def trainer(pipeline, consume, service=None, *flags):
    """Runs bench/trainer.py, with the bytecode of the package cached as an installed one has it."""
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "python"), "PYTHONPYCACHEPREFIX": str(BUILD / "bench" / "pycache")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = service.cpu() if service else 0
    if service:
        flags = ("--service", service.address, *flags)
    result = run_json([PYTHON_TOOLS / "bin" / "python", ROOT / "bench" / "trainer.py", pipeline, consume, *flags],
                      env=environment)
    if service:
        result["cpu_s"] += service.cpu() - before
    return result


def pillow(library, folder, passes):
    """Returns the result of peers/pillow_photos.py; None if the frameworks are not set up."""
    python = FRAMEWORKS / "venv" / "bin" / "python"
    if not python.exists() or not (FRAMEWORKS / "migrate" / "PIL").exists():
        return None
    environment = {**os.environ, "PYTHONPATH": str(FRAMEWORKS / "migrate")}
    return run_json([python, ROOT / "bench" / "peers" / "pillow_photos.py", library, folder, passes], env=environment)


def cpu_rate(result):
    return result["rows"] / result["cpu_s"]


def batches(folder, service, count):
    """Elements of 1 MiB, every cache line read by both."""
    n, size = 4000, 1 << 20
    pipeline = large_pipeline(folder, n, size)
    got = rounds(count, {"client": lambda: ours(pipeline, "touch", service),
                         "python": lambda: trainer(pipeline, "touch", service)})
    words = sum(k % 256 for k in range(n)) * 0x0101010101010101 * (size // 64) % 2**64
    check(all(r["elements"] == n and r["check"] == words for r in got["python"]), "python, batches")
    client_check = sum(k % 256 for k in range(n)) * (size // 64 + 1)
    check(all(r["elements"] == n and r["check"] == client_check for r in got["client"]), "python, batches of the client")
    gigabytes = {side: median(r, lambda x: n * size / 1e9 / x["seconds"]) for side, r in got.items()}
    say(f"batches of 1 MiB: Python {gigabytes['python']:.2f} GB/s, C++ {gigabytes['client']:.2f} GB/s")
    return {"batches_vs_client": paired(got["python"], got["client"], rate),
            "batches_vs_client_cpu": paired(got["python"], got["client"], cpu_rate)}


def elements(folder, service, count):
    """int64 one by one, each added up."""
    n = 20_000_000
    pipeline = write(folder, "small.yaml", f"source: {{range: {{stop: {n}}}}}\nsteps: [{{map: x % 1000}}]\n")
    got = rounds(count, {"service": lambda: trainer(pipeline, "sum", service),
                         "local": lambda: trainer(pipeline, "sum")})
    for results in got.values():
        check(all(r["elements"] == n and r["check"] == n // 1000 * 499_500 for r in results), "python, elements")
    served, local = (median(got[side], rate) for side in ("service", "local"))
    say(f"elements of 8 bytes: service {served:,.0f}/s, local {local:,.0f}/s")
    return {"elements_per_s": served, "elements_local_per_s": local}


def chunks(folder, service, count):
    """int64 as chunks, each chunk added up."""
    n = 1_000_000_000
    pipeline = range_pipeline(folder, n)
    got = rounds(count, {"client": lambda: ours(pipeline, "chunks", service),
                         "python": lambda: trainer(pipeline, "chunks", service)})
    for results in got.values():
        check(all(r["elements"] == n and r["check"] == sum_of_squares(n) for r in results), "python, chunks")
    python, client = (median(got[side], rate) for side in ("python", "client"))
    say(f"chunks of int64: Python {python:,.0f}/s, C++ {client:,.0f}/s")
    return {"chunks_vs_client": paired(got["python"], got["client"], rate),
            "chunks_vs_client_cpu": paired(got["python"], got["client"], cpu_rate)}


def photos(folder, service, count):
    """JPEGs of 500×375, decoded, resized to 224, in batches of 32."""
    passes, peer_passes, warm_up, number = 6, 3, 16 * 32, 1024
    data = make_photos(number)
    files = photos_pipeline(folder, "files.yaml", f'{{images: {{files: "{data}/jpeg/*/*.jpg"}}}}', passes)
    records = photos_pipeline(folder, "records.yaml", f'{{tfrecord: {{files: "{data}/tfrecord/*.tfrecord"}}}}', passes)
    got = rounds(count, {
        "client": lambda: ours(files, "images", service),
        "files": lambda: trainer(files, "images", service),
        "records": lambda: trainer(records, "images", service),
        "local": lambda: trainer(files, "images"),
        "tfdata": lambda: tfdata_service("photos", 3, TFRECORD=f"{data}/tfrecord/*.tfrecord"),
        "torch": lambda: pillow("torch", data / "jpeg", peer_passes),
        "grain": lambda: pillow("grain", data / "jpeg", peer_passes)})
    for side in ("client", "files", "records", "local"):
        check(all(r["rows"] == number * passes for r in got[side]), f"python, photos, {side}")
    for side in ("torch", "grain"):
        check(all(r["rows"] == number * peer_passes - warm_up for r in got[side]), f"python, photos, {side}")
    check(all(r["rows"] == number * 3 for r in got["tfdata"]), "python, photos, tf.data")
    answers = {r["check"] for side in ("client", "files", "local") for r in got[side]}
    check(len(answers) == 1 and answers != {0}, "python, photos differ")
    say("photos/s: " + ", ".join(f"{side} {shown(median(results, rate))}" for side, results in got.items()))
    against = {"tfdata": "records", "torch": "files", "grain": "files"}
    return {f"photos_vs_{peer}{suffix}": paired(got[side], got[peer], value) for suffix, value in
            (("", rate), ("_cpu", cpu_rate)) for peer, side in against.items()}


def state(folder, service, count):
    """state_dict() after each batch of photographs: its CPU time, of the time of a step."""
    data = make_photos(1024)
    pipeline = photos_pipeline(folder, "states.yaml", f'{{images: {{files: "{data}/jpeg/*/*.jpg"}}}}', 4)
    got = rounds(count, {"service": lambda: trainer(pipeline, "states", service)})["service"]
    share = lambda r: 100 * r["state_us"] * r["elements"] / 1e6 / r["seconds"]
    say(f"state_dict(): {median(got, lambda r: r['state_us']):.1f} us of a step of "
        f"{1e3 * median(got, lambda r: r['seconds'] / r['elements']):.2f} ms")
    return {"state_percent": round(median(got, share), 3),
            "state_us": round(median(got, lambda r: r["state_us"]), 2)}


def traced(_folder, _service, count):
    """A function that is traced, and the same called by Python: CPU time an element."""
    n, called = 100_000_000, 2_000_000
    got = rounds(count, {"traced": lambda: trainer(n, "traced"), "function": lambda: trainer(called, "function"),
                         "integers": lambda: trainer(called, "integers"), "fewer": lambda: trainer(called, "traced")})
    expected = got["fewer"][0]["check"]
    for side in ("function", "integers", "fewer"):
        check(all(r["elements"] == called and math.isclose(r["check"], expected, rel_tol=1e-9) for r in got[side]),
              f"python, traced, {side}")
    check(all(r["elements"] == n for r in got["traced"]), "python, traced")
    cost = {side: median(results, lambda r: 1e9 * r["cpu_s"] / r["elements"]) for side, results in got.items()}
    say(f"(x * 3 + 1) % 1000 / 7: traced {cost['traced']:.2f} ns of CPU time, Python {cost['function']:.0f} ns an element "
        f"of a reader, {cost['integers']:.0f} ns a plain int")
    return {"traced_vs_function_cpu": paired(got["traced"], got["function"], cpu_rate),
            "traced_vs_plain_ints_cpu": paired(got["traced"], got["integers"], cpu_rate)}


def imports(_folder, _service, count):
    """`import feedmill`, NumPy included, in a new process."""
    runs = [trainer("-", "import") for _ in range(10 * count + 1)][1:]
    wall, cpu = (statistics.median(r[key] for r in runs) for key in ("seconds", "cpu_s"))
    say(f"import feedmill: {1e3 * wall:.0f} ms, {1e3 * cpu:.0f} ms of CPU time")
    return {"import_s": round(wall, 4), "import_cpu_s": round(cpu, 4)}


def functions(_folder, _service, count):
    """Python functions of a local read beside multiprocessing.Pool.imap, with 1 and 2 processes."""
    run = lambda processes: run_json([PYTHON_TOOLS / "bin" / "python", ROOT / "bench" / "python_functions.py", "--json",
                                      "--rounds", 1, "--processes", processes],
                                     env={**os.environ, "PYTHONPATH": str(BUILD / "python")})
    got = rounds(count, {"one": lambda: run(1), "two": lambda: run(2)})
    of = lambda work, side: lambda r: r[work][side][0]
    for work in ("number", "image", "wait"):
        say(f"functions, {work}/s: " + ", ".join(
            f"{side} {median(got['one'], of(work, side)):,.0f} → {median(got['two'], of(work, side)):,.0f}"
            for side in ("feedmill", "imap", "imap by 64")))
    ratios = {}
    for work in ("number", "image"):
        for side, name in (("imap", "imap"), ("imap by 64", "imap64")):
            key = f"functions_{work}_vs_{name}"
            ratios[key] = statistics.median(r[work]["feedmill"][0] / r[work][side][0] for r in got["two"])
            ratios[key + "_cpu"] = statistics.median(r[work][side][1] / r[work]["feedmill"][1] for r in got["two"])
    for work in ("image", "wait"):
        ratios[f"functions_{work}_scaling"] = paired(got["two"], got["one"], of(work, "feedmill"))
    return ratios


ROWS = {"batches": batches, "elements": elements, "chunks": chunks, "photos": photos, "state": state, "traced": traced,
        "import": imports, "functions": functions}


def verdict(name, value):
    if value is None:
        return f"  {name:<24} not shown"
    met = value <= MARKS[name] if name in AT_MOST else value >= MARKS[name]
    bound = "at most" if name in AT_MOST else "at least"
    return f"  {name:<24} {value:>14,.3f}  {bound} {MARKS[name]:,g}: {'yes' if met else 'NO'}"


def bench(folder, count, names):
    ratios = service_rows(ROWS, names, folder, count)
    for name in MARKS:
        if name in ratios:
            say(verdict(name, ratios[name]))
    return ratios
