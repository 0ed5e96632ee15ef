"""Hook files as modules of another program."""

from __future__ import annotations

import os
import sys
from importlib import invalidate_caches
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import TYPE_CHECKING

from anyhook.authoring.hooks import Hooks, loading
from anyhook.authoring.inspect import builds_hooks
from anyhook.errors import UsageError

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec


def load_hooks(path: str | os.PathLike[str]) -> Hooks:
    """Import a hook file and return its `Hooks`.

    The source is compiled anew: byte code of the same second would hide an edit. Modules in the
    directory of the file can be imported; like the file, they are read anew, and those of another
    hook file are not taken for them.

    Args:
        path: The file.

    Raises:
        UsageError: If it is not a hook file, which is checked before it runs; if it cannot be
            imported; if it has no `Hooks`, or several.
    """
    file = Path(path).resolve()
    if not file.is_file():
        problem = "is not a file" if file.exists() else "does not exist"
        raise UsageError(f"{path} {problem}")
    source = file.read_bytes()
    if not builds_hooks(source):
        raise UsageError(
            f"{path} is not an anyhook hook file, and was not run; a hook file starts with\n"
            "  from anyhook.authoring import Hooks\n"
            "  hooks = Hooks()\n"
            "and `anyhook init --bare` writes one"
        )
    module = _module_for(file)
    _forget_imports(file.parent)
    former_modules = set(sys.modules)
    sys.path.insert(0, str(file.parent))
    loading.append(str(file))
    try:
        code = compile(source, str(file), "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102 - the caller trusts it
    except (Exception, SystemExit) as error:
        lines = [f.lineno for f in extract_tb(error.__traceback__) if f.filename == str(file)]
        line = f":{lines[-1]}" if lines else ""  # a syntax error has its line in its text
        problem = f"{type(error).__name__}: {error}"
        raise UsageError(f"{path}{line} cannot be imported: {problem}") from error
    finally:
        loading.remove(str(file))
        if str(file.parent) in sys.path:
            sys.path.remove(str(file.parent))
        _imports[file] = {
            name: imported
            for name, imported in list(sys.modules.items())
            if name not in former_modules and _is_of(file.parent, name, imported)
        }
    return _hooks_of(module, file)


_imports: dict[Path, dict[str, ModuleType]] = {}
"""Hook file to the modules that it has imported from its directory, by name."""


def imported_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files that a hook file imported from its directory when it was loaded last."""
    modules = _imports.get(Path(path).resolve(), {}).values()
    return [Path(str(module.__file__)) for module in modules]


def _forget_imports(directory: Path) -> None:
    """Let a hook file import the modules of its directory anew.

    Modules that the program itself has imported stay: the hook file shares them.
    """
    for modules in list(_imports.values()):
        for name, module in modules.items():
            top = directory / name.partition(".")[0]
            is_here = top.is_dir() or top.with_suffix(".py").is_file()
            if sys.modules.get(name) is module and (is_here or _is_of(directory, name, module)):
                del sys.modules[name]
    invalidate_caches()


def _is_of(directory: Path, name: str, module: ModuleType) -> bool:
    """Return whether a module is a file of a directory, or belongs to a package there."""
    top = str(directory / name.partition(".")[0])
    file = getattr(module, "__file__", None) or ""
    return file.startswith((f"{top}.", f"{top}{os.sep}"))


def _module_for(file: Path) -> ModuleType:
    """Return a new module, registered by a name under which its own classes find it."""
    from importlib.util import spec_from_loader

    name = f"anyhook_hook_{file.stem}_{hash(str(file)):x}"
    module = ModuleType(name)
    spec: ModuleSpec | None = spec_from_loader(name, loader=None, origin=str(file))
    module.__dict__.update(__file__=str(file), __spec__=spec)
    sys.modules[name] = module
    return module


def _hooks_of(module: ModuleType, file: Path) -> Hooks:
    """Return the `Hooks` of a file: the one whose functions are written in it."""
    values = {id(value): value for value in vars(module).values() if isinstance(value, Hooks)}
    own = [h for h in values.values() if any(Path(f.file) == file for f in h.functions)]
    candidates = own or list(values.values())
    if not candidates:
        raise UsageError(f"{file} has no Hooks(); see: anyhook init --bare")
    if len(candidates) > 1:
        raise UsageError(f"{file} has {len(candidates)} Hooks(); keep one in a file")
    return candidates[0]
