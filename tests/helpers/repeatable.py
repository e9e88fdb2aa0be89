"""Draw alike in each run of ``make test`` what the library draws without a seed."""

from __future__ import annotations

import random
import secrets
import sys
from typing import Any

import numpy as np
from cases import SEED

_plain, _default_rng, _randbits = random.Random.__init__, np.random.default_rng, secrets.randbits


def _for_the_library() -> bool:
    """Tell whether code of the library has called who asks."""
    return str(sys._getframe(2).f_globals.get("__name__")).startswith("mlc_course.")


def _repeatable(made: random.Random, x: Any = None) -> None:
    _plain(made, SEED if x is None and _for_the_library() else x)


def _repeatable_rng(seed: Any = None) -> np.random.Generator:
    return _default_rng(SEED if seed is None and _for_the_library() else seed)


def _repeatable_bits(count: int) -> int:
    return random.Random(SEED).getrandbits(count) if _for_the_library() else _randbits(count)


def seed_the_library() -> None:
    """Give the library's generators a seed where their caller gives none.

    A verifier that misses by chance once in a thousand runs would otherwise fail a run in which
    nothing is wrong; ``--seed`` and ``--minutes`` draw other cases. A key stays secret.
    """
    random.Random.__init__ = _repeatable  # type: ignore[method-assign]
    np.random.default_rng = _repeatable_rng
    secrets.randbits = _repeatable_bits
