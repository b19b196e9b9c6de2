"""Chats for supervised fine-tuning: labels are -100 where the loss does not count a token."""

import feedmill as fm

data = (
    fm.Dataset.jsonl("chats.jsonl", fields={"messages": "bytes"})
    .shuffle()
    .map(chat="tokenize_chat(messages, 'tokenizer.json', 'chatml')")
    .map(lambda e: {"ids": e.chat[0], "loss": e.chat[1]})
    .map(lambda e: {"ids": e.ids, "labels": fm.functions.where(e.loss == 1, e.ids, -100)})
    .pack(1024, longer="truncate", values={"labels": -100})
    .batch(2)
    .with_options(seed=1)
)
for batch in data.read():
    print(batch["ids"].shape, int((batch["labels"] != -100).sum()))
