"""Submissions that try to get marks without doing the work. None may earn a point.

``CHEATS`` has all of them, by the name of the function that writes the submission. What they do is
written in that function's docstring; why they fail is here, in words of the diagnosis that the
student gets, so that a cheat which fails for another reason than its own is noticed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from corpus.handing_in import Notebook

from cheats import (
    exhaustion,
    exits,
    files,
    forgeries,
    lies,
    messages,
    patches,
    programs,
    reading,
    walls,
)

Write = Callable[[Path, Notebook], None]


TIME, TOTAL = "over the time limit of", "s in total"


@dataclass(frozen=True)
class Cheat:
    """``alone``: only a sandbox with walls may try it; it reads, fills or kills what it sees."""

    write: Write
    why: str
    alone: bool = False

    @property
    def takes_time(self) -> bool:
        """Nothing but a limit of time ends all of it."""
        return self.why in (TIME, TOTAL) or self.write in (
            exhaustion.endless_recursion,
            programs.long_loops,
        )


TYPE = "an answer of a type that does not count"
NOTHING = "there is no answer yet"
STRIDE = "the inner loop k strides by 128 elements in B"
WRONG = "a wrong result for"

_CHEATS = (
    # lies
    Cheat(lies.equal_to_everything, TYPE),
    Cheat(lies.lying_array, TYPE),
    Cheat(lies.lying_words, TYPE),
    Cheat(lies.nan_everywhere, "a number that is not finite"),
    Cheat(lies.infinite_results, "a number that is not finite"),
    Cheat(lies.fewer_bits, "the program computes in another precision"),
    Cheat(lies.right_for_the_example, "a wrong result, in case 1 of 20"),
    Cheat(lies.remembered_by_address, "a wrong result, in case 1 of 20"),
    Cheat(lies.two_faces, "the function has other parameters than the problem"),
    Cheat(lies.a_pickle_that_acts, TYPE),
    Cheat(lies.work_at_import, STRIDE),
    Cheat(lies.numpy_in_place_of_a_program, "an answer of another kind"),
    # patches
    Cheat(patches.patched_numpy, WRONG),
    Cheat(patches.patched_clock, STRIDE),
    Cheat(patches.patched_check, WRONG),
    Cheat(patches.patched_grader, "a program that cannot be read"),
    Cheat(patches.patched_tvm, "the function has other parameters than the problem"),
    Cheat(patches.input_transformer, NOTHING),
    Cheat(patches.show_traceback, STRIDE),
    Cheat(patches.replaced_server, "'met', which is no array"),
    Cheat(patches.at_exit, STRIDE),
    # exits
    Cheat(exits.exits_at_once, "the process ended itself, with status 0"),
    Cheat(exits.exits_politely, "the process ended itself, with status 0"),
    Cheat(exits.exits_in_every_answer, "the process ended itself, with status 0"),
    Cheat(exits.signals_to_all, WRONG, alone=True),
    Cheat(exits.stops_itself, TIME),
    Cheat(exits.another_program, TIME),
    Cheat(exits.closed_connection, "it closed its connection"),
    Cheat(exits.orphan, "the process ended itself, with status 0", alone=True),
    # reading
    Cheat(reading.solution_on_disk, NOTHING, alone=True),
    Cheat(reading.solution_by_its_name, NOTHING, alone=True),
    Cheat(reading.environment_and_processes, NOTHING, alone=True),
    Cheat(reading.through_other_roots, NOTHING, alone=True),
    Cheat(reading.grader_database, NOTHING, alone=True),
    Cheat(reading.other_memory, NOTHING, alone=True),
    Cheat(reading.expected_value_through_gc, WRONG),
    Cheat(reading.inherited_descriptors, NOTHING, alone=True),
    Cheat(reading.network, NOTHING, alone=True),
    # walls
    Cheat(walls.kernel_settings, "cell number 2: OSError in line 3", alone=True),
    Cheat(walls.own_namespace, "cell number 2: PermissionError in line 6", alone=True),
    Cheat(walls.devices, "cell number 2: PermissionError in line 2", alone=True),
    # exhaustion
    Cheat(exhaustion.infinite_loop, TIME),
    Cheat(exhaustion.infinite_answers, TIME),
    Cheat(exhaustion.sleep, TIME),
    Cheat(exhaustion.slow_everywhere, TOTAL),
    Cheat(exhaustion.a_regular_expression, TIME),
    # Of processes or of memory: which is passed first depends on how busy the machine is.
    Cheat(exhaustion.fork_bomb, "over the ", alone=True),
    Cheat(exhaustion.thread_bomb, "over the limit of 512 threads", alone=True),
    Cheat(exhaustion.memory_bomb, TIME, alone=True),
    Cheat(exhaustion.memory_in_many_processes, "over the memory limit of", alone=True),
    Cheat(exhaustion.memory_without_a_process, "cell number 2: MemoryError in line 12", alone=True),
    Cheat(exhaustion.output_flood, WRONG),
    Cheat(exhaustion.huge_files, TIME, alone=True),
    Cheat(exhaustion.endless_recursion, "your code was ended"),
    Cheat(exhaustion.large_answers, "an answer is nested too deeply"),
    # messages
    Cheat(messages.forged_replies, "'met', which is no array"),
    Cheat(messages.half_a_message, TIME),
    Cheat(messages.enormous_length, "over the limit of one message"),
    Cheat(messages.wide_message, "cell number 2: a reply that cannot be read"),
    Cheat(messages.deep_message, "cell number 2: a reply that cannot be read", alone=True),
    Cheat(messages.no_text_at_all, "an answer that cannot be read"),
    Cheat(messages.markup_in_errors, "your code raises an error"),
    # forgeries
    Cheat(forgeries.result_files, WRONG),
    Cheat(forgeries.edited_tests, STRIDE),
    Cheat(forgeries.edited_setup, STRIDE),
    Cheat(forgeries.missing_tests, STRIDE),
    Cheat(forgeries.renamed_cells, STRIDE),
    Cheat(forgeries.cells_twice, NOTHING),
    Cheat(forgeries.odd_metadata, STRIDE),
    Cheat(forgeries.nothing_done, NOTHING),
    Cheat(forgeries.shell_cells, "ended by signal SIGKILL", alone=True),
    # files
    Cheat(files.empty_file, "not a notebook: JSONDecodeError"),
    Cheat(files.sparse_file, "over 524 MB, of at most 33"),
    Cheat(files.broken_json, "not a notebook: JSONDecodeError"),
    Cheat(files.deep_json, "not a notebook: RecursionError"),
    Cheat(files.strange_json, "not a notebook: TypeError"),
    Cheat(files.no_text, "not a notebook"),
    Cheat(files.another_language, "a notebook in another language: r"),
    Cheat(files.too_many_cells, "too many cells"),
    Cheat(files.pipe, "not a file"),
    Cheat(files.pipe_archive, WRONG),
    Cheat(files.device, "a link, which is not followed"),
    Cheat(files.link_to_the_solution, "a link, which is not followed"),
    Cheat(files.endless_links, WRONG),
    Cheat(files.zip_slip, STRIDE),
    Cheat(files.zip_links, "a link, which is not followed"),
    Cheat(files.zip_bomb, "cannot be read: Bad CRC-32"),
    Cheat(files.many_notebooks, "not a notebook"),
    Cheat(files.broken_archives, "not a readable archive"),
    Cheat(files.another_archive, "not a readable archive"),
    # programs
    Cheat(programs.no_work, "expected  relative error <= 0.0001\n    got       nan"),
    Cheat(programs.zeros, "expected  relative error <= 0.0001\n    got       1"),
    Cheat(programs.one_corner, "expected  relative error <= 0.0001\n    got       nan"),
    Cheat(programs.zeroed_inputs, "expected  relative error <= 0.0001\n    got       1"),
    Cheat(programs.half_precision, "the program computes in another precision"),
    Cheat(programs.decoy_block, "too many cache misses"),
    Cheat(programs.replay, "depend"),
    Cheat(programs.extern_call, "a statement that is not allowed"),
    Cheat(programs.packed_call, "a statement that is not allowed"),
    Cheat(programs.call_in_an_expression, "a call of tirx.call_pure_extern"),
    Cheat(programs.reads_outside, "block C reads A, axis 0: the index leaves the buffer"),
    Cheat(programs.writes_outside, "block C writes C, axis 0: the index leaves the buffer"),
    Cheat(programs.data_as_an_index, "the index depends on data, or may overflow"),
    Cheat(programs.endless_while, "got       While"),
    Cheat(programs.threads, "a loop that is not allowed"),
    Cheat(programs.long_loops, "the process of the program has ended"),
    Cheat(programs.enormous_buffers, "the program allocates too much"),
    Cheat(programs.enormous_code, "the program is too large to be compiled"),
    Cheat(programs.enormous_vectors, "the program is too large to be compiled"),
    Cheat(programs.many_loops, "the program is too large to be compiled"),
    Cheat(programs.doubling_variables, "the program is too large to be compiled"),
    Cheat(programs.doubling_indices, "an integer is too large an expression"),
    Cheat(programs.deep_expression, "the program is nested too deeply"),
    Cheat(programs.vectors_of_vectors, "does not compile this program"),
    Cheat(programs.endless_loops, "the program runs too long"),
    Cheat(programs.loops_at_the_end_of_integers, "a loop whose variable may overflow"),
    Cheat(programs.an_index_that_overflows_on_its_way, "may overflow"),
    Cheat(programs.malformed_text, "a program that cannot be read"),
    Cheat(programs.foreign_nodes, "a program that cannot be read"),
    Cheat(programs.enormous_text, "over the limit of one message"),
    Cheat(programs.two_functions, "not one TensorIR function main"),
    Cheat(programs.odd_names, "the result differs from float64 NumPy"),
    Cheat(programs.other_parameters, "the function has other parameters than the problem"),
)
CHEATS = {each.write.__name__: each for each in _CHEATS}
