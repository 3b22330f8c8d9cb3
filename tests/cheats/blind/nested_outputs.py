# Honest: takes keyword arguments and returns dictionaries within lists within a dictionary, of float32, float16 and
# int64.
import torch


def statistics(x, weight):
    largest = x.max(dim=-1)
    return {
        "rows": [{"sum": x.sum(dim=-1), "largest": {"value": largest.values, "at": largest.indices}}, (x * weight,)],
        "columns": {"mean": x.mean(dim=0), "half": (x * 0.5).to(torch.float16)},
    }


def nested_outputs(x, weight):
    return statistics(x, weight)


def inputs(rows, columns):
    x = torch.randperm(rows * columns, device="cuda").to(torch.float32).view(rows, columns) / (rows * columns)
    return {"weight": torch.randn(columns, device="cuda"), "x": x}


nested_outputs.fa_profile = {
    "inputs": inputs,
    "reference": statistics,
    "shapes": [{"rows": 512, "columns": 1024}, {"rows": 33, "columns": 65}],
    "tolerance": (1e-3, 1e-3),
}
