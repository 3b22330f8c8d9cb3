#!/usr/bin/env python3
"""The ranges of --torch-modules: torch_modules_test.py FOLDER (of sitecustomize.py). A fake torch takes the ranges."""

import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()

# What the hooks need of torch.nn.modules.module, torch.cuda.nvtx and torch.compiler.
FAKE = {
    "torch/__init__.py": "from . import nn, cuda, compiler\n",
    "torch/nn/__init__.py": "from .modules.module import Module\n",
    "torch/nn/modules/__init__.py": "from . import module\n",
    "torch/nn/modules/module.py": """
        before, after = [], []
        def register_module_forward_pre_hook(hook): before.append(hook)
        def register_module_forward_hook(hook, *, always_call=False): after.append((hook, always_call))
        class Module:
            def __init__(self, **children): self.__dict__.update(children)
            def named_modules(self, prefix=""):
                yield prefix, self
                for name, child in vars(self).items():
                    for each in (child if isinstance(child, list) else [child]):
                        own = f"{name}.{child.index(each)}" if isinstance(child, list) else name
                        if isinstance(each, Module):
                            yield from each.named_modules(f"{prefix}.{own}" if prefix else own)
            def __call__(self, *args):
                for hook in before: hook(self, args)
                output = None
                try:
                    output = self.forward(*args)
                finally:
                    for hook, _ in after: hook(self, args, output)
                return output
    """,
    "torch/cuda/__init__.py": "from . import nvtx\n",
    "torch/cuda/nvtx.py": """
        def range_push(name): print("push", name)
        def range_pop(): print("pop")
    """,
    "torch/compiler.py": "compiling = False\ndef is_compiling(): return compiling\n",
}

MODEL = """
    import torch
    from torch.nn import Module
    class Leaf(Module):
        def forward(self, x): return x
    class Layer(Module):
        def forward(self, x): return self.mlp(self.attn(x))
    class Net(Module):
        def forward(self, x):
            for layer in self.layers: x = layer(x)
            return self.head(x)
    net = Net(layers=[Layer(attn=Leaf(), mlp=Leaf()) for _ in range(2)], head=Leaf())
"""


class TorchModulesTest(unittest.TestCase):
    def run_program(self, text, files=(), code=0):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in [*FAKE.items(), *files]:
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(textwrap.dedent(content))
            env = dict(os.environ, PYTHONPATH=f"{FOLDER}:{folder}", PYTHONDONTWRITEBYTECODE="1")
            run = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], env=env, capture_output=True, text=True)
            self.assertEqual(run.returncode, code, run.stderr)
            return run.stdout.replace("\npush ", " (").replace("push ", "(").replace("\npop", ")").strip()

    def test_a_range_is_named_as_its_module_is_in_the_caller(self):
        self.assertEqual(
            self.run_program(MODEL + "    net(1)\n"),
            "(Net (layers.0 (attn) (mlp)) (layers.1 (attn) (mlp)) (head))",
        )

    def test_each_outermost_module_has_names_of_its_own(self):
        self.assertEqual(self.run_program(MODEL + "    net.layers[1](1)\n    net.head(1)\n"), "(Layer (attn) (mlp))\n(Leaf)".replace("\n", " "))

    def test_an_exception_closes_its_ranges(self):
        text = MODEL + """
    class Fails(Module):
        def forward(self, x): raise ValueError
    net.layers[1].attn = Fails()
    try: net(1)
    except ValueError: print("caught")
"""
        self.assertEqual(self.run_program(text), "(Net (layers.0 (attn) (mlp)) (layers.1 (attn)))\ncaught")

    def test_while_torch_compiles_there_are_no_ranges(self):
        self.assertEqual(self.run_program(MODEL + "    torch.compiler.compiling = True\n    net(1)\n    print('end')\n"), "end")

    def test_without_torch_nothing_happens(self):
        self.assertEqual(self.run_program("print('end')"), "end")

    def test_the_programs_own_sitecustomize_is_loaded(self):
        own = ("sitecustomize.py", "print('own')\n")
        self.assertEqual(self.run_program("print('end')", [own]), "own\nend")

    def test_a_torch_without_these_hooks_is_said_and_the_program_goes_on(self):
        other = ("torch/nn/modules/module.py", "class Module: pass\n")
        self.assertEqual(self.run_program("import torch\nprint('end')", [other]), "end")


if __name__ == "__main__":
    unittest.main()
