"""Cases of slices, lengths and padding, with NumPy and Python as oracles."""
import numpy as np

from case_format import ALL, INTS, column, emit, literal, ragged, strings, values

END = 2**63 - 1
BOUNDS = (0, 2, 5, 9, -1, -6, -9, END, -END - 1)
TEXTS = [b"", b"a", b"hello", b"\xc3\xa9t\xc3\xa9", b"0123456789"]


def whole(a, axis):
    return (slice(None),) * axis


def slice_cases():
    rng = np.random.default_rng(21)
    a = rng.integers(-9, 9, (3, 6)).astype(np.int16)
    b = rng.integers(-9, 9, (2, 4, 6, 3)).astype(np.uint8)
    rows = [rng.integers(-9, 9, (n, 2)).astype(np.int32) for n in (2, 0, 6, 1)]
    texts = [strings(TEXTS[:3]), strings([]), strings(TEXTS)]
    for start in BOUNDS:
        for stop in BOUNDS:
            for step in (1, -1, 2, -3, END):
                at = slice(start, stop, step)
                bounds = [literal(start), literal(stop), literal(step), literal(0)]
                emit("getslice", [column(a), *bounds], a[:, at])
                if step in (1, -3):
                    emit("getslice", [column(strings(TEXTS)), *bounds], strings([t[at] for t in TEXTS]))
                if step in (2, -1):
                    emit("getslice", [ragged(rows), *bounds], ragged([r[at] for r in rows]))
                    emit("getslice", [ragged(texts), *bounds], ragged([r[at] for r in texts]))
    for axis in (0, 1, 2, -1, -3):
        for at in (slice(1, 3, 1), slice(3, 0, -2)):
            emit("getslice", [column(b), literal(at.start), literal(at.stop), literal(at.step), literal(axis)],
                 b[whole(b, 1 + axis % 3) + (at,)])
    for d in ALL:
        v = values(d).reshape(2, 6)
        emit("getslice", [column(v), literal(4), literal(0), literal(-2), literal(0)], v[:, 4:0:-2])
    for d in INTS:
        starts, stops = np.array([0, 2, 1, 5]).astype(d), np.array([4, 1, 6, 9]).astype(d)
        cut = [r[int(s):int(e)] for r, s, e in zip(rows, starts, stops)]
        emit("getslice", [ragged(rows), column(starts), column(stops), literal(1), literal(0)], ragged(cut))
        same = np.stack([a[0]] * 4)
        emit("getslice", [column(same), column(starts), literal(END), literal(1), literal(0)],
             ragged([r[int(s):] for r, s in zip(same, starts)]))
        emit("getslice", ["const " + column(same[:1]), column(starts), column(stops), literal(1), literal(0)],
             ragged([same[0][int(s):int(e)] for s, e in zip(starts, stops)]))
    big = np.array([2**64 - 1, 1], np.uint64)
    emit("getslice", [column(a[:2]), literal(0), column(big), literal(1), literal(0)], ragged([a[0], a[1][:1]]))
    n = [literal(0), literal(2), literal(1), literal(0)]
    emit("getslice", [column(np.arange(3)), *n], "build-error")
    for bad in ([literal(0.0), *n[1:]], [column(a), *n[1:]], [*n[:2], literal(0), n[3]], [*n[:2], column(np.arange(3)), n[3]],
                [*n[:3], literal(1)], [*n[:3], literal(-2)]):
        emit("getslice", [column(a), *bad], "build-error")
    for bad in ([*n[:3], literal(1)], [literal(b"a"), *n[1:]]):
        emit("getslice", [column(strings(TEXTS)), *bad], "build-error")


def item_cases():
    rng = np.random.default_rng(22)
    b = rng.integers(-9, 9, (3, 4, 2)).astype(np.float32)
    for axis in (0, 1, -1, -2):
        for i in (0, 1, -1, -2):
            emit("getitem", [column(b), literal(i), literal(axis)], np.take(b, i, 1 + axis % 2))
        i = np.array([1, 0, -2])
        emit("getitem", [column(b), column(i), literal(axis)], np.stack([np.take(r, k, axis) for r, k in zip(b, i)]))
    emit("getitem", [column(b), column(np.array([0, 3, 4], np.uint8))], "data-error 2")
    emit("getitem", [column(b), column(np.array([0, -4, -5], np.int8))], "data-error 2")
    rows = [rng.integers(-9, 9, (n, 2)).astype(np.int32) for n in (2, 1, 6)]
    emit("getitem", [ragged(rows), column(np.array([1, 0, -6]))], np.stack([rows[0][1], rows[1][0], rows[2][0]]))
    emit("getitem", [ragged(rows), literal(1), literal(1)], ragged([r[:, 1] for r in rows]))
    emit("getitem", [ragged(rows), literal(1)], "data-error 1")
    for bad in ([literal(2), literal(1)], [literal(0), literal(2)], [column(b)], [literal(0.5)], [literal(True)]):
        emit("getitem", [column(b), *bad], "build-error")


def padded(row, length, value, axis=0):
    out = np.full(row.shape[:axis] + (length,) + row.shape[axis + 1:], value, row.dtype)
    out[whole(row, axis) + (slice(0, row.shape[axis]),)] = row
    return out


def pad_cases():
    rng = np.random.default_rng(23)
    for d in ALL:
        v = values(d).reshape(3, 4)
        one = True if d == "bool" else 7
        emit("pad_to", [column(v), literal(6), literal(one)], np.stack([padded(r, 6, one) for r in v]))
        rows = [v[0], v[0][:0], v[1][:2]]
        emit("pad_to", [ragged(rows), literal(4), literal(one)], np.stack([padded(r, 4, one) for r in rows]))
        per_row = v[2][:3]
        emit("pad_to", [ragged(rows), column(np.array([4, 1, 5])), column(per_row)],
             ragged([padded(r, n, x) for r, n, x in zip(rows, (4, 1, 5), per_row)]))
    b = rng.integers(0, 9, (2, 2, 3, 2)).astype(np.uint8)
    for axis in (0, 1, 2, -1, -3):
        emit("pad_to", [column(b), literal(5), literal(9), literal(axis)],
             np.stack([padded(r, 5, 9, axis % 3) for r in b]))
    texts = [strings(TEXTS[:2]), strings([]), strings(TEXTS[1:4])]
    emit("pad_to", [ragged(texts), literal(3), literal(b"--")], np.stack([padded(r, 3, b"--") for r in texts]))
    emit("pad_to", [ragged(texts), literal(2), literal(b"--")], "data-error 2")
    emit("pad_to", [ragged(texts), column(np.array([2, -1, 3])), literal(b"--")], "data-error 1")
    emit("pad_to", [column(b), literal(2), literal(0)], np.stack([padded(r, 2, 0) for r in b]))
    for bad in ([literal(1), literal(0)], [literal(-1), literal(0)], [literal(2.0), literal(0)], [literal(3), literal(300)],
                [literal(3), literal(0.5)], [literal(3), literal(b"a")], [literal(3), column(b)],
                [literal(3), literal(0), literal(3)], [literal(3), column(np.array([1, 2]))]):
        emit("pad_to", [column(b), *bad], "build-error")
    emit("pad_to", [column(np.arange(3)), literal(3), literal(0)], "build-error")


def length_cases():
    b = np.zeros((3, 4, 2))
    rows = [np.zeros((n, 2), np.uint8) for n in (2, 0, 5)]
    texts = [strings(TEXTS[:2]), strings([]), strings(TEXTS)]
    for name in ("len", "length"):
        emit(name, [column(b)], np.array([4, 4, 4]))
        emit(name, [column(b[:0])], np.array([], np.int64))
        emit(name, [ragged(rows)], np.array([2, 0, 5]))
        emit(name, ["const " + ragged(rows[2:])], np.array([5]))
        emit(name, [column(strings(TEXTS))], np.array([len(t) for t in TEXTS]))
        emit(name, [literal(b"abc")], np.array([3]))
        emit(name, [column(np.arange(3))], "build-error")
        emit(name, [literal(3)], "build-error")
        emit(name, [column(b), column(b)], "build-error")
    emit("len", [ragged(texts)], np.array([2, 0, 5]))
    emit("length", [ragged(texts)], ragged([np.array([len(t) for t in r], np.int64) for r in texts]))
    emit("shape", [column(b)], np.array([[4, 2]] * 3))
    emit("shape", [ragged(rows)], np.array([[2, 2], [0, 2], [5, 2]]))
    emit("shape", [ragged(texts)], np.array([[2], [0], [5]]))
    emit("shape", [column(np.arange(3))], np.zeros((3, 0), np.int64))


def matmul_cases():
    rng = np.random.default_rng(24)
    for d in INTS + ["float32", "float64"]:
        for e in (d, "int16", "float32"):
            if np.result_type(d, e) == np.float16:
                continue
            for left, right in (((3, 4), (4,)), ((3, 4), (4, 2)), ((3, 2, 4), (4, 3)), ((3, 2, 2, 4), (4,)), ((3, 2, 0), (0, 2))):
                a, b = rng.integers(0, 99, left).astype(d), rng.integers(0, 99, right).astype(e)
                emit("matmul", [column(a), "const " + column(b[None])], np.stack([np.matmul(r, b) for r in a]))
    a, b = rng.standard_normal((2, 5, 3)), rng.standard_normal((2, 3, 4))
    in_order = sum(a[..., k:k + 1] * b[:, k:k + 1, :] for k in range(3))
    emit("matmul", [column(a), column(b)], in_order, tolerance=True)
    emit("matmul", [column(a), column(b[:, :, 0])], in_order[..., 0], tolerance=True)
    rows = [rng.integers(0, 9, (n, 3)) for n in (2, 0, 4)]
    c = rng.integers(0, 9, (3, 2))
    emit("matmul", [ragged(rows), "const " + column(c[None])], ragged([r @ c for r in rows]))
    emit("matmul", [ragged([r.T for r in rows]), "const " + column(c[None, :2])], "data-error 1")
    m = "const " + column(c[None])
    for bad in ([column(np.arange(3)), m], [column(a), "const " + column(c[None, :2])], [column(a), literal(2)],
                [column(a), column(rng.random((2, 3, 2, 2)))], [column(a > 0), "const " + column(c[None] > 0)],
                [column(strings([b"a"] * 3)[None]), m], [column(a)]):
        emit("matmul", bad, "build-error")


def one_of(items, values):
    """np.isin, without its way to join large int64 with floats."""
    return np.any([np.zeros(np.shape(items), bool)] + [items == v for v in values], 0)


def ordering_cases():
    rng = np.random.default_rng(25)
    for d in ALL:
        v = values(d)
        if np.dtype(d).kind == "f":
            v = np.where(v == 0, 0, v)  # NumPy puts zeros of either sign in any order
        v = np.concatenate([rng.permutation(v), rng.permutation(v)]).astype(d)
        for shape in ((2, 12), (4, 6), (2, 3, 4), (24, 1), (1, 24)):
            a = v.reshape(shape)
            emit("sort", [column(a)], np.sort(a))
            emit("argsort", [column(a)], np.argsort(a, kind="stable"))
            emit("unique", [column(a)], ragged([np.unique(r) for r in a]))
        rows = [v[:5], v[:0], v[5:], v[:1]]
        emit("sort", [ragged(rows)], ragged([np.sort(r) for r in rows]))
        emit("argsort", [ragged(rows)], ragged([np.argsort(r, kind="stable") for r in rows]))
        emit("unique", [ragged(rows)], ragged([np.unique(r) for r in rows]))
        emit("sort", [column(v)], "build-error")
        for e in ALL:
            w = values(e)
            wide = np.tile(np.concatenate([w, np.arange(12).astype(e)]), (4, 1))
            a = v.reshape(4, 6)
            emit("isin", [column(a), "const " + column(w[None])], one_of(a, w))
            emit("isin", [column(a), column(wide)], one_of(a, wide[0]))
            emit("isin", [column(a), column(wide[:, 1])], a == wide[0, 1])
            bins = np.unique(w[~np.isnan(w)]) if np.dtype(e).kind == "f" else np.unique(w)
            more = np.unique(np.concatenate([bins, np.arange(20).astype(e)]))
            for b in (bins, bins[:0], more):
                emit("bucketize", [column(v.reshape(4, 6)), "const " + column(b[None])],
                     np.searchsorted(b.astype(np.result_type(v, b)), v.reshape(4, 6).astype(np.result_type(v, b)), "right"))
        emit("isin", [ragged(rows), "const " + ragged([v[:2]])], ragged([one_of(r, v[:2]) for r in rows]))
        emit("isin", [ragged(rows), ragged(rows[::-1])], ragged([one_of(r, s) for r, s in zip(rows, rows[::-1])]))
        emit("isin", [column(v), literal([1, 2, 300, -1])], one_of(v, [1, 2, 300, -1]))
        emit("bucketize", [column(v), literal([-1, 2, 2, 300])], np.digitize(v, [-1, 2, 2, 300]))
        emit("bucketize", [column(v), column(np.array([[1, 2], [2, 1]] * 12).astype(d))],
             "data-error 1" if d != "bool" else np.digitize(v, [1, 1]))
        emit("bucketize", [column(v), literal([2, 1])], "build-error")
        emit("bucketize", [column(v), literal(2)], "build-error")
        emit("bucketize", [column(v), literal(b"a")], "build-error")
        emit("isin", [column(v), literal(b"a")], "build-error")
    emit("bucketize", [column(np.zeros(2)), "const " + column(np.array([[0, np.nan]]))], "data-error 0")
    t = [b"b", b"", b"a\xff", b"ab", b"b", b"\x00", b"a"]
    texts = [strings(t), strings([]), strings(t[::-1]), strings(t[:1])]
    emit("sort", [ragged(texts)], ragged([strings(sorted(r)) for r in texts]))
    emit("argsort", [ragged(texts)], ragged([np.array(sorted(range(len(r)), key=lambda k: r[k]), np.int64) for r in texts]))
    emit("unique", [ragged(texts)], ragged([strings(sorted(set(r))) for r in texts]))
    emit("isin", [column(strings(t)), literal(b"b")], np.array([w == b"b" for w in t]))
    few = strings([b"a", b"b", b"zz"])
    emit("isin", [ragged(texts), "const " + column(few[None])], ragged([np.array([w in list(few) for w in r], bool) for r in texts]))
    many = strings([b"%d" % k for k in range(40)] + t[1:3])
    emit("isin", [ragged(texts), "const " + column(many[None])], ragged([np.array([w in list(many) for w in r], bool) for r in texts]))
    emit("bucketize", [column(strings(t)), "const " + column(few[None])], "build-error")
    emit("sort", [column(strings(t))], "build-error")


def array_cases():
    ordering_cases()
    matmul_cases()
    slice_cases()
    item_cases()
    pad_cases()
    length_cases()
