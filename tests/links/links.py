#!/usr/bin/env python3
"""Real processes and what is between them: nothing is lost or repeated, links are full, and nothing stays.

    links.py --binary F CHECK…

leftovers   SIGKILLs dispatcher, worker, reader and supervisor in turn, 50 times: no file, no shared memory and no socket
            of theirs is there afterwards, beyond the journal in the work-dir
fairness    64 readers of one worker, one of them stopped: the others are served as before, memory stays bounded
resets      a proxy resets connections at random, 200 times: the elements are those of a local read
delay       a proxy that is late by 50 ms and carries 1 Gbit/s: at least 80 % of it are used
killer      a record that kills its workers: it is found and named, all before it comes, and so does what others read;
            on_error leaves it out and lists it
packing     a proxy that carries 30 MB/s and holds all bytes that wait: `--compression auto` brings data that shrinks faster than that
namespaces  two network namespaces joined at 1 Gbit/s: at least 90 % are used; ten seconds without a link lose nothing
            (needs root and iproute2)

Prints a line for each; exit status 1 if one does not hold."""
import argparse, itertools, json, os, pathlib, random, re, signal, subprocess, sys, threading, time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[k]) for k in range(2)]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "shell" / "lib"))
from proxy import Proxy, listening_port  # noqa: E402
from waits import pass_time  # noqa: E402
from scene import PATIENCE, Failure, Scene, require, wait_for  # noqa: E402

GIGABIT = 125_000_000


class Links(Scene):
    """The processes of one check; all of them end with it."""

    def __init__(self, binary):
        super().__init__(binary)
        self.directory, self.numbers = self.tmp, itertools.count()

    def run(self, role, *flags, ready=True, **options):
        name = f"{role}-{next(self.numbers)}"
        return self.serve(name, role, *flags, **options) if ready else self.start(name, role, *flags, **options)

    def dispatcher(self, *flags, **options):
        process = self.run("dispatcher", *([] if "--port" in flags else ["--port", 0]), *flags, **options)
        return process, self.address(process)

    def worker(self, dispatcher, *flags, **options):
        process = self.run("worker", "--port", 0, "--dispatcher", dispatcher, *flags, **options)
        self.address(process)
        return process

    def worker_behind(self, proxy, dispatcher, *flags):
        """A worker that readers reach through the proxy only."""
        process = self.run("worker", "--port", 0, "--dispatcher", dispatcher, "--advertise",
                             f"127.0.0.1:{proxy.port}", "--transport", "tcp", *flags)
        self.address(process)
        proxy.set_target(listening_port(process.pid))
        return process

    def read(self, pipeline, *flags, prefix=()):
        """The summary of a whole read."""
        done = subprocess.run([*prefix, self.binary, "read", pipeline, "--format", "summary", *map(str, flags)],
                              stdout=subprocess.PIPE, timeout=600, check=True)
        return json.loads(done.stdout)

    def status(self, service):
        done = subprocess.run([self.binary, "status", "--service", service, "--format", "json"], stdout=subprocess.PIPE, check=True,
                              timeout=PATIENCE)
        return json.loads(done.stdout)


def large(elements, size=1 << 20, step="full([{size}], cast(x % 251, uint8))"):
    return (f'source: {{range: {{stop: {elements}}}}}\nsteps: [{{map: "{step.format(size=size)}"}}]\n'
            'options: {seed: 1}\n')


# ---- leftovers


def local_names(pid):
    """The abstract sockets that a process listens at."""
    inodes = set()
    for fd in os.scandir(f"/proc/{pid}/fd"):
        try:
            inodes.add(os.readlink(fd.path).removeprefix("socket:[").removesuffix("]"))
        except OSError:
            pass
    lines = pathlib.Path("/proc/net/unix").read_text().splitlines()
    return {cells[7] for cells in map(str.split, lines) if len(cells) > 7 and cells[6] in inodes and cells[7][0] == "@"}


def all_local_names():
    return {line.split()[-1] for line in pathlib.Path("/proc/net/unix").read_text().splitlines()}


def shared_inodes(pids):
    """The anonymous files of ours that processes have open or mapped."""
    found = set()
    for pid in pids:
        try:
            for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
                if "memfd:feedmill" in line:
                    found.add(int(line.split()[4]))
            for fd in os.scandir(f"/proc/{pid}/fd"):
                if "memfd:feedmill" in os.readlink(fd.path):
                    found.add(os.stat(fd.path).st_ino)
        except OSError:
            pass  # it has ended
    return found


def children_of(pid):
    return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def everybody():
    return [int(p) for p in os.listdir("/proc") if p.isdigit()]


def leftovers(binary, times=50):
    with Links(binary) as scene:
        endless = scene.pipeline("endless", large(3000, 300_000).replace("steps: [", "steps: [repeat, "))
        work_dir = scene.folder / "work"
        dispatcher, service = scene.dispatcher("--work-dir", work_dir)
        port = service.rsplit(":", 1)[1]
        worker = scene.worker(service, "--threads", 1)

        def new_reader():
            reader = scene.run("read", endless, "--service", service, "--format", "none", ready=False)
            wait_for("the reader to share a worker's memory", lambda: shared_inodes([reader.pid]) or
                     require(reader.poll() is None, f"{reader.name} ended with {reader.poll()}"))
            return reader

        reader = new_reader()
        for number in range(times):
            victim = ("dispatcher", "worker", "reader", "up")[number % 4]
            if victim == "up":
                supervisor = scene.run("up", "--workers", 1, "--threads", 1)
                scene.address(supervisor)
                process, pids = supervisor, [supervisor.pid, *children_of(supervisor.pid)]
            else:
                process = {"dispatcher": dispatcher, "worker": worker, "reader": reader}[victim]
                pids = [process.pid]
            names = set().union(*(local_names(pid) for pid in pids))
            require(victim != "worker" or names, "the worker listens at no local socket")
            process.kill()
            process.wait()
            (scene.folder / f"{process.name}.ready").unlink(missing_ok=True)  # asked for by this program
            wait_for(f"{victim}'s processes to end", lambda: not any(map(alive, pids)))
            require(not names & all_local_names(), f"a socket of {victim} is still there")
            if victim == "dispatcher":
                dispatcher, again = scene.dispatcher("--work-dir", work_dir, "--port", port)
                require(again == service, f"the dispatcher came back as {again}")
            elif victim == "worker":
                worker = scene.worker(service, "--threads", 1)
                # Readers of its memory let go of it when the new one serves.
            elif victim == "reader":
                reader = new_reader()
            left = sorted(p.name for p in scene.tmp.iterdir())
            require(not left, f"after {number + 1} kills, the last one of {victim}: {left} left behind")
        ours = shared_inodes(p.pid for p in (reader, worker, dispatcher))
        for process in (reader, worker, dispatcher):
            process.kill()
            process.wait()
        require(not ours & shared_inodes(everybody()), "memory is still there")
        left = sorted({p.name for p in work_dir.iterdir()} - {"journal.db", "journal.db-wal", "journal.db-shm",
                                                               "journal.seal", "lock"})
        left += sorted(p.name for p in scene.tmp.iterdir())
        require(not left, f"left behind: {left}")
        return f"{times} kills left nothing"


# ---- fairness


def resident_bytes(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^VmRSS:\s+(\d+)", text, re.M).group(1)) << 10


def fairness(binary, readers=64):
    """The worker sleeps for each element, so that its rate is the same however busy the machine is."""
    with Links(binary) as scene:
        memory = 64 << 20
        pipeline = scene.pipeline("slow", large(10_000_000, 20_000, "full([{size}], cast(sleep_ms(x, 1) % 251, uint8))"))
        _, service = scene.dispatcher()
        worker = scene.worker(service, "--threads", 2, "--memory", memory)
        before_bytes = resident_bytes(worker.pid)
        started = [scene.run("read", pipeline, "--service", service, "--job", f"job{k}", "--format", "none", ready=False)
                   for k in range(readers)]

        def taken():
            return {job["name"]: job["positions_taken"] for job in scene.status(service)["jobs"]}

        def rates():
            """Elements per second of each reader, while readers take some thousand elements."""
            first, begun = taken(), time.monotonic()
            wait_for("the readers to read", lambda: sum(taken().values()) - sum(first.values()) >= 5_000)
            second = taken()
            took = time.monotonic() - begun
            return {name: (second[name] - first[name]) / took for name in second}

        def stands(name):
            """Waits until a reader takes nothing while others take a thousand elements."""
            def takes_nothing():
                first = taken()
                wait_for("the others to read", lambda: sum(taken().values()) - sum(first.values()) >= 1_000)
                return taken()[name] == first[name]
            wait_for(f"{name} to take nothing", takes_nothing)

        def total(of):
            return sum(rate for name, rate in of.items() if name != "job0")

        # The machine may be slower for some seconds: the best of several alternating rounds is what can be had.
        all_read, one_stopped = [], []
        for _ in range(3):
            before = taken()
            wait_for("all readers to read", lambda: len(t := taken()) == readers
                     and all(t[name] > before.get(name, 0) for name in t))
            all_read.append(rates())
            started[0].send_signal(signal.SIGSTOP)
            stands("job0")
            one_stopped.append(rates())
            started[0].send_signal(signal.SIGCONT)
        grown = resident_bytes(worker.pid) - before_bytes
        best_all, best = max(all_read, key=total), max(one_stopped, key=total)
        mean = total(best) / (readers - 1)
        least = min(rate for name, rate in best.items() if name != "job0") / mean
        require(best["job0"] < 0.2 * mean, f"job0 goes on: {best['job0']:.1f}/s")
        require(total(best) >= 0.9 * total(best_all), f"{total(best_all):.0f}/s with all, {total(best):.0f}/s with one stopped")
        require(least >= 0.5, f"the slowest of the others has {least:.2f} of the mean rate")
        # Computed ahead, and as much again in the memory that readers see, and what the transport has queued.
        require(grown <= 2.5 * memory, f"the worker grew by {grown >> 20} MiB with a budget of {memory >> 20} MiB")
        return (f"{readers - 1} of {readers} readers at {total(best_all):.0f} and, one stopped, {total(best):.0f} elements/s, the slowest "
                f"at {least:.2f} of the mean; the worker grew by {grown >> 20} MiB")


# ---- links


def describe(process):
    """The calls in which a process waits, and the states of its TCP connections."""
    lines = []
    for task in sorted(os.listdir(f"/proc/{process.pid}/task")):
        facts = [pathlib.Path(f"/proc/{process.pid}/task/{task}/{name}").read_text().strip()
                 for name in ("comm", "wchan", "syscall")]
        lines.append(" ".join(facts))
    inodes = {os.readlink(fd.path) for fd in os.scandir(f"/proc/{process.pid}/fd")}
    for line in pathlib.Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]:
        cells = line.split()
        if f"socket:[{cells[9]}]" in inodes:
            ports = [int(end.rsplit(":", 1)[1], 16) for end in cells[1:3]]
            lines.append(f"{ports[0]} -> {ports[1]} state {cells[3]} queues {cells[4]}")
    return f"{process.name}:\n  " + "\n  ".join(lines)


def read_under_watch(scene, pipeline, service, witnesses):
    """The summary of a whole read. Where it takes long, all that could tell why is printed while it lasts."""
    process = scene.run("read", pipeline, "--format", "summary", "--service", service, ready=False, stdout=subprocess.PIPE)
    try:
        written, _ = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        for witness in [lambda: describe(process), *witnesses, lambda: json.dumps(scene.status(service))]:
            try:
                print(witness(), file=sys.stderr, flush=True)
            except (OSError, subprocess.SubprocessError) as gone:  # what it asks may end meanwhile
                print(gone, file=sys.stderr, flush=True)
        written, _ = process.communicate(timeout=600)
    log = (scene.folder / f"{process.name}.log").read_text()
    require(process.returncode == 0, f"{process.name} ended with {process.returncode}: {log}")
    return json.loads(written)


def resets(binary, times=200):
    with Links(binary) as scene:
        pipeline = scene.pipeline("large", large(2_000, 200_000))
        expected = scene.read(pipeline, "--local")
        _, service = scene.dispatcher()
        proxies = [Proxy(), Proxy()]
        for proxy in proxies:
            scene.worker_behind(proxy, service, "--threads", 1)
        chooser, count, over = random.Random(7), 0, threading.Event()

        def break_links():
            nonlocal count
            while not over.is_set():
                count += chooser.choice(proxies).reset(chooser)
                over.wait(chooser.uniform(0.002, 0.1))

        breaker = threading.Thread(target=break_links)
        breaker.start()
        witnesses = [*(proxy.describe for proxy in proxies), lambda: f"links are broken: {breaker.is_alive()}"]
        begun, reads = time.monotonic(), 0
        try:
            while count < times:
                got = read_under_watch(scene, pipeline, service, witnesses)
                reads += 1
                require(breaker.is_alive(), "the thread that breaks the links has ended: see above")
                for key in ("elements", "bytes", "order_hash"):
                    require(got[key] == expected[key], f"read {reads}: {key} is {got[key]}, local {expected[key]}")
        finally:
            over.set()
            breaker.join()
        return f"{count} resets in {reads} reads, {time.monotonic() - begun:.0f} s: nothing lost, nothing repeated"


def delay(binary):
    with Links(binary) as scene:
        pipeline = scene.pipeline("large", large(1_000))
        _, service = scene.dispatcher()
        proxy = Proxy(delay=0.05, rate=GIGABIT)
        scene.worker_behind(proxy, service)
        got = scene.read(pipeline, "--service", service)
        used = got["bytes"] / got["seconds"] / GIGABIT
        require(used >= 0.8, f"{used:.3f} of 1 Gbit/s with 50 ms of delay each way")
        return f"{used:.3f} of 1 Gbit/s are used with 50 ms of delay each way"


def packing(binary):
    rate = 30_000_000
    told = []
    with Links(binary) as scene:
        pipeline = scene.pipeline("large", large(1_000))
        order = scene.read(pipeline, "--local")["order_hash"]
        dispatcher, service = scene.dispatcher()
        # The proxies take all that the reader allows, so that the connections to them seem fast.
        to_worker, to_dispatcher = (Proxy(rate=rate, queue_bytes=1 << 30) for _ in range(2))
        scene.worker_behind(to_worker, service)
        to_dispatcher.set_target(listening_port(dispatcher.pid))
        for way, flags in (("", ("--service", service)),
                           ("relayed ", ("--service", f"tcp://127.0.0.1:{to_dispatcher.port}", "--via", "dispatcher"))):
            got = scene.read(pipeline, *flags, "--compression", "auto")
            require(got["order_hash"] == order, "packed frames are not the same")
            (link,) = got["links"]
            faster = got["bytes"] / got["seconds"] / rate
            require(faster >= 2, f"{way}{faster:.2f} of the link's rate, {link}")
            told.append(f"{way}{faster:.1f}")
        return f"elements came at {', '.join(told)} times the rate of the link, the last in {link['compression']}"


class Namespaces:
    """Two network namespaces, joined by a link of 1 Gbit/s."""

    def __init__(self):
        self.names = [f"fm{os.getpid()}{end}" for end in "ab"]
        self.links = [f"{name}l" for name in self.names]
        self.addresses = ["10.88.7.1", "10.88.7.2"]

    def __enter__(self):
        for name in self.names:
            run("ip", "netns", "add", name)
        run("ip", "link", "add", self.links[0], "netns", self.names[0], "type", "veth",
            "peer", "name", self.links[1], "netns", self.names[1])
        for k in range(2):
            self.inside(k, "ip", "address", "add", f"{self.addresses[k]}/24", "dev", self.links[k])
            self.inside(k, "ip", "link", "set", "lo", "up")
            self.inside(k, "ip", "link", "set", self.links[k], "up")
            self.inside(k, "tc", "qdisc", "add", "dev", self.links[k], "root", "tbf", "rate", "1gbit", "burst", "256kb",
                        "latency", "20ms")
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False)

    def prefix(self, k):
        return ("ip", "netns", "exec", self.names[k])

    def inside(self, k, *command):
        return run(*self.prefix(k), *command)

    def sent(self, k):
        return int(self.inside(k, "cat", f"/sys/class/net/{self.links[k]}/statistics/tx_bytes"))


# ---- killer


def killer(binary, elements=300, at=157):
    """The workers die and are started again; the dispatcher finds out of what."""
    source = f"source: {{range: {{stop: {elements}}}}}\n"
    with Links(binary) as scene:
        up = scene.run("up", "--workers", 3)
        service = scene.address(up)
        bad = scene.pipeline("bad", source + f"steps: [{{map: 'die_at(x, {at})'}}]\n")
        good = scene.pipeline("good", source + "steps: [{map: 'sleep_ms(x, 20)'}]\n")
        began = time.monotonic()
        reads = [subprocess.Popen([binary, "read", path, "--service", service, "--timeout", f"{PATIENCE}s"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for path in (bad, good)]
        (found, why), (whole, _) = (read.communicate(timeout=2 * PATIENCE) for read in reads)
        seconds = time.monotonic() - began
        require(found.split() == [str(n) for n in range(at)], f"{len(found.split())} elements came before the killer, not {at}")
        require(reads[0].returncode == 1 and f"{at}" in why and "kills the workers" in why,
                f"the reader ended with {reads[0].returncode}: {why}")
        require(reads[1].returncode == 0 and whole.split() == [str(n) for n in range(elements)],
                f"another reader got {len(whole.split())} of {elements} elements and ended with {reads[1].returncode}")
        died = scene.status(service)["faults"]["workers_died"]
        listed = scene.folder / "left-out.jsonl"
        skipping = scene.pipeline("skipping", source + f"steps: [{{map: 'die_at(x, {at})'}}, "
                                  f"{{on_error: {{policy: skip, quarantine: '{listed}'}}}}]\n")
        got = subprocess.run([binary, "read", skipping, "--service", service, "--timeout", f"{PATIENCE}s"],
                             capture_output=True, text=True, timeout=2 * PATIENCE)
        require(got.returncode == 0 and got.stdout.split() == [str(n) for n in range(elements) if n != at],
                f"with on_error: skip, {len(got.stdout.split())} elements came, and the reader ended with "
                f"{got.returncode}: {got.stderr}")
        lines = [json.loads(line) for line in listed.read_text().splitlines()]
        require(len(lines) == 1 and "kills the workers" in json.dumps(lines) and "1 element could not be made" in got.stderr,
                f"it was listed as {lines}, and told as {got.stderr}")
        return f"found in {seconds:.1f} s, {died} workers died of it; left out and listed by on_error"


def run(*command):
    return subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, text=True, check=True).stdout


def namespaces(binary):
    require(os.geteuid() == 0, "network namespaces need root")
    with Namespaces() as net, Links(binary) as scene:
        far, near = net.prefix(0), net.prefix(1)
        host = ("--host", net.addresses[0], "--insecure-bind")
        _, service = scene.dispatcher(*host, prefix=far)
        scene.worker(service, *host, prefix=far)
        pipeline = scene.pipeline("large", large(1_000))
        got = scene.read(pipeline, "--service", service, prefix=near)
        # The link's own counter counts, not the payload of each packet (1,514 bytes, and 24 more on the wire).
        sent = net.sent(0)
        used = sent / got["seconds"] / GIGABIT
        require(used >= 0.9, f"{used:.3f} of 1 Gbit/s")
        expected = scene.read(pipeline, "--local")
        interrupted = {}

        def read():
            interrupted.update(scene.read(pipeline, "--service", service, prefix=near))

        reader = threading.Thread(target=read)
        reader.start()
        wait_for("the second read to begin", lambda: net.sent(0) - sent > 100 << 20)
        net.inside(0, "ip", "link", "set", net.links[0], "down")
        pass_time(10)
        require(reader.is_alive(), "the reader ended without a link")
        net.inside(0, "ip", "link", "set", net.links[0], "up")
        up = time.monotonic()
        reader.join()
        for key in ("elements", "bytes", "order_hash"):
            require(interrupted.get(key) == expected[key], f"after 10 s without a link: {key} is {interrupted.get(key)}")
        return (f"{used:.3f} of 1 Gbit/s are used ({got['bytes'] / got['seconds'] / GIGABIT:.3f} by elements); 10 s without "
                f"a link lose nothing, {time.monotonic() - up:.1f} s from its return to the end of the read")


CHECKS = {"leftovers": leftovers, "fairness": fairness, "resets": resets, "delay": delay, "packing": packing,
          "killer": killer, "namespaces": namespaces}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checks", nargs="+", choices=[*CHECKS], metavar="CHECK")
    parser.add_argument("--binary", required=True, metavar="F", help="feedmill_sleepy")
    options = parser.parse_args()
    failed = False
    for name in options.checks:
        try:
            print(f"{name}: {CHECKS[name](os.path.abspath(options.binary))}", flush=True)
        except (Failure, subprocess.SubprocessError) as failure:
            print(f"{name}: FAILED: {failure}", flush=True)
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
