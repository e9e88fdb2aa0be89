from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from small_graphs import every_graph, graphs

from mlc_course.errors import CourseError, GraphError
from mlc_course.mugraph.ir.graph import KernelGraph
from mlc_course.mugraph.ir.json_form import from_json, to_json
from mlc_course.mugraph.ir.parser import parse
from mlc_course.mugraph.programs import published

PROGRAM = to_json(parse("p(X[b=2, d=4]):\n  Y = scale(X, by=1/sqrt(d))\n  return Y"))
FUSED = to_json(published("online_softmax_attention"))


def test_the_form_is_what_the_module_says() -> None:
    assert PROGRAM == {
        "mugraph": 1,
        "name": "p",
        "sizes": {"b": 2, "d": 4},
        "inputs": [{"name": "X", "dims": ["b", "d"]}],
        "equations": [
            {"op": "scale", "operands": [0], "attributes": {"by": "1/sqrt(d)"}, "names": ["Y"]}
        ],
        "outputs": [1],
    }


@pytest.mark.parametrize("graph", every_graph(), ids=lambda graph: graph.name)
def test_a_graph_is_read_back_from_its_json(graph: KernelGraph) -> None:
    read = from_json(json.loads(json.dumps(to_json(graph))))
    assert read == graph
    assert str(read) == str(graph)


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_a_random_graph_is_read_back_from_its_json(graph: KernelGraph) -> None:
    read = from_json(json.loads(json.dumps(to_json(graph))))
    assert read == graph
    assert str(read) == str(graph)


def test_the_order_of_sizes_in_json_does_not_matter() -> None:
    assert from_json(PROGRAM | {"sizes": {"d": 4, "b": 2}}) == from_json(PROGRAM)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mugraph": 2}, "mugraph: version"),
        ({"mugraph": True}, "a whole number"),
        ({"name": 3}, "JSON: a graph, name\n  expected  a text"),
        ({"name": ""}, "without a name"),
        ({"name": "two words"}, "two words"),
        ({"sizes": {"b": 2}}, "one for each dimension: b, d"),
        ({"sizes": {"b": 2, "d": 4, "e": 1}}, "one for each dimension: b, d"),
        ({"sizes": {"b": 2, "d": "4"}}, "JSON: a graph, sizes, d"),
        ({"sizes": {"b": 2, "d": 0}}, "1 or more"),
        ({"inputs": {}}, "a list"),
        ({"inputs": [{"name": "X"}]}, "an object with 'dims'"),
        ({"equations": [3]}, "an object"),
        ({"equations": [{"op": "scale", "operands": [0]}]}, "an object with 'names'"),
        ({"equations": [{"operands": [0], "names": ["Y"]}]}, "an object with 'op'"),
        ({"equations": [{"op": "scael", "operands": [0], "names": ["Y"]}]}, "no operator 'scael'"),
        ({"equations": [{"op": "exp", "operands": [9], "names": ["Y"]}]}, "no such value yet"),
        ({"equations": [{"op": "exp", "operands": [-1], "names": ["Y"]}]}, "no such value yet"),
        ({"equations": [{"op": "exp", "operands": [0.5], "names": ["Y"]}]}, "a whole number"),
        ({"equations": [{"op": "exp", "operands": [0], "names": []}]}, "names"),
        ({"equations": [{"op": "exp", "operands": [0], "names": ["X"]}]}, "each once"),
        ({"equations": [], "outputs": []}, "returns nothing"),
        ({"outputs": [7]}, "no such value yet"),
    ],
)
def test_bad_json_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(CourseError) as caught:
        from_json(PROGRAM | changes)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("op", "attributes", "words"),
    [
        ("scale", {"by": [1]}, "a number such as 2, 1/3 or 1/d"),
        ("scale", {"by": "1/0"}, "not a constant"),
        ("scale", {"by": "2", "times": "2"}, "no attribute 'times'"),
        ("scale", {}, "scale: attributes"),
        ("sum", {"axis": "1"}, "a whole number"),
        ("sum", {"axis": True}, "a whole number"),
        ("sum", {"axis": 2}, "no such axis"),
        ("transpose", {"axes": 1}, "whole numbers such as [1, 0]"),
        ("transpose", {"axes": [0, 0]}, "each of 2 once"),
        ("reshape", {"shape": "8"}, "sizes such as [2, 4*d]"),
        ("reshape", {"shape": ["d", "d"]}, "reshape: elements"),
        ("split", {"axis": 1, "parts": 0, "part": 0}, "parts that divide 4"),
        ("accumulate", {"fmap": [["k"]]}, '["NAME", NUMBER]'),
    ],
)
def test_bad_attributes_are_refused(op: str, attributes: dict[str, Any], words: str) -> None:
    equation = {"op": op, "operands": [0], "attributes": attributes, "names": ["Y"]}
    with pytest.raises(CourseError) as caught:
        from_json(PROGRAM | {"equations": [equation]})
    assert words in str(caught.value)


@pytest.mark.parametrize("data", [None, 3, "text", [], {}, {"mugraph": 1}])
def test_what_is_no_graph_is_refused(data: object) -> None:
    with pytest.raises(GraphError, match="JSON: a graph"):
        from_json(data)


def test_an_attribute_that_says_the_default_is_the_same_as_none() -> None:
    (equation,) = PROGRAM["equations"]
    said = equation | {"op": "rms_norm", "attributes": {"axis": 1, "eps": "0"}}
    unsaid = equation | {"op": "rms_norm", "attributes": {"axis": 1}}
    graphs = [from_json(PROGRAM | {"equations": [each]}) for each in (said, unsaid)]
    assert graphs[0] == graphs[1]


def _places(data: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if way:
        yield way
    for key in data if isinstance(data, dict) else range(len(data)) if _is_list(data) else ():
        yield from _places(data[key], (*way, key))


def _is_list(data: Any) -> bool:
    return isinstance(data, list)


@pytest.mark.parametrize("instead", [None, -1, 99, "", "x", [], {}, [["x", 1]], 2**70])
def test_whatever_stands_in_its_place_it_is_a_graph_or_a_course_error(instead: object) -> None:
    refused = 0
    for *way, last in _places(FUSED):
        data = copy.deepcopy(FUSED)
        part = data
        for key in way:
            part = part[key]
        part[last] = instead
        try:
            graph = from_json(data)
        except CourseError:
            refused += 1
        else:
            assert from_json(to_json(graph)) == graph
    assert refused > 150
