import numpy as np

from mlc_course.mugraph.programs import free_sized, workload
from mlc_course.mugraph.runtime import empty
from mlc_course.mugraph.symbolic import compile_symbolic

attention = compile_symbolic(
    free_sized("online_softmax_attention").resized({"d": 16, "v": 16}),
    {"h": 1, "m": 4, "n": 16},  # free sizes, with the tile of each
    program=workload("stable_attention").resized({"d": 16, "v": 16}),
    verified=True,
    seed=0,
)
print(attention.verdict)
for h, m, n in ((2, 8, 64), (3, 7, 61), (1, 1, 1)):
    q, k, v = (empty(shape, "float32") for shape in ((h, m, 16), (h, 16, n), (h, n, 16)))
    for number, array in enumerate((q, k, v)):
        array[...] = np.random.default_rng(number).standard_normal(array.shape)
    call = attention.bind(q, k, v)
    (found,) = call()
    weights = np.exp(q @ k / 4)
    right = np.allclose(found, weights / weights.sum(2, keepdims=True) @ v, atol=1e-5)
    print(f"h={h} m={m} n={n}: {call.took['O']}, {'right' if right else 'wrong'}")
