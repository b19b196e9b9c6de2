"""bench/run ray: photographs and text in one Ray cluster, through feedmill.ray.launch and through Ray Data.

Both read the same files with the CPUs of this machine, and hand batches to one trainer, the driver. The first epoch
starts what is needed and does not count. Rows and answers are compared; pixels of two decoders differ slightly."""
import os
import pathlib

from measure import BUILD, CACHE, ROOT, check, make_photos, median, paired, rate, rounds, run_json, say, shown

VENV = CACHE / "ray" / "venv"
LINES = 200_000
PHOTOS = 1024


def cluster(side, row, epochs, *paths):
    """Returns the result of peers/ray_epochs.py; None if Ray and what Ray Data needs are not set up."""
    python = VENV / "bin" / "python"
    if not python.exists() or not list(VENV.glob("lib/python3*/site-packages/pyarrow")):
        return None
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "python"), "RAY_AUTH_MODE": "disabled",
                   "RAY_USAGE_STATS_ENABLED": "0"}
    return run_json([python, ROOT / "bench" / "peers" / "ray_epochs.py", side, row, epochs, *paths], env=environment)


def beside(name, row, count, rows, epochs, ray_epochs, *paths):
    """Runs both sides of one row; returns the ratios of throughput and of CPU time."""
    got = rounds(count, {"feedmill": lambda: cluster("feedmill", row, epochs, *paths),
                         "ray_data": lambda: cluster("ray", row, ray_epochs, *paths)})
    for side, each in (("feedmill", epochs), ("ray_data", ray_epochs)):
        check(all(r["rows"] == rows * each for r in got[side]), f"ray, {name}, rows of {side}")
    answers = {side: [r["check"] / r["rows"] for r in got[side]] for side in got}
    # The mean of all pixels, or of the words' number: equal but for how pixels are rounded.
    for answer in answers["feedmill"] + answers["ray_data"]:
        check(abs(answer - answers["feedmill"][0]) <= (1.5 if row == "photos" else 0), f"ray, {name}: {answers}")
    say(f"{name}: " + ", ".join(f"{side} {shown(median(r, rate))}" for side, r in got.items()))
    cpu_rate = lambda r: r["rows"] / r["cpu_s"]
    return {f"{row}_vs_ray_data": paired(got["feedmill"], got["ray_data"], rate),
            f"{row}_vs_ray_data_cpu": paired(got["feedmill"], got["ray_data"], cpu_rate)}


def photos(_folder, count):
    """JPEGs of 500×375, decoded, resized to 224, in batches of 32."""
    return beside("photos", "photos", count, PHOTOS, 6, 2, make_photos(PHOTOS) / "jpeg")


def text(folder, count):
    """Lines of text: the number of their words, in batches of 256."""
    path = pathlib.Path(folder) / "lines.txt"
    with path.open("w") as out:
        for k in range(LINES):
            out.write(" ".join(f"word{(k * 31 + i * 17) % 9973}" for i in range(4 + k % 13)) + "\n")
    return beside("text", "text", count, LINES, 20, 2, path)


ROWS = {"photos": photos, "text": text}


def bench(folder, count, names):
    ratios = {}
    for name in names or ROWS:
        ratios |= ROWS[name](folder, count)
    say(f"load of the machine in the last minute: {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores")
    return ratios
