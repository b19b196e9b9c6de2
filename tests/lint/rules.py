#!/usr/bin/env python3
"""The project's rules about its own source, as tests.

    rules.py RULE [--root DIR] [--libraries libraries.json] [--build DIR]

prints one line for each breach and exits 1 if there are any. Libraries are as
CMake declared them (cmake/FeedmillLibrary.cmake writes libraries.json).
Exceptions stand in allowed.txt beside this file, each with its reason.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

from documented import documented
from english import english

SHIPPED = ("core", "cloud", "plugins", "stores", "broker", "worker", "client", "server", "environment",
           "monitoring", "tools")
CODE = (".h", ".cc")
BANNED_WORDS = {"util", "utils", "common", "misc", "helper", "helpers",
                "manager", "managers", "impl"}

# Functions that a pure library must not call …
IMPURE_SYMBOLS = re.compile(
    r"^(zmq_\w+|pthread_create|GOMP_\w+|omp_\w+"
    r"|clock_gettime|gettimeofday|time|clock|nanosleep|usleep|sleep"
    r"|socket|connect|bind|listen|accept|accept4|send|sendto|recv|recvfrom"
    r"|poll|epoll_\w+|select"
    r"|open|open64|openat|fopen|fopen64|stat|stat64|mmap|mmap64|unlink|rename"
    r"|getenv|getrandom|rand|random|srand|getpid|fork|system"
    r"|std::chrono::_V2::\w+_clock::now\(\)"
    r"|std::thread::.*|std::condition_variable::.*|std::random_device::.*"
    r"|std::filesystem::.*|std::basic_(if|of|f)stream<.*|std::basic_filebuf<.*"
    r"|absl::(\w+::)?(Now|GetCurrentTimeNanos|SleepFor|Mutex::\w+)\(.*)$")
# … nor include, itself or through a header of ours …
IMPURE_HEADERS = re.compile(
    r"^(thread|future|condition_variable|mutex|shared_mutex|random|fstream"
    r"|filesystem|iostream|ctime|time\.h|unistd\.h|fcntl\.h|omp\.h|zmq\.hpp"
    r"|zmq\.h|pthread\.h|sys/.*|absl/time/clock\.h"
    r"|absl/synchronization/.*|absl/random/.*)$")
# … nor say: what depends on the address or on the order of a hash.
IMPURE_WORDS = re.compile(
    r"\b(unordered_(?:multi)?(?:map|set)|(?:flat|node)_hash_(?:map|set)"
    r"|(?:system|steady|high_resolution)_clock)\b")

# Headers of calls that open or read files.
FILE_HEADERS = re.compile(
    r"^(cstdio|dirent\.h|fcntl\.h|filesystem|fstream|stdio\.h|unistd\.h"
    r"|sys/(mman|stat|uio)\.h|core/io/local_files\.h)$")

# Words of this project alone, which no name in the code may have as a part.
PRIVATE_WORDS = {"told", "anew", "kin", "shelf", "teller", "keeper", "endless", "manieth", "nobody", "somebody",
                 "whoever"}
# Functions of the C library that depend on the locale of the process. A trainer's process may have any:
# with a decimal comma, strtod reads "0.5" as 0.
LOCALE_FUNCTIONS = re.compile(
    r"(?<![\w.>])(?:std::)?(strto(?:d|f|ld)|sto(?:d|f|ld)|atof|fnmatch|glob|wordexp|v?f?s?scanf|strcoll|strftime|setlocale"
    r"|is(?:alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit)|to(?:lower|upper))\(")
TYPE = re.compile(r"(?:struct|class|enum class|enum) (\w+)( final)?( :[^{;]*)?(\s*\{|$)")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


class Tree:
    """The files that git tracks or would track, and their text."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=self.root,
            check=True, capture_output=True, text=True).stdout.splitlines()
        self.files = sorted(f for f in set(listed) if (self.root / f).is_file())

    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def code(self, *folders):
        return [f for f in self.files if f.endswith(CODE)
                and (not folders or f.split("/")[0] in folders)]

    def includes(self, path):
        return [(kind, name) for kind, name in INCLUDE.findall(self.text(path))]


class Libraries:
    """name → {pure, sources (paths from the root), depends, archive}."""

    def __init__(self, path, root):
        self.by_name = {}
        for entry in json.loads(pathlib.Path(path).read_text()):
            folder = pathlib.PurePosixPath(entry["directory"])
            entry["sources"] = [str(folder / s) for s in entry["sources"]
                                if not s.startswith("/")]
            entry["sources"] += [h for h in entry.get("public", []) if h]
            self.by_name[entry["name"]] = entry
        self.of_file = {s: e["name"] for e in self.by_name.values()
                        for s in e["sources"]}

    def closure(self, name):
        """The library and all that it may include, by its declarations."""
        seen, todo = set(), [name]
        while todo:
            at = todo.pop()
            if at in seen or at not in self.by_name:
                continue
            seen.add(at)
            todo += self.by_name[at]["depends"]
        return seen

    def pure(self):
        return [e for e in self.by_name.values() if e["pure"]]


class Allowed:
    """Lines "RULE  WHERE  WHAT  reason" of allowed.txt; each must be used."""

    def __init__(self, path):
        self.entries = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            if line.strip() and not line.startswith("#"):
                rule, where, what, _reason = line.split(None, 3)
                self.entries[(rule, where, what)] = False

    def __call__(self, rule, where, what):
        if (rule, where, what) in self.entries:
            self.entries[(rule, where, what)] = True
            return True
        return False

    def unused(self, rules):
        return [f"allowed.txt: '{' '.join(key)}' is not needed any more"
                for key, used in self.entries.items()
                if key[0] in rules and not used]


def dependencies(tree, libraries, allowed, _build):
    """Includes between libraries that are allowed."""
    for path in tree.code(*SHIPPED):
        top = path.split("/")[0]
        library = libraries.of_file.get(path)
        if library is None and not path.endswith(("_main.cc", "_fuzz.cc")):  # binaries
            yield f"{path}: no library lists it"
        for kind, name in tree.includes(path):
            if kind == "<":
                continue
            other = name.split("/")[0]
            if top == "core" and other in SHIPPED[1:]:
                yield f"{path}: core includes {name}"
            if (top in ("cloud", "plugins", "stores", "broker", "worker", "client") and top != other
                    and other in SHIPPED[1:] and not allowed("include", path, name)):
                yield f"{path}: {top} includes {name}; they meet in core"
            if (other in ("tests", "bench", "examples")
                    and not allowed("include", path, name)):
                yield f"{path}: shipped code includes {name}"
            owner = libraries.of_file.get("include/" + name, libraries.of_file.get(name))
            if (library and owner and owner not in libraries.closure(library)):
                yield (f"{path}: includes {name} of {owner}, which {library} "
                       "does not declare in DEPENDS")
    yield from private_includes(tree)
    yield from single_users(tree)


def private_includes(tree):
    """Headers that users include know no private header and few libraries."""
    for path in tree.code("include"):
        for kind, name in tree.includes(path):
            if not name.startswith(("feedmill/", "absl/")) and (kind == '"' or "/" in name):
                yield f"{path}: a public header includes {name}"


def single_users(tree):
    """Libraries that only one place may know."""
    openmp = []
    for path in tree.code(*SHIPPED):
        text = tree.text(path)
        names = [name for _, name in tree.includes(path)]
        if re.search(r"^\s*#\s*pragma\s+omp", text, re.M) or "omp.h" in names:
            openmp.append(path)
        for name in names:
            if name in ("zmq.hpp", "zmq.h", "zmq_addon.hpp") and not path.startswith("core/net/"):
                yield f"{path}: includes {name}; only core/net may"
            if name.endswith("_generated.h") and not path.startswith("core/wire/"):
                yield f"{path}: includes {name}; only core/wire may"
            if path.startswith("core/sources/") and FILE_HEADERS.match(name):
                yield f"{path}: includes {name}; formats read files through core/io"
            if name.startswith(("arrow/", "parquet/")) and not path.startswith("plugins/arrow/"):
                yield f"{path}: includes {name}; only plugins/arrow may"
            if name.startswith("curl/") and path != "core/net/curl_request.h":
                yield f"{path}: includes {name}; only core/net/curl_request.h may"
            if name.startswith("CLI/") and path != "tools/command/flags.cc":
                yield f"{path}: includes {name}; only tools/command/flags.cc may"
    for path in tree.code("python"):
        for word in re.findall(r"gil_scoped_\w+|PyEval_SaveThread|PyEval_RestoreThread|PyGILState_Ensure", tree.text(path)):
            if not path.startswith("python/src/gil."):
                yield f"{path}: uses {word}; only python/src/gil.h releases and takes the GIL"
    for path in openmp:
        if len(openmp) > 1 or path.endswith(".h"):
            yield f"{path}: uses OpenMP; exactly one .cc may ({', '.join(openmp)})"


def purity(tree, libraries, allowed, _build):
    """Pure libraries have no clock, socket, thread, file or randomness."""
    if not libraries.pure():
        yield "no library is declared PURE: is libraries.json right?"
    for library in libraries.pure():
        name = library["name"]
        for dependency in library["depends"]:
            other = libraries.by_name.get(dependency)
            if other is not None and not other["pure"]:
                yield f"{name}: is PURE but depends on {dependency}, which is not"
        yield from impure_text(tree, libraries, name, allowed)
        yield from impure_symbols(library, allowed)


def impure_text(tree, libraries, name, allowed):
    todo, seen = list(libraries.by_name[name]["sources"]), set()
    while todo:
        path = todo.pop()
        if path in seen or path not in tree.files:
            continue
        seen.add(path)
        for kind, included in tree.includes(path):
            if included in libraries.of_file:
                todo.append(included)
            elif IMPURE_HEADERS.match(included) and not allowed("header", path, included):
                yield f"{name}: {path} includes {included}"
        code = re.sub(r"//[^\n]*", "", tree.text(path))
        for word in sorted(set(IMPURE_WORDS.findall(code))):
            if not allowed("word", path, word):
                yield f"{name}: {path} says {word}"


def impure_symbols(library, allowed):
    archive = pathlib.Path(library["archive"])
    if not archive.exists():
        yield f"{library['name']}: {archive} is not built"
        return
    listing = subprocess.run(["nm", "-C", "-u", str(archive)], check=True,
                             capture_output=True, text=True).stdout
    for line in sorted(set(listing.splitlines())):
        symbol = re.sub(r"^\s*[Uwv] ", "", line).split("@")[0]
        symbol = symbol.replace("absl::debian3::", "absl::")
        plain = symbol.split("(")[0].split("[")[0]
        if IMPURE_SYMBOLS.match(symbol) and not allowed("symbol", library["name"], plain):
            yield f"{library['name']}: calls {symbol}"


def names(tree, _libraries, _allowed, _build):
    """File names, lengths, header guards and leftovers."""
    for path in tree.files:
        words = set(re.split(r"[^a-z]+", path.lower()))
        for word in sorted(words & BANNED_WORDS):
            yield f"{path}: '{word}' says nothing; name what it is"
    for path in tree.code() + [f for f in tree.files if f.endswith((".py", ".bash", ".bats"))]:
        if not path.startswith("tests/lint/") and (left := re.search(r"\b(TODO|FIXME|XXX)\b", tree.text(path))):
            yield f"{path}: {left.group()} left behind"
    for path in tree.code():
        if path.endswith(".h") and path.split("/")[0] in SHIPPED + ("tests", "bench", "examples", "python", "include"):
            name = path.removeprefix("include/feedmill/")
            guard = "FEEDMILL_" + re.sub(r"[/.]", "_", name).upper() + "_"
            if not re.search(rf"#ifndef {guard}\n#define {guard}\n", tree.text(path)):
                yield f"{path}: its guard is not {guard}"


def identifiers(tree, _libraries, _allowed, _build):
    """Names of types differ within a namespace; no name has a private word."""
    types, private_types = {}, []
    for path in [path for path in tree.code() if path.split("/")[0] in SHIPPED + ("include",)]:
        for number, name, private in namespace_types(tree.text(path)):
            place = f"{path}:{number}"
            if private:
                private_types.append((place, name))
            elif (first := types.setdefault(name, place)) != place:
                yield f"{place}: {name} is also a type in {first}; give it a name of its own"
        code = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', re.sub(r"//[^\n]*", "", tree.text(path)))
        for name in sorted(set(re.findall(r"[A-Za-z_]\w*", code))):
            private = {part.lower() for part in re.findall(r"[A-Z]?[a-z]+", name)} & PRIVATE_WORDS
            if private:
                yield f"{path}: '{name}' has the private word '{private.pop()}'; use a term of the field"
    for place, name in private_types:
        if name in types:
            yield f"{place}: {name} is also a type in {types[name]}; give it a name of its own"


def locales(tree, _libraries, _allowed, _build):
    """No function depends on the locale of the process."""
    for path in tree.code(*SHIPPED, "include", "python"):
        for number, line in enumerate(tree.text(path).split("\n"), 1):
            code = re.sub(r'"(?:\\.|[^"\\])*"', '""', line.split("//")[0])
            for word in LOCALE_FUNCTIONS.findall(code):
                yield f"{path}:{number}: {word} depends on the locale; use that of Abseil or of <charconv>"


def namespace_types(text):
    """Yields (line, qualified name, True if in an anonymous namespace) of the types of namespaces."""
    spaces = []
    for number, line in enumerate(text.split("\n"), 1):
        if opened := re.match(r"namespace( [\w:]+)? \{", line):
            spaces.append((opened[1] or "").strip())
        elif re.match(r"\}  // namespace", line) and spaces:
            spaces.pop()
        elif (declared := TYPE.match(line)) and spaces:
            yield number, "::".join([space for space in spaces if space] + [declared[1]]), not all(spaces)


def skips(tree, _libraries, _allowed, _build):
    """A test that skips fails unless tests/SKIPS.md says why."""
    page = tree.text("tests/SKIPS.md") if "tests/SKIPS.md" in tree.files else ""
    listed = set(re.findall(r"^- `([^`]+)`: \S", page, re.M))
    found = set()
    for path in tree.files:
        if not path.startswith("tests/") or path.startswith("tests/lint/"):
            continue
        if path.endswith(".cc"):
            found |= set(gtest_skips(tree.text(path)))
        elif path.endswith(".bats"):
            found |= set(bats_skips(tree.text(path)))
        elif path.endswith("CMakeLists.txt"):
            found |= set(ctest_skips(tree.text(path)))
        elif path.endswith(".py") and re.search(r"skipTest|unittest\.skip|pytest\.skip", tree.text(path)):
            found.add(path)
    for name in sorted(found - listed):
        yield f"'{name}' skips, and tests/SKIPS.md does not say why"
    for name in sorted(listed - found):
        yield f"tests/SKIPS.md: '{name}' does not skip (any more)"


def gtest_skips(text):
    for block in re.split(r"(?=^TEST(?:_F|_P)?\()", text, flags=re.M):
        name = re.match(r"TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)", block)
        if "GTEST_SKIP" in block or (name and "DISABLED_" in name.group()):
            yield ".".join(name.groups()) if name else "(outside a test)"


def bats_skips(text):
    for block in re.split(r"(?=^@test )", text, flags=re.M):
        name = re.match(r'@test "([^"]*)"', block)
        if re.search(r"^\s*(?:.*(?:&&|\|\||then)\s*)?skip\b", block, re.M):
            yield name.group(1) if name else "(outside a test)"


def ctest_skips(text):
    for name, properties in re.findall(r"^\s*set_tests_properties\((\S+)([^)]*)\)", text, re.M):
        if re.search(r"SKIP_REGULAR_EXPRESSION|SKIP_RETURN_CODE|DISABLED", properties):
            yield name


def tests(_tree, _libraries, _allowed, build):
    """Every ctest has a label and a time limit."""
    listing = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build,
                             check=True, capture_output=True, text=True).stdout
    for test in json.loads(listing)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        if not properties.get("LABELS"):
            yield f"{test['name']}: has no label"
        if not properties.get("TIMEOUT"):
            yield f"{test['name']}: has no TIMEOUT"


# Sleeps in Python, C, C++, JavaScript and shells. Functions under test sleep for 1,000 s: they hang.
SLEEP = re.compile(r"\b(?:time\.sleep\((?!1000\))|sleep_for\(|(?<![.\w])u?sleep\(|setTimeout\(|sleep [0-9.$])")


def sleeps(tree, _libraries, allowed, _build):
    """A test waits for a fact: only the functions that wait for one sleep, and the models of slow peers."""
    for path in tree.files:
        if not path.startswith("tests/") or path.startswith("tests/lint/"):
            continue
        found = [number for number, line in enumerate(tree.text(path).splitlines(), 1) if SLEEP.search(line)]
        if found and not allowed("sleep", path, "-"):
            yield f"{path}:{found[0]}: sleeps; wait for a fact (tests/waits.py, tests/waits.h, wait_for in cluster.bash)"


def engines(tree, _libraries, _allowed, build):
    """The table of tests/engines.py has a row for each suite of an engine, with the tests' own files."""
    sys.path.insert(0, str(tree.root / "tests"))
    from engines import ENGINES, files_of
    listing = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build,
                             check=True, capture_output=True, text=True).stdout
    used = set()
    for test in json.loads(listing)["tests"]:
        labels = next((p["value"] for p in test.get("properties", []) if p["name"] == "LABELS"), [])
        for label in set(labels) & ENGINES.keys():
            used.add(label)
            sources = {os.path.relpath(word, tree.root) for word in test.get("command", [])
                       if word.startswith(f"{tree.root}/tests/") and os.path.isfile(word)}
            for source in sorted(sources - set(files_of(label))):
                yield f"{test['name']}: its file {source} is not in the row of '{label}' in tests/engines.py"
    for label in sorted(ENGINES.keys() - used):
        yield f"tests/engines.py: no test has the label '{label}'"
    for label, paths in ENGINES.items():
        for path in paths:
            if not (tree.root / path).exists():
                yield f"tests/engines.py: {path} of '{label}' is not there"


PAGES = ("schemas/PROTOCOL.md", "tests/conformance/README.md")


def named(tree, _libraries, _allowed, _build):
    """A test that a page names is there."""
    suites = {}
    for path in tree.files:
        if path.startswith("tests/") and path.endswith(".cc"):
            for suite, name in re.findall(
                    r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", tree.text(path), re.M):
                suites.setdefault(suite, set()).add(name)
    for page in PAGES:
        text = tree.text(page) if page in tree.files else ""
        for suite, name in sorted(set(re.findall(r"\b(\w+)\.([A-Z]\w*)", text))):
            if name not in suites.get(suite, {name}):
                yield f"{page}: there is no test {suite}.{name}"


LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.M)
FENCED = re.compile(r"^( *)(```|~~~).*?^\1\2`*$", re.M | re.S)
PAGE_NAMED = re.compile(
    r"(?<![\w./-])((?:bench|docs|schemas|tests|tools)/(?:[\w-]+/)*[\w-]+\.md)\b")


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    found, seen = set(), {}
    for heading in HEADING.findall(FENCED.sub("", text)):
        heading = LINK.sub(lambda link: link.group()[1:].split("]")[0], heading)
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        again = seen.get(slug, 0)
        seen[slug] = again + 1
        found.add(f"{slug}-{again}" if again else slug)
    return found


def links(tree, _libraries, _allowed, _build):
    """Pages and anchors that a page links to, or that code names, are there."""
    files = set(tree.files)
    folders = {str(parent) for f in files for parent in pathlib.PurePosixPath(f).parents}
    for page in (f for f in tree.files if f.endswith(".md")):
        text = re.sub(r"`[^`\n]*`", "", FENCED.sub("", tree.text(page)))
        for target in LINK.findall(text):
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            path, _, anchor = target.partition("#")
            to = page
            if path:
                to = os.path.normpath(f"{os.path.dirname(page)}/{path}".lstrip("/"))
            if to not in files and to not in folders:
                yield f"{page}: links to {target}, which is not there"
            elif anchor and anchor not in anchors(tree.text(to) if to in files else ""):
                yield f"{page}: links to {target}; {to} has no such heading"
    for path in tree.files:
        if path.endswith(".md") or path.startswith("tests/lint/"):
            continue
        for named_page in sorted(set(PAGE_NAMED.findall(tree.text(path))) - files):
            yield f"{path}: names {named_page}, which is not there"


# Last parts of names of classes that need no explanation.
GENERAL_NOUNS = set("""
    address answer buffer builder bytes command config copy end entry field file files flag flags folder free function
    functions header images index kind key level limits lines list log member message name node object of options order
    output parser part parts pool process range ref registry request result row server stat task text times type value
    values visitor wait word writer""".split())
CLASS = re.compile(r"^\s*(?:template <[^>]*> )?(?:class|struct|enum class) ([A-Z]\w*)(?: final)?(?: :|\s*\{|$)", re.M)


def nouns(tree, _libraries, _allowed, _build):
    """A noun that classes of three files have stands in the glossary of docs/tour.md."""
    page = tree.text("docs/tour.md")
    glossary = page[page.index("## Glossary"):]
    explained = {word for terms in re.findall(r"\*\*([^*]+)\*\*|^\| ([^|]+) \|", glossary, re.M)
                 for word in re.findall(r"[a-z]+", "".join(terms).lower())}
    explained |= {word + "s" for word in explained} | {word.removesuffix("s") for word in explained}
    found = {}
    for path in tree.code(*SHIPPED, "include"):
        for name in CLASS.findall(tree.text(path)):
            if parts := re.findall(r"[A-Z][a-z0-9]+", name):
                found.setdefault(parts[-1].lower(), set()).add(path)
    for noun, paths in sorted(found.items()):
        if len(paths) >= 3 and noun not in explained | GENERAL_NOUNS:
            yield f"docs/tour.md: the glossary lacks '{noun}', of {', '.join(sorted(paths)[:3])}"


RULES = {"dependencies": (dependencies, ("include",)),
         "purity": (purity, ("header", "word", "symbol")),
         "names": (names, ()), "identifiers": (identifiers, ()), "skips": (skips, ()), "tests": (tests, ()),
         "engines": (engines, ()),
         "sleeps": (sleeps, ("sleep",)),
         "named": (named, ()), "locales": (locales, ()), "links": (links, ()),
         "english": (english, ()), "documented": (documented, ()), "nouns": (nouns, ())}


def breaches(rule, tree, libraries, allowed, build=None):
    check, kinds = RULES[rule]
    found = list(check(tree, libraries, allowed, build))
    return found + allowed.unused(kinds)


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rule", choices=sorted(RULES))
    parser.add_argument("--root", default=here.parent.parent)
    parser.add_argument("--libraries")
    parser.add_argument("--build")
    arguments = parser.parse_args()
    tree = Tree(arguments.root)
    libraries = (Libraries(arguments.libraries, tree.root)
                 if arguments.libraries else None)
    found = breaches(arguments.rule, tree, libraries,
                     Allowed(here / "allowed.txt"), arguments.build)
    for line in found:
        print(line)
    print(f"{arguments.rule}: {len(found)} breaches")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
