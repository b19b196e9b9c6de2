#!/usr/bin/env python3
"""Writes chats with their token ids and loss masks by transformers (chats.json).

Also a tokenizer with the special tokens of the templates (chat.json), and offsets of tokens
(offsets.json).

python3 -m venv /tmp/venv
/tmp/venv/bin/pip install tokenizers==0.23.3 transformers==5.18.0 jinja2 numpy
/tmp/venv/bin/python tests/python/tokenizers/make_chats.py

The templates are the models' own, with `{% generation %}` around what the assistant writes.
"""

import itertools
import json
import pathlib

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

HERE = pathlib.Path(__file__).parent
CHATML = (
    "{% for message in messages %}{% if message['role'] == 'assistant' %}"
    "{{ '<|im_start|>assistant\n' }}{% generation %}{{ message['content'] + '<|im_end|>' }}"
    "{% endgeneration %}{{ '\n' }}{% else %}{{ '<|im_start|>' + message['role'] + '\n' "
    "+ message['content'] + '<|im_end|>' + '\n' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
ALTERNATE = (
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}"
)
TURNS = (
    "{% for message in messages %}{% if message['role'] not in ['user', 'assistant', 'system'] %}"
    "{{ raise_exception('role') }}{% endif %}"
    "{{ '<|' + message['role'] + '|>\n' }}{% if message['role'] == 'assistant' %}"
    "{% generation %}{{ message['content'] + END }}{% endgeneration %}"
    "{% else %}{{ message['content'] + END }}{% endif %}{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ FINISH }}{% endif %}"
)
TEMPLATES = {
    "chatml": CHATML,
    "qwen2": "{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful "
    "assistant.<|im_end|>\n' }}{% endif %}" + CHATML,
    "llama3": "{{ '<|begin_of_text|>' }}{% for message in messages %}"
    "{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' }}"
    "{% if message['role'] == 'assistant' %}"
    "{% generation %}{{ message['content'] | trim + '<|eot_id|>' }}{% endgeneration %}"
    "{% else %}{{ message['content'] | trim + '<|eot_id|>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}"
    "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}",
    "llama2": "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}"
    "{% set system_message = messages[0]['content'] %}{% else %}"
    "{% set loop_messages = messages %}{% set system_message = false %}{% endif %}"
    "{% for message in loop_messages %}" + ALTERNATE + "{% if message['role'] not in "
    "['user', 'assistant'] %}{{ raise_exception('role') }}{% endif %}"
    "{% if loop.index0 == 0 and system_message != false %}"
    "{% set content = '<<SYS>>\n' + system_message + '\n<</SYS>>\n\n' + message['content'] %}"
    "{% else %}{% set content = message['content'] %}{% endif %}"
    "{% if message['role'] == 'user' %}{{ '<s>' + '[INST] ' + content.strip() + ' [/INST]' }}"
    "{% else %}{{ ' ' }}{% generation %}{{ content.strip() + ' ' + '</s>' }}{% endgeneration %}"
    "{% endif %}{% endfor %}",
    "mistral": "{{ '<s>' }}{% for message in messages %}" + ALTERNATE + ""
    "{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}"
    "{% elif message['role'] == 'assistant' %}"
    "{% generation %}{{ message['content'] + '</s>' }}{% endgeneration %}"
    "{% else %}{{ raise_exception('role') }}{% endif %}{% endfor %}",
    "gemma": "{{ '<bos>' }}{% if messages[0]['role'] == 'system' %}"
    "{{ raise_exception('system') }}{% endif %}{% for message in messages %}"
    + ALTERNATE
    + "{% if message['role'] == 'assistant' %}{{ '<start_of_turn>model\n' }}"
    "{% generation %}{{ message['content'] | trim + '<end_of_turn>' }}{% endgeneration %}"
    "{{ '\n' }}{% elif message['role'] == 'user' %}{{ '<start_of_turn>user\n' "
    "+ message['content'] | trim + '<end_of_turn>\n' }}"
    "{% else %}{{ raise_exception('role') }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}",
    "zephyr": TURNS.replace("END", "'</s>'").replace("FINISH", "''"),
    "phi3": TURNS.replace("END", "'<|end|>'").replace("FINISH", "'<|endoftext|>'"),
}
SPECIAL = (
    "<|im_start|> <|im_end|> <|begin_of_text|> <|start_header_id|> <|end_header_id|> <|eot_id|> "
    "<s> </s> <bos> <start_of_turn> <end_of_turn> <|system|> <|user|> <|assistant|> <|end|> "
    "<|endoftext|>"
).split()
ROLES = [
    "u",
    "ua",
    "uau",
    "uaua",
    "su",
    "sua",
    "suaua",
    "aa",
    "uu",
    "usa",
    "tua",
]
CONTENTS = [
    "What is 2 + 2?",
    "4",
    "\n\nAn answer in two lines,\nthe second ends in spaces.  ",
    "\u3000Wide and \u00e9\u4e2d\U0001f600 letters\u00a0\t",
    "",
    "It's <|im_end|> inside, don't you see?",
    " the",
]


def chats():
    contents = itertools.cycle(CONTENTS)
    names = {"u": "user", "a": "assistant", "s": "system", "t": "tool"}
    for roles in ROLES * 3:
        yield [{"role": names[role], "content": next(contents)} for role in roles]


def chat_tokenizer():
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(
                Regex(
                    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
                    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
                ),
                "isolated",
            ),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made.decoder = decoders.ByteLevel()
    words = [text for chat in chats() for text in (message["content"] for message in chat)]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        words * 3,
        trainers.BpeTrainer(vocab_size=340, initial_alphabet=alphabet, show_progress=False),
    )
    made.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL])
    made.post_processor = processors.ByteLevel(trim_offsets=True)
    return made


def answer(tokenizer, template, chat, prompt):
    """Returns the text, ids and mask of a chat; None if the template refuses it."""
    options = {"chat_template": template, "add_generation_prompt": prompt}
    try:
        text = tokenizer.apply_chat_template(chat, tokenize=False, **options)
    except Exception:
        return None
    made = tokenizer.apply_chat_template(
        chat, return_dict=True, return_assistant_tokens_mask=True, **options
    )
    return {"text": text, "ids": made["input_ids"], "mask": made["assistant_masks"]}


def main():
    chat_tokenizer().save(str(HERE / "chat.json"), pretty=False)
    found = {"chats": list(chats()), "made": {}}
    for file in ("chat.json", "bpe.json", "unigram.json"):
        fast = PreTrainedTokenizerFast(tokenizer_file=str(HERE / file))
        for name, template in TEMPLATES.items():
            found["made"][f"{file} {name}"] = [
                answer(fast, template, chat, k % 3 == 0) for k, chat in enumerate(found["chats"])
            ]
    (HERE / "chats.json").write_text(json.dumps(found, separators=(",", ":")) + "\n")
    texts = json.loads((HERE / "cases.json").read_text())["texts"][::3]
    offsets = {"texts": texts, "files": {}}
    for file in ("bpe.json", "odd.json", "wordpiece.json", "unigram.json", "chat.json"):
        tokenizer = Tokenizer.from_file(str(HERE / file))
        whole = [tokenizer.encode(text).offsets for text in texts]
        tokenizer.enable_truncation(7)
        cut = [tokenizer.encode(text) for text in texts]
        offsets["files"][file] = {
            "whole": whole,
            "cut": [made.offsets for made in cut],
            "cut_ids": [made.ids for made in cut],
        }
    (HERE / "offsets.json").write_text(json.dumps(offsets, separators=(",", ":")) + "\n")


main()
