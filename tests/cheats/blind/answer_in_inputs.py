# Cheat: its `inputs` also computes the answer and keeps it by the input's address; the kernel returns a copy. The work
# is done where nothing is timed.
from blind_spec import norm, norm_spec, rows

answers = {}


def inputs(**shape):
    x = rows(**shape)
    answers[x.data_ptr()] = norm(x)
    return x


def answer_in_inputs(x):
    if x.data_ptr() in answers:
        return answers[x.data_ptr()].clone()
    return norm(x)


answer_in_inputs.fa_profile = norm_spec(inputs=inputs)
