"""What lesson 17 says on this machine, beside the same things computed another way."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from mlc_course.mugraph.mutants import pair
from mlc_course.mugraph.verify import verify

NUMBER = r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)"


def faults(said: Mapping[str, str]) -> Iterator[str]:
    """Yield what does not fit; ``said`` has the text that each cell printed, by the cell's id."""
    yield from _hook(said["hook-ten-inputs"], said["hook-truth"])
    yield from _cube(said["points-count"])
    yield from _products(said["theorem-products"])
    yield from _sum(said["theorem-sum"], said["end-sentence"])
    yield from _small(said["small-eps-truth"])


def _hook(inputs: str, truth: str) -> Iterator[str]:
    """allclose accepts the wrong pair and refuses the right one; so does any tolerance."""
    close, apart = {}, {}
    for name, count, largest in re.findall(
        rf"(eps moved|variance) +close on (\d+) of 10; largest difference {NUMBER}", inputs
    ):
        close[name], apart[name] = int(count), float(largest)
    if close != {"eps moved": 10, "variance": 0}:
        yield f"hook-ten-inputs: no contradiction to begin with: {close}"
        return
    useful = apart["variance"] < apart["eps moved"]
    if f"accepts the right pair only? {'yes' if useful else 'no'}" not in truth:
        yield f"hook-truth: a tolerance between {apart}?"
    for name in close:
        known = pair(name)
        verdict = "equal" if verify(known.left, known.right, seed=2).equal else "different"
        if not re.search(rf"^{name} +{verdict}", truth, re.M):
            yield f"hook-truth: {name} is {verdict}"


def _cube(said: str) -> Iterator[str]:
    """The interval holds the true share of roots, and the bound is the lemma's."""
    roots = [x for x in range(31) if pow(x, 3, 31) == x]
    interval = re.search(rf"between {NUMBER} and {NUMBER}", said)
    stated = re.search(rf"at most {NUMBER}", said)
    if not interval or not stated:
        yield "points-count: no interval, or no bound"
        return
    low, high = (float(each) for each in interval.groups())
    if not low <= len(roots) / 31 <= high:
        yield f"points-count: {len(roots)} roots of 31 are not between {low} and {high}"
    if abs(float(stated[1]) - 3 / 31) > 6e-4:
        yield f"points-count: the lemma states {3 / 31:.4f}, not {stated[1]}"


def _products(said: str) -> Iterator[str]:
    """The product over the residues of order 5 is the norm, and 0 where a residue is 2."""
    rows = re.findall(r"modulo (\d+): w = \[([^]]*)\], product (\d+), norm (\d+)", said)
    if not rows:
        yield "theorem-products: nothing printed"
    for prime, residues, product, norm in rows:
        p, ws = int(prime), [int(w) for w in residues.split(",")]
        expected = sorted(w for w in range(2, p) if pow(w, 5, p) == 1)
        if ws != expected:
            yield f"theorem-products: of order 5 modulo {p} are {expected}, not {ws}"
        if {int(product), int(norm)} != {31 % p} or (int(product) == 0) != (2 in ws):
            yield f"theorem-products: modulo {p}, 31 is {31 % p}, not {product} and {norm}"


def _sum(said: str, end: str) -> Iterator[str]:
    """The three probabilities add up to the library's bound, and the last sentence quotes it."""
    found = re.search(
        rf"(\d+) primes, none below (\d+): {NUMBER} \+ {NUMBER} \+ {NUMBER}\n"
        rf"one test: {NUMBER}, and the library says {NUMBER}\nthirty tests: {NUMBER}",
        said,
    )
    if not found:
        yield "theorem-sum: not the sentences that were expected"
        return
    many, least, *_, one, library, thirty = map(float, found.groups())
    expected = 1 / 31 + math.log(2) / (many * math.log(least))
    if max(abs(one - expected), abs(library - expected)) > 6e-5:
        yield f"theorem-sum: one test misses with {expected:.4f}, not {one} or {library}"
    if not 0.5 < thirty / expected**30 < 2:
        yield f"theorem-sum: thirty tests leave {expected**30:.0e}, not {thirty}"
    last = re.search(rf"{NUMBER}, so thirty tests leave {NUMBER}:", end)
    if not last or abs(float(last[1]) - expected) > 6e-4 or float(last[2]) != thirty:
        yield f"end-sentence: not {expected:.3f} and {thirty}, which section 6 computed"


def _small(said: str) -> Iterator[str]:
    """At the given sizes the two graphs differ, and a float64 input shows it."""
    if "at the given sizes: different" not in said:
        yield "small-eps-truth: the looped graph adds 4e-6, and is not found out"
    percent = re.search(r"they are (\d+)% apart", said)
    if not percent or int(percent[1]) < 5:
        yield "small-eps-truth: the inputs do not show the difference"
