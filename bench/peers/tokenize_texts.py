"""Texts of this machine with tokenizers for them, and their tokens by other packages.

    tokenize_texts.py make FOLDER          texts.jsonl, bpe.json (32,000 tokens), cl100k_base.tiktoken (its ranks)
    tokenize_texts.py tokenizers FOLDER    on one core, from tokenizer.json
    tokenize_texts.py tiktoken FOLDER      on one core, from ranks
    tokenize_texts.py sentencepiece FOLDER on one core, from pieces.model (16,000 pieces, BPE), which make makes, too

Prints one line of JSON: elements, bytes, check (the sum of the ids), seconds, CPU seconds of the encoding.
"""
import base64
import glob
import json
import os
import pathlib
import sys
import time

BYTES = 20_000_000
SMALLEST, LARGEST = 500, 200_000
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
           r"|\s*[\r\n]+|\s+(?!\S)|\s+")


def documents():
    """Returns texts of the documentation and the Python code of this machine, half of the bytes each."""
    for pattern in ("/usr/share/doc/**/*", "/usr/lib/python3/**/*.py"):
        left = BYTES // 2
        for path in sorted(glob.glob(pattern, recursive=True)):
            if left <= 0:
                break
            if os.path.isfile(path) and SMALLEST <= os.path.getsize(path) <= LARGEST and not path.endswith(".gz"):
                try:
                    text = pathlib.Path(path).read_text()
                except UnicodeDecodeError:
                    continue
                left -= len(text.encode())
                yield text


def make_pieces(folder, texts):
    import sentencepiece
    lines = [line for text in texts[::4] for line in text.splitlines() if line.strip()]
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_prefix=str(folder / "pieces"),
                                             vocab_size=16_000, model_type="bpe", minloglevel=2)


def make(folder):
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    folder.mkdir(parents=True, exist_ok=True)
    texts = list(documents())
    (folder / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERN), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    make_pieces(folder, texts)
    made.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=32_000, initial_alphabet=alphabet, show_progress=False))
    made.save(str(folder / "bpe.json"))
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    byte_of = {chr(byte): byte for byte in shown} | {chr(256 + k): byte for k, byte in enumerate(hidden)}
    ranks = sorted(made.get_vocab().items(), key=lambda item: item[1])
    lines = (base64.b64encode(bytes(byte_of[letter] for letter in token)) + b" %d\n" % rank for token, rank in ranks)
    (folder / "cl100k_base.tiktoken").write_bytes(b"".join(lines))


def encoder(library, folder):
    if library == "tokenizers":
        from tokenizers import Tokenizer
        made = Tokenizer.from_file(str(folder / "bpe.json"))
        return lambda texts: [encoding.ids for encoding in made.encode_batch_fast(texts)]
    if library == "sentencepiece":
        import sentencepiece
        made = sentencepiece.SentencePieceProcessor(model_file=str(folder / "pieces.model"))
        return lambda texts: [made.encode(text) for text in texts]
    import tiktoken
    pairs = (line.split() for line in (folder / "cl100k_base.tiktoken").read_bytes().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in pairs}
    made = tiktoken.Encoding("cl100k_base", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
    return lambda texts: [made.encode_ordinary(text) for text in texts]


def main():
    library, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if library == "make":
        make(folder)
        print("{}")
        return
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    texts = [json.loads(line)["text"] for line in (folder / "texts.jsonl").open()]
    encode = encoder(library, folder)
    start, cpu = time.perf_counter(), time.process_time()
    found = encode(texts)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(json.dumps({"elements": len(texts), "bytes": sum(len(text.encode()) for text in texts),
                      "check": sum(map(sum, found)), "seconds": seconds, "cpu_s": cpu}))


main()
