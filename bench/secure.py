"""Encrypted throughput over TCP, compared with libzmq's with and without CURVE: a row of bench/run.

Elements of 1 MiB through a service with keys and one without, every cache line
read, and limit_zmq with --curve and without, in alternating rounds: CPU seconds of
all processes per GB, and GB/s. The answers are checked."""
import pathlib
import subprocess
import tempfile

import measure

COUNT, SIZE = 2000, 1 << 20
CHECK = sum(k % 256 for k in range(COUNT)) * (SIZE // 64 + 1)


class SecureService(measure.Service):
    def __init__(self, folder):
        self.keys = pathlib.Path(folder) / "keys"
        subprocess.run([measure.BUILD / "bin" / "feedmill", "keygen", "--dir", self.keys], check=True, stdout=subprocess.DEVNULL)
        super().__init__(folder, flags=())

    def start(self, name, role, *flags):
        return super().start(name, role, "--keys", self.keys, *flags)


def ours(pipeline, service, *flags):
    before = service.cpu()
    result = measure.run_json([measure.BUILD / "bin" / "bench_trainer", pipeline, "touch", "--service", service.address,
                           "--tcp", *flags])
    result["cpu_s"] += service.cpu() - before
    measure.check(result["elements"] == COUNT and result["check"] == CHECK, "secure: elements")
    return result


def limit(*flags):
    result = measure.limit("zmq", COUNT, SIZE, "--constant", *flags)
    measure.check(result["elements"] == COUNT and result["check"] == measure.stored_check(COUNT, SIZE),
                  "secure: the limit's elements")
    return result


def bench(one, rounds, _rows):
    pipeline = measure.write(one, "large.yaml", f'source: {{range: {{stop: {COUNT}}}}}\nsteps:\n'
                             f'  - map: "full([{SIZE}], cast(x % 256, uint8))"\noptions: {{seed: 7}}\n')
    services = []
    with tempfile.TemporaryDirectory() as other:
        try:
            services.append(plain := measure.Service(one))
            services.append(secure := SecureService(other))
            got = measure.rounds(rounds, {
                "secure": lambda: ours(pipeline, secure, "--keys", secure.keys),
                "plain": lambda: ours(pipeline, plain),
                "limit_curve": lambda: limit("--curve"),
                "limit": limit})
        finally:
            for service in services:
                service.stop()
    cpu = {s: measure.median(r, lambda x: x["cpu_s"] / (COUNT * SIZE / 1e9)) for s, r in got.items()}
    wall = {s: measure.median(r, lambda x: COUNT * SIZE / 1e9 / x["seconds"]) for s, r in got.items()}
    for side in got:
        if got[side]:
            measure.say(f"{side:<12} {cpu[side]:.3f} CPU s/GB  {wall[side]:.2f} GB/s")
    return {"secure_vs_limit": measure.ratio(cpu["limit_curve"], cpu["secure"]),
            "secure_vs_limit_wall": measure.ratio(wall["secure"], wall["limit_curve"]),
            "secure_vs_plain": measure.ratio(cpu["plain"], cpu["secure"])}
