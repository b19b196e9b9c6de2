"""Forks the processes that call the function, and ends them."""

import array
import contextlib
import errno
import faulthandler
import os
import resource
import select
import signal
import socket
import struct
import tempfile
import time
import traceback

from feedmill_process.descendants import (
    children,
    descendants,
    end_with_parent,
    kill,
    kill_descendants,
)

DUMP_MAX = 4_000
LINK_LOST = 113  # exit status of a process whose function has closed its socket
LINK_LOST_TEXT = (
    b"the function closed the socket to feedmill: let it close only descriptors that it opened"
)


def limit_memory(more):
    """Bounds the private memory to what there is and `more` bytes."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if more <= 0:
        return
    with open("/proc/self/status") as status:
        now = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData:"))
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    most = now + more if hard == resource.RLIM_INFINITY else min(now + more, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def new_file():
    """Returns the descriptor of an empty file without a name.

    Builds of CPython for old C libraries, such as those that uv installs, have no
    os.memfd_create.
    """
    if hasattr(os, "memfd_create"):
        return os.memfd_create("dump", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


class Zygote:
    """Forks the processes that call the function, and ends them."""

    def __init__(self, control, process_class, options, function, random):
        self.control = control
        self.process_class = process_class  # of the forks
        self.options = options
        self.function = function
        self.random = random
        self.dumps = {}  # pid → descriptor of the traceback of a fatal signal
        self.links = {}  # pid → descriptor of the process's socket in it, and its inode
        self.own = set(children(os.getpid()))  # that modules of the function started
        # Receives the number of each signal: SIGTERM when feedmill ends, SIGCHLD.
        self.signals, self.to_signals = socket.socketpair()
        self.to_signals.setblocking(False)
        for number in (signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGCHLD})
        signal.set_wakeup_fd(self.to_signals.fileno(), warn_on_full_buffer=False)
        end_with_parent(options["parent"], signal.SIGTERM)

    def serve(self):
        """Serves until feedmill ends; then ends all processes that the function started."""
        try:
            self.answer()
        except BaseException:
            traceback.print_exc()
        finally:
            kill_descendants()
            os._exit(0)

    def answer(self):
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(self.signals, select.POLLIN)
        while True:
            ready = dict(poll.poll())
            if self.signals.fileno() in ready:
                if signal.SIGTERM in self.signals.recv(4096):
                    return
                self.reap()
            if self.control.fileno() not in ready:
                continue
            message, ancillary, _, _ = self.control.recvmsg(64, socket.CMSG_SPACE(3 * 4))
            if not message:
                return
            if message == b"fork":
                descriptors = array.array("i")
                for level, kind, data in ancillary:
                    if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                        descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
                self.fork(list(descriptors))
            else:
                self.end(*struct.unpack("<qq", message))

    def fork(self, descriptors):
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        dump = new_file()
        link = (descriptors[0], os.fstat(descriptors[0]).st_ino)
        zygote = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            os.close(dump)
            pid = -error.errno
        if pid == 0:
            code = 1
            try:
                end_with_parent(zygote)
                self.leave()
                for other in self.dumps.values():
                    os.close(other)
                faulthandler.enable(dump, all_threads=False)
                faulthandler.register(signal.SIGUSR1, dump, all_threads=False)
                limit_memory(self.options["memory_bytes"])
                self.process_class(self.options, self.function, self.random, descriptors).serve()
                code = 0
            except ConnectionError:
                pass  # feedmill has ended
            except BaseException as error:
                if isinstance(error, OSError) and error.errno in (errno.EBADF, errno.ENOTSOCK):
                    code = LINK_LOST
                with contextlib.suppress(OSError, ValueError):
                    traceback.print_exc()
            finally:
                os._exit(code)
        for descriptor in descriptors:
            os.close(descriptor)
        if pid > 0:
            self.dumps[pid] = dump
            self.links[pid] = link
        self.control.send(struct.pack("<q", pid))

    def leave(self):
        """Gives up in a fork what is the zygote's."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        for owned in (self.control, self.signals, self.to_signals):
            owned.close()

    def reap(self):
        """Takes the exit status of orphans: what a function had started before its process ended."""
        for pid in set(children(os.getpid())) - self.own - self.dumps.keys():
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)

    def end(self, pid, hangs):
        """Ends a process and what it started, and answers how it ended and where it was."""
        dump = self.dumps.pop(pid)
        link = self.links.pop(pid)
        lost = False
        if hangs:
            os.kill(pid, signal.SIGUSR1)
            self.await_dump(dump)
        elif not self.has_link(pid, link):
            lost = not self.await_end(pid)
        kill([pid, *descendants(pid)])
        _, status = os.waitpid(pid, 0)
        if not self.dumps:  # orphans of processes that ended before
            kill_descendants(self.own)
        os.lseek(dump, 0, os.SEEK_SET)
        text = os.read(dump, DUMP_MAX)
        os.close(dump)
        if lost or (os.WIFEXITED(status) and os.WEXITSTATUS(status) == LINK_LOST):
            text = LINK_LOST_TEXT + (b"\n" + text if text else b"")
        self.control.send(struct.pack("<q", status) + text)

    @staticmethod
    def has_link(pid, link):
        """Returns whether a process has its socket; False, too, for one that has ended."""
        descriptor, inode = link
        try:
            return os.stat(f"/proc/{pid}/fd/{descriptor}").st_ino == inode
        except OSError:
            return False

    @staticmethod
    def await_end(pid):
        """Waits for a process that seems to end; returns whether it has."""
        for _ in range(100):
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return True
            time.sleep(0.01)
        return False

    @staticmethod
    def await_dump(dump):
        for _ in range(20):
            if os.fstat(dump).st_size > 0:
                return
            time.sleep(0.01)
