"""The page of a step: what the comments of Dataset's methods say.

The subject is each public method of include/feedmill/dataset.h that makes a
source or adds a step. Its comment has the labels Output, Errors and Example;
a step's has Input, too. tests/api compiles and runs the examples.
"""
import re

HEADER = "include/feedmill/dataset.h"
METHOD = re.compile(r"^  (?:static )?(?:absl::StatusOr<Dataset>|Dataset) (\w+)\(")
SECTION = re.compile(r"^  // ---- (.*)")
LABEL = re.compile(r"^  // ([A-Z][a-z]+(?: and [a-z]+)?)(?:, at once)?:(?: |$)")
RESULT = "// → "


class Method:
    def __init__(self, name, line, section, comment):
        self.name, self.line, self.section, self.comment = name, line, section, comment

    def labels(self):
        found = [LABEL.match(line)[1].lower() for line in self.comment if LABEL.match(line)]
        return {word for label in found for word in label.split(" and ")}

    def examples(self):
        """(code, result) of each example; the result is "" if it shows none."""
        code = None
        for line in [*self.comment, ""]:
            if code is not None and line.startswith("  //   "):
                code.append(line[7:])
                continue
            if code:
                result = code.pop().removeprefix(RESULT) if code[-1].startswith(RESULT) else ""
                yield "\n".join(code), result
            code = [] if line == "  // Example:" else None


def methods(text):
    """The methods that make a source or add a step, each once."""
    begin = text.index("\nclass Dataset {")
    lines = text[begin:text.index("\n private:", begin)].splitlines()
    first = text[:begin].count("\n") + 1
    section, comment, seen = "", [], set()
    for number, line in enumerate(lines, first):
        if found := SECTION.match(line):
            section = found[1]
        comment = [*comment, line] if line.startswith("  //") else comment
        if (found := METHOD.match(line)) and section != "options" and found[1] not in seen:
            seen.add(found[1])
            yield Method(found[1], number, section, comment)
        if not line.startswith("  //"):
            comment = []


def documented(tree, _libraries, _allowed, _build):
    """The page of each source and step is whole, and docs/cpp.md lists each header."""
    for method in methods(tree.text(HEADER)):
        wanted = ["output", "errors", "example"]
        if not method.section.startswith(("sources", "from YAML")):
            wanted.insert(0, "input")
        for label in wanted:
            if label not in method.labels():
                yield f"{HEADER}:{method.line}: {method.name} does not say '{label.capitalize()}:'"
        if "example" in method.labels() and not list(method.examples()):
            yield f"{HEADER}:{method.line}: the example of {method.name} has no code, indented by three"
    page = tree.text("docs/cpp.md") if "docs/cpp.md" in tree.files else ""
    for header in (path.rpartition("/")[2] for path in tree.code("include")):
        if f"`{header}`" not in page:
            yield f"docs/cpp.md: its table of headers lacks {header}"
