"""The interpreter's version and packages."""

import json
import sys

from feedmill_process.error_text import TEXT_MAX


class Refused(Exception):
    """The function cannot run here. The text says why and what to do."""


def check_versions(options):
    wanted = options["python"]
    here = "%d.%d.%d" % sys.version_info[:3]
    if wanted.split(".")[:2] != here.split(".")[:2]:
        raise Refused(
            f"the function was pickled by Python {wanted}, and {sys.executable} is Python {here}: "
            "give all processes the same minor version"
        )
    from importlib import metadata

    for package in options["packages"]:
        name, _, version = package.partition("==")
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            raise Refused(
                f"the function needs {name} {version}, which {sys.executable} does not have: "
                f"install it there"
            ) from None
        if found != version:
            raise Refused(
                f"the function was made with {name} {version}, and {sys.executable} has {name} "
                f"{found}: give all processes the same version"
            )


def installed():
    """Returns "name==version" of each package, as the interpreter finds them."""
    from importlib import metadata

    found = {}
    for distribution in metadata.distributions():
        name, version = distribution.metadata["Name"], distribution.version
        if name and version:
            found.setdefault(name, version)
    return [f"{name}=={version}" for name, version in found.items()]


def describe(control):
    """Sends the versions as JSON, in messages of at most TEXT_MAX bytes."""
    versions = {
        "path": sys.executable,
        "version": "%d.%d.%d" % sys.version_info[:3],
        "packages": installed(),
    }
    data = json.dumps(versions).encode()
    for begin in range(0, len(data), TEXT_MAX):
        control.send(data[begin : begin + TEXT_MAX])
