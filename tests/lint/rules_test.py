#!/usr/bin/env python3
"""Each rule of rules.py finds a breach that was planted for it."""
import json
import pathlib
import subprocess
import tempfile
import unittest

import rules


class PlantedBreaches(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
        self.libraries = []

    def write(self, path, text=""):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".h"):
            guard = "FEEDMILL_" + path.replace("/", "_").replace(".", "_").upper() + "_"
            text = f"#ifndef {guard}\n#define {guard}\n{text}\n#endif\n"
        file.write_text(text)

    def library(self, name, sources, depends=(), pure=False, code=""):
        directory = name.split("_")[0]
        for source in sources:
            if not (self.root / directory / source).exists():
                self.write(f"{directory}/{source}")
        object_file = self.root / f"{name}.o"
        source = self.root / f"{name}_object.c"
        source.write_text(code)
        subprocess.run(["gcc", "-c", "-o", object_file, source], check=True)
        source.unlink()
        (self.root / ".gitignore").write_text("*.o\nlibraries.json\n")
        self.libraries.append({
            "name": name, "pure": pure, "directory": directory,
            "sources": list(sources), "depends": list(depends),
            "archive": str(object_file)})

    def run_rule(self, rule):
        page = self.root / "libraries.json"
        page.write_text(json.dumps(self.libraries))
        tree = rules.Tree(self.root)
        return "\n".join(rules.breaches(
            rule, tree, rules.Libraries(page, tree.root),
            rules.Allowed(self.root / "none")))

    def test_clean_tree_has_none(self):
        self.write("core/a.cc", '#include "core/a.h"\n')
        self.library("core_a", ["a.h", "a.cc"], pure=True, code="int x;")
        for rule in ("dependencies", "purity", "names", "identifiers", "skips", "sleeps", "named", "locales", "links"):
            self.assertEqual(self.run_rule(rule), "")

    def test_worker_includes_broker(self):
        self.write("worker/w.cc", '#include "broker/b.h"\n')
        self.library("broker_b", ["b.h"])
        self.library("worker_w", ["w.cc"], depends=["broker_b"])
        self.assertIn("they meet in core", self.run_rule("dependencies"))

    def test_core_includes_client(self):
        self.write("core/a.cc", '#include "client/c.h"\n')
        self.library("core_a", ["a.cc"])
        self.assertIn("core includes client/c.h", self.run_rule("dependencies"))

    def test_core_includes_cloud(self):
        self.write("core/a.cc", '#include "cloud/c.h"\n#include <curl/curl.h>\n')
        self.library("core_a", ["a.cc"])
        found = self.run_rule("dependencies")
        self.assertIn("core includes cloud/c.h", found)
        self.assertIn("only core/net/curl_request.h may", found)

    def test_undeclared_dependency_and_unlisted_file(self):
        self.write("core/b.cc", '#include "core/a.h"\n')
        self.write("core/forgotten.cc")
        self.library("core_a", ["a.h"])
        self.library("core_b", ["b.cc"])
        found = self.run_rule("dependencies")
        self.assertIn("does not declare in DEPENDS", found)
        self.assertIn("core/forgotten.cc: no library lists it", found)

    def test_single_users(self):
        self.write("core/a.cc", "#include <zmq.hpp>\n#pragma omp parallel\n")
        self.write("core/b.cc", '#include "x_generated.h"\n#pragma omp for\n')
        self.write("python/src/c.cc", "const nb::gil_scoped_release release;\n")
        self.library("core_a", ["a.cc", "b.cc"])
        found = self.run_rule("dependencies")
        self.assertIn("python/src/c.cc: uses gil_scoped_release; only python/src/gil.h", found)
        self.assertIn("only core/net may", found)
        self.assertIn("only core/wire may", found)
        self.assertIn("exactly one .cc may", found)

    def test_formats_open_no_files(self):
        self.write("core/sources/a.cc", '#include <fcntl.h>\n#include "core/io/local_files.h"\n')
        self.library("core_sources", ["sources/a.cc"])
        found = self.run_rule("dependencies")
        self.assertIn("includes fcntl.h; formats read files through core/io", found)
        self.assertIn("includes core/io/local_files.h; formats", found)

    def test_impure_symbol_header_word_and_dependency(self):
        self.write("core/a.h", "#include <thread>\n")
        self.write("core/b.cc", '#include "core/a.h"\nstd::unordered_map<int, int> m;\n')
        self.library("core_a", ["a.h"])
        self.library("core_b", ["b.cc"], depends=["core_a"], pure=True,
                     code="int socket(int, int, int); int f() { return socket(1, 2, 3); }")
        found = self.run_rule("purity")
        self.assertIn("calls socket", found)
        self.assertIn("core/a.h includes thread", found)
        self.assertIn("says unordered_map", found)
        self.assertIn("depends on core_a, which is not", found)

    def test_identifiers(self):
        self.write("broker/a.h", "namespace feedmill {\nstruct Ranks {\n  int told_ = 0;  // not told\n};\n}  // namespace feedmill")
        self.write("client/b.h", "namespace feedmill {\nclass Ranks {\n  struct Entry {};\n};\n}  // namespace feedmill")
        self.write("core/c.cc", "namespace feedmill {\nnamespace {\nstruct Ranks {\n};\n}  // namespace\n}  // namespace feedmill\n")
        found = self.run_rule("identifiers")
        self.assertIn("client/b.h:4: feedmill::Ranks is also a type in broker/a.h:4", found)
        self.assertIn("broker/a.h: 'told_' has the private word 'told'", found)
        self.assertIn("core/c.cc:3: feedmill::Ranks is also a type in broker/a.h:4", found)
        self.assertEqual(len(found.splitlines()), 3, found)

    def test_locales(self):
        self.write("core/a.cc", 'double a = std::strtod(text, nullptr);  // strtod(\nbool b = isalnum(c) || absl::ascii_isalpha(c);\n')
        self.write("python/b.cc", 'auto a = "atof(x)"; a.isalpha(); b->tolower();\n')
        found = self.run_rule("locales")
        self.assertIn("core/a.cc:1: strtod depends on the locale", found)
        self.assertIn("core/a.cc:2: isalnum depends on the locale", found)
        self.assertEqual(len(found.splitlines()), 2, found)

    def test_names(self):
        self.write("core/string_util.cc", "// TODO later\n")
        (self.root / "core/a.h").write_text("#pragma once\n")
        self.library("core_a", ["a.h", "string_util.cc"])
        found = self.run_rule("names")
        for part in ("'util' says nothing", "TODO left behind",
                     "its guard is not FEEDMILL_CORE_A_H_"):
            self.assertIn(part, found)

    def test_named(self):
        self.write("tests/unit/a_test.cc", "TEST(Here, IsOne) {}\nTEST_F(Here,\n  IsAnother) {}\n")
        self.write("schemas/PROTOCOL.md", "`Here.IsOne, Here.IsAnother, Here.*, Other.Word`\n")
        self.assertEqual(self.run_rule("named"), "")
        self.write("tests/conformance/README.md", "| x | Here.IsNone |\n")
        self.assertIn("no test Here.IsNone", self.run_rule("named"))

    def test_links(self):
        self.write("docs/a.md", "# A page: `x`, and more\n## Same\n## Same\n```sh\n# no heading\n[x](no.md)\n```\n"
                   "[b](sub/b.md#here) [folder](../core) [self](#a-page-x-and-more) [2](#same-1)"
                   " [web](https://example.org/x) `[code](no.md)`\n")
        self.write("docs/sub/b.md", "## Here\n[a](../a.md)\n")
        self.write("core/a.cc", "// docs/a.md and docs/sub/b.md, of another: x/docs/c.md\n")
        self.assertEqual(self.run_rule("links"), "")
        self.write("docs/sub/b.md", "## There\n[a](a.md) [b](../a.md#no-heading) [c](../../../a.md)\n")
        self.write("core/a.cc", "// docs/gone.md\n")
        found = self.run_rule("links")
        for part in ("docs/a.md: links to sub/b.md#here; docs/sub/b.md has no such heading",
                     "docs/sub/b.md: links to a.md, which is not there",
                     "docs/sub/b.md: links to ../a.md#no-heading", "links to ../../../a.md",
                     "core/a.cc: names docs/gone.md"):
            self.assertIn(part, found)

    def test_english(self):
        self.write("core/ops/good.h", "// Returns the size, in bytes.\nint f();  // never negative\n")
        self.write("tools/good.py", '"""Makes files.\n\nWhat    a table\n"""\nx = 1  # in bytes\n')
        self.assertEqual(self.run_rule("english"), "")
        self.write("core/ops/bad.h",
                   "// What comes of it.\nint a;\n// Others are told of it.\nint b;  // whatever it is\n"
                   "// " + "word " * 26 + "\nint c;  // so many\n")
        found = self.run_rule("english")
        for part in ("bad.h:3: a comment begins with 'What'", "'What comes'; say name the thing",
                     "bad.h:5: a comment begins with 'Others'", "bad.h:5: 'told'; say sent",
                     "bad.h:6: a comment begins with 'whatever'", "bad.h:7: a sentence of 26 words",
                     "bad.h:8: 'so many'"):
            self.assertIn(part, found)
        self.write("tools/bad.py", '"""What it makes."""\n# As above, but\nx = 1  # whatever\n\n\ndef f():\n    """Returns the rest of it."""\n')
        found = self.run_rule("english")
        for part in ("bad.py:1: a comment begins with 'What'", "bad.py:2: a comment begins with 'As'",
                     "bad.py:3: 'whatever'", "bad.py:7: 'the rest of it'"):
            self.assertIn(part, found)

    def test_english_of_living_words(self):
        self.write("core/a.h", "// The bound of `beat`, Lane and kBeat; --dry-run is a dry run.\nint a;  // Watch(x)\n")
        self.write("docs/a.md", "The size of a lane, and that of a beat.\n")
        self.assertEqual(self.run_rule("english"), "")
        self.write("core/b.h", "// The beat of a worker.\nint a;  // awaited\n// Its size, and that of a part.\nint b;\n"
                   "// Slots of a run.\nint c;\n// A piece of work for a slot of the worker.\nint d;\n")
        self.write("tests/b_test.cc", "TEST(Runs, AreSettledLater) {}\nTEST(Errors, AreThoseOfTheLast) {}\n")
        found = self.run_rule("english")
        for part in ("b.h:3: 'beat'; say heartbeat", "b.h:4: 'awaited'", "b.h:5: 'that of'; say name the thing",
                     "b.h:7: 'Slots'", "b.h:9: 'piece of work'",
                     "b_test.cc:1: 'settled'", "b_test.cc:2: 'those of'"):
            self.assertIn(part, found)

    def test_english_of_pages(self):
        self.write("docs/good.md", "# What works\n\nThe rows of `Whoever it is` have a\n[name](told.md).\n"
                   "\n```sh\n# what is left\n```\n| What `told` is | "
                   + "word " * 26 + "|\n\n    whoever\n")
        self.write("docs/long.md", "| " + "x" * 99 + " |\n```text\n" + "x" * 101 + "\n```\n")
        self.assertEqual(self.run_rule("english"), "")
        self.write("schemas/bad.md", "# For whoever\n\nIt is so.\nThen it goes on.\n- Of these, a\n  row.\n"
                   "1. " + "word " * 13 + "`one word` [two words](x.md) " + "word " * 11 + "\n\n| x | nobody |\n")
        self.write("schemas/long.md", "```text\nx\n```\n```sh\n" + "x" * 101 + "\n```\n")
        found = self.run_rule("english")
        for part in ("long.md:5: a line of 101 columns", "bad.md:1: 'whoever'", "bad.md:3: 'goes on'", "bad.md:5: a paragraph begins with 'Of'",
                     "bad.md:7: a sentence of 27 words", "bad.md:9: 'nobody'"):
            self.assertIn(part, found)

    def test_english_of_shell_and_cmake(self):
        self.write("tools/run", "#!/bin/sh\n# Runs the tests.\n#\n#   run WHAT    whatever it is\nx='# whoever'\n")
        self.write("tools/table", "# What is no script.\n")
        self.write("cmake/good.cmake", "# Functions of tests.\nset(x 1)\n")
        self.assertEqual(self.run_rule("english"), "")
        self.write("tools/run", "#!/usr/bin/env bash\n# What it runs.\n")
        self.write("tools/count", '#!/usr/bin/env python3\n"""How it counts."""\n')
        self.write("core/CMakeLists.txt", "# Told of it.\n")
        self.write("tests/shell/a.bats", "  # Where it\n  # stands.\n")
        found = self.run_rule("english")
        for part in ("tools/run:2: a comment begins with 'What'", "tools/count:2: a comment begins with 'How'",
                     "core/CMakeLists.txt:1: 'told'", "a.bats:1: a comment begins with 'Where'"):
            self.assertIn(part, found)

    def test_english_of_c_headers(self):
        self.write("include/feedmill/a.h", "/* Returns the size.\n *\n *   what it is */\nint f(void);\n"
                   "int a; /* in bytes */\n")
        self.assertEqual(self.run_rule("english"), "")
        self.write("include/feedmill/a.h", "/* What f\n * returns. */\nint f(void);\nint a; /* told */\n")
        found = self.run_rule("english")
        for part in ("a.h:3: a comment begins with 'What'", "a.h:6: 'told'"):
            self.assertIn(part, found)

    def test_english_of_help(self):
        self.write("tools/command/a.cc", 'flags.OneOf("--x", {"whoever", "told"},\n  "Format; "\n  "told", &x);\n'
                   'Say("Whoever", &x);\n')
        self.assertIn("a.cc:1: 'told'; say sent", self.run_rule("english"))
        self.write("tools/command/a.cc", 'flags.Text(\n    "--x", "FILE", "How to write {it}", &x);\n')
        self.assertIn("a.cc:1: a help text begins with 'How'", self.run_rule("english"))

    def test_english_of_messages(self):
        self.write("core/a.cc", 'Error("nobody");\n')
        self.write("python/a.py", 'def f():\n    "Reads."\n    raise ValueError("no such file here")\n')
        self.assertEqual(self.run_rule("english"), "")
        self.write("core/a.cc", 'Error("the reader stops, and "\n      "goes on later");\n')
        self.write("python/a.py", 'raise ValueError(f"{x} is told of the {y}")\n')
        found = self.run_rule("english")
        for part in ("core/a.cc:1: 'goes on'", "python/a.py:1: 'told'"):
            self.assertIn(part, found)

    def test_english_of_names(self):
        self.write("tests/a_test.cc", "TEST(Links, RefuseOthers) {}\nTEST_F(Whoever,\n       Continues) {}\n")
        self.assertEqual(self.run_rule("english"), "")
        self.write("tests/a_test.cc", "TEST(Links, WhoComesLate) {}\n\nTEST_F(Links,\n       HurtNobody) {}\nTEST_P(A, GoesOn) {}\n")
        self.write("tests/a.bats", '@test "whatever comes" {\n}\n')
        self.write("tests/CMakeLists.txt", "add_test(NAME what_comes COMMAND x)\n")
        self.write("tests/python/a_test.py", "def test_an_endless_loop():\n    pass\n")
        found = self.run_rule("english")
        for part in ("a_test.cc:1: the name of a test begins with 'Who'", "a_test.cc:3: 'nobody'", "a_test.cc:5: 'Goes On'",
                     "a.bats:1: the name of a test begins with 'Whatever'", "a.bats:1: 'whatever'",
                     "CMakeLists.txt:1: the name of a test begins with 'What'", "a_test.py:1: 'endless'"):
            self.assertIn(part, found)

    def test_nouns(self):
        self.write("docs/tour.md", "# Tour\n\n## Glossary\n- **Split** a run of positions.\n\n| noun | meaning |\n|---|---|\n| gadget | x |\n")
        for k in range(3):
            self.write(f"core/a{k}.h", f"class A{k}Widget {{}};\nclass A{k}Splits;\nstruct B{k}Split {{}};\nclass B{k}File {{}};\n"
                                       f"class C{k}Gadget {{}};\n" + ("struct Rare {};\n" if k else ""))
        self.assertEqual(self.run_rule("nouns"), "docs/tour.md: the glossary lacks 'widget', of core/a0.h, core/a1.h, core/a2.h")

    def test_documented(self):
        page = """
class Dataset {
 public:
  // ---- sources
  // Numbers.
  // Output: x.
  // Errors: none.
  // Example:
  //   Dataset::Range(3)
  static Dataset Range(int64_t stop);
  // ---- steps on the sequence
  // Some of them.
  // Input and output: any.
  // Errors: none.
  // Example:
  Dataset Take(int64_t count) const;
  // ---- options
  Dataset WithSeed(uint64_t seed) const;

 private:
"""
        self.write("include/feedmill/dataset.h", page)
        self.assertIn("docs/cpp.md: its table of headers lacks dataset.h", self.run_rule("documented"))
        self.write("docs/cpp.md", "`dataset.h`")
        self.assertEqual(self.run_rule("documented"),
                         "include/feedmill/dataset.h:18: the example of Take has no code, indented by three")
        self.write("include/feedmill/dataset.h", page.replace("  // Output: x.\n", "").replace("Input and output", "Output"))
        self.assertRegex(self.run_rule("documented"), "(?s)Range does not say 'Output:'.*Take does not say 'Input:'")

    def test_format(self):
        script = pathlib.Path(__file__).resolve().parent / "format.sh"
        for text, status in (("int x;\n", 0), ("int   x ;\n", 1)):
            (self.root / "a.cc").write_text(text)
            subprocess.run(["git", "add", "a.cc"], cwd=self.root, check=True)
            done = subprocess.run([script], cwd=self.root, check=False, capture_output=True, text=True)
            self.assertEqual(done.returncode, status, done.stdout)

    def test_sleeps(self):
        self.write("tests/a.py", "time.sleep(1000)\nsleeper = sleep_ms(2)\n")
        self.assertEqual(self.run_rule("sleeps"), "")
        for path, line in (("tests/b.py", "time.sleep(0.1)"), ("tests/c.cc", "std::this_thread::sleep_for(x);"),
                           ("tests/d.bats", "sleep 0.1"), ("tests/e.mjs", "setTimeout(done, 20)")):
            self.write(path, line + "\n")
            self.assertIn(f"{path}:1: sleeps", self.run_rule("sleeps"))

    def test_skips(self):
        self.write("tests/unit/a.cc", "TEST(Suite, Name) {\n  GTEST_SKIP();\n}\n")
        self.write("tests/shell/a.bats", '@test "a thing" {\n  skip "no"\n}\n')
        self.write("tests/odd/CMakeLists.txt",
                   "set_tests_properties(odd PROPERTIES SKIP_RETURN_CODE 77)\n")
        self.write("tests/SKIPS.md", "- `Suite.Old`: it was slow\n")
        found = self.run_rule("skips")
        for part in ("'odd' skips", "'Suite.Name' skips", "'a thing' skips", "'Suite.Old' does not skip"):
            self.assertIn(part, found)


if __name__ == "__main__":
    unittest.main()
