"""Plain English: comments that a reader understands at the first reading.

A comment begins with its subject. Its sentences have at most WORDS_MAX words. It
says the field's terms instead of private ones (docs/tour.md has a glossary).
"""
import ast
import io
import re
import tokenize

WORDS_MAX = 25
ENDINGS = (".h", ".cc", ".fbs", ".py")
# Schemas of earlier versions, kept as they were.
RECORDED = "tests/compatibility/protocol-"
# Beginnings without a subject: it comes later, never, or in another comment.
BEGINNINGS = re.compile(
    r"^(What|Whatever|Who|Whoever|Whom|Whose|Whether|Of|Where|So|That|Those|As|How"
    r"|They|Their|Them|Else|Others|Such) ")
# Phrases without a noun, and what to write.
PHRASES = {
    r"what (comes|is left|remains)|the rest of (it|them)|all else": "name the thing",
    r"so (many|much)(?! \w+er\b)": "a number, or 'this many'",
    r"(go|goes|went|gone|going) on(?! (a|an|the|using) )": "continues",
    r"(hand|hands|handed|handing) (it |them )?on": "passes, returns",
    r"(let|lets|letting) (it |them )?(go|out)(?! of)": "frees, emits",
}
PHRASES = [(re.compile(rf"\b({phrase})\b", re.I), hint) for phrase, hint in PHRASES.items()]
PRIVATE = {
    "nobody": "no client, no process …", "somebody": "a client, a process …", "whoever": "any process that …",
    "endless": "infinite", "manieth": "ordinal", "kin": "co-located leases", "shelf": "shared result cache",
    "teller": "reporter", "keeper": "tracker", "told": "sent", "riddle": "question",
    "anew": "again", "whatever": "any", "wherever": "at any place", "somewhere": "in …",
}
TRAILING_BEGINNINGS = re.compile(r"^(what|whatever|who|whoever|whether|how) ", re.I)
TRAILING = re.compile(r"^(?!#).*\S\s+// (.*)$")
TABLE_ROW = re.compile(r"\S+( \S+){0,5}  +\S|[=\s]+$")
COMMENT = re.compile(r"^\s*(?://|///<?)( ?)(.*)$")


def comments(text):
    """Yields (line number, text) of each comment: successive lines, without
    code, tables and lists, which are indented by two or more."""
    lines, first = [], 0
    for number, line in enumerate(text.splitlines() + [""], 1):
        found = COMMENT.match(line)
        body = found[2] if found else None
        if body is not None and body.strip() and not body.startswith("  ") and not body.startswith(("NOLINT", "----")):
            lines = lines or []
            first = first if lines else number
            lines.append(body.strip())
            continue
        if lines:
            yield first, " ".join(lines)
        lines = []


def python_comments(text):
    """Yields the same of a Python file, and the paragraphs of its docstrings."""
    lines = [""] * (text.count("\n") + 2)
    after_code = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith(("#!", "# noqa", "# type:", "# ruff:", "#  ")):
            if token.line[:token.start[1]].strip():
                after_code.append((token.start[0], token.string[1:].strip()))
            else:
                lines[token.start[0]] = "// " + token.string[1:].strip()
    yield from comments("\n".join(lines[1:]))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (words := ast.get_docstring(node)):
            first = node.body[0].lineno
            prose = "\n".join("//" if TABLE_ROW.match(line) else "// " + line for line in words.splitlines())
            yield from ((first + number - 1, comment) for number, comment in comments(prose))
    yield from after_code


def sentences(comment):
    """Splits after a full stop, colon or semicolon that a space follows."""
    comment = re.sub(r"\b(e\.g|i\.e|etc|vs)\.", r"\1", comment)
    return [part.strip() for part in re.split(r"(?<=[.:;!?])\s+(?=\S)", comment) if part.strip()]


def trailing(text):
    """Yields (line number, text) of each comment after code."""
    for number, line in enumerate(text.splitlines(), 1):
        if (found := TRAILING.match(line)) and not found[1].startswith(("NOLINT", "namespace")):
            yield number, found[1]


def words(path, number, comment):
    """Finds phrases and private words."""
    for phrase, hint in PHRASES:
        if found := phrase.search(comment):
            yield f"{path}:{number}: '{found[1]}'; say {hint}"
    for word in sorted(set(re.findall(r"\b[a-z]+\b", comment.lower())) & set(PRIVATE)):
        yield f"{path}:{number}: '{word}'; say {PRIVATE[word]}"


def faults(path, text):
    for number, comment in [] if path.endswith(".py") else trailing(text):
        if found := TRAILING_BEGINNINGS.match(comment):
            yield f"{path}:{number}: a comment begins with '{found[1]}'; begin with the thing"
        yield from words(path, number, comment)
    for number, comment in (python_comments if path.endswith(".py") else comments)(text):
        if found := BEGINNINGS.match(comment):
            yield f"{path}:{number}: a comment begins with '{found[1]}'; begin with the thing"
        for sentence in sentences(comment):
            spoken = [word for word in sentence.split() if re.search(r"[A-Za-z0-9]", word)]
            if len(spoken) > WORDS_MAX:
                yield f"{path}:{number}: a sentence of {len(spoken)} words: {' '.join(spoken[:6])} …"
        yield from words(path, number, comment)


def english(tree, _libraries, _allowed, _build):
    """Comments are plain English."""
    for path in sorted(path for path in tree.files if path.endswith(ENDINGS) and not path.startswith(RECORDED)):
        yield from faults(path, tree.text(path))
