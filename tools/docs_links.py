"""Hooks of mkdocs: the README as a page, and links to files that are no pages."""

import os
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\(([^)\s]+)\)")


def on_files(files, config):
    """Adds README.md, which stands beside the folder of the pages."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"\]\(docs/", "](", text)
    files.append(File.generated(config, "index.md", content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    """Makes text of links to headers, sources and folders of the repository."""
    folder = os.path.dirname(page.file.src_uri)

    def plain(match):
        name, target = match.groups()
        path = target.split("#")[0]
        if not path or "://" in target or target.startswith("mailto:"):
            return match[0]
        uri = os.path.normpath(os.path.join(folder, path))
        return match[0] if files.get_file_from_path(uri) else name

    return LINK.sub(plain, markdown)
