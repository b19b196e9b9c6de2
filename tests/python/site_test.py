"""The documentation's site, built by tools/docs."""

import re
import subprocess

from conftest import ROOT


def test_the_site_has_the_pages_and_the_reference():
    done = subprocess.run(
        [ROOT / "tools/docs"], capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    site = ROOT / "build/docs"
    assert (ROOT / done.stdout.strip()).samefile(site / "index.html")
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs")).with_suffix(".html").exists(), page
    reference = (site / "api.html").read_text()
    for name in ("Dataset.images", "Dataset.shuffle", "Dataset.read", "Loader.state_dict"):
        assert f'id="feedmill.{name}"' in reference, name
    # It opens without a network.
    fetched = re.findall(r'(?:src|href)="(https?://[^"]+\.(?:js|css|woff2?))"', reference)
    assert fetched == []
