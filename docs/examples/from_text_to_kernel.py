from pathlib import Path

import numpy as np

from mlc_course.mugraph.ir import parse, run
from mlc_course.mugraph.runtime import compile_graph, random_inputs
from mlc_course.mugraph.search import Found, superoptimize
from mlc_course.mugraph.verify import verify

program = parse(Path("docs/examples/rms_norm.txt").read_text())  # 1: text to graph
found = [each for each in superoptimize(program) if isinstance(each, Found)]  # 2 to 4
best = min(found, key=lambda each: each.cost.total)
print(best.graph)
print("equal:", verify(program, best.graph).equal)  # 5, asked a second time

kernel = compile_graph(best.graph, "cpu", verified=True)  # 6 to 8
inputs = random_inputs(program)
(given,), (wanted,) = kernel(**inputs), run(program, inputs)
print("as the interpreter says:", np.allclose(given, wanted, atol=1e-5))
