#!python
"""The command `feedmill`: runs the program that the package carries."""

import importlib.util
import os
import sys
import sysconfig


def folder_of(name):
    """Returns the folder of an installed package; "" if there is none."""
    # The package itself is not imported: that would take longer than the program.
    installed = os.path.join(sysconfig.get_path("platlib"), name)
    if os.path.isdir(installed):
        return installed
    package = importlib.util.find_spec(name)
    places = package.submodule_search_locations if package is not None else None
    return places[0] if places else ""


program = os.path.join(folder_of("feedmill"), "bin", "feedmill")
if not os.path.exists(program):
    sys.exit(f"feedmill: {program} is missing; install the wheel of feedmill again")
certificates = os.path.join(folder_of("certifi"), "cacert.pem")
if os.path.exists(certificates):
    os.environ.setdefault("FEEDMILL_CERTIFICATES", certificates)
os.execv(program, [sys.argv[0], *sys.argv[1:]])
