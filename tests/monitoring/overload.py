"""A service whose machines fail it: full disks, no descriptors, clocks that jump, a broken disk, keys that change. What is
read is the same as without a service, and errors name the cause.

    overload.py CHECK --binary feedmill_sleepy    (a function below)
"""
import json
import os
import resource
import socket
import struct
import subprocess
import urllib.request

from monitoring import main, unused_port, wait_for

# The clock of the day is off by as many seconds as the file says.
CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile int64_t* offset(void) {
  static volatile int64_t* mapped;
  static int64_t none;
  if (mapped == NULL) {
    int fd = open(getenv("CLOCK_OFFSET"), O_RDONLY);
    void* at = fd < 0 ? MAP_FAILED : mmap(NULL, 8, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0) close(fd);
    mapped = at == MAP_FAILED ? &none : at;
  }
  return mapped;
}
int clock_gettime(clockid_t clock, struct timespec* now) {
  static int (*real)(clockid_t, struct timespec*);
  if (real == NULL) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  int status = real(clock, now);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += *offset();
  return status;
}
time_t time(time_t* now) {
  struct timespec spec;
  clock_gettime(CLOCK_REALTIME, &spec);
  if (now != NULL) *now = spec.tv_sec;
  return spec.tv_sec;
}
int gettimeofday(struct timeval* now, void* zone) {
  (void)zone;
  struct timespec spec;
  clock_gettime(CLOCK_REALTIME, &spec);
  now->tv_sec = spec.tv_sec;
  now->tv_usec = spec.tv_nsec / 1000;
  return 0;
}
"""
# Each sync to the disk fails while the file of DISK_IS_FULL exists.
FULL = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#define FULL(name) \\
int name(int fd) { \\
  if (access(getenv("DISK_IS_FULL"), F_OK) == 0) { errno = ENOSPC; return -1; } \\
  return ((int (*)(int))dlsym(RTLD_NEXT, #name))(fd); \\
}
FULL(fsync)
FULL(fdatasync)
"""
# Each sync to the disk takes 3 s while the file of DISK_IS_SLOW exists.
SLOW = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
#define SLOW(name) \\
int name(int fd) { \\
  if (access(getenv("DISK_IS_SLOW"), F_OK) == 0) sleep(3); \\
  return ((int (*)(int))dlsym(RTLD_NEXT, #name))(fd); \\
}
SLOW(fsync)
SLOW(fdatasync)
"""
# A write to the log of the journal takes 0.7 s while the file of DISK_IS_SLOW exists. It makes the file of DISK_IS_WRITING meanwhile.
STALLED = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
static void stall(int fd) {
  char link[64], path[4096];
  if (access(getenv("DISK_IS_SLOW"), F_OK) != 0) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return;
  path[size] = 0;
  if (strstr(path, "/journal.db-wal") == NULL) return;
  close(open(getenv("DISK_IS_WRITING"), O_CREAT | O_WRONLY, 0600));
  usleep(700000);
  unlink(getenv("DISK_IS_WRITING"));
}
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
ssize_t write(int fd, const void* from, size_t size) { stall(fd); return REAL(write)(fd, from, size); }
ssize_t pwrite(int fd, const void* from, size_t size, off_t at) { stall(fd); return REAL(pwrite)(fd, from, size, at); }
ssize_t pwrite64(int fd, const void* from, size_t size, off64_t at) { stall(fd); return REAL(pwrite64)(fd, from, size, at); }
"""
# Files below a folder of this name cannot be opened.
DISK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/types.h>
#define BROKEN(name) \\
int name(const char* path, int flags, ...) { \\
  va_list rest; \\
  va_start(rest, flags); \\
  mode_t mode = va_arg(rest, mode_t); \\
  va_end(rest); \\
  if (strstr(path, "/on-a-broken-disk/") != NULL) { errno = EIO; return -1; } \\
  int (*real)(const char*, int, ...) = (int (*)(const char*, int, ...))dlsym(RTLD_NEXT, #name); \\
  return real(path, flags, mode); \\
}
BROKEN(open)
BROKEN(open64)
int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  if (strstr(path, "/on-a-broken-disk/") != NULL) { errno = EIO; return -1; }
  int (*real)(int, const char*, int, ...) = (int (*)(int, const char*, int, ...))dlsym(RTLD_NEXT, "openat");
  return real(folder, path, flags, mode);
}
"""


# Reads of files below a folder of this name fail; opening them does not.
READS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>
static int broken(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = 0;
  if (strstr(path, "/on-a-broken-disk/") == NULL) return 0;
  errno = EIO;
  return 1;
}
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
ssize_t pread(int fd, void* to, size_t size, off_t at) { return broken(fd) ? -1 : REAL(pread)(fd, to, size, at); }
ssize_t pread64(int fd, void* to, size_t size, off64_t at) { return broken(fd) ? -1 : REAL(pread64)(fd, to, size, at); }
ssize_t preadv(int fd, const struct iovec* to, int count, off_t at) { return broken(fd) ? -1 : REAL(preadv)(fd, to, count, at); }
ssize_t preadv64(int fd, const struct iovec* to, int count, off64_t at) {
  return broken(fd) ? -1 : REAL(preadv64)(fd, to, count, at);
}
"""
# Files whose paths match DISK_FILES take no more bytes while the file of DISK_IS_FULL exists.
WRITES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>
static int full(int fd) {
  char link[64], path[4096];
  if (access(getenv("DISK_IS_FULL"), F_OK) != 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = 0;
  if (fnmatch(getenv("DISK_FILES"), path, 0) != 0) return 0;
  errno = ENOSPC;
  return 1;
}
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
ssize_t write(int fd, const void* from, size_t size) { return full(fd) ? -1 : REAL(write)(fd, from, size); }
ssize_t writev(int fd, const struct iovec* from, int count) { return full(fd) ? -1 : REAL(writev)(fd, from, count); }
ssize_t pwrite(int fd, const void* from, size_t size, off_t at) { return full(fd) ? -1 : REAL(pwrite)(fd, from, size, at); }
ssize_t pwrite64(int fd, const void* from, size_t size, off64_t at) { return full(fd) ? -1 : REAL(pwrite64)(fd, from, size, at); }
int ftruncate(int fd, off_t size) { return size > 0 && full(fd) ? -1 : REAL(ftruncate)(fd, size); }
int ftruncate64(int fd, off64_t size) { return size > 0 && full(fd) ? -1 : REAL(ftruncate64)(fd, size); }
"""


def library(cluster, name, source):
    """Compiles what a process loads before the C library."""
    code, built = cluster.folder / f"{name}.c", cluster.folder / f"{name}.so"
    code.write_text(source)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", built, code, "-ldl"], check=True)
    return str(built)


class environment:  # noqa: N801
    """Processes that are started meanwhile have these variables, too."""

    def __init__(self, cluster, **variables):
        self.cluster, self.variables = cluster, variables

    def __enter__(self):
        self.before = dict(self.cluster.environment)
        self.cluster.environment.update(self.variables)

    def __exit__(self, *_):
        self.cluster.environment = self.before


def local_hash(cluster, pipeline):
    done = subprocess.run([cluster.binary, "read", str(pipeline), "--local", "--format", "summary"], check=True, capture_output=True,
                          text=True, timeout=120, env=cluster.environment)
    return json.loads(done.stdout.splitlines()[-1])["order_hash"]


def begin_read(cluster, text, *flags, name="train"):
    return cluster.read(text, "--timeout", "60s", *flags, name=name, output="summary", stdout=subprocess.PIPE)


def order_hash(reader):
    out = reader.communicate(timeout=180)[0]
    assert reader.returncode == 0, f"the read ended with {reader.returncode}"
    return json.loads(out.decode().splitlines()[-1])["order_hash"]


SLEEPS = "source: {range: {stop: 3000}}\nsteps:\n  - map: 'sleep_ms(x, 4)'\n  - shuffle: {seed: 3}\noptions: {seed: 3}\n"


def progress(cluster, positions):
    wait_for(lambda: cluster.job().get("positions_taken", 0) >= positions, lambda: f"{positions} positions; {cluster.logs()}", 90)


def clock_jumps(cluster):
    """The clock of the day jumps forth and back in all processes: no worker, reader or lease is lost for it."""
    offset = cluster.folder / "offset"
    offset.write_bytes(struct.pack("q", 0))
    with environment(cluster, LD_PRELOAD=library(cluster, "clock", CLOCK), CLOCK_OFFSET=str(offset)):
        cluster.dispatcher("--work-dir", cluster.folder / "work")
        cluster.worker("w0")
        cluster.worker("w1")
        reader = begin_read(cluster, SLEEPS)
    for number, seconds in enumerate((3600, -7200, 3 * 86400, 0)):
        progress(cluster, 600 * (number + 1))
        with offset.open("r+b") as file:
            file.write(struct.pack("q", seconds))
    assert order_hash(reader) == local_hash(cluster, cluster.pipeline(SLEEPS))
    faults = cluster.status()["faults"]
    assert faults["workers_lost"] == 0 and faults["sessions_released"] == 0, faults
    assert cluster.status()["totals"], cluster.status()
    event = cluster.status()["events"][0]
    assert 0 <= event["age_s"] < 600, event


def no_descriptors(cluster):
    """Connections that use up a dispatcher's descriptors leave its reads alone; newcomers wait until some are free. A worker
    with few reads what it can, or names the limit."""
    dispatcher = cluster.dispatcher()
    cluster.worker("w0")
    reader = begin_read(cluster, SLEEPS)
    progress(cluster, 100)
    used = len(os.listdir(f"/proc/{dispatcher.pid}/fd"))
    resource.prlimit(dispatcher.pid, resource.RLIMIT_NOFILE, (used + 10, used + 10))
    port = int(cluster.service.rsplit(":", 1)[1])
    held = []
    for _ in range(60):
        held.append(socket.create_connection(("127.0.0.1", port), timeout=20))
    assert order_hash(reader) == local_hash(cluster, cluster.pipeline(SLEEPS))
    for connection in held:
        connection.close()
    assert order_hash(begin_read(cluster, SLEEPS, name="later")) == local_hash(cluster, cluster.pipeline(SLEEPS))
    files = text_files(cluster, "data", 400)
    few = cluster.worker("w1")
    open_now = len(os.listdir(f"/proc/{few.pid}/fd"))
    resource.prlimit(few.pid, resource.RLIMIT_NOFILE, (open_now + 4, open_now + 4))
    text = f"source: {{text: {{files: '{files}/*.txt'}}}}\n"
    reader = begin_read(cluster, text, name="files")
    assert order_hash(reader) == local_hash(cluster, cluster.pipeline(text))


def text_files(cluster, name, count):
    folder = cluster.folder / name
    folder.mkdir()
    for k in range(count):
        (folder / f"{k:04}.txt").write_text("".join(f"{k} {line}\n" for line in range(15)))
    return folder


def broken_reads(cluster):
    """The same of a worker that opens its files, and whose reads of them fail."""
    broken_disk(cluster, READS)


def broken_disk(cluster, fault=DISK):
    """A worker that cannot read its disk is set aside and named; the others do its work. An operator lets it work again."""
    token = cluster.folder / "token"
    token.write_text("0123456789abcdef0123\n")
    token.chmod(0o600)
    cluster.dispatcher("--http-token-file", token)
    with environment(cluster, LD_PRELOAD=library(cluster, "disk", fault)):
        broken = cluster.worker("w0")
    sound = cluster.worker("w1")
    files = text_files(cluster, "on-a-broken-disk", 400)
    text = f"source: {{text: {{files: '{files}/*.txt'}}}}\nsteps:\n  - map: {{n: 'sleep_ms(length(x), 1)'}}\n"
    reader = begin_read(cluster, text)

    def states():
        return {worker["address"]: worker["set_aside"] for worker in cluster.status()["workers"]}
    wait_for(lambda: states().get(broken.address), lambda: f"{states()}\n{cluster.logs()}", 60)
    assert not states()[sound.address]
    assert f"worker {broken.address} is set aside" in cluster.log("dispatcher"), cluster.log("dispatcher")
    assert "Input/output error" in cluster.log("dispatcher")
    assert cluster.metric("feedmill_dispatcher_workers_set_aside_total") == 1
    assert cluster.metric("feedmill_dispatcher_worker_set_aside", worker=broken.address) == 1
    assert cluster.metric("feedmill_dispatcher_worker_set_aside", worker=sound.address) == 0
    assert cluster.metric("feedmill_dispatcher_worker_leases_failed_total", worker=broken.address) >= 3
    assert cluster.metric("feedmill_dispatcher_worker_leases_failed_total", worker=sound.address) == 0
    assert order_hash(reader) == local_hash(cluster, cluster.pipeline(text))
    request = urllib.request.Request(
        cluster.http + "/api/workers/drain", method="POST", data=json.dumps({"worker": broken.address, "drain": False}).encode(),
        headers={"Authorization": "Bearer 0123456789abcdef0123", "X-Feedmill": "1", "Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=20).close()
    wait_for(lambda: not states()[broken.address], "the worker to work again")
    assert cluster.metric("feedmill_dispatcher_worker_set_aside", worker=broken.address) == 0


def full_journal(cluster):
    """A dispatcher whose journal finds no space ends and says so; started again with space, it continues at its place."""
    work, port = cluster.folder / "work", unused_port()
    full = cluster.folder / "full"
    with environment(cluster, LD_PRELOAD=library(cluster, "full", FULL), DISK_IS_FULL=str(full)):
        dispatcher = cluster.dispatcher("--work-dir", work, "--port", port)
    cluster.worker("w0")
    reader = begin_read(cluster, SLEEPS)
    progress(cluster, 300)
    full.write_text("")
    code = dispatcher.wait(60)
    assert code == 1 and str(work) in cluster.log("dispatcher"), (code, cluster.log("dispatcher"))
    print(cluster.log("dispatcher").splitlines()[-1])
    for name in ("address", "http"):
        (cluster.folder / name).unlink(missing_ok=True)
    cluster.dispatcher("--work-dir", work, "--port", port)
    assert order_hash(reader) == local_hash(cluster, cluster.pipeline(SLEEPS))


def killed_journal(cluster):
    """A dispatcher is killed while it writes events, which are lost. Nothing that follows from them was sent: after the restart no
    peer knows more than the journal, and the read gets each element once."""
    work, port = cluster.folder / "work", unused_port()
    slow, writing = cluster.folder / "slow", cluster.folder / "writing"
    variables = dict(LD_PRELOAD=library(cluster, "stalled", STALLED), DISK_IS_SLOW=str(slow), DISK_IS_WRITING=str(writing))
    flags = ("--work-dir", work, "--port", port)
    with environment(cluster, **variables):
        dispatcher = cluster.dispatcher(*flags)
    cluster.worker("w0")
    cluster.worker("w1")
    reader = begin_read(cluster, SLEEPS)
    for number in range(4):
        progress(cluster, 300 * (number + 1))  # so few writes that the thread of the journal still does them all
        slow.write_text("")
        wait_for(writing.exists, cluster.logs)
        # Messages arrive while it writes.
        for _ in range(number):
            cluster.status()
        dispatcher.kill()
        dispatcher.wait()
        slow.unlink()
        for name in ("address", "http", "writing"):
            (cluster.folder / name).unlink(missing_ok=True)
        with environment(cluster, **variables):
            dispatcher = cluster.dispatcher(*flags)
    assert order_hash(reader) == local_hash(cluster, cluster.pipeline(SLEEPS))


def read_on_a_slow_disk(cluster, library_text):
    """Begins a read whose dispatcher's disk becomes slow. Returns the file that keeps it slow, and the reader."""
    slow = cluster.folder / "slow"
    with environment(cluster, LD_PRELOAD=library(cluster, "slow", library_text), DISK_IS_SLOW=str(slow)):
        cluster.dispatcher("--work-dir", cluster.folder / "work")
    cluster.worker("w0")
    cluster.worker("w1")
    reader = begin_read(cluster, SLEEPS)
    progress(cluster, 300)
    slow.write_text("")
    return slow, reader


def steady_journal(cluster):
    """A disk that takes a second for each sync slows a read down while that is new; then splits are leased further ahead. An
    operator gets the status meanwhile."""
    slow, reader = read_on_a_slow_disk(cluster, SLOW.replace("sleep(3)", "sleep(1)"))

    def leases():
        service = subprocess.run([cluster.binary, "status", "--service", cluster.service, "--format", "json", "--timeout", "20s"],
                                 check=True, capture_output=True, text=True, timeout=60, env=cluster.environment)
        return sum(worker["leases"] for worker in json.loads(service.stdout)["workers"])
    wait_for(lambda: leases() >= 30, cluster.logs, 60)
    slow.unlink()
    assert order_hash(reader) == local_hash(cluster, cluster.pipeline(SLEEPS))


def slow_journal(cluster):
    """While the disk of the journal is slow, the read stands still, and an event says why; no worker or reader is lost."""
    slow, reader = read_on_a_slow_disk(cluster, SLOW)

    def event():
        return next((event for event in cluster.status()["events"] if event["kind"] == "journal"), None)
    wait_for(lambda: "writing the journal took" in cluster.log("dispatcher"), cluster.logs, 60)
    slow.unlink()
    assert order_hash(reader) == local_hash(cluster, cluster.pipeline(SLEEPS))
    assert event()["warning"] and "--work-dir is slow" in event()["text"], event()
    faults = cluster.status()["faults"]
    assert faults["workers_lost"] == 0 and faults["sessions_released"] == 0, faults


def fill_journal(cluster, files, press=None):
    """The files of the journal that match `files` take no more bytes: the dispatcher ends and says so, and continues at its place
    once there is space. `press` has the journal written; without it, each event does, also those after a restart."""
    work, port = cluster.folder / "work", unused_port()
    full = cluster.folder / "full"
    flags = ("--work-dir", work, "--port", port)
    with environment(cluster, LD_PRELOAD=library(cluster, "writes", WRITES), DISK_IS_FULL=str(full), DISK_FILES=f"*{files}"):
        dispatcher = cluster.dispatcher(*flags)
        cluster.worker("w0")
        reader = begin_read(cluster, SLEEPS)
        progress(cluster, 300)
        full.write_text("")
        if press:
            press()
        assert dispatcher.wait(60) == 1, cluster.logs()
        said = cluster.log("dispatcher").splitlines()[-1]
        assert str(work) in said and "full" in said, said
        for name in ("address", "http"):
            (cluster.folder / name).unlink(missing_ok=True)
        if not press:
            assert cluster.start("again", "dispatcher", *flags).wait(60) == 1, cluster.logs()
            assert str(work) in cluster.log("again") and "full" in cluster.log("again"), cluster.log("again")
    full.unlink()
    cluster.dispatcher(*flags)
    assert order_hash(reader) == local_hash(cluster, cluster.pipeline(SLEEPS))
    return said


def full_journal_write(cluster):
    """A disk that refuses the bytes of an event."""
    said = fill_journal(cluster, "/journal.db-wal")
    assert "cannot write the journal" in said, said


def full_journal_compaction(cluster):
    """A disk that refuses the bytes of a snapshot, which replaces events once these are megabytes: here, lists of files."""
    folder = cluster.folder / "data"
    folder.mkdir()
    names = [str(folder / f"{k:04}-{'x' * 180}.txt") for k in range(3000)]
    for name in names:
        with open(name, "w", encoding="utf-8") as file:
            file.write("1\n")

    def press():
        for job in ("first", "second", "third", "fourth"):
            cluster.read(f"source: {{text: {{files: {json.dumps(names)}}}}}\n", "--limit", "1", "--timeout", "20s", name=job)
    said = fill_journal(cluster, "/journal.db", press)
    assert "cannot compact the journal" in said, said


def full_cache(cluster):
    """A worker that cannot write its cache makes the elements again; an event, a counter and its log name the folder."""
    full = cluster.folder / "full"
    full.write_text("")
    kept = cluster.folder / "kept"
    text = f"source: {{range: {{stop: 600}}}}\nsteps:\n  - map: 'full([8192], x)'\n  - cache: '{kept}'\n  - repeat: 2\n"
    cluster.dispatcher()
    with environment(cluster, LD_PRELOAD=library(cluster, "writes", WRITES), DISK_IS_FULL=str(full), DISK_FILES=f"{kept}/*"):
        worker = cluster.worker("w0", "--http", "127.0.0.1:0", "--http-ready-file", cluster.folder / "worker-http")
    expected = local_hash(cluster, cluster.pipeline(text.replace(f"  - cache: '{kept}'\n", "")))
    assert order_hash(begin_read(cluster, text)) == expected

    def event():
        return next((event for event in cluster.status()["events"] if event["kind"] == "cache"), None)
    wait_for(event, cluster.logs)
    assert event()["worker"] == worker.address and str(kept) in event()["text"], event()
    assert f"worker {worker.address} cannot write 1 cache" in cluster.log("dispatcher"), cluster.logs()
    assert cluster.metric("feedmill_dispatcher_cache_write_failures_total") >= 1
    cluster.http = cluster.file("worker-http")
    assert cluster.metric("feedmill_worker_cache_write_failures_total") >= 1


def little_memory(cluster):
    """A worker that gets no memory for its elements is set aside and named; the others do its work."""
    cluster.dispatcher()
    small = cluster.worker("w0", "--transport", "tcp")
    cluster.worker("w1")
    used = next(int(line.split()[1]) for line in open(f"/proc/{small.pid}/status", encoding="utf-8") if line.startswith("VmSize"))
    limit = (used + (24 << 10)) << 10  # KiB
    resource.prlimit(small.pid, resource.RLIMIT_AS, (limit, limit))
    files = cluster.folder / "data"
    files.mkdir()
    for k in range(60):  # splits of one file
        (files / f"{k:02}.txt").write_text(f"{k}\n")
    text = f"source: {{text: {{files: '{files}/*.txt'}}}}\nsteps:\n  - map: 'full([33554432], cast(length(x) + 7, uint8))'\n"
    reader = begin_read(cluster, text)
    assert order_hash(reader) == local_hash(cluster, cluster.pipeline(text))
    aside = {worker["address"]: worker["set_aside"] for worker in cluster.status()["workers"]}
    assert aside[small.address] and small.poll() is None, f"{cluster.status()['workers']}\n{cluster.logs()}"
    assert f"worker {small.address} is set aside" in cluster.log("dispatcher"), cluster.logs()


def key_rotation(cluster):
    """The keys of a client and of a worker are replaced while a job is read: it continues, and the old keys get nothing more."""
    keys = cluster.folder / "keys"

    def keygen(*flags):
        subprocess.run([cluster.binary, "keygen", "--dir", keys, *flags], check=True, stdout=subprocess.DEVNULL)

    def folder_of(name, role):
        own = cluster.folder / f"keys-{name}"
        own.mkdir()
        for file, target in ((f"{name}.key", f"{role}.key"), ("dispatcher.pub", "dispatcher.pub")):
            (own / target).write_bytes((keys / file).read_bytes())
            (own / target).chmod(0o600)
        if role == "worker":
            (own / "clients").symlink_to(keys / "clients")
        return own
    keygen()
    for role, name in (("client", "old"), ("client", "new"), ("worker", "w-old"), ("worker", "w-new")):
        keygen("--role", role, "--name", name)
    hidden = keys / "clients" / "new.pub"
    hidden.rename(cluster.folder / "new.pub")
    cluster.dispatcher("--keys", keys)
    worker = cluster.worker("w0", "--keys", folder_of("w-old", "worker"))
    reader = begin_read(cluster, SLEEPS, "--keys", folder_of("old", "client"))
    progress(cluster, 300)
    # Another worker with its own key comes, the first one drains, and its key goes.
    cluster.worker("w1", "--keys", folder_of("w-new", "worker"))
    worker.terminate()
    assert worker.wait(60) == 0
    (keys / "workers" / "w-old.pub").unlink()
    progress(cluster, 900)
    # The client's new key is listed, and the old one removed once its reader is through.
    (cluster.folder / "new.pub").rename(hidden)
    assert order_hash(reader) == local_hash(cluster, cluster.pipeline(SLEEPS))
    (keys / "clients" / "old.pub").unlink()
    expected = local_hash(cluster, cluster.pipeline(SLEEPS))
    assert order_hash(begin_read(cluster, SLEEPS, "--keys", folder_of("new", "client"), name="later")) == expected

    def refused():
        done = subprocess.run([cluster.binary, "read", cluster.pipeline(SLEEPS), "--service", cluster.service, "--keys",
                               cluster.folder / "keys-old", "--timeout", "3s", "--format", "none"], capture_output=True, timeout=60)
        return done.returncode != 0
    wait_for(refused, "the old key to be refused")


if __name__ == "__main__":
    main(globals())
