"""Everything that reads or writes a command line.

- `parser`: the simple commands of a line; raises where it is not certain what a shell would run.
- `structure`: the statements of a script: pipelines, branches, loops, functions.
- `wrappers`: the command behind `env`, `timeout`, `sudo` and the like.
- `programs`: what the names of programs mean: builtins, wrappers, shells, interpreters.
- `words`: the words of any line, for labels and for the files that it may name.
- `path_variables`: variables with the quotes that they stand in, and their replacement.
- `variables`: variables of the environment that change the shell itself.
- `labels`: short names of commands for people.
"""
