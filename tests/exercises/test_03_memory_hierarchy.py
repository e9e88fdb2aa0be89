"""Lesson 3's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

from answers import Complain, both_tests

ASSIGNMENT = "03_memory_hierarchy"


def predict(rows: object, columns: object, padded: object, again: object) -> str:
    return (
        f'my_misses = {{"rows": {rows}, "columns": {columns}, "padded columns": {padded}, '
        f'"ten times": {again}}}'
    )


def attainable(*lines: str) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"def attainable(flops, traffic, peak, bandwidth):\n{body}"


LIMITS = 'limits = {"peak": peak} | {k: flops / b * bandwidth[k] for k, b in traffic.items() if b}'
NAMED = "name = {}(limits, key=limits.get)"
RESULT = "return limits[name], name"


def simulator(
    *,
    line: str = "address // line",
    chosen: str = "number % sets",
    refresh: bool = True,
    room: str = "ways",
    hits: bool = False,
) -> str:
    """A cache simulator, with one of the usual slips."""
    return f"""
def misses(addresses, line, sets, ways):
    held, missed = {{}}, 0
    for address in addresses:
        number = {line}
        lines = held.setdefault({chosen}, [])
        if number in lines:
            {"lines.append(lines.pop(lines.index(number)))" if refresh else "pass"}
            continue
        missed += 1
        lines.append(number)
        if len(lines) > {room}:
            lines.pop(0)
    return {"len(addresses) - missed" if hits else "missed"}
"""


def matrix(rows: object, row_length: object) -> str:
    return f'my_matrix = {{"rows": {rows}, "row_length": {row_length}}}'


WRONG = [
    # 1. How many misses?
    ("predict-misses-test", "my_misses = [4096, 65536, 4352, 6400]", "not an answer to every part"),
    ("predict-misses-test", 'my_misses = {"rows": 4096}', "not an answer to every part"),
    ("predict-misses-test", predict(65536 / 16, 65536, 4352, 6400), "rows: not a whole number"),
    ("predict-misses-test", predict(4096, 65536, 4352, 102_402), "ten times: more or fewer"),
    ("predict-misses-test", predict(4096, 0, 4352, 6400), "columns: more or fewer"),
    ("predict-misses-test", predict(4096, 4096, 4352, 6400), "columns: 0.0625 times the count"),
    ("predict-misses-test", predict(4096, 65536, 69632, 6400), "padded columns: 16 times"),
    ("predict-misses-test", predict(4096, 65536, 4352, 640), "ten times: 0.1 times the count"),
    ("predict-misses-test", predict(8192, 65536, 4352, 640), "2 of 4 predictions are off"),
    # 2. Under which roof?
    ("attainable-test", attainable(LIMITS, NAMED.format("max"), RESULT), "24 GB/s"),
    (
        "attainable-test",
        attainable(
            "limits = {k: flops / b * bandwidth[k] for k, b in traffic.items() if b}",
            NAMED.format("min"),
            RESULT,
        ),
        "no program is faster than the peak",
    ),
    (
        "attainable-test",
        attainable(LIMITS.replace("flops / b", "b / flops"), NAMED.format("min"), RESULT),
        "1/12 operation per byte",
    ),
    (
        "attainable-test",
        attainable(
            'limits = {"peak": peak, "memory": flops / traffic["memory"] * 24}',
            NAMED.format("min"),
            RESULT,
        ),
        "every level is a limit",
    ),
    ("attainable-test", attainable("return min(2.0, peak)"), "2.0 is not a list of 2"),
    (
        "attainable-test",
        attainable(LIMITS.replace(" if b", ""), NAMED.format("min"), RESULT),
        "ZeroDivisionError",
    ),
    # 3. A cache in twenty lines
    ("simulator-test", simulator(line="address"), "bytes 0 to 63 are one line"),
    ("simulator-test", simulator(hits=True), "bytes 0 to 63 are one line"),
    ("simulator-test", simulator(chosen="address % sets"), "are in three sets"),
    ("simulator-test", simulator(chosen="0", room="sets * ways"), "share set 0"),
    ("simulator-test", simulator(refresh=False), "line 0 has just been used"),
    ("simulator-test", simulator(room="ways + 1"), "share set 0"),
    ("simulator-test", simulator(room="2"), "in case"),
    ("simulator-test", "misses = 3", "an answer of another kind"),
    # 4. It fits, and misses every time
    ("fits-and-misses-test", "my_matrix = (12, 3072)", "not an answer to every part"),
    ("fits-and-misses-test", matrix(12, 1024), "row_length: a power of two"),
    ("fits-and-misses-test", matrix(16, 3072), "rows: a power of two"),
    ("fits-and-misses-test", matrix(600, 3072), "rows: out of range"),
    ("fits-and-misses-test", matrix(12, 5120), "row_length: out of range"),
    ("fits-and-misses-test", matrix(12.0, 3072), "rows: out of range"),
    ("fits-and-misses-test", matrix(7, 3072), "7 misses in 70 reads"),
    ("fits-and-misses-test", matrix(500, 1000), "the claim stands"),
    ("fits-and-misses-test", matrix(17, 1536), "the claim stands"),
]


RIGHT = [
    ("predict-misses-test", predict(4097, 65537, 4353, 6401)),
    ("predict-misses-test", "import numpy as np\n" + predict(4200, "np.int64(65000)", 4500, 6000)),
    (
        "attainable-test",
        attainable(
            "seconds = {k: b / bandwidth[k] for k, b in traffic.items()}",
            'seconds["peak"] = flops / peak',
            "slow, name = max((s, k) for k, s in seconds.items())",
            "return [flops / slow, name]",
        ),
    ),
    ("simulator-test", simulator()),
    (
        "simulator-test",
        "from collections import OrderedDict\n\n"
        "def misses(addresses, line, sets, ways):\n"
        "    held, count = [OrderedDict() for _ in range(sets)], 0\n"
        "    for number in (a // line for a in addresses):\n"
        "        lines = held[number % sets]\n"
        "        if lines.pop(number, None) is None:\n"
        "            count += 1\n"
        "        lines[number] = True\n"
        "        if len(lines) > ways:\n"
        "            lines.popitem(last=False)\n"
        "    return count\n",
    ),
    ("fits-and-misses-test", matrix(9, 3072)),
    ("fits-and-misses-test", matrix(20, 1536)),
    ("fits-and-misses-test", matrix(500, 3072)),
]


test_a_wrong_answer_is_told, test_other_right_answers_earn_the_points = both_tests(
    ASSIGNMENT, WRONG, RIGHT
)


def test_the_visible_part_does_not_tell_the_counts(complain: Complain) -> None:
    for guess in (predict(1, 1, 1, 1), predict(65_536, 65_536, 69_632, 102_400)):
        assert complain(ASSIGNMENT, "predict-misses-test", guess, hidden=False) == ""
