"""bench/run dlio: accelerator utilisation of workloads of DLIO, through feedmill and through DLIO's own loaders.

DLIO (the load generator of MLPerf Storage) emulates accelerators: it sleeps the compute time of each step. Its
accelerator utilisation is the compute time over the time of the training, without the first step. The workloads have
DLIO's settings for V100 (resnet50: its TensorFlow setting), with smaller samples and fewer of them; compute times are
shortened where that keeps the bytes a second of an accelerator."""
import functools
import json
import os
import pathlib
import statistics
import tempfile

from measure import BUILD, CACHE, ROOT, check, ratio, run_logged, say, service_rows

VENV = CACHE / "dlio" / "venv"
PLUGIN = ROOT / "bench" / "dlio"
# A rank is an emulated accelerator.
ACCELERATORS = (1, 2, 4, 8)
ENOUGH = 90

# Bytes of a sample, after resizing; samples: files and in each; batch; seconds of a step; DLIO's readers; formats and
# the loaders that DLIO has for them.
WORKLOADS = {
    # 8 MB for 147 MB, and a step is as much shorter.
    "unet3d": {"record": 8_000_000, "resized": 2_097_152, "files": 48, "each": 1, "batch": 4, "step": 0.0742,
               "threads": 4, "formats": {"npz": ("pytorch", "tensorflow")}},
    "resnet50": {"record": 114_660, "resized": 150_528, "files": 8, "each": 128, "batch": 64, "step": 0.098,
                 "threads": 8, "formats": {"tfrecord": ("tensorflow",), "jpeg": ("pytorch",)}},
    # A step of DLIO takes 0.968 s.
    "bert": {"record": 2_500, "resized": 0, "files": 4, "each": 400, "batch": 48, "step": 0.1,
             "threads": 1, "formats": {"tfrecord": ("tensorflow",), "mmap_indexed_binary": ("pytorch",)}},
}
EPOCHS = 3


def settings(name, kind, loader, folder, output):
    """Returns the overrides of DLIO's settings for one run."""
    work = WORKLOADS[name]
    files, each = work["files"], work["each"]
    if kind == "jpeg":  # a file is an image
        files, each = files * each, 1
    framework = "tensorflow" if loader == "tensorflow" or kind == "tfrecord" else "pytorch"
    values = {
        "framework": framework,
        "dataset.format": kind, "dataset.data_folder": f"{folder}/{name}-{kind}", "dataset.record_length": work["record"],
        "dataset.record_length_resize": work["resized"], "dataset.num_files_train": files,
        "dataset.num_samples_per_file": each, "dataset.num_files_eval": 0,
        "reader.data_loader": framework, "reader.batch_size": work["batch"], "reader.read_threads": work["threads"],
        "reader.computation_threads": work["threads"], "reader.file_shuffle": "seed", "reader.sample_shuffle": "seed",
        "reader.transfer_size": 262_144,
        "train.epochs": EPOCHS, "train.computation_time": work["step"], "output.folder": output,
        "workflow.checkpoint": False, "workflow.evaluation": False,
    }
    if loader == "feedmill":
        values |= {"reader.data_loader_classname": "feedmill_loader.FeedmillDataLoader",
                   "reader.data_loader_sampler": "iterative"}
    return [f"++workload.{key}={value}" for key, value in values.items()]


def dlio(arguments, folder, accelerators=1, **environment):
    """Runs DLIO in a folder, where it leaves logs."""
    variables = {**os.environ, "PYTHONPATH": f"{BUILD / 'python'}:{PLUGIN}", "PATH": f"{PLUGIN}:{os.environ['PATH']}",
                 "CUDA_VISIBLE_DEVICES": "", "DFTRACER_ENABLE": "0", **environment}
    command = [VENV / "bin" / "mpiexec", "-n", accelerators, VENV / "bin" / "dlio_benchmark", "workload=default", *arguments]
    run_logged(command, env=variables, cwd=folder)


def generate(name, kind, folder):
    """Makes the data of a workload once."""
    target = pathlib.Path(folder) / f"{name}-{kind}"
    done = target / f"complete {json.dumps(WORKLOADS[name], default=str)[:120]}".replace("/", " ")
    if not done.exists():
        say(f"  making {target}")
        with tempfile.TemporaryDirectory() as output:
            dlio([*settings(name, kind, "tensorflow" if kind == "tfrecord" else "pytorch", folder, output),
                  "++workload.workflow.generate_data=True", "++workload.workflow.train=False"], output)
        done.touch()


def utilisation(name, kind, loader, folder, accelerators, service):
    """Returns DLIO's accelerator utilisation in percent, and its samples a second."""
    with tempfile.TemporaryDirectory() as output:
        dlio([*settings(name, kind, loader, folder, output), "++workload.workflow.generate_data=False",
              "++workload.workflow.train=True"], output, accelerators, FEEDMILL_SERVICE=service.address)
        summary = json.loads((pathlib.Path(output) / "summary.json").read_text())
    check(summary["num_accelerators"] == accelerators and summary["epochs"] == EPOCHS, f"dlio, {name}, {loader}")
    metric = summary["metric"]
    return metric["train_au_mean_percentage"], metric["train_throughput_mean_samples_per_second"]


def largest(name, kind, loader, folder, service, first):
    """Returns the largest of ACCELERATORS at which the utilisation is enough, and the one at the first that is not."""
    most = 1 if first >= ENOUGH else 0
    for accelerators in ACCELERATORS[1:] if most else ():
        found, _ = utilisation(name, kind, loader, folder, accelerators, service)
        say(f"  {name} {kind} {loader}: {accelerators} accelerators {found:.1f} %")
        if found < ENOUGH:
            break
        most = accelerators
    return most


def workload(name, folder, service, count):
    data, ratios = ROOT / "build" / "dlio", {}
    for kind, own in WORKLOADS[name]["formats"].items():
        generate(name, kind, data)
        loaders = ("feedmill", *own)
        found = {loader: [] for loader in loaders}
        for number in range(count):
            for loader in loaders:
                found[loader].append(utilisation(name, kind, loader, data, 1, service))
                percent, samples = found[loader][-1]
                say(f"  round {number + 1}/{count}  {name} {kind} {loader:<12} {percent:.1f} %, {samples:,.0f} samples/s")
        medians = {loader: statistics.median(au for au, _ in results) for loader, results in found.items()}
        most = {loader: largest(name, kind, loader, data, service, medians[loader]) for loader in loaders}
        say(f"{name} ({kind}): " + ", ".join(f"{loader} {medians[loader]:.1f} %, {most[loader]} accelerators at {ENOUGH} %"
                                             for loader in loaders))
        best = max(medians[loader] for loader in own)
        say(f"  at least the best of DLIO's: {'yes' if medians['feedmill'] >= best else 'NO'}")
        ratios |= {f"{name}_{kind}_vs_{loader}": ratio(medians["feedmill"], medians[loader]) for loader in own}
        ratios |= {f"{name}_{kind}_{loader}_percent": round(medians[loader], 2) for loader in loaders}
        ratios |= {f"{name}_{kind}_{loader}_accelerators": most[loader] for loader in loaders}
    return ratios


ROWS = {name: functools.partial(workload, name) for name in WORKLOADS}


def bench(folder, count, names):
    if not (VENV / "dlio.txt").exists():
        say("dlio: not installed (tools/setup --dlio); nothing is shown")
        return {}
    return service_rows(ROWS, names, folder, count)
