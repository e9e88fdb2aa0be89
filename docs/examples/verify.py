from mlc_course.mugraph.programs import published, workload
from mlc_course.mugraph.verify import verify

print(verify(workload("stable_attention"), published("online_softmax_attention")))
