from mlc_course.tensor_program.memory import Cache, count
from mlc_course.tensor_program.problems import matmul
from mlc_course.tensor_program.schedule import reorder
from mlc_course.tensor_program.tir import Schedule

l1 = Cache(bytes=32 * 1024, ways=8, line=64)
sch = Schedule(matmul(256, 256, 256).program())
print("m-n-k:", *count(sch, l1))
reorder(sch, "C", "m", "k", "n")
print("m-k-n:", *count(sch, l1))
