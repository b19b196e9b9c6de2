#!/usr/bin/env python3
"""README.md's section "A first pipeline" and "A first program" of docs/cpp.md are true.

    first_pipeline.py files                  their yaml, c++ and cmake blocks are the files of examples/first_pipeline
    first_pipeline.py commands PREFIX CXX    their sh blocks run, with the feedmill that is installed in PREFIX

The commands run one after the other in one shell, in a copy of the examples. A
text block is the output of the sh block before it. The port of the section is
replaced by one that is free.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples/first_pipeline"
SECTIONS = (("README.md", "A first pipeline"), ("docs/cpp.md", "A first program"))
FILES = {"yaml": "houses.yaml", "c++": "main.cc", "cmake": "CMakeLists.txt"}
# Ends every process of the shell, the service included.
BEGIN = """set -euo pipefail
trap 'kill $(jobs -p) 2> "$HOME/kill.log" || true; wait' EXIT
"""
# Waits for the service that a line has begun, and finds its port.
STARTED = """until [[ -s $HOME/address ]]; do kill -0 $!; sleep 0.05; done
port=$(< "$HOME/address"); port=${port##*:}
"""


def blocks():
    """The fenced blocks of the sections: (page, language, text)."""
    for page, title in SECTIONS:
        section = re.search(rf"^## {title}\n(.*?)^## ", (ROOT / page).read_text(), re.M | re.S)
        for language, text in re.findall(r"^```(\S*)\n(.*?)^```$", section[1], re.M | re.S):
            yield page, language, text


def files():
    """Compares the blocks that are files with these files. README.md shows the beginning of the program."""
    for page, language, text in blocks():
        name = FILES.get(language)
        if name is None:
            continue
        file = (EXAMPLE / name).read_text()
        if text != file and not (language == "c++" and page == "README.md" and text in file):
            yield f"{page}: the {language} block is not examples/first_pipeline/{name}"


def script(commands):
    """One shell script of the sh blocks. It prints a line before each one's output."""
    lines = [BEGIN]
    for number, text in enumerate(commands):
        lines.append(f"echo '# {number}'")
        for line in text.splitlines():
            command = line.split("  #")[0].rstrip()
            if not command.endswith("&"):
                lines.append(command.replace(":5050", ":$port"))
                continue
            assert "--port 5050" in command, command
            command = command.removesuffix("&").replace("--port 5050", '--port 0 --ready-file "$HOME/address"')
            lines += [command + ' > "$HOME/service.log" 2>&1 &', STARTED]
    return "\n".join(lines) + "\n"


def commands(prefix, compiler):
    """Runs the sh blocks and compares what they print with the text blocks."""
    shown = [(language, text) for _, language, text in blocks()]
    shell = [k for k, (language, _) in enumerate(shown) if language == "sh"]
    with tempfile.TemporaryDirectory() as home:
        shutil.copytree(EXAMPLE, pathlib.Path(home, "examples/first_pipeline"))
        os.symlink(pathlib.Path(prefix).resolve(), pathlib.Path(home, ".local"))
        environment = dict(os.environ, HOME=home, CXX=compiler, PATH=f"{home}/.local/bin:{os.environ['PATH']}")
        ran = subprocess.run(["bash", "-c", script(shown[k][1] for k in shell)], cwd=home, env=environment,
                             capture_output=True, text=True, timeout=240)
        if ran.returncode != 0:
            yield f"the commands end with {ran.returncode}:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}"
            return
    printed = re.split(r"^# \d+\n", ran.stdout, flags=re.M)[1:]
    for at, output in zip(shell, printed, strict=True):
        expected = shown[at + 1] if at + 1 < len(shown) else ("", "")
        if expected[0] == "text" and output != expected[1]:
            yield f"{shown[at][1]}prints\n{output}and not\n{expected[1]}"


def main():
    check = {"files": files, "commands": commands}[sys.argv[1]]
    found = list(check(*sys.argv[2:]))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
