"""The programs by name, read from text files, with sizes and inputs to try them at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from mlc_course.dynamic_shape.ir import DTYPES, Array, Module, parse
from mlc_course.errors import check_known

FOLDER = Path(__file__).parent / "modules"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.shapes")))

# The inputs' sizes for a batch, a length, and two more numbers, of which the last is that of a row.
SIZES: Mapping[str, Callable[[int, int, int, int], dict[str, int]]] = {
    "append_to_cache": lambda b, s, p, d: {"B": b, "A": s, "P": p, "D": d, "S": 2, "Q": p},
    "bias_gelu": lambda b, s, _, f: {"T": b * s, "F": f, "B": b, "S": s},
    "embedding_layer_norm": lambda b, s, v, h: {"V": v + 3, "H": h, "B": b, "S": s},
    "gated_quantize": lambda b, s, _, f: {"T": b * s, "F": f, "B": b, "S": s},
    "masked_softmax": lambda b, s, _, k: {"B": b, "S": s, "K": k},
    "residual_layer_norm": lambda b, s, _, h: {"T": b * s, "H": h, "B": b, "S": s},
    "residual_rms_norm": lambda b, s, _, h: {"B": b, "S": s, "H": h},
    "rotary_embedding": lambda b, s, a, e: {"B": b, "S": s, "A": a, "D": 2 * e, "S2": s},
    "shifted_loss": lambda b, s, _, v: {"B": b, "S": s + 1, "V": v},
    "split_heads": lambda b, s, a, d: {"B": b, "S": s, "W": 3 * a * d, "A": a, "D": d},
}


def program(name: str) -> Module:
    """Return a program by its name, one of ``NAMES``; raises ``UsageError`` for any other."""
    check_known("no program", name, NAMES)
    return parse((FOLDER / f"{name}.shapes").read_text(encoding="utf-8"))


def example_sizes(name: str, batch: int, length: int, other: int, row: int) -> dict[str, int]:
    """Return sizes for the inputs of a program of the course.

    ``row`` is the size of a row: of a vector, of an image of attention, of half a head in
    rotary_embedding, or a head. ``other`` are heads, words of a vocabulary, or what a cache has.
    Raises ``UsageError`` for another name.
    """
    check_known("no program", name, NAMES)
    return SIZES[name](batch, length, other, row)


def example_inputs(module: Module, sizes: Mapping[str, int], seed: int = 0) -> dict[str, Array]:
    """Return drawn inputs of given sizes; indices are those of rows that there are.

    An input ``inverse_width`` is that of the size H.
    """
    rng = np.random.default_rng(seed)
    found: dict[str, Array] = {}
    for each in module.function.inputs:
        shape = tuple(dim if isinstance(dim, int) else sizes[dim] for dim in each.type.dims)
        if each.type.dtype == "i64":
            found[each.name] = rng.integers(0, sizes["V"], shape)
        elif each.name == "inverse_width":
            found[each.name] = np.full((), 1 / sizes["H"], np.float32)
        else:
            found[each.name] = rng.standard_normal(shape).astype(DTYPES[each.type.dtype])
    return found
