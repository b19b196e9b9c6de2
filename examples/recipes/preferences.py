"""Preference pairs (DPO): both answers of a prompt, in rows of one batch."""

import feedmill as fm


def chat(name):
    return f"tokenize_chat({name}, 'tokenizer.json', 'chatml')"


data = (
    fm.Dataset.jsonl("preferences.jsonl", fields={"chosen": "bytes", "rejected": "bytes"})
    .shuffle()
    .map(chosen=chat("chosen"), rejected=chat("rejected"))
    .map(
        lambda e: {
            "chosen": e.chosen[0],
            "chosen_loss": e.chosen[1],
            "rejected": e.rejected[0],
            "rejected_loss": e.rejected[1],
        }
    )
    .filter("len(chosen) <= 1024 and len(rejected) <= 1024")
    .padded_batch(4)
    .with_options(seed=1)
)
for batch in data.read():
    print({name: rows.shape for name, rows in batch.items()})
