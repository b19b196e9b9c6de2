"""The authorities of certificates, where the system has none that is known."""

import os
from importlib.util import find_spec


def offer_certifi() -> None:
    """Names the file of the package certifi, if it is installed.

    It is used only if SSL_CERT_FILE is not set and no file of the system is
    found (core/process/certificate_authorities.h).
    """
    certifi = find_spec("certifi")
    if certifi is not None and certifi.submodule_search_locations:
        file = os.path.join(certifi.submodule_search_locations[0], "cacert.pem")
        os.environ.setdefault("FEEDMILL_CERTIFICATES", file)
