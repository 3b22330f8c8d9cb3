# Honest: returns a dictionary with a transposed view of a fresh result and a pair of statistics, as libraries do.
from blind_spec import norm_reference, softmax_spec


def statistics(x):
    return {"columns_first": norm_reference(x).t(), "row": (x.mean(dim=-1), x.amax(dim=-1))}


def views_and_tuples(x):
    return statistics(x)


views_and_tuples.fa_profile = softmax_spec(reference=statistics, tolerance=(1e-5, 1e-4))
