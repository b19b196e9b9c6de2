"""Finds the prose in a file: comments, paragraphs, help texts, titles of tests.

Each function yields (line number, text).
"""
import ast
import io
import re
import tokenize

COMMENT = re.compile(r"^\s*(?://|///<?)( ?)(.*)$")
TRAILING = re.compile(r"^(?!#).*\S\s+// (.*)$")
TABLE_ROW = re.compile(r"\S+( \S+){0,5}  +\S|[=\s]+$")


def line_comments(text):
    """Writes the block comments of a C header as line comments."""
    def lines(found):
        body = [re.sub(r"^\s*\*(?=\s|$)", "", line) for line in found[2].splitlines()]
        return found[1] + "\n".join("//" + line for line in body)
    return re.sub(r"^(\s*|[^\n\"]*[;,] +)/\*(.*?)\*/", lines, text, flags=re.M | re.S)


def cpp_comments(text):
    """Yields each comment: successive lines, without code, tables and lists,
    which are indented by two or more."""
    lines, first = [], 0
    for number, line in enumerate(line_comments(text).splitlines() + [""], 1):
        found = COMMENT.match(line)
        body = found[2] if found else None
        if body is not None and body.strip() and not body.startswith("  ") and not body.startswith(("NOLINT", "----")):
            first = first if lines else number
            lines.append(body.strip())
            continue
        if lines:
            yield first, " ".join(lines)
        lines = []


def cpp_trailing(text):
    """Yields each comment after code."""
    for number, line in enumerate(line_comments(text).splitlines(), 1):
        if (found := TRAILING.match(line)) and not found[1].startswith(("NOLINT", "namespace")):
            yield number, found[1]


def python_comments(text):
    """Yields each comment of a Python file, and the paragraphs of its docstrings."""
    lines = [""] * (text.count("\n") + 2)
    after_code = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith(("#!", "# noqa", "# type:", "# ruff:", "#  ")):
            if token.line[:token.start[1]].strip():
                after_code.append((token.start[0], token.string[1:].strip()))
            else:
                lines[token.start[0]] = "// " + token.string[1:].strip()
    yield from cpp_comments("\n".join(lines[1:]))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (words := ast.get_docstring(node)):
            first = node.body[0].lineno
            prose = "\n".join("//" if TABLE_ROW.match(line) else "// " + line for line in words.splitlines())
            yield from ((first + number - 1, comment) for number, comment in cpp_comments(prose))
    yield from after_code


def hash_comments(text):
    """Yields each comment of a shell or CMake file that has lines of its own."""
    prose = []
    for line in text.splitlines():
        found = re.match(r"\s*#(?!!|\s*(?:shellcheck|cmake-format))( .*)?$", line)
        body = (found[1] or "") if found else None
        prose.append("" if body is None else "//" if TABLE_ROW.match(body.strip()) else "//" + body)
    yield from cpp_comments("\n".join(prose))


FENCE = re.compile(r"^\s*(```|~~~)")
ITEM = re.compile(r"^(\s*)(?:[-*+]|\d+\.)\s+(.*)$")


def markdown(text):
    """Yields each paragraph and list item, without headings, code and tables. A
    span of code counts as one word, a link as its text."""
    lines, first, fenced, listed = [], 0, False, False
    for number, line in enumerate(text.splitlines() + [""], 1):
        item = None if fenced else ITEM.match(line)
        if FENCE.match(line):
            fenced, ends = not fenced, True
        else:
            ends = fenced or not line.strip() or line.startswith(("|", "<", "#"))
        # Code is indented by four, and stands in no list.
        ends = ends or (line.startswith("    ") and not item and not listed and not lines)
        if (ends or item) and lines:
            yield first, plain(" ".join(lines))
            lines = []
        if line.strip() and not line.startswith(" "):
            listed = bool(item)
        if not ends:
            first = first if lines else number
            lines.append(item[2] if item else line.strip())


def headings(text):
    """Yields each heading."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fenced ^= bool(FENCE.match(line))
        if line.startswith("#") and not fenced:
            yield number, plain(line.lstrip("# "))


def table_rows(text):
    """Yields each row of a table."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("|"):
            yield number, plain(line)


def wrapped_lines(text):
    """Yields each line that can be wrapped: no row of a table, and no output of a
    program, which stands in a fenced block of the language text."""
    output = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            output = not output and line.strip("` ~") == "text"
        elif not output and not line.startswith("|"):
            yield number, line


def plain(text):
    """Removes the marks of Markdown."""
    text = re.sub(r"(`+)(?:(?!\1).)+\1", "X", text)
    text = re.sub(r"^\[[A-Z]-\d+\] ", "", text)  # number of a rule
    text = re.sub(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    return re.sub(r"\*\*|(?<!\w)[*_]|[*_](?!\w)", "", text).strip()


STRING = r'"(?:[^"\\]|\\.)*"'
STRINGS = re.compile(rf"(?:{STRING}\s*)+")
FLAG = re.compile(
    rf'\b(?:Positionals?|Bool|Text|OneOf|Count|Range|Duration|Bytes)\(\s*{STRING}\s*,((?:{STRING}|[^";])*?)&')


def help_texts(text):
    """Yields the description of each flag that a command declares."""
    for found in FLAG.finditer(text):
        arguments = re.sub(r'\{\s*"[^{}]*\}', "", found[1])  # without the choices
        if literals := STRINGS.findall(arguments):
            parts = [part[1:-1] for part in re.findall(STRING, literals[-1])]
            yield text.count("\n", 0, found.start()) + 1, "".join(parts).replace("\\n", " ")


def messages(text):
    """Yields each text of a C++ file that has four words or more: an error or a line of a log."""
    code = re.sub(r"^\s*//.*$|//[^\n\"]*$", "", text, flags=re.M)
    for found in STRINGS.finditer(code):
        message = "".join(part[1:-1] for part in re.findall(STRING, found.group()))
        if len(message.split()) >= 4:
            yield code.count("\n", 0, found.start()) + 1, message.replace("\\n", " ")


def python_messages(text):
    """Yields each text of a Python file that has four words or more, without docstrings."""
    tree = ast.parse(text)
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in statements:
            if len(node.value.split()) >= 4:
                yield node.lineno, " ".join(node.value.split())


def camel_words(name):
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+", " ", name)
    return words.strip()


def test_names(path, text):
    """Yields the words of the names of tests: of GoogleTest, Bats, CMake and Python."""
    def lines(pattern):
        for found in re.finditer(pattern, text, re.M):
            yield text.count("\n", 0, found.start()) + 1, found
    if path.endswith(".cc"):
        for number, found in lines(r"^TEST(?:_F|_P)?\(\s*\w+,\s*(\w+)\s*\)"):
            yield number, camel_words(found[1])
    elif path.endswith(".bats"):
        for number, found in lines(r'^@test "([^"]*)"'):
            yield number, found[1][:1].upper() + found[1][1:]
    elif path.endswith("CMakeLists.txt"):
        for number, found in lines(r"\badd_test\(\s*NAME\s+(\w+)"):
            yield number, camel_words(found[1]).capitalize()
    elif path.endswith("_test.py"):
        for number, found in lines(r"^\s*def test_(\w+)"):
            yield number, camel_words(found[1]).capitalize()
