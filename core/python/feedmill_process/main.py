"""The process: reads its options, loads the function and becomes its zygote.

  descriptor 3  control socket (SOCK_SEQPACKET) to feedmill
  descriptor 4  the text of these modules
  descriptor 5  the options as JSON, behind its length as int64, and the function

With the option "describe" it sends the interpreter's versions and ends.
"""

import json
import os
import resource
import signal
import socket
import struct
import sys

from feedmill_process.descendants import adopt_orphans, end_with_parent
from feedmill_process.error_text import TEXT_MAX, cut
from feedmill_process.loading import load
from feedmill_process.versions import Refused, describe
from feedmill_process.zygote import Zygote

CONTROL = 3


def setup(descriptor):
    with os.fdopen(descriptor, "rb") as file:
        size = struct.unpack("<q", file.read(8))[0]
        options = json.loads(file.read(size))
        return options, file.read()


def main():
    os.closerange(6, min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 1 << 16))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    options, pickled = setup(5)
    end_with_parent(options["parent"])
    adopt_orphans()
    os.set_inheritable(CONTROL, False)
    if sys.path and sys.path[0] == "":
        del sys.path[0]
    # A line that the function prints is not lost when its process is ended.
    sys.stdout.reconfigure(line_buffering=True)
    control = socket.socket(fileno=CONTROL)
    if options.get("describe"):
        describe(control)
        return
    try:
        function, random = load(options, pickled)
        process = process_class_of(options["call"])
    except Refused as error:
        control.send(cut(str(error)))
        return
    except ImportError as error:
        control.send(
            f"{sys.executable} lacks a package that Python functions need: {error}; install numpy "
            "and cloudpickle there".encode()[:TEXT_MAX]
        )
        return
    del pickled
    zygote = Zygote(control, process, options, function, random)
    control.send(b"ready")
    zygote.serve()


def process_class_of(call):
    """Returns the class that calls such a function. Imports numpy."""
    if call == "generator":
        from feedmill_process.generator_process import GeneratorProcess

        return GeneratorProcess
    if call == "example":
        from feedmill_process.example_process import ExampleProcess

        return ExampleProcess
    from feedmill_process.map_process import MapProcess

    return MapProcess
