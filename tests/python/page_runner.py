"""Runs the fenced blocks of a page of the documentation, in order.

  ```LANGUAGE NAME   a file of that name, in the working directory
  ```python          runs, in one namespace for the page
  ```text            all that the block before it prints
  ```sh              runs if shell is true

The program `page_runner.py PAGE` needs nothing but the packages that the page imports.
"""

import contextlib
import io
import re
import subprocess
import sys

FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)


def run_page(text, shell=False):
    namespace, printed = {"__name__": "page"}, ""
    for language, name, body in FENCE.findall(text):
        if name:
            with open(name, "w", encoding="utf-8") as file:
                file.write(body)
        elif language == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(body, "page", "exec"), namespace)
            printed = output.getvalue()
        elif language == "sh" and shell:
            done = subprocess.run(
                ["bash", "-euc", body], capture_output=True, text=True, timeout=100, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr
            printed = done.stdout
        elif language == "text":
            assert printed == body, f"expected:\n{body}\nprinted:\n{printed}"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as page:
        run_page(page.read())
