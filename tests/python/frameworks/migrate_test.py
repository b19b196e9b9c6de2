"""The pages of docs/migrate run: the pipelines of other packages, and ours."""

import os

import pytest
from conftest import ROOT
from example_files import make_photos
from page_runner import run_page

# Each builds datasets, in processes and caches of its own.
PAGES = sorted((ROOT / "docs/migrate").glob("*.md"))


@pytest.mark.others_remain
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(os.environ, "CUDA_VISIBLE_DEVICES", "")
    make_photos(tmp_path)
    run_page(page.read_text())
