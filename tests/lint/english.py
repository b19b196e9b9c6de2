"""Plain English: texts that a reader understands at the first reading.

A comment, a paragraph of a page and a help text begin with their subject. Their
sentences have at most WORDS_MAX words. They use the field's terms instead of
private ones (docs/tour.md has a glossary). Names of tests, errors and lines of
logs do so, too. A line of a page has at most COLUMNS_MAX columns, except rows of tables and output.
"""
import re

import prose

WORDS_MAX = 25
COLUMNS_MAX = 100
COMMENTS = {
    (".h", ".cc", ".fbs"): prose.cpp_comments,
    (".py",): prose.python_comments,
    (".sh", ".bash", ".bats", ".cmake", "CMakeLists.txt"): prose.hash_comments,
}
# Folders whose programs without an ending are shell scripts, if they say so.
SCRIPTS = ("tools/", ".ci/", "deploy/", "bench/", "examples/")
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
# The same for comments and names of tests, where code has no such names.
LIVING_PHRASES = {
    r"(that|those) of|the one that": "name the thing again, or use its genitive",
    r"live components?": "columns that later steps need",
    r"pieces? of (work|memory|data|text|code|(a|the) file)": "task, block, part, range: a piece is a chunk with its cursors",
}
LIVING_PHRASES = [(re.compile(rf"\b({phrase})\b", re.I), hint) for phrase, hint in LIVING_PHRASES.items()]
LIVING = {
    "beat": "heartbeat", "watch": "poll, monitor", "lane": "track, recorder", "awaited": "pending, absent",
    "settle": "make final", "settler": "the part that makes it final", "gate": "authenticator, limiter",
    "mailbox": "in-process channel", "ticket": "entry", "loan": "lease", "said": "reported", "dry": "exhausted",
}
# Words with one meaning: a comment that has the word also has one of the others.
ONE_MEANING = {
    "slot": ("worker|lease", "pass, entry, operand or process: a slot is a lease that a worker may hold"),
}
ONE_MEANING = [(re.compile(rf"\b({word}s?)\b", re.I), re.compile(others, re.I), hint)
               for word, (others, hint) in ONE_MEANING.items()]
LIVING = {re.compile(rf"(?<![-\w:.])({word}(?:e?s|e?d|ing)?)(?![-\w(:])(?! run)"): hint for word, hint in LIVING.items()}
TRAILING_BEGINNINGS = re.compile(r"^(what|whatever|who|whoever|whether|how) ", re.I)


def sentences(comment):
    """Splits after a full stop, colon or semicolon that a space follows."""
    comment = re.sub(r"\b(e\.g|i\.e|etc|vs)\.", r"\1", comment)
    return [part.strip() for part in re.split(r"(?<=[.:;!?])\s+(?=\S)", comment) if part.strip()]


def words(path, number, comment):
    """Finds phrases and private words."""
    for phrase, hint in PHRASES:
        if found := phrase.search(comment):
            yield f"{path}:{number}: '{found[1]}'; say {hint}"
    yield from private_words(path, number, comment)


def living_words(path, number, text):
    """Finds more of them in a comment or in the name of a test; code in it does not count."""
    text = re.sub(r"`[^`]*`", "X", text)
    for pattern, hint in [*LIVING_PHRASES, *LIVING.items()]:
        if found := pattern.search(text):
            yield f"{path}:{number}: '{found[1]}'; say {hint}"
    for word, others, hint in ONE_MEANING:
        if (found := word.search(text)) and not others.search(text):
            yield f"{path}:{number}: '{found[1]}'; say {hint}"


def private_words(path, number, text):
    for word in sorted(set(re.findall(r"\b[a-z]+\b", text.lower())) & set(PRIVATE)):
        yield f"{path}:{number}: '{word}'; say {PRIVATE[word]}"


def prose_faults(path, number, text, kind):
    """Finds what a comment, a paragraph or a help text must not have."""
    if found := BEGINNINGS.match(text):
        yield f"{path}:{number}: a {kind} begins with '{found[1]}'; begin with the thing"
    for sentence in sentences(text):
        spoken = [word for word in sentence.split() if re.search(r"[A-Za-z0-9]", word)]
        if len(spoken) > WORDS_MAX:
            yield f"{path}:{number}: a sentence of {len(spoken)} words: {' '.join(spoken[:6])} …"
    yield from words(path, number, text)
    if kind == "comment":
        yield from living_words(path, number, text)


def comment_faults(path, text):
    for number, comment in prose.cpp_trailing(text) if path.endswith((".h", ".cc", ".fbs")) else ():
        if found := TRAILING_BEGINNINGS.match(comment):
            yield f"{path}:{number}: a comment begins with '{found[1]}'; begin with the thing"
        yield from words(path, number, comment)
        yield from living_words(path, number, comment)
    for endings, comments in COMMENTS.items():
        if path.endswith(endings):
            for number, comment in comments(text):
                yield from prose_faults(path, number, comment, "comment")


def script_faults(path, text):
    """Checks the comments of a program without an ending, by its first line."""
    first = text.split("\n", 1)[0]
    if re.match(r"#!.*\bpython3?\b", first):
        comments = prose.python_comments
    elif re.match(r"#!.*sh\b", first):
        comments = prose.hash_comments
    else:
        return
    for number, comment in comments(text):
        yield from prose_faults(path, number, comment, "comment")


def page_faults(path, text):
    for number, paragraph in prose.markdown(text):
        yield from prose_faults(path, number, paragraph, "paragraph")
    for number, line in [*prose.headings(text), *prose.table_rows(text)]:
        yield from words(path, number, line)
    for number, line in prose.wrapped_lines(text):
        if len(line) > COLUMNS_MAX:
            yield f"{path}:{number}: a line of {len(line)} columns; write at most {COLUMNS_MAX}"


def help_faults(path, text):
    for number, sentence in prose.help_texts(text):
        yield from prose_faults(path, number, sentence, "help text")


def message_faults(path, text):
    """Finds phrases and private words in errors and lines of logs."""
    texts = prose.python_messages if path.endswith(".py") else prose.messages
    for number, message in texts(text):
        yield from words(path, number, message)


def name_faults(path, text):
    for number, name in prose.test_names(path, text):
        if found := BEGINNINGS.match(name + " "):
            yield f"{path}:{number}: the name of a test begins with '{found[1]}'; say subject and behaviour"
        yield from words(path, number, name)
        yield from living_words(path, number, name.lower())


def english(tree, _libraries, _allowed, _build):
    """Texts are plain English."""
    for path in sorted(path for path in tree.files if not path.startswith(RECORDED)):
        if path.endswith(tuple(ending for endings in COMMENTS for ending in endings)):
            yield from comment_faults(path, tree.text(path))
        elif path.endswith(".md"):
            yield from page_faults(path, tree.text(path))
        elif path.startswith(SCRIPTS) and "." not in path.split("/")[-1]:
            yield from script_faults(path, tree.text(path))
        if path.startswith("tools/command/") and path.endswith(".cc"):
            yield from help_faults(path, tree.text(path))
        if path.endswith((".h", ".cc", ".py")) and not path.startswith("tests/"):
            yield from message_faults(path, tree.text(path))
        if path.startswith(("tests/", "python/")):
            yield from name_faults(path, tree.text(path))
