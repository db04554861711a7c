"""The name `dopamine` for `dopamine_lite`, at the addresses of every era.

With the alias installed, `import dopamine.agents.dqn.dqn_agent` gives the very module object of
`dopamine_lite.tf.agents.dqn.dqn_agent`: one class, one gin registration, one set of module
variables under both names. To run a program that imports `dopamine`, unchanged:

    python -m dopamine_lite.compat.dopamine_alias SCRIPT [ARGS...]
    python -m dopamine_lite.compat.dopamine_alias -m MODULE [ARGS...]
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import runpy
import sys
import types
import warnings
from collections.abc import Sequence
from typing import Any

from dopamine_lite.compat import CompatibilityWarning, addresses, gin_selectors

_VIRTUAL_PACKAGE = f'{addresses.THEIRS}.atari'


def install() -> None:
    """Makes `import dopamine...` resolve to the modules of `dopamine_lite`; idempotent.

    gin then understands the addresses too (see `gin_selectors`).

    Raises ImportError, and changes nothing, where another package `dopamine` is imported already:
    half of a program would use the one and half the other.
    """
    if _installed() is not None:
        return
    present = sys.modules.get(addresses.THEIRS)
    if present is not None and not _stands_for_ours():
        raise ImportError(
            f'another package `dopamine` is already imported, from '
            f'{getattr(present, "__file__", None) or list(getattr(present, "__path__", []))}: '
            'install the alias before anything imports it, or start the program with '
            '`python -m dopamine_lite.compat.dopamine_alias`',
            name=addresses.THEIRS,
        )
    gin_selectors.install()
    sys.meta_path.insert(0, _AliasFinder())


def _stands_for_ours() -> bool:
    """Whether the `dopamine` that is imported is an alias too, made by other means."""
    ours = {id(module) for name, module in sys.modules.items() if _is_below(addresses.OURS, name)}
    return any(
        id(module) in ours
        for name, module in sys.modules.items()
        if _is_below(addresses.THEIRS, name)
    )


def _is_below(package: str, name: str) -> bool:
    return addresses.below(package, name) is not None


def uninstall() -> None:
    """Takes the name `dopamine` away again: `sys.modules` and imports are as before `install`."""
    finder = _installed()
    if finder is not None:
        sys.meta_path.remove(finder)
        finder.undo()


def _installed() -> _AliasFinder | None:
    return next((finder for finder in sys.meta_path if isinstance(finder, _AliasFinder)), None)


class _AliasFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of `dopamine_lite` under the names of `dopamine`."""

    def __init__(self):
        self._loaded: dict[str, types.ModuleType] = {}
        self._attributes: list[tuple[types.ModuleType, str]] = []
        for path in addresses.CONSTANTS:
            self._add_constants(sys.modules.get(f'{addresses.OURS}.{path}'))

    def find_spec(self, fullname, path=None, target=None):
        if addresses.below(addresses.OURS, fullname) in addresses.CONSTANTS:
            return self._spec_with_constants(fullname, path, target)
        if addresses.below(addresses.THEIRS, fullname) is None:
            return None
        if addresses.is_jax_module(fullname):
            raise ModuleNotFoundError(addresses.refusal_of_jax(fullname), name=fullname)
        if fullname == _VIRTUAL_PACKAGE or _extended(fullname):
            is_package = fullname == _VIRTUAL_PACKAGE
            return importlib.machinery.ModuleSpec(fullname, self, is_package=is_package)
        name = addresses.canonical(fullname)
        if name not in sys.modules and not _exists(name):
            return None  # Python then reports the name that the program asked for
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec):
        if spec.name == _VIRTUAL_PACKAGE:
            module = types.ModuleType(spec.name)
        elif _extended(spec.name):
            module = _ExtendedModule(spec.name)
        else:
            module = importlib.import_module(addresses.canonical(spec.name))
        spec.loader_state = getattr(module, '__spec__', None)
        return module

    def exec_module(self, module):
        # Python has just labelled the module with the alias's spec; it keeps its own.
        alias = module.__spec__
        if alias.loader_state is not None:
            module.__spec__ = alias.loader_state
        self._loaded[alias.name] = module
        # Importing a.b.c leaves c as an attribute of a.b, here of a package of ours, which may
        # not have had it: `dopamine.agents` is `dopamine_lite.tf.agents`.
        parent_name, _, child = alias.name.rpartition('.')
        parent = sys.modules.get(parent_name)
        self._remember(parent, child, module)

    def _spec_with_constants(self, fullname, path, target):
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                self._add_constants(module)

            spec.loader.exec_module = exec_module
        return spec

    def _add_constants(self, module: types.ModuleType | None) -> None:
        if module is not None:
            self._remember(module, '__getattr__', _old_constants(module))

    def _remember(self, owner: Any, name: str, value: Any) -> None:
        if owner is not None and value is not None and name not in vars(owner):
            setattr(owner, name, value)
            self._attributes.append((owner, name))

    def undo(self) -> None:
        for owner, name in self._attributes:
            vars(owner).pop(name, None)
        for name, module in self._loaded.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError as error:
        if addresses.below(error.name or '', name) is None:
            raise  # a package on the way needs something that is missing
        return False


def _extended(fullname: str) -> tuple[str, dict[str, str]] | None:
    return addresses.EXTENDED.get(addresses.below(addresses.THEIRS, fullname))


class _ExtendedModule(types.ModuleType):
    """An address of Dopamine 1 whose names are now spread over several modules.

    Reading, setting and deleting a name reaches the module that has it, so that replacing one here
    (`mock.patch`) replaces it for everyone.
    """

    def __init__(self, name: str):
        super().__init__(name)
        home, elsewhere = _extended(name)
        self.__dict__['_home'] = f'{addresses.OURS}.{home}'
        self.__dict__['_elsewhere'] = {
            each: f'{addresses.OURS}.{module}' for each, module in elsewhere.items()
        }
        for module in (self._home, *self._elsewhere.values()):
            importlib.import_module(module)

    def _owner(self, name: str) -> types.ModuleType:
        return importlib.import_module(self._elsewhere.get(name, self._home))

    def __getattr__(self, name):
        if name == '__path__':
            raise AttributeError(name)
        if name == '__all__':
            return [each for each in dir(self) if not each.startswith('_')]
        try:
            return getattr(self._owner(name), name)
        except AttributeError:
            raise AttributeError(f'module {self.__name__!r} has no attribute {name!r}') from None

    def __setattr__(self, name, value):
        if name.startswith('__'):
            super().__setattr__(name, value)
        else:
            setattr(self._owner(name), name, value)

    def __delattr__(self, name):
        if name in self.__dict__:
            super().__delattr__(name)
        else:
            delattr(self._owner(name), name)

    def __dir__(self):
        return sorted({*self.__dict__, *dir(self._owner('')), *self._elsewhere})


def _old_constants(module: types.ModuleType) -> Any:
    """A module `__getattr__` that knows the constants the module once had."""
    constants = addresses.CONSTANTS[addresses.below(addresses.OURS, module.__name__)]
    return functools.partial(_constant, module.__name__, constants)


def _constant(module: str, constants: dict[str, tuple[Any, str]], name: str) -> Any:
    if name not in constants:
        raise AttributeError(f'module {module!r} has no attribute {name!r}')
    value, successor = constants[name]
    warnings.warn(
        f'{module}.{name} is gone since Dopamine 2 or 4; it was {value!r}. Use {successor}',
        CompatibilityWarning,
        stacklevel=2,
    )
    return value


_USAGE = """usage: python -m dopamine_lite.compat.dopamine_alias SCRIPT [ARGS...]
       python -m dopamine_lite.compat.dopamine_alias -m MODULE [ARGS...]

Runs a program that imports `dopamine` on dopamine_lite, unchanged."""


def main(arguments: Sequence[str]) -> int:
    """Runs the program that `arguments` name as `__main__`; returns the exit status."""
    if not arguments or arguments[0] in ('-h', '--help'):
        print(_USAGE, file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    if arguments[0] == '-m' and len(arguments) < 2:
        print(f'-m needs the name of a module\n{_USAGE}', file=sys.stderr)
        return 2

    from dopamine_lite import compat, console

    compat.install()
    try:
        if arguments[0] == '-m':
            _run_module(arguments[1], arguments[2:])
        else:
            _run_script(arguments[0], arguments[1:])
    except Exception as error:
        advice = console.advice(error)
        if advice is None:
            raise
        print(advice, file=sys.stderr)
        return 1
    return 0


def _run_module(name: str, arguments: Sequence[str]) -> None:
    path = addresses.below(addresses.THEIRS, name)
    if path == 'atari.train':
        name = f'{addresses.OURS}.compat.atari_train'
    elif path is not None:
        importlib.import_module(name.rpartition('.')[0] or name)  # refuses what is not ours
        name = addresses.canonical(name)
    sys.argv = [name, *arguments]  # runpy puts the file's path in place of the name
    runpy.run_module(name, run_name='__main__', alter_sys=True)


def _run_script(path: str, arguments: Sequence[str]) -> None:
    if not os.path.exists(path):
        raise SystemExit(f'no such file: {path}')
    sys.argv = [path, *arguments]
    if not os.path.isdir(path):
        # As `python SCRIPT` does; run_path does it itself for folders and zip files.
        sys.path[0] = os.path.dirname(os.path.abspath(path))
    runpy.run_path(path, run_name='__main__')


if __name__ == '__main__':
    # This file is now the module `__main__`; the alias has to be that of the module that others
    # import.
    from dopamine_lite.compat import dopamine_alias

    sys.exit(dopamine_alias.main(sys.argv[1:]))
