"""Hook files as modules of another program."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from importlib import invalidate_caches
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from anyhook.authoring.hooks import Hooks, loading
from anyhook.authoring.inspect import builds_hooks
from anyhook.errors import UsageError
from anyhook.files import FileIdentity, file_stamp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.machinery import ModuleSpec


def load_hooks(path: str | os.PathLike[str]) -> Hooks:
    """Import a hook file and return its `Hooks`.

    The source is compiled anew: byte code of the same second would hide an edit. Modules in the
    directory of the file can be imported, and are imported again if one of them was edited. A
    module of the same name in another directory is not used in their place, except by an import
    inside of a function, which finds the module that was imported last.

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
    from importlib.util import spec_from_loader

    # Registered, so that its own classes find it.
    name = f"anyhook_hook_{file.stem}_{hash(str(file)):x}"
    module = sys.modules[name] = ModuleType(name)
    spec: ModuleSpec | None = spec_from_loader(name, loader=None, origin=str(file))
    module.__dict__.update(__file__=str(file), __spec__=spec)
    sys.path.insert(0, str(file.parent))
    loading.append(str(file))
    try:
        with _modules_of(file.parent):
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
    return _hooks_of(module, file)


# -- the modules next to hook files


class _Imported(NamedTuple):
    """A module that a hook file has imported, and the identity of its file then."""

    module: ModuleType
    identity: FileIdentity

    @property
    def file(self) -> str:
        return str(self.module.__file__)


_imported: dict[Path, dict[str, _Imported]] = {}
"""Directory to the modules that its hook files have imported from it, by name."""


def imported_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files that hook files of a directory have imported from it.

    Args:
        path: One of the hook files.
    """
    modules = _imported.get(Path(path).resolve().parent, {})
    return [Path(each.file) for each in modules.values()]


@contextmanager
def _modules_of(directory: Path) -> Iterator[None]:
    """Let a hook file find the modules of its directory as they are now.

    The hook files of a directory share them, and so does the program if it has imported them. If
    the hook file cannot be loaded, the modules of its former version stay.
    """
    kept = _imported.get(directory, {})
    is_edited = any(file_stamp(each.file) != each.identity for each in kept.values())
    # Taken out: in the place of these modules others are to be imported.
    taken: dict[str, ModuleType] = {}
    for other, modules in _imported.items():
        for name, each in modules.items():
            top = directory / name.partition(".")[0]
            is_here = top.is_dir() or top.with_suffix(".py").is_file()
            is_replaced = is_edited if other == directory else is_here
            if is_replaced and sys.modules.get(name) is each.module:
                taken[name] = sys.modules.pop(name)
    if not is_edited:
        for name, each in kept.items():
            sys.modules.setdefault(name, each.module)
    invalidate_caches()
    former = set(sys.modules)
    try:
        yield
    except BaseException:
        for name in _new_modules(directory, former):
            del sys.modules[name]
        sys.modules.update(taken)
        raise
    own = _imported.setdefault(directory, {})
    for name, module in _new_modules(directory, former).items():
        own[name] = _Imported(module, file_stamp(str(module.__file__)))
    for name, module in taken.items():
        sys.modules.setdefault(name, module)  # other hook files may import it while they run


def _new_modules(directory: Path, former: set[str]) -> dict[str, ModuleType]:
    """Return the modules of a directory that were imported since, by name."""
    modules: dict[str, ModuleType] = {}
    for name, module in list(sys.modules.items()):
        top = str(directory / name.partition(".")[0])
        file = getattr(module, "__file__", None) or ""
        if name not in former and file.startswith((f"{top}.", f"{top}{os.sep}")):
            modules[name] = module
    return modules


# -- the hook file itself


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
