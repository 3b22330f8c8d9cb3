"""NVTX ranges around the forward call of every torch.nn.Module, for `fa-profile --torch-modules -- python3 ...`.

Python loads this file when it starts, because fa-profile puts its folder first on PYTHONPATH. Nothing happens until the
program imports torch. A range is named as the module is named in the one that calls it ("layers.3", "self_attn"), the
outermost after its class. Inside torch.compile the hooks do nothing, so a compiled region is one range. The program's
own sitecustomize is loaded, too.
"""

import importlib
import importlib.util
import os
import sys
import threading

_HOOKED = "torch.nn.modules.module"


class _Names:
    """What modules are called, by the outermost module that each thread is in."""

    def __init__(self, torch_module):
        import weakref

        self._of_root = weakref.WeakKeyDictionary()
        self._thread = threading.local()
        self._nvtx = None
        self._is_compiling = None
        self._module = torch_module

    def _stack(self):
        if not hasattr(self._thread, "stack"):
            self._thread.stack = []
        return self._thread.stack

    def _names(self, root):
        names = self._of_root.get(root)
        if names is None:
            names = {id(module): name for name, module in root.named_modules()}
            self._of_root[root] = names
        return names

    def _range(self, module):
        stack = self._stack()
        if not stack:
            stack.append((module, ""))
            return type(module).__name__
        root, parent = stack[0][0], stack[-1][1]
        name = self._names(root).get(id(module), "")
        stack.append((module, name))
        if not name:
            return type(module).__name__
        return name[len(parent) + 1 :] if parent and name.startswith(parent + ".") else name

    def _compiles(self):
        if self._is_compiling is None:
            import torch

            self._nvtx = torch.cuda.nvtx
            self._is_compiling = torch.compiler.is_compiling
        return self._is_compiling()

    def before(self, module, _args):
        if self._compiles():
            return
        self._nvtx.range_push(self._range(module))

    def after(self, module, _args, _output):
        if self._compiles():
            return
        stack = self._stack()
        if stack and stack[-1][0] is module:
            stack.pop()
            self._nvtx.range_pop()


def _install(torch_module):
    names = _Names(torch_module)
    torch_module.register_module_forward_pre_hook(names.before)
    torch_module.register_module_forward_hook(names.after, always_call=True)


class _Finder:
    """Finds the module that holds torch.nn.Module, once, and hooks it after it was loaded."""

    @staticmethod
    def find_spec(name, _path=None, _target=None):
        if name != _HOOKED:
            return None
        sys.meta_path.remove(_Finder)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def load_and_hook(module):
            load(module)
            try:
                _install(module)
            except Exception as error:  # the program goes on without ranges
                print(f"fa-profile: --torch-modules does not work with this PyTorch: {error}", file=sys.stderr)

        spec.loader.exec_module = load_and_hook
        return spec


def _load_the_programs_own():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise


sys.meta_path.insert(0, _Finder)
_load_the_programs_own()
