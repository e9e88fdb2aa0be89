"""Does each block declare what its body does? TVM believes ``T.reads`` and ``T.writes`` unseen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mlc_course.errors import UnsafeProgram
from mlc_course.tensor_program.tir import (
    PrimFunc,
    SBlock,
    SBlockRealize,
    TensorLoad,
    Var,
    every_node,
    tirx,
)


def check_regions(function: PrimFunc) -> None:
    """Raises ``UnsafeProgram`` unless blocks declare the buffers that they load and store.

    The outermost block declares nothing. A block need not declare that it reads what it writes, and
    none declares what it allocates itself. Which part of a buffer is declared is not compared:
    TVM's own schedules declare more than is accessed, and no check reads it.
    """
    for block in _blocks(function.body.block.body if _is_block(function.body) else function.body):
        _check_block(block)


def _is_block(stmt: Any) -> bool:
    return type(stmt) is SBlockRealize


def _blocks(root: Any) -> Iterator[Any]:
    return (node for node in every_node(root) if isinstance(node, SBlock))


def _check_block(block: Any) -> None:
    own = {*block.alloc_buffers, *(b for each in _blocks(block.body) for b in each.alloc_buffers)}
    nodes = [n for part in (block.init, block.body) if part is not None for n in every_node(part)]
    loaded = {node.source for node in nodes if isinstance(node, TensorLoad)} - own
    stored = {node.buffer for node in nodes if isinstance(node, tirx.BufferStore)} - own
    reads = {each.source for each in block.reads}
    writes = {each.source for each in block.writes}
    for what, declared, done, also in (
        ("T.writes", writes, stored, set()),
        ("T.reads", reads, loaded, writes),
    ):
        wrong = [*(declared - done), *(done - declared - also)]
        if wrong:
            raise UnsafeProgram(
                f"block {block.name_hint}: {what} says something else than the block does",
                expected=_names(done - also),
                got=_names(declared),
                hint=f"leave {what} away: TVM fills it in",
            )


def _names(buffers: set[Var]) -> str:
    return ", ".join(sorted(str(each.name) for each in buffers)) or "nothing"
