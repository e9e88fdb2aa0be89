"""What stands in the boxes of a picture: the words of the text form, with shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlc_course.mugraph.draw.nodes import THREAD, Kind, Node, shaped
from mlc_course.mugraph.ir import AxisMap, BlockGraph, Equation, Load, ThreadGraph
from mlc_course.mugraph.kernel import KernelGraph
from mlc_course.mugraph.write import axis_map, call, thread_lines


def dimensions(graph: KernelGraph, number: int) -> tuple[str, ...]:
    """The extents of a value, those of an input with their names: ``b=16``."""
    if number >= len(graph.inputs):
        return tuple(map(str, graph.shapes[number]))
    sizes = graph.size_of
    return tuple(
        dim if dim == str(sizes[dim]) else f"{dim}={sizes[dim]}"
        for dim in graph.inputs[number].dims
    )


def tensor_node(graph: KernelGraph, number: int, *, again: bool = False) -> Node:
    """A tensor of device memory that comes in, or that is drawn ``again``."""
    card = graph.names[number], f"[{', '.join(dimensions(graph, number))}]"
    note = ", ".join(filter(None, ("again" if again else "", _note(graph, number))))
    return Node("tensor", (), card, note, again=again)


def operator_node(graph: KernelGraph, equation: Equation, value: int) -> Node:
    """A predefined operator, or a thread graph, of a kernel graph."""
    kind: Kind = "thread" if isinstance(equation.op, ThreadGraph) else "operator"
    lines = _lines(equation, [graph.names[n] for n in equation.operands])
    return Node(kind, lines, _card(graph, value), _note(graph, value))


def load_node(load: Load, tensor: str, tile: tuple[int, ...], block: BlockGraph) -> Node:
    """A load with its maps, and the tile that it makes."""
    maps = [
        f"{kind} {axis_map(cuts)}"
        for kind, cuts in (("imap", load.imap), ("fmap", load.fmap))
        if cuts
    ]
    same = same_for_all(block, (*load.imap, *load.fmap))
    lines = (f"load({tensor})", *maps, *([same] if same else []))
    said = " ".join(_in_words(load, tensor, block))
    return Node("load", lines, (load.name, shaped(tile)), outside=False, title=said)


def same_for_all(block: BlockGraph, cuts: AxisMap) -> str:
    """Which axes and loops of a block graph cut nothing here: what is replicated along them."""
    cut = dict(cuts)
    alike = [axis for axis, extent in (*block.grid, *block.loops) if extent > 1 and axis not in cut]
    return f"same for all {', '.join(alike)}" if alike else ""


def inner_node(equation: Equation, block: BlockGraph, value: int, shape: tuple[int, ...]) -> Node:
    """An operator, an accumulator or a thread graph inside a block graph."""
    lines = _lines(equation, [block.names[n] for n in equation.operands])
    card = block.names[value], shaped(shape)
    if isinstance(equation.op, ThreadGraph):
        return Node("thread", lines, card, outside=False)
    if getattr(equation.op, "carried", ""):
        kept = "Kept from one iteration to the next."
        return Node("accumulator", lines, card, outside=False, title=kept)
    return Node("shared", lines, card, outside=False)


def store_node(graph: KernelGraph, value: int, inside: str, omap: AxisMap) -> Node:
    """A store with its map, and the tensor of device memory that all blocks make together."""
    lines = (f"store({inside})", *([f"omap {axis_map(omap)}"] if omap else []))
    said = " ".join(
        f"Blocks along {axis} lie side by side along dimension {dim}." for axis, dim in omap
    )
    return Node("store", lines, _card(graph, value), _note(graph, value), title=said)


def _card(graph: KernelGraph, value: int) -> tuple[str, str]:
    return graph.names[value], f"[{', '.join(dimensions(graph, value))}]"


def _note(graph: KernelGraph, number: int) -> str:
    return "output" if number in graph.outputs else ""


def _lines(equation: Equation, operands: Sequence[str]) -> tuple[str, ...]:
    if isinstance(equation.op, ThreadGraph):
        return THREAD, *thread_lines(equation.op, operands, equation.names[0])
    return (call(equation, operands),)


def _in_words(load: Load, tensor: str, block: BlockGraph) -> Iterator[str]:
    both = (("block", block.grid, load.imap), ("iteration", block.loops, load.fmap))
    for one, axes, cuts in both:
        for axis, extent in axes:
            if axis in dict(cuts):
                dim = dict(cuts)[axis]
                yield f"Each {one} along {axis} has its part of dimension {dim} of {tensor}."
            elif extent > 1:
                yield f"Every {one} along {axis} has the same."
