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
