"""Everything that reads or writes a command line.

- `commands`: the commands that a line runs in the end, for guards: `read_commands`.
- `command`, `effects`, `options`: one command, what it does to files and hosts, and its options.
- `walk`, `scope`, `expansions`, `values`: what a shell knows at a place, and what words become.
- `outputs`: what commands print, as far as their text decides it.
- `reader`, `wrapped`, `interpreters`, `builtins`, `code`: the commands and texts inside of others.
- `paths`: paths and patterns of paths as texts.
- `parser`: the simple commands of a line; raises where it is not certain what a shell would run.
- `structure`: the statements of a script: pipelines, branches, loops, functions.
- `runners`: the table of programs that run others, which `wrapped` and `wrappers` read.
- `wrappers`: the command behind `env`, `timeout`, `sudo` and the like, for conditions and checks.
- `programs`: what the names of programs mean: builtins, shells, interpreters.
- `words`: the words of any line, for labels and for the files that it may name.
- `launched`: what the lines that anyhook itself writes start.
- `path_variables`: variables with the quotes that they stand in, and their replacement.
- `variables`: variables of the environment that change the shell itself.
- `labels`: short names of commands for people.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anyhook.shell.command import Command as Command
    from anyhook.shell.commands import read_commands as read_commands
    from anyhook.shell.scope import Redirect as Redirect

_MODULES = {"Command": "command", "Redirect": "scope", "read_commands": "commands"}


def __getattr__(name: str) -> object:
    # Late: most readers of this package need one small module of it.
    if name not in _MODULES:
        raise AttributeError(f"module 'anyhook.shell' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"anyhook.shell.{_MODULES[name]}"), name)
    return value
