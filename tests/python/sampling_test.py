"""sample, split and subset: shares, stability, resuming and ranks."""

import feedmill as fm
import numpy as np
import pytest

COUNT = 20_000


def values(dataset, **read):
    with dataset.read(**read) as reader:
        return [int(x) for x in reader]


def chi_square(counts, expected):
    counts, expected = np.asarray(counts, float), np.asarray(expected, float)
    return float(((counts - expected) ** 2 / expected).sum())


def test_a_sample_has_its_share_in_every_part_of_the_input():
    kept = values(fm.Dataset.range(COUNT).sample(0.1))
    bins, _ = np.histogram(kept, bins=20, range=(0, COUNT))
    # 19 degrees of freedom and one for the total: 45.3 has a probability of 0.1 %.
    assert chi_square(bins, np.full(20, COUNT * 0.1 / 20)) < 45.3


def test_the_parts_of_a_split_are_disjoint_and_have_their_shares():
    parts = [0.8, 0.1, 0.1]
    found = [values(fm.Dataset.range(COUNT).split(parts, k)) for k in range(3)]
    assert sorted(x for one in found for x in one) == list(range(COUNT))
    assert chi_square([len(one) for one in found], COUNT * np.array(parts)) < 13.8


def test_a_sample_of_a_split_is_independent_of_it():
    kept = values(fm.Dataset.range(COUNT).split([0.5, 0.5], 1).sample(0.2))
    assert abs(len(kept) - COUNT * 0.1) < 5 * np.sqrt(COUNT * 0.09)
    other = values(fm.Dataset.range(COUNT).sample(0.2, seed=1))
    both = set(other) & set(values(fm.Dataset.range(COUNT).sample(0.2)))
    assert abs(len(both) - COUNT * 0.04) < 5 * np.sqrt(COUNT * 0.04)


def test_more_elements_change_no_choice():
    few, many = (values(fm.Dataset.range(n).split([0.7, 0.3], 1)) for n in (500, 900))
    assert [x for x in many if x < 500] == few
    shuffled = fm.Dataset.range(900).shuffle().with_options(seed=3)
    assert sorted(values(shuffled.split([0.7, 0.3], 1))) == many


def test_elements_with_one_key_stay_together():
    ds = fm.Dataset.range(600).map(lambda x: {"x": x, "user": x // 20})
    for by in ("user", lambda e: e.user, {"u": "x // 20"}):
        users = [int(e["user"]) for e in ds.sample(0.5, by=by).read()]
        assert 0 < len(users) < 600
        assert all(users.count(user) == 20 for user in users)
    # Equal values of another dtype, and texts, choose alike.
    keys = [f"cast(user, {dtype})" for dtype in ("int8", "uint64", "int64")]
    kept = [[int(e["x"]) for e in ds.sample(0.5, by=key).read()] for key in keys]
    assert kept[0] == kept[1] == kept[2]


def test_a_key_needs_no_other_component(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("id,n\n" + "".join(f"{k},{'bad' if k % 2 else k}\n" for k in range(40)))
    ds = fm.Dataset.csv(str(rows), fields={"id": "int64", "n": "int64"})
    assert [int(e["id"]) for e in ds.sample(1, by="id").select("id").read()] == list(range(40))
    with pytest.raises(fm.DataLossError):
        list(ds.sample(1).select("id").read())


@pytest.mark.parametrize("step", ["sample", "split", "subset", "subset behind a filter"])
def test_a_state_continues_exactly(step):
    ds = fm.Dataset.range(300)
    if step == "sample":
        ds = ds.sample(0.3)
    elif step == "split":
        ds = ds.split([0.4, 0.6], 0)
    else:
        ds = ds.filter(lambda x: x % 3 > 0) if "filter" in step else ds
        ds = ds.subset([0, 1, 7, 100, 150, 199])
    ds = ds.batch(2).repeat(2)
    whole = [x.tolist() for x in ds.read()]
    assert len(whole) > 5
    for cut in (1, 3, len(whole) - 1):
        reader = ds.read()
        for _ in range(cut):
            next(reader)
        rest = [x.tolist() for x in ds.read(state=reader.state_dict())]
        assert rest == whole[cut:], cut


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks_share_a_subset(ranks):
    ds = fm.Dataset.range(300).subset(np.arange(0, 300, 7)).split([0.5, 0.5], 0)
    found = [values(ds, rank=k, ranks=ranks) for k in range(ranks)]
    assert sorted(x for one in found for x in one) == values(ds)


def test_a_subset_is_the_elements_of_numpy():
    indices = np.flatnonzero(np.random.default_rng(1).random(70_000) < 0.5)
    assert values(fm.Dataset.range(70_000).subset(indices)) == indices.tolist()
    assert len(fm.Dataset.range(10).subset([3, 4]).read()) == 2
    assert values(fm.Dataset.range(10).subset([])) == []


def test_indexes_that_do_not_fit_are_errors():
    with pytest.raises(fm.InvalidArgumentError, match="1 is behind 5; sort them"):
        list(fm.Dataset.range(10).subset([5, 1]).read())
    with pytest.raises(fm.InvalidArgumentError, match="-1 is negative"):
        list(fm.Dataset.range(10).subset([-1]).read())
    for ds in (fm.Dataset.range(10), fm.Dataset.range(11).filter("x > 0")):
        with pytest.raises(fm.InvalidArgumentError, match="no element 10; there are 10"):
            list(ds.subset([10]).read())


def test_shares_that_do_not_fit_are_errors():
    with pytest.raises(fm.InvalidArgumentError, match=r"0 to 1, it is 1\.5"):
        list(fm.Dataset.range(10).sample(1.5).read())
    with pytest.raises(fm.InvalidArgumentError, match=r"must be 1, it is 0\.9"):
        list(fm.Dataset.range(10).split([0.8, 0.1], 0).read())
    with pytest.raises(fm.InvalidArgumentError, match="must be 0 to 1, it is 2"):
        list(fm.Dataset.range(10).split([0.5, 0.5], 2).read())


# ---- weights


def test_elements_are_chosen_by_their_weights_to_one():
    rng = np.random.default_rng(3)
    weights = rng.exponential(size=500)
    weights[::7] = 0
    count = 3000
    expected = weights / weights.sum() * count
    dataset = fm.Dataset.range(500).weighted_sample(weights, count=count)
    total = np.zeros(500)
    for epoch in range(40):
        found = np.bincount(values(dataset.with_options(seed=5), epoch=epoch), minlength=500)
        assert found.sum() == count
        assert (np.floor(expected - 1e-9) <= found).all() and (found <= np.ceil(expected)).all()
        total += found
    some = expected > 0
    # NumPy's independent draws have a chi-square of 428 here; a grid varies less.
    drawn = rng.multinomial(count * 40, expected / count)
    reached = chi_square(total[some], expected[some] * 40)
    assert reached < chi_square(drawn[some], expected[some] * 40) < 1.3 * some.sum()


def test_distinct_elements_have_chances_by_their_weights():
    weights = np.array([50.0, 1, 2, 3, 4, 5, 6, 0])
    dataset = fm.Dataset.range(8).weighted_sample(weights, count=4, distinct=True)
    total = np.zeros(8)
    epochs = 3000
    for epoch in range(epochs):
        found = values(dataset.with_options(seed=2), epoch=epoch)
        assert len(set(found)) == 4
        total[found] += 1
    # Element 0 is always there; the others share three places.
    expected = np.array([1, *(weights[1:] / weights[1:].sum() * 3)]) * epochs
    some = (expected > 0) & (np.arange(8) > 0)
    assert total[0] == epochs and total[7] == 0
    # 6 degrees of freedom: 22.5 has a probability of 0.1 %.
    assert chi_square(total[some], expected[some]) < 22.5


def test_numbers_are_in_files(tmp_path):
    weights = np.arange(100) % 5 / 4
    np.save(tmp_path / "weights.npy", weights)
    np.save(tmp_path / "classes.npy", np.arange(100) % 3)
    np.save(tmp_path / "indices.npy", np.arange(0, 100, 9, dtype=np.uint16))
    (tmp_path / "weights.csv").write_text("w\n" + "".join(f"{w}\n" for w in weights))
    numbers = fm.Dataset.range(100)
    expected = values(numbers.weighted_sample(weights, seed=1))
    for name in ("weights.npy", "weights.csv"):
        assert values(numbers.weighted_sample(tmp_path / name, seed=1)) == expected
    balanced = numbers.weighted_sample(classes=tmp_path / "classes.npy", seed=1)
    assert values(balanced) == values(numbers.weighted_sample(classes=np.arange(100) % 3, seed=1))
    assert values(numbers.subset(tmp_path / "indices.npy")) == list(range(0, 100, 9))
    pipeline = tmp_path / "pipeline.yaml"
    pipeline.write_text("source: {range: 100}\nsteps:\n  - subset: indices.npy\n")
    assert values(fm.Dataset.from_yaml(pipeline)) == list(range(0, 100, 9))


def test_files_without_one_number_a_row_are_errors(tmp_path):
    np.save(tmp_path / "mask.npy", np.ones(10, bool))
    np.save(tmp_path / "floats.npy", np.ones(10))
    np.save(tmp_path / "pairs.npy", np.ones((10, 2)))
    np.save(tmp_path / "large.npy", np.array([1, 2**63 + 5], np.uint64))
    numbers = fm.Dataset.range(10)
    for name, message in (
        ("mask.npy", "its values are bool, not integers"),
        ("floats.npy", "its values are float64, not integers"),
        ("pairs.npy", "not one number in each row"),
        ("large.npy", r"a number above 2\^63"),
    ):
        with pytest.raises(fm.InvalidArgumentError, match=message):
            numbers.subset(tmp_path / name)
    with pytest.raises(fm.InvalidArgumentError, match=r"none\.npy: no such file"):
        numbers.weighted_sample(tmp_path / "none.npy")


def test_the_order_of_chosen_elements_is_random():
    dataset = fm.Dataset.range(2).weighted_sample([1, 1], count=10_000).with_options(seed=4)
    found = np.array(values(dataset))
    assert found.sum() == 5000
    runs = 1 + np.count_nonzero(found[1:] != found[:-1])
    assert abs(runs - 5001) < 5 * 50
    assert values(dataset, epoch=1) != found.tolist()


def test_classes_are_balanced():
    labels = np.array([0] * 900 + [1] * 90 + [3] * 10)
    dataset = fm.Dataset.from_numpy({"label": labels, "n": np.arange(1000)})
    even = dataset.weighted_sample(classes="label", count=300, seed=1)
    found = [(int(e["label"]), int(e["n"])) for e in even.read()]
    assert np.bincount([label for label, _ in found]).tolist() == [100, 100, 0, 100]
    assert np.bincount([n for label, n in found if label == 3])[990:].tolist() == [10] * 10
    assert len({n for label, n in found if label == 0}) == 100
    shares = dataset.weighted_sample([0.5, 0.25, 9, 0.25], classes=labels, count=400, seed=1)
    assert np.bincount([int(e["label"]) for e in shares.read()]).tolist() == [200, 100, 0, 100]


def test_a_weighted_sample_resumes_and_has_ranks():
    weights = np.arange(100) % 5
    dataset = (
        fm.Dataset.range(100)
        .weighted_sample(weights, count=250)
        .repeat(2)
        .batch(7)
        .with_options(seed=9)
    )
    whole = [batch.tolist() for batch in dataset.read()]
    assert whole[0] != whole[len(whole) // 2]
    with dataset.read() as reader:
        for _ in range(20):
            next(reader)
        state = reader.state_dict()
    assert [batch.tolist() for batch in dataset.read(state=state)] == whole[20:]
    ranks = [[b.tolist() for b in dataset.read(rank=rank, ranks=3)] for rank in range(3)]
    assert [ranks[k % 3][k // 3] for k in range(len(whole))] == whole


def test_a_service_chooses_the_same_elements(service):
    weighted = fm.Dataset.range(1000).weighted_sample(np.arange(1000), count=500)
    for dataset in (
        weighted.with_options(seed=3),
        fm.Dataset.range(1000).sample(0.3).with_options(seed=3),
        fm.Dataset.range(1000).split([0.5, 0.5], 1).with_options(seed=3),
    ):
        assert values(dataset, service=service) == values(dataset)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda ds: ds.weighted_sample([1, 2]), "there are 2 weights, and 10 elements"),
        (lambda ds: ds.weighted_sample([0] * 10), "all weights are 0"),
        (lambda ds: ds.weighted_sample([-1] * 10), "a weight must be a number of at least 0"),
        (lambda ds: ds.weighted_sample(), "it needs `weights`"),
        (lambda ds: ds.weighted_sample(classes=[-1] * 10), "there is no class -1"),
        (lambda ds: ds.weighted_sample([1], classes=[1] * 10), "there is no class 1"),
        (lambda ds: ds.weighted_sample([1] * 10, count=11, distinct=True), "count is 11, and 10"),
        (lambda ds: ds.filter("x > 2").weighted_sample([1] * 7), "it cannot stand after steps"),
        (lambda ds: ds.repeat().weighted_sample([1] * 10), "is infinite"),
    ],
)
def test_weights_that_do_not_fit(make, message):
    with pytest.raises(fm.InvalidArgumentError, match=message):
        values(make(fm.Dataset.range(10)).with_options(seed=1))
