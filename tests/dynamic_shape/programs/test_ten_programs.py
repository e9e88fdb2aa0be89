"""The ten programs compute what a short NumPy formula does, at small, prime and uneven sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import erf
from typing import Any

import numpy as np
import pytest

from mlc_course.dynamic_shape.ir import bind, parse, run, text
from mlc_course.dynamic_shape.programs import NAMES, program
from mlc_course.dynamic_shape.solve import Facts, Solver
from mlc_course.errors import UsageError

Array = np.ndarray[Any, Any]
Given = Mapping[str, Array]


def layer_norm(x: Array, given: Given) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    scale = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return np.asarray(centred / scale * given["gamma"] + given["beta"])


def bias_gelu(given: Given) -> list[Array]:
    h = given["x"] + given["bias"]
    gelu = h / 2 * (1 + np.vectorize(erf)(h / np.sqrt(2)))
    return [gelu, h.reshape(*given["like"].shape, -1)]


def residual_layer_norm(given: Given) -> list[Array]:
    z = given["x"].reshape(given["residual"].shape) + given["bias"] + given["residual"]
    return [z, layer_norm(z, given).reshape(given["x"].shape)]


def masked_softmax(given: Given) -> list[Array]:
    scores = np.exp(given["scores"] / 8 + given["mask"][:, None])
    return [scores / scores.sum(-1, keepdims=True)]


def residual_rms_norm(given: Given) -> list[Array]:
    z = given["x"] + given["residual"]
    return [z, z / np.sqrt((z**2).mean(-1, keepdims=True) + 1e-5) * given["gamma"]]


def rotary_embedding(given: Given) -> list[Array]:
    def turned(x: Array) -> Array:
        front, back = np.split(x, 2, -1)
        other = np.concatenate([-back, front], -1)
        return np.asarray(x * given["cos"][:, None] + other * given["sin"][:, None])

    return [turned(given["q"]), turned(given["k"])]


def append_to_cache(given: Given) -> list[Array]:
    keys, values = (np.concatenate([given[f"old_{n}"], given[f"new_{n}"]], 2) for n in "kv")
    return [keys / 8, -values]


def split_heads(given: Given) -> list[Array]:
    parts = np.split(given["x"] + given["bias"], 3, -1)
    heads = given["like"].shape
    return [each.reshape(*each.shape[:2], *heads).swapaxes(1, 2) for each in parts]


def embedding_layer_norm(given: Given) -> list[Array]:
    z = given["words"][given["ids"]] + given["positions"] + given["types"]
    return [layer_norm(z, given)]


def gated_quantize(given: Given) -> list[Array]:
    gate = given["gate"].reshape(given["up"].shape)
    rows = gate / (1 + np.exp(-gate)) * given["up"]
    largest = np.abs(rows).max(-1)
    return [np.round(rows / largest[..., None] * 127), largest]


def shifted_loss(given: Given) -> list[Array]:
    logits = given["logits"][:, :-1]
    log = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return [-(log * given["targets"][:, 1:]).sum(-1).reshape(-1)]


FORMULAS: dict[str, Callable[[Given], list[Array]]] = {
    each.__name__: each
    for each in (
        append_to_cache,
        bias_gelu,
        embedding_layer_norm,
        gated_quantize,
        masked_softmax,
        residual_layer_norm,
        residual_rms_norm,
        rotary_embedding,
        shifted_loss,
        split_heads,
    )
}
SIZES = [(2, 3, 4), (1, 2, 1), (3, 7, 13)]  # batch, sequence, everything else


def inputs(name: str, b: int, s: int, h: int) -> dict[str, Array]:
    sizes = {"B": b, "S": s, "S2": s, "T": b * s, "P": 5, "Q": 5, "D": 2 * h, "W": 6 * h, "V": 9}
    sizes |= {"A": 2}
    rng = np.random.default_rng(0)
    found: dict[str, Array] = {}
    for each in program(name).function.inputs:
        shape = [dim if isinstance(dim, int) else sizes.get(dim, h) for dim in each.type.dims]
        found[each.name] = rng.standard_normal(shape)
        if each.type.dtype == "i64":
            found[each.name] = rng.integers(0, sizes["V"], shape)
    if name == "split_heads":
        found["like"] = np.zeros((2, h))
    if "inverse_width" in found:
        found["inverse_width"] = np.array(1 / h)
    return found


def test_every_program_has_a_formula() -> None:
    assert set(FORMULAS) == set(NAMES) and len(NAMES) == 10


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sizes", SIZES)
def test_a_program_computes_its_formula(name: str, sizes: tuple[int, int, int]) -> None:
    given = inputs(name, *sizes)
    for got, wanted in zip(
        run(program(name), given, exact=True), FORMULAS[name](given), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_program_comes_back_from_its_text_and_its_facts_can_be_kept(name: str) -> None:
    module = program(name)
    assert parse(text(module)) == module
    solver = Solver(Facts({dim.name: dim for dim in module.dims}, module.facts()))
    base = solver.models.base
    assert base is not None
    shapes = {name: array.shape for name, array in inputs(name, 2, 3, 4).items()}
    assert bind(module, shapes).keys() == base.keys()


def test_an_unknown_program_is_refused_with_the_most_similar_name() -> None:
    with pytest.raises(UsageError, match="did you mean bias_gelu"):
        program("bias_gelo")
