# Cheat: `inputs` takes the shape that the case is named by and makes tensors of a quarter of its rows and columns, so
# that the time is that of a smaller problem than the report names.
import blind_spec
from blind_spec import norm, norm_spec


def inputs(rows, columns):
    return blind_spec.rows(rows // 4, columns // 4)


def named_larger(x):
    return norm(x)


named_larger.fa_profile = norm_spec(inputs=inputs)
