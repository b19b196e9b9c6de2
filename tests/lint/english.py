"""Plain English: comments that a reader understands at the first reading.

A comment begins with its subject, has sentences of at most WORDS_MAX words, and
says the field's terms instead of private ones (docs/tour.md has a glossary).
"""
import re

WORDS_MAX = 25
# Folders whose comments follow the rules. Others are added as they are
# rewritten.
FOLDERS = ("include", "environment")
# Words that begin a riddle: the subject comes later, or never.
BEGINNINGS = re.compile(
    r"^(What|Whatever|Who|Whoever|Whom|Whose|Whether|Of|Where|So|That|Those|As|How) ")
PRIVATE = {
    "nobody": "no client, no process …", "somebody": "a client, a process …", "whoever": "any process that …",
    "endless": "infinite", "manieth": "ordinal", "kin": "co-located leases", "shelf": "shared result cache",
    "teller": "reporter", "keeper": "tracker", "told": "sent", "riddle": "question",
}
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


def faults(path, text):
    for number, comment in comments(text):
        if found := BEGINNINGS.match(comment):
            yield f"{path}:{number}: a comment begins with '{found[1]}'; begin with the thing"
        for sentence in sentences(comment):
            words = [word for word in sentence.split() if re.search(r"[A-Za-z0-9]", word)]
            if len(words) > WORDS_MAX:
                yield f"{path}:{number}: a sentence of {len(words)} words: {' '.join(words[:6])} …"
        for word in sorted(set(re.findall(r"[a-z]+", comment.lower())) & set(PRIVATE)):
            yield f"{path}:{number}: '{word}'; say {PRIVATE[word]}"


def english(tree, _libraries, _allowed, _build):
    """Comments are plain English."""
    for path in tree.code(*FOLDERS):
        yield from faults(path, tree.text(path))
