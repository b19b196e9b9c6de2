"""Language models: the rows of pretrain.yaml for two ranks, which stop and continue."""

import itertools
import pathlib

import feedmill as fm

RANKS = 2
data = fm.Dataset.from_yaml(pathlib.Path(__file__).with_suffix(".yaml").read_text())


def rows(service, states, steps):
    """Reads some batches of each rank; returns their ids and the ranks' states."""
    found = []
    for rank in range(RANKS):
        with data.read(
            service=service, job="pretrain", rank=rank, ranks=RANKS, state=states[rank]
        ) as reader:
            found.append([batch["ids"].tolist() for batch in itertools.islice(reader, steps)])
            states[rank] = reader.state_dict()
    return found


with fm.DispatchServer() as dispatcher, fm.WorkerServer(dispatcher.target):
    states = [None] * RANKS
    first = rows(dispatcher.target, states, 2)
    second = rows(dispatcher.target, states, 2)  # as after a crash, from the states
print([len(batch) for rank in (*first, *second) for batch in rank], first != second)
