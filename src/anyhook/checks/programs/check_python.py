"""Compile Python scripts without running them, and look for the modules that they import.

The interpreter of a hook runs this text, with `python -I -S -c`: it may be an old one (3.7), and it
loads no file of a project. It reads a JSON list of scripts from standard input and prints a line of
JSON for each:
`{"line": ..., "problem": ..., "modules": [[line, name], ...]}`. A member of a script:

- `text`: the script,
- `path`: its name in messages,
- `directories`: where its imports are looked for first; `null` if they are not looked for.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from importlib import util
from importlib.machinery import PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def main() -> None:
    """Check the scripts that standard input names."""
    installed = InstalledModules()
    for script in json.loads(sys.stdin.buffer.read().decode("utf-8")):
        result = check(script["text"], script["path"])
        if result["problem"] is None and script["directories"] is not None:
            result["modules"] = missing_modules(script, installed)
        print(json.dumps(result), flush=True)


def check(text: str, path: str) -> dict[str, Any]:
    """Compile a script. Returns the line and the text of a syntax error."""
    result: dict[str, Any] = {"line": None, "problem": None, "modules": []}
    try:
        compile(text, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        result.update(line=error.lineno, problem=error.msg)
    except ValueError as error:
        result.update(line=1, problem=str(error))
    except (MemoryError, RecursionError, OverflowError):
        pass  # it is too large for this check, not wrong
    return result


def missing_modules(script: dict[str, Any], installed: InstalledModules) -> list[tuple[int, str]]:
    """Return line and name of the top-level imports that no module is found for."""
    missing: dict[str, int] = {}
    directories = script["directories"]
    for line, name in unconditional_imports(script["text"]):
        if name not in missing and not installed.has(name, directories):
            missing[name] = line
    return [(line, name) for name, line in missing.items()]


def unconditional_imports(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of each module that the script surely imports when it starts."""
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                yield statement.lineno, alias.name.partition(".")[0]
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            yield statement.lineno, statement.module.partition(".")[0]


class InstalledModules:
    """The modules that this interpreter finds.

    `site` did not run, because it executes lines of `*.pth` files. The directories that it would
    add are found here in the same way, without running anything.
    """

    def __init__(self) -> None:
        self.directories = list(sys.path)
        self.finder_texts: list[str] = []
        for directory in site_directories():
            if directory in self.directories or not os.path.isdir(directory):
                continue
            self.directories.append(directory)
            for name in sorted(os.listdir(directory)):
                is_editable_finder = name.startswith("__editable__") and name.endswith(".py")
                if name.endswith(".pth") or is_editable_finder:
                    self._read_path_file(directory, name)

    def has(self, name: str, directories: list[str]) -> bool:
        """Return whether a top-level module is found, in some directories or installed."""
        if name in sys.builtin_module_names or name in sys.modules:
            return True
        if PathFinder.find_spec(name, directories + self.directories) is not None:
            return True
        # A frozen module of the standard library; `find_spec` imports no top-level module.
        if util.find_spec(name) is not None:
            return True
        # Finders of editable installs hold the names of the modules that they find.
        word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        return any(word.search(text) for text in self.finder_texts)

    def _read_path_file(self, directory: str, name: str) -> None:
        try:
            with open(os.path.join(directory, name), encoding="utf-8", errors="replace") as file:
                text = file.read(1024 * 1024)
        except OSError:
            return
        self.finder_texts.append(text)
        if name.endswith(".pth"):
            for line in text.splitlines():
                path = os.path.join(directory, line.strip())
                if line.strip() and not line.startswith(("#", "import ")) and os.path.exists(path):
                    self.directories.append(path)


def site_directories() -> list[str]:
    """Return the directories in which this interpreter finds installed modules."""
    import site

    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    prefixes = [sys.prefix, sys.exec_prefix]
    directories = [site.getusersitepackages()]
    environment = virtual_environment()
    if environment is not None:
        for library in (f"lib/{version}", f"lib64/{version}", "Lib"):
            directories += [os.path.join(environment, library, "site-packages")]
        if not uses_system_modules(environment):
            return directories[1:]
    return directories + site.getsitepackages(prefixes)


def virtual_environment() -> str | None:
    """Return the directory of the virtual environment of this interpreter; `None` without one."""
    programs = os.path.dirname(os.path.abspath(sys.executable))
    for directory in (programs, os.path.dirname(programs)):
        if os.path.isfile(os.path.join(directory, "pyvenv.cfg")):
            return directory
    return None


def uses_system_modules(environment: str) -> bool:
    """Return whether a virtual environment also finds the modules of its base interpreter."""
    with open(os.path.join(environment, "pyvenv.cfg"), encoding="utf-8") as file:
        setting = re.search(r"(?mi)^include-system-site-packages\s*=\s*(\w+)", file.read())
    return setting is not None and setting.group(1).lower() == "true"


main()
