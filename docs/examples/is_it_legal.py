from mlc_course.tensor_program.legality import compare, run_as
from mlc_course.tensor_program.tir import T


@T.prim_func(s_tir=True)
def running_sum(x: T.Buffer((8,), "float32"), s: T.Buffer((8,), "float32")):
    for i in range(1, 8):
        s[i] = s[i - 1] + x[i]


print(compare(running_sum, run_as(running_sum, "i", "parallel")))
