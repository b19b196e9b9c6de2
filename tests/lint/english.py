"""Plain English: comments that a reader understands at the first reading.

A comment begins with its subject, has sentences of at most WORDS_MAX words, and
says the field's terms instead of private ones (docs/tour.md has a glossary).
"""
import re

WORDS_MAX = 25
# Folders whose comments follow the rules. Others are added as they are
# rewritten.
FOLDERS = ("include", "environment", "core/base", "core/chunk", "core/cluster", "core/dataset", "core/definition",
           "core/formats", "core/io", "core/net", "core/operators", "core/ops", "core/pipeline", "core/plan",
           "core/process", "core/sources", "core/storage", "core/wire", "broker", "client", "worker", "server", "cloud",
           "monitoring", "stores", "plugins", "python/src", "tools", "examples", "bench", "schemas", "tests/conformance",
           "tests/reference", "tests/sim", "tests/unit")
ENDINGS = (".h", ".cc", ".fbs")
# Words that begin a riddle: the subject comes later, never, or in another comment.
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
    for number, comment in trailing(text):
        if found := TRAILING_BEGINNINGS.match(comment):
            yield f"{path}:{number}: a comment begins with '{found[1]}'; begin with the thing"
        yield from words(path, number, comment)
    for number, comment in comments(text):
        if found := BEGINNINGS.match(comment):
            yield f"{path}:{number}: a comment begins with '{found[1]}'; begin with the thing"
        for sentence in sentences(comment):
            spoken = [word for word in sentence.split() if re.search(r"[A-Za-z0-9]", word)]
            if len(spoken) > WORDS_MAX:
                yield f"{path}:{number}: a sentence of {len(spoken)} words: {' '.join(spoken[:6])} …"
        yield from words(path, number, comment)


def english(tree, _libraries, _allowed, _build):
    """Comments are plain English."""
    folders = tuple(folder + "/" for folder in FOLDERS)
    for path in sorted(path for path in tree.files if path.endswith(ENDINGS) and path.startswith(folders)):
        yield from faults(path, tree.text(path))
