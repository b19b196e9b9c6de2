"""bench/run engine: compares the engine in one process with hand-written loops, other libraries' readers and
tf.data. Ratios are of CPU seconds, with wall time beside them, unless the name says wall or ns."""
import functools
import glob
import os
import pathlib

from measure import (
    BUILD,
    FRAMEWORKS,
    ROOT,
    check,
    make_photos,
    median,
    photos_pipeline,
    ratio,
    rounds,
    run_json,
    run_peer,
    say,
    shown,
    tfdata_local,
    write,
)

LIMIT = BUILD / "bench" / "limit_engine"


def local(pipeline, consume, *flags, **environment):
    return run_json([BUILD / "bin" / "bench_trainer", pipeline, consume, *flags], env={**os.environ, **environment})


def on_one_core(pipeline, consume):
    """One thread that shares its core with the trainer's loop; a second core should double its throughput."""
    core = min(os.sched_getaffinity(0))
    return run_json(["taskset", "-c", core, BUILD / "bin" / "bench_trainer", pipeline, consume, "--threads", 1])


def limit(*arguments, **environment):
    return run_json([LIMIT, *arguments], env={**os.environ, **environment})


def cpu(results):
    return median(results, lambda r: r["cpu_s"])


def cpu_per_row(results):
    return median(results, lambda r: r["cpu_s"] / r["rows"])


def wall(results):
    return median(results, lambda r: r["seconds"])


def report(name, got):
    say(f"{name}: " + ", ".join(f"{side} {cpu(r):.3f} CPU s ({wall(r):.3f} s)" for side, r in got.items() if r))


def agree(name, got, *sides):
    answers = {(r["elements"], r["check"]) for side in sides for r in got[side]}
    check(len(answers) == 1, f"engine, {name}: {answers}")


def files(kind, extension, *counts):
    """Made once for each set of counts, which the folder's name contains."""
    folder = ROOT / "build" / ("-".join([kind, *map(str, counts)]))
    done = folder / "complete"
    if not done.exists():
        say(f"  making {folder}")
        limit(f"make-{kind}", folder, *counts)
        done.touch()
    return sorted(glob.glob(f"{folder}/*.{extension}"))


def in_memory(paths, sides):
    """Wraps the sides so that each starts with the files in the page cache: disks are not compared."""
    def after_reading(side):
        for path in paths:
            with open(path, "rb") as file:
                while file.read(1 << 20):
                    pass
        return side()
    return {name: functools.partial(after_reading, side) for name, side in sides.items()}


def pipeline(folder, name, source, *steps):
    return write(folder, name, f"source: {source}\nsteps: [{', '.join(steps)}]\noptions: {{seed: 7}}\n")


def arithmetic(folder, count):
    n = 100_000_000
    text = pipeline(folder, "arithmetic.yaml", f"{{range: {{stop: {n}}}}}", '{map: "x * x + 1"}', '{filter: "x % 5 != 0"}')
    peer_n = 2_000_000
    got = rounds(count, {"feedmill": lambda: local(text, "chunks", "--threads", 2),
                         "feedmill_1": lambda: local(text, "chunks", "--threads", 1),
                         "one_core": lambda: on_one_core(text, "chunks"),
                         "loop": lambda: limit("arithmetic", n),
                         "loop_1": lambda: limit("arithmetic", n, OMP_NUM_THREADS="1"),
                         "tfdata": lambda: tfdata_local("squares", 60_000),
                         "tfdata_batch": lambda: tfdata_local("squares_batched", peer_n)})
    agree("arithmetic", got, "feedmill", "feedmill_1", "one_core", "loop", "loop_1")
    report("arithmetic", got)
    each = cpu(got["feedmill"]) / n
    return {"arithmetic_vs_loop": ratio(cpu(got["loop"]), cpu(got["feedmill"])),
            "arithmetic_two_threads_wall": ratio(wall(got["feedmill_1"]), wall(got["feedmill"])),
            "arithmetic_two_cores_wall": ratio(wall(got["one_core"]), wall(got["feedmill"])),
            # Speed-up of this machine's two cores for a loop that shares nothing.
            "loop_two_threads_wall": ratio(wall(got["loop_1"]), wall(got["loop"])),
            "small_vs_tfdata": ratio(cpu_per_row(got["tfdata"]), each),
            "small_vs_tfdata_batched": ratio(cpu_per_row(got["tfdata_batch"]), each)}


def photos(folder, count):
    passes, number = 6, 1024
    data = make_photos(number)
    text = photos_pipeline(folder, "photos.yaml", f'{{images: {{files: "{data}/jpeg/*/*.jpg"}}}}', passes)
    records = photos_pipeline(folder, "records.yaml", f'{{tfrecord: {{files: "{data}/tfrecord/*.tfrecord"}}}}', passes)
    got = rounds(count, {"feedmill": lambda: local(text, "images"),
                         "feedmill_1": lambda: local(text, "images", "--threads", 1),
                         "one_core": lambda: on_one_core(text, "images"),
                         "feedmill_tfrecord": lambda: local(records, "images"),
                         "limit": lambda: run_json([BUILD / "bench" / "limit_photos", data / "jpeg", passes]),
                         "tfdata": lambda: tfdata_local("photos", 5, TFRECORD=f"{data}/tfrecord/*.tfrecord")})
    agree("photos", got, "feedmill", "feedmill_1", "one_core")
    report("photos", got)
    each = cpu(got["feedmill_tfrecord"]) / (number * passes)
    return {"photos_vs_limit": ratio(cpu(got["limit"]), cpu(got["feedmill"])),
            "photos_two_threads_wall": ratio(wall(got["feedmill_1"]), wall(got["feedmill"])),
            "photos_two_cores_wall": ratio(wall(got["one_core"]), wall(got["feedmill"])),
            "photos_vs_tfdata": ratio(cpu_per_row(got["tfdata"]), each)}


def crops(folder, count):
    """The ImageNet recipe: a random crop of each photo, resized, mirrored, normalised, channels first."""
    passes, number = 6, 1024
    data = make_photos(number)
    text = pipeline(folder, "crops.yaml", f'{{images: {{files: "{data}/jpeg/*/*.jpg"}}}}', f"{{repeat: {passes}}}",
                    "decode_image", '{map: {image: "image.random_resized_crop(image, 224, 224)", label: label}}',
                    "{random_flip: {component: image}}",
                    '{map: {image: "image.to_chw(image.normalize(image, [123.7, 116.3, 103.5], [58.4, 57.1, 57.4]))",'
                    ' label: label}}', "{batch: 64}")
    by_hand = [BUILD / "bench" / "limit_crops", data / "jpeg", passes]
    got = rounds(count, {"feedmill": lambda: local(text, "chunks", "--threads", 1),
                         "crop_by_hand": lambda: run_json(by_hand),
                         "whole_by_hand": lambda: run_json([*by_hand, "whole"]),
                         "tfdata": lambda: tfdata_local("crops", 3, TFRECORD=f"{data}/tfrecord/*.tfrecord"),
                         "two_threads": lambda: local(text, "chunks", "--threads", 2),
                         "dali": lambda: run_peer("dali", "dali_photos.py", data / "jpeg", 3, 2),
                         "torchvision": lambda: run_peer("torchvision", "torchvision_photos.py", data / "jpeg", 1, 2,
                                                         PYTHONPATH=str(FRAMEWORKS / "migrate"))})
    check(all(r["elements"] == number * passes // 64 for r in got["feedmill"] + got["two_threads"]),
          "engine, crops: the batches")
    report("crops", got)
    each = cpu(got["feedmill"]) / (number * passes)
    images = {"two_threads": number * passes, "dali": number * 3, "torchvision": number}
    rates = {side: median(got[side], lambda r, n=n: n / r["seconds"]) if got[side] else None
             for side, n in images.items()}
    say("crops, two cores: " + ", ".join(f"{side} {shown(rate)}" for side, rate in rates.items()))
    return {"crops_vs_dali": ratio(rates["two_threads"], rates["dali"]),
            "crops_vs_torchvision": ratio(rates["two_threads"], rates["torchvision"]),
            "crops_vs_crop_by_hand": ratio(cpu(got["crop_by_hand"]), cpu(got["feedmill"])),
            "crops_vs_whole_by_hand": ratio(cpu(got["whole_by_hand"]), cpu(got["feedmill"])),
            "crops_vs_tfdata": ratio(cpu_per_row(got["tfdata"]), each)}


def cache(folder, count):
    """Compares an epoch of decoded and resized photos from a cache with one that decodes them again."""
    passes, number = 6, 1024
    source = f'{{images: {{files: "{make_photos(number)}/jpeg/*/*.jpg"}}}}'
    decoded = ("{decode_image: {component: image, channels: 3, dct: fast}}", "{resize: {component: image, height: 224, width: 224}}")
    last = ("shuffle", "{random_flip: {component: image}}", "{batch: 32}")
    once = pipeline(folder, "once.yaml", source, *decoded, "cache", *last)
    again = pipeline(folder, "again.yaml", source, *decoded, *last, f"{{repeat: {passes}}}")
    cached = pipeline(folder, "cached.yaml", source, *decoded, "cache", *last, f"{{repeat: {passes}}}")
    got = rounds(count, {"once": lambda: local(once, "images"), "again": lambda: local(again, "images"),
                         "cached": lambda: local(cached, "images")})
    check(all(r["elements"] == passes * number / 32 for side in ("again", "cached") for r in got[side]), "engine, cache")
    report("cache", got)
    epoch = (cpu(got["cached"]) - cpu(got["once"])) / (passes - 1)
    return {"cached_epoch_vs_decoding": ratio(cpu(got["again"]) / passes, epoch)}


def records(folder, count):
    paths = files("records", "tfrecord", 100, 1_000_000)
    source = f'{{tfrecord: {{files: "{pathlib.Path(paths[0]).parent}/*.tfrecord"}}}}'
    plain = pipeline(folder, "plain.yaml", source)
    parsed = pipeline(folder, "parsed.yaml", source, "{parse_example: {payload: bytes, label: int64}}")
    shuffled = pipeline(folder, "shuffled.yaml", source, "shuffle")
    blocks = pipeline(folder, "blocks.yaml", source, "{shuffle: {block: 128, window: 8}}")
    got = rounds(count, in_memory(paths, {"first_time": lambda: local(parsed, "strings", FEEDMILL_INDEXES=""),
                                          "parsed": lambda: local(parsed, "strings"),
                                          "loop": lambda: limit("records", *paths),
                                          "random": lambda: limit("random-records", *paths),
                                          "sequential": lambda: local(plain, "strings"),
                                          "shuffled": lambda: local(shuffled, "strings"),
                                          "blocks": lambda: local(blocks, "strings")}))
    agree("records", got, "loop", "random", "sequential", "shuffled", "blocks")
    check(all(r["elements"] == 1_000_000 and r["check"] == 980_000_000 for r in got["parsed"] + got["first_time"]),
          "engine, parsed records")
    report("records", got)
    # The files' indexes are cached except for `first_time`, which reads the files twice. `random` is a manual loop
    # that reads each record separately, in a random order, from the page cache.
    return {"tfrecord_parse_vs_crc": ratio(cpu(got["loop"]), cpu(got["parsed"])),
            "tfrecord_parse_first_time_vs_crc": ratio(cpu(got["loop"]), cpu(got["first_time"])),
            "shuffled_records_vs_random_reads": ratio(cpu(got["random"]), cpu(got["shuffled"])),
            "sequential_vs_random_reads_by_hand": ratio(cpu(got["loop"]), cpu(got["random"])),
            "block_shuffled_records_vs_sequential": ratio(cpu(got["sequential"]), cpu(got["blocks"])),
            "block_shuffled_records_vs_sequential_wall": ratio(wall(got["sequential"]), wall(got["blocks"])),
            "shuffled_records_vs_sequential": ratio(cpu(got["sequential"]), cpu(got["shuffled"])),
            "shuffled_records_vs_sequential_wall": ratio(wall(got["sequential"]), wall(got["shuffled"]))}


def lines(folder, count):
    paths = files("lines", "txt", 16, 10_000_000)
    text = pipeline(folder, "lines.yaml", f'{{text: {{files: "{pathlib.Path(paths[0]).parent}/*.txt"}}}}')
    got = rounds(count, in_memory(paths, {"feedmill": lambda: local(text, "strings"),
                                          "loop": lambda: limit("lines", *paths)}))
    agree("lines", got, "feedmill", "loop")
    report("lines", got)
    return {"lines_vs_memchr": ratio(cpu(got["loop"]), cpu(got["feedmill"]))}


def csv_rows(rows=5_000_000):
    """Returns the path of a file with `rows` rows, made once."""
    path = ROOT / "build" / f"rows-{rows}.csv"
    if not path.exists():
        limit("make-csv", path, rows)
    return path


def csv(folder, count):
    rows = 5_000_000
    path = csv_rows(rows)
    text = pipeline(folder, "csv.yaml", f'{{csv: {{files: "{path}"}}}}')
    sides = {"feedmill": lambda: local(text, "sum", "--threads", 1),
             "pyarrow": lambda: run_peer("pyarrow", "pyarrow_csv.py", path)}
    got = rounds(count, in_memory([path], sides))
    check(all(r["elements"] == rows and r["check"] == rows * (rows - 1) // 2 for side in got.values() for r in side),
          "engine, csv")
    report("csv", got)
    return {"csv_vs_pyarrow": ratio(cpu(got["pyarrow"]), cpu(got["feedmill"]))}


def columnar_files(name, mode, folder):
    """Returns a folder of files that pyarrow has made; None if the row is skipped."""
    data = ROOT / "build" / folder
    if not (BUILD / "lib" / "feedmill" / "libfeedmill_arrow.so").exists():
        say(f"{name}: skipped, libfeedmill_arrow.so is not built (tools/setup --arrow)")
        return None
    if not (data / "complete").exists():
        if run_peer("pyarrow", "pyarrow_columns.py", mode, data) is None:
            say(f"{name}: skipped, pyarrow makes the files (not installed)")
            return None
        (data / "complete").touch()
    return data


def columnar(folder, count):
    """Reads 4 of 40 columns of 4 million rows in Parquet files made by pyarrow."""
    rows = 4_000_000
    data = columnar_files("columnar", "write", f"columns-{rows}")
    if data is None:
        return {}
    source = f'{{parquet: {{files: "{data}/*.parquet", columns: [id, c1, c2, c3]}}}}'
    texts = {"scan": pipeline(folder, "columns.yaml", source),
             "filtered": pipeline(folder, "columns_filtered.yaml", source, '{filter: "id >= 3900000"}'),
             "shuffled": pipeline(folder, "columns_shuffled.yaml", source, "{shuffle: {block: 100000}}")}
    ratios = {}
    for name, text in texts.items():
        sides = {"feedmill": lambda text=text: local(text, "chunks", "--threads", 1),
                 "pyarrow": lambda name=name: run_peer("pyarrow", "pyarrow_columns.py", name, data)}
        got = rounds(count, in_memory(sorted(data.glob("*.parquet")), sides))
        ids = range(3_900_000 if name == "filtered" else 0, rows)
        check(all((r["elements"], r["check"]) == (len(ids), sum(ids)) for side in got.values() for r in side),
              f"engine, columnar {name}")
        report(f"columnar {name}", got)
        ratios[f"columnar_{name}_vs_pyarrow"] = ratio(cpu(got["pyarrow"]), cpu(got["feedmill"]))
    return ratios


def arrow(folder, count):
    """Reads 800 MB of vectors in an Arrow file as views and as copies, in batches, and adds up all items."""
    vectors, items = 200_000, 512
    data = columnar_files("arrow", "write_arrow", f"vectors-{vectors}")
    if data is None:
        return {}
    file = data / "vectors.arrow"
    texts = {name: pipeline(folder, f"{name}.yaml", f'{{arrow: {{files: "{file}", memory_map: {mapped}}}}}', "{batch: 50}")
             for name, mapped in (("views", "true"), ("copies", "false"))}
    sides = {name: lambda text=text: local(text, "items", "--threads", 1) for name, text in texts.items()}
    sides["pyarrow"] = lambda: run_peer("pyarrow", "pyarrow_columns.py", "views", data)
    got = rounds(count, in_memory([file], sides))
    total = vectors * items * (vectors * items - 1) // 2
    check(all(r["check"] == total % 2**64 for side in got.values() for r in side), "engine, arrow")
    report("arrow", got)
    return {"arrow_views_vs_pyarrow": ratio(cpu(got["pyarrow"]), cpu(got["views"])),
            "arrow_copies_vs_views": ratio(cpu(got["copies"]), cpu(got["views"]))}


def shuffle(folder, count):
    n = 1_000_000_000
    text = pipeline(folder, "shuffle.yaml", f"{{range: {{stop: {n}}}}}", "shuffle")
    got = rounds(1, {"feedmill": lambda: local(text, "chunks")})
    check(all(r["elements"] == n and r["check"] == n * (n - 1) // 2 % 2**64 for r in got["feedmill"]), "engine, shuffle")
    report("shuffle", got)
    say(f"shuffle: at most {got['feedmill'][0]['peak_mb']:.0f} MB resident")
    return {"shuffle_ns_per_position": round(1e9 * cpu(got["feedmill"]) / n, 2),
            "shuffle_peak_mb": got["feedmill"][0]["peak_mb"]}


def split_hash(folder, count):
    """Hashes the words of text lines, in padded batches of 64."""
    paths = files("lines", "txt", 1, 400_000)
    text = pipeline(folder, "words.yaml", f'{{text: {{files: "{paths[0]}"}}}}', '{map: "hash_bucket(split(x), 65536)"}',
                    "{padded_batch: 64}")
    got = rounds(count, {"feedmill": lambda: local(text, "items"),
                         "tfdata": lambda: tfdata_local("words", 1, TEXT=paths[0])})
    check(all(r["rows"] == 400_000 for side in got.values() for r in side), "engine, words")
    report("split-hash-pad", got)
    return {"text_vs_tfdata": ratio(cpu(got["tfdata"]), cpu(got["feedmill"]))}


def large_input(folder, count):
    """Reads 20 GB through this process: a sparse file, which takes no disk space."""
    size, path = 20_000_000_000, pathlib.Path(folder) / "sparse.bin"
    with open(path, "wb") as out:
        out.truncate(size)
    text = pipeline(folder, "sparse.yaml", f'{{fixed_length: {{files: "{path}", record_bytes: 1000000}}}}')
    got = rounds(1, {"feedmill": lambda: local(text, "strings")})
    result = got["feedmill"][0]
    check(result["elements"] == size // 1_000_000 and result["check"] == size, "engine, 20 GB")
    say(f"20 GB: {result['seconds']:.2f} s, at most {result['peak_mb']:.0f} MB resident")
    return {"input_20gb_peak_mb": result["peak_mb"]}


ROWS = {"arithmetic": arithmetic, "photos": photos, "crops": crops, "cache": cache, "records": records, "lines": lines, "csv": csv, "columnar": columnar, "arrow": arrow,
        "shuffle": shuffle,
        "split_hash": split_hash, "large_input": large_input}


def bench(folder, count, names):
    ratios = {}
    for name in names or ROWS:
        ratios |= ROWS[name](folder, count)
    return ratios
