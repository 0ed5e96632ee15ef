# ruff: noqa: E501 - the texts of scripts are easier to read on one line
"""A hook whose code changed does not run, or the code was listed as not bound.

The layouts are made of a language, a way of loading and a place of the loaded file.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import pytest

from anyhook import BeforeTool, TrustStore

WRITE = BeforeTool(tool_name="write_file", tool_input={})
HOOKS = ".gemini/hooks"
SHELL_MARK = "echo {word} >> {mark}\n"
MARKS = {
    ".sh": SHELL_MARK,
    ".py": "open({mark!r}, 'a').write({word!r} + '\\n')\n",
    ".js": "require('fs').appendFileSync({mark!r}, {word!r} + '\\n')\n",
    ".pm": "open(F, '>>', {mark!r}); print F {word!r}, '\\n'; close F; 1;\n",
    ".awk": 'BEGIN {{ print "{word}" >> "{mark}"; close("{mark}") }}\n',
    ".mk": "guard:\n\t@echo {word} >> {mark}\n",
}
"""Programs that note a word, by the suffix of their files."""


@dataclass(frozen=True)
class Layout:
    """A hook and a file that it loads.

    Attributes:
        command: The command of the hook.
        loaded: The file that is loaded and edited later.
        files: The other files of the hook.
        needs: Programs without which it does not run.
        kind: The suffix of `MARKS` that says what the loaded file holds.
        prefix: The first line of the loaded file.
    """

    command: str
    loaded: str
    files: dict[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    kind: str = ""
    prefix: str = ""

    def content(self, world, word):
        """Return what the loaded file holds so that it notes a word."""
        mark = str(world.root / "mark")
        form = MARKS[self.kind or PurePosixPath(self.loaded).suffix]
        return self.prefix + form.format(mark=mark, word=word)


PLACES = ("lib", "tools/deep", HOOKS + "/lib", "conf")
"""Directories of the project in which the loaded file is."""
SHELL_WAYS = {
    "dirname": '. "$(dirname "$0")/{up}{place}/{name}.sh"\n',
    "variable": '. "$GEMINI_PROJECT_DIR/{place}/{name}.sh"\n',
    "braces": 'source "${{GEMINI_PROJECT_DIR:-.}}/{place}/{name}.sh"\n',
    "assigned": 'D="$(cd "$(dirname "${{BASH_SOURCE[0]}}")" && pwd)"\nL=$D/{up}{place}\n. "$L/{name}.sh"\n',
    "file-variable": "F={place}/{name}.sh\nsource $F\n",
    "run": "bash {place}/{name}.sh\n",
    "run-with-options": "bash -eu {place}/{name}.sh --flag x\n",
    "exec": 'exec bash "$PWD/{place}/{name}.sh"\n',
    "env": "env -i X=1 bash {place}/{name}.sh\n",
    "timeout": "timeout 5 bash {place}/{name}.sh\n",
    "change-directory": "cd {place} && bash ./{name}.sh\n",
    "subshell": "(cd {place}; . ./{name}.sh)\n",
    "loop": 'for f in {place}/*.sh; do . "$f"; done\n',
    "loop-lines": 'for f in "$GEMINI_PROJECT_DIR"/{place}/*.sh\ndo\n  bash "$f"\ndone\n',
    "computed": 'n={name}\n. "{place}/$n.sh"\n',
    "computed-late": 'n=$(echo {name})\n. "{place}/$n.sh"\n',
    "class": "bash {place}/[[:alpha:]]*.sh\n",
    "range": "bash {place}/{{{name}..{name}}}.sh\n",
    "find": "find {place} -name '*.sh' -exec bash {{}} ';'\n",
    "find-xargs": "find {place} -name '*.sh' | xargs -n 1 bash\n",
    "pipe": "cat {place}/{name}.sh | bash\n",
    "input": "bash < {place}/{name}.sh\n",
    "eval": 'eval "$(cat {place}/{name}.sh)"\n',
    "substitution": "source <(cat {place}/{name}.sh)\n",
    "function": 'load() {{ . "{place}/$1.sh"; }}\nload {name}\n',
    "here-document": "bash <<'END'\n. {place}/{name}.sh\nEND\n",
    "trap": "trap '. {place}/{name}.sh' EXIT\n",
    "shell-text": "bash -c 'bash {place}/{name}.sh'\n",
    "startup": "BASH_ENV={place}/{name}.sh bash -c true\n",
    "rcfile": "bash --rcfile {place}/{name}.sh -i -c true\n",
    "optional": "[ -f {place}/{name}.sh ] && . {place}/{name}.sh\n",
    "case": 'case "$X" in src/*) ;; *) . {place}/{name}.sh ;; esac\n',
}
PYTHON_WAYS = {
    "sys-path": "import sys, os\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), '{up}{place}'))\nimport {name}\n",
    "sys-path-pathlib": "import sys\nfrom pathlib import Path\nroot = Path('{place}')\nsys.path.append(str(root))\nimport {name}\n",
    "exec": "exec(open('{place}/{name}.py').read())\n",
    "exec-variable": "path = '{place}/{name}.py'\nexec(open(path).read())\n",
    "exec-compile": "from pathlib import Path\nexec(compile(Path('{place}', '{name}.py').read_text(), 'x', 'exec'))\n",
    "runpy": "import runpy\nrunpy.run_path('{place}/{name}.py')\n",
    "spec": "import importlib.util as u\ns = u.spec_from_file_location('m', '{place}/{name}.py')\nm = u.module_from_spec(s)\ns.loader.exec_module(m)\n",
    "import-module": "import sys, importlib\nsys.path.insert(0, '{place}')\nimportlib.import_module('{name}')\n",
    "computed-import": "import sys, importlib\nsys.path.insert(0, '{place}')\nimportlib.import_module(''.join('{name}'))\n",
    "subprocess": "import subprocess, sys\nsubprocess.run([sys.executable, '{place}/{name}.py'])\n",
    "subprocess-text": "import subprocess\nsubprocess.run('python3 {place}/{name}.py', shell=True)\n",
    "subprocess-variable": "import subprocess\ncommand = ['python3', '{place}/' + '{name}' + '.py']\nsubprocess.run(command)\n",
    "system": "import os\nos.system('python3 {place}/{name}.py')\n",
    "lazy": "def main():\n    import sys\n    sys.path.insert(0, '{place}')\n    import {name}\nmain()\n",
    "environment": "import os, subprocess\nsubprocess.run(['python3', '-c', 'import {name}'], env=dict(os.environ, PYTHONPATH='{place}'))\n",
}
NODE_WAYS = {
    "require": "require('{up}{place}/{name}')\n",
    "require-suffix": "require('{up}{place}/{name}.js')\n",
    "join": "const p = require('path')\nrequire(p.join(__dirname, '{up}{place}', '{name}'))\n",
    "variable": "const f = process.cwd() + '/{place}/{name}.js'\nrequire(f)\n",
    "child": "require('child_process').execSync('node {place}/{name}.js')\n",
    "fork": "const {{ execFileSync }} = require('child_process')\nexecFileSync(process.execPath, ['{place}/{name}.js'])\n",
    "eval": "eval(require('fs').readFileSync('{place}/{name}.js', 'utf8'))\n",
    "import": "import('{up}{place}/{name}.js')\n",
}
PERL_WAYS = {
    "use": "use lib '{place}';\nuse {name};\n",
    "require": "require './{place}/{name}.pm';\n",
    "do": "do './{place}/{name}.pm';\n",
    "push": "unshift @INC, '{place}'; require {name};\n",
}
SPACED_WAYS = {
    "quoted": '. "my lib/a g.sh"\n',
    "variable": 'bash "$GEMINI_PROJECT_DIR/my lib/a g.sh"\n',
    "escaped": "bash my\\ lib/a\\ g.sh\n",
    "assigned": 'D="my lib"; . "$D/a g.sh"\n',
}
COMMAND_WAYS = {
    "bash {place}/{name}.sh": (".sh", ()),
    ". ./{place}/{name}.sh": (".sh", ()),
    "cd {place} && sh {name}.sh": (".sh", ()),
    "env -S 'bash {place}/{name}.sh'": (".sh", ()),
    "bash {place}/[[:alpha:]]*.sh": (".sh", ()),
    "bash -c 'bash {place}/{{{name}..{name}}}.sh'": (".sh", ()),
    "cat {place}/{name}.sh | sh": (".sh", ()),
    "find {place} -name '*.sh' -exec sh {{}} +": (".sh", ()),
    "ls {place}/*.sh | xargs -n 1 sh": (".sh", ()),
    "python3 {place}/{name}.py": (".py", ()),
    "PYTHONPATH={place} python3 -c 'import {name}'": (".py", ()),
    "PYTHONPATH={place} python3 -m {name}": (".py", ()),
    "cd {place} && python3 -m {name}": (".py", ()),
    "python3 -m runpy {place}/{name}.py; python3 {place}/{name}.py": (".py", ()),
    "node -r ./{place}/{name}.js -e 1": (".js", ("node",)),
    "NODE_OPTIONS='--require ./{place}/{name}.js' node -e 1": (".js", ("node",)),
    "perl -I{place} -e 'use {name};'": (".pm", ("perl",)),
    "perl -I {place} -M{name} -e 1": (".pm", ("perl",)),
    "awk -f {place}/{name}.awk </dev/null": (".awk", ("awk",)),
    "make -s -f {place}/{name}.mk guard": (".mk", ("make",)),
}


def layouts():
    """Yield a name and a layout for every combination."""
    for place in PLACES:
        names = {"place": place, "name": "g", "up": "../../"}
        for language, program, suffix, ways, needs in (
            ("shell", "bash", ".sh", SHELL_WAYS, ()),
            ("python", "python3", ".py", PYTHON_WAYS, ()),
            ("node", "node", ".js", NODE_WAYS, ("node",)),
            ("perl", "perl", ".pl", PERL_WAYS, ("perl",)),
        ):
            loaded_suffix = ".pm" if suffix == ".pl" else suffix
            for way, text in ways.items():
                script = f"{HOOKS}/hook{suffix}"
                yield (
                    f"{language}-{way}-{place}",
                    Layout(
                        f"{program} {script}",
                        f"{place}/g{loaded_suffix}",
                        {script: text.format(**names)},
                        needs,
                    ),
                )
        for command, (suffix, needs) in COMMAND_WAYS.items():
            text = command.format(**names)
            yield f"{text}", Layout(text, f"{place}/g{suffix}", {}, needs)


def odd_layouts():
    """Yield layouts that are not made of the same parts."""
    hook = f"{HOOKS}/hook"
    yield (
        "python-package-beside",
        Layout("python3 guard.py", "pkg/sub/g.py", {"guard.py": "from pkg.sub import g\n"}),
    )
    yield (
        "python-cwd",
        Layout(
            f"python3 {hook}.py",
            "app/g.py",
            {f"{hook}.py": "import sys, os\nsys.path.append(os.getcwd())\nimport app.g\n"},
        ),
    )
    yield (
        "python-module",
        Layout(f"bash {hook}.sh", "app/g.py", {f"{hook}.sh": "python3 -m app.g\n"}),
    )
    yield "python-directory", Layout("python3 app", "app/__main__.py")
    yield (
        "python-text-file",
        Layout(
            f"python3 {hook}.py",
            "conf/rules.txt",
            {f"{hook}.py": "exec(open('conf/rules.txt').read())\n"},
            kind=".py",
        ),
    )
    yield (
        "python-transitive",
        Layout(
            f"python3 {hook}.py",
            "two/g.py",
            {
                f"{hook}.py": "import sys\nsys.path.insert(0, 'one')\nimport first\n",
                "one/first.py": "import sys\nsys.path.insert(0, 'two')\nimport g\n",
            },
        ),
    )
    yield (
        "shell-to-python",
        Layout(
            f"bash {hook}.sh",
            "two/g.py",
            {
                f"{hook}.sh": "bash scripts/check.sh\n",
                "scripts/check.sh": "cd scripts && python3 ../one/main.py\n",
                "one/main.py": "import sys\nsys.path.insert(0, '../two')\nimport g\n",
            },
        ),
    )
    yield (
        "node-directory",
        Layout(
            f"node {hook}.js",
            "lib/m.js",
            {f"{hook}.js": "require('../../')\n", "package.json": '{"main": "lib/m.js"}'},
            ("node",),
        ),
    )
    yield (
        "node-packages",
        Layout(
            f"node {hook}.js",
            "node_modules/rules/index.js",
            {f"{hook}.js": "require('rules')\n"},
            ("node",),
        ),
    )
    yield (
        "makefile",
        Layout(f"bash {hook}.sh", "Makefile", {f"{hook}.sh": "make -s guard\n"}, ("make",), ".mk"),
    )
    yield "pytest", Layout("python3 -m pytest -q", "conftest.py")
    yield "unittest", Layout("python3 -m unittest tests.g", "tests/g.py")
    yield (
        "executable",
        Layout(
            f"bash {hook}.sh",
            "tools/guard",
            {f"{hook}.sh": '"$GEMINI_PROJECT_DIR"/tools/guard\n'},
            (),
            ".sh",
            "#!/bin/sh\n",
        ),
    )
    yield (
        "search-path",
        Layout(
            f"bash {hook}.sh",
            "tools/guard",
            {f"{hook}.sh": 'export PATH="$PWD/tools:$PATH"\nguard\n'},
            (),
            ".sh",
            "#!/bin/sh\n",
        ),
    )
    yield (
        "env-file",
        Layout(
            f"bash {hook}.sh",
            "conf/guard.env",
            {f"{hook}.sh": "set -a; . conf/guard.env\n"},
            (),
            ".sh",
        ),
    )
    yield (
        "text-as-shell",
        Layout(
            f"bash {hook}.sh", "conf/rules.txt", {f"{hook}.sh": "bash conf/rules.txt\n"}, (), ".sh"
        ),
    )
    yield (
        "log-as-shell",
        Layout(
            f"bash {hook}.sh",
            f"{HOOKS}/rules.log",
            {f"{hook}.sh": '. "$(dirname "$0")/rules.log"\n'},
            (),
            ".sh",
        ),
    )
    yield (
        "here-document-python",
        Layout(
            f"bash {hook}.sh",
            "lib/g.py",
            {
                f"{hook}.sh": "python3 - <<'END'\nimport sys\nsys.path.insert(0, 'lib')\nimport g\nEND\n"
            },
        ),
    )
    yield (
        "inline-python",
        Layout(f"bash {hook}.sh", "g.py", {f"{hook}.sh": 'python3 -c "import g"\n'}),
    )
    yield (
        "inline-node",
        Layout(
            f"bash {hook}.sh",
            "lib/g.js",
            {f"{hook}.sh": "node -e 'require(\"./lib/g\")'\n"},
            ("node",),
        ),
    )
    yield (
        "make-include",
        Layout("make -s -f x.mk guard", "inc.mk", {"x.mk": "include inc.mk\n"}, ("make",)),
    )
    for way, text in SPACED_WAYS.items():
        yield (
            f"shell-blanks-{way}",
            Layout(f"bash {hook}.sh", "my lib/a g.sh", {f"{hook}.sh": text}),
        )
    yield (
        "python-blanks",
        Layout(
            f"python3 {hook}.py",
            "my lib/a g.py",
            {f"{hook}.py": "exec(open('my lib/a g.py').read())\n"},
        ),
    )
    yield (
        "node-worker",
        Layout(
            f"node {hook}.js",
            "lib/w.js",
            {f"{hook}.js": "new (require('worker_threads').Worker)('./lib/w.js')\n"},
            ("node",),
        ),
    )


UNTESTED = {
    "ruby-relative": ("ruby .gemini/hooks/h.rb", "lib/g.rb", "require_relative '../../lib/g'\n"),
    "ruby-load-path": ("ruby .gemini/hooks/h.rb", "lib/g.rb", "$LOAD_PATH << 'lib'\nrequire 'g'\n"),
    "ruby-option": ("ruby -Ilib -rg -e 1", "lib/g.rb", ""),
    "ruby-load": ("ruby .gemini/hooks/h.rb", "lib/g.rb", "load File.join(__dir__, '../../lib', 'g.rb')\n"),
    "ruby-system": ("ruby .gemini/hooks/h.rb", "lib/g.rb", "system('ruby', 'lib/g.rb')\n"),
    "ruby-eval": ("ruby .gemini/hooks/h.rb", "lib/rules.txt", "eval File.read('lib/rules.txt')\n"),
    "php-include": ("php .gemini/hooks/h.php", "lib/g.php", "<?php include __DIR__ . '/../../lib/g.php';\n"),
    "php-require": ("php .gemini/hooks/h.php", "lib/g.inc", "<?php require_once 'lib/g.inc';\n"),
    "php-computed": ("php .gemini/hooks/h.php", "lib/g.php", "<?php foreach (glob('lib/*.php') as $f) include $f;\n"),
    "php-exec": ("php .gemini/hooks/h.php", "lib/g.sh", "<?php echo shell_exec('bash lib/g.sh');\n"),
    "lua-path": ("lua .gemini/hooks/h.lua", "lib/g.lua", "package.path = 'lib/?.lua'\nrequire 'g'\n"),
    "lua-dofile": ("lua .gemini/hooks/h.lua", "lib/g.lua", "dofile('lib/g.lua')\n"),
    "deno-run": ("deno run --allow-all .gemini/hooks/h.ts", "lib/g.ts", "import '../../lib/g.ts'\n"),
    "bun-run": ("bun run .gemini/hooks/h.ts", "lib/g.ts", "import { g } from '../../lib/g'\n"),
    "bun-lines": ("bun .gemini/hooks/h.ts", "lib/g.ts", "import {\n  g,\n  h,\n} from '../../lib/g'\n"),
    "tsx": ("npx tsx .gemini/hooks/h.ts", "lib/index.ts", "export * from '../../lib'\n"),
    "npm-run": ("npm run guard", "scripts/g.js", ""),
    "npx": ("npx guard", "node_modules/guard/index.js", ""),
    "just": ("just guard", "justfile", ""),
    "task": ("task guard", "Taskfile.yml", ""),
    "uv-run": ("uv run .gemini/hooks/h.py", "lib/g.py", "import sys\nsys.path.insert(0, 'lib')\nimport g\n"),
    "uv-module": ("uv run python -m app.g", "app/g.py", ""),
    "poetry-run": ("poetry run python tools/g.py", "tools/g.py", ""),
    "jq-file": ("jq -f rules/g.jq", "rules/g.jq", ""),
    "jq-text": ("jq -f rules/filter", "rules/filter", ""),
    "sed-file": ("sed -n -f rules/g.sed", "rules/g.sed", ""),
    "awk-include": ("gawk -f .gemini/hooks/h.awk", "rules/more.awk", '@include "rules/more.awk"\n'),
    "powershell": ("pwsh -File .gemini/hooks/h.ps1", "lib/g.ps1", ". $PSScriptRoot/../../lib/g.ps1\n"),
    "powershell-module": ("pwsh .gemini/hooks/h.ps1", "lib/g.psm1", "Import-Module ./lib/g.psm1\n"),
    "fish": ("fish .gemini/hooks/h.fish", "lib/g.fish", "source lib/g.fish\n"),
    "zsh": ("zsh .gemini/hooks/h.zsh", "lib/g.zsh", "source ${0:A:h}/../../lib/g.zsh\n"),
    "tcl": ("tclsh .gemini/hooks/h.tcl", "lib/g.tcl", "source lib/g.tcl\n"),
    "r": ("Rscript .gemini/hooks/h.R", "lib/g.R", "source('lib/g.R')\n"),
    "pre-commit": ("pre-commit run", ".pre-commit-config.yaml", ""),
    "git-hooks": ("git -c core.hooksPath=githooks hook run pre-commit", "githooks/pre-commit", ""),
    "run-parts": ("bash .gemini/hooks/h.sh", "rules/g", "run-parts rules\n"),
    "docker-compose": ("docker compose run guard", "compose.yml", ""),
    "go-run": ("go run ./cmd/guard", "cmd/guard/main.go", ""),
    "cargo-run": ("cargo run -q", "src/main.rs", ""),
    "java": ("java -jar tools/guard.jar", "tools/guard.jar", ""),
    "direnv": ("direnv exec . guard", ".envrc", ""),
    "dotenv": ("bash .gemini/hooks/h.sh", ".env.hooks", "source .env.hooks\n"),
    "shebang": (".gemini/hooks/h", "tools/interp", "#!/PROJECT/tools/interp\n"),
    "shebang-env": (".gemini/hooks/h", "rules/pre.sh", "#!/usr/bin/env -S bash /PROJECT/rules/pre.sh\n"),
    "parallel": ("bash .gemini/hooks/h.sh", "rules/g.sh", "parallel bash ::: rules/*.sh\n"),
    "ssh": ("bash .gemini/hooks/h.sh", "rules/g.sh", "ssh localhost bash rules/g.sh\n"),
    "coproc": ("bash .gemini/hooks/h.sh", "rules/g.sh", "coproc bash rules/g.sh\n"),
    "process-array": ("bash .gemini/hooks/h.sh", "rules/g.sh", 'c=(bash rules/g.sh)\n"${c[@]}"\n'),
    "read-lines": ("bash .gemini/hooks/h.sh", "rules/g.txt", 'while read -r line; do eval "$line"; done < rules/g.txt\n'),
    "mapfile": ("bash .gemini/hooks/h.sh", "rules/g.txt", 'mapfile -t c < rules/g.txt\n"${c[@]}"\n'),
    "python-zip": ("python3 tools.zip", "tools.zip", ""),
    "python-site": ("python3 .gemini/hooks/h.py", "lib/x.pth", "import site\nsite.addsitedir('lib')\n"),
    "python-plugin": ("python3 .gemini/hooks/h.py", "plugins/g.py", "import importlib.util, glob\nfor f in glob.glob('plugins/*.py'):\n    s = importlib.util.spec_from_file_location('p', f)\n    s.loader.exec_module(importlib.util.module_from_spec(s))\n"),
    "python-pickle": ("python3 .gemini/hooks/h.py", "data/model.pkl", "import pickle\npickle.load(open('data/model.pkl', 'rb'))\n"),
    "python-yaml": ("python3 .gemini/hooks/h.py", "conf/rules.yml", "import yaml\nyaml.unsafe_load(open('conf/rules.yml'))\n"),
    "python-ctypes": ("python3 .gemini/hooks/h.py", "lib/g.so", "import ctypes\nctypes.CDLL('lib/g.so')\n"),
    "node-esm": ("node .gemini/hooks/h.mjs", "lib/g.mjs", "import g from '../../lib/g.mjs'\n"),
    "node-loop": ("node .gemini/hooks/h.js", "rules/g.js", "for (const f of require('fs').readdirSync('rules')) require('../../rules/' + f)\n"),
    "node-vm": ("node .gemini/hooks/h.js", "conf/rules.txt", "require('vm').runInThisContext(require('fs').readFileSync('conf/rules.txt'))\n"),
    "node-spawn": ("node .gemini/hooks/h.js", "lib/g.sh", "const cp = require('child_process')\ncp.spawnSync('bash', ['lib/g.sh'])\n"),
    "node-options": ("NODE_PATH=lib node .gemini/hooks/h.js", "lib/g.js", "require('g')\n"),
    "perl-backticks": ("perl .gemini/hooks/h.pl", "lib/g.sh", "print `bash lib/g.sh`;\n"),
    "perl-deep": ("perl -Ilib .gemini/hooks/h.pl", "lib/A/B.pm", "use A::B;\n"),
    "venv": (".venv/bin/python .gemini/hooks/h.py", ".venv/lib/python3.12/site-packages/g.py", "import g\n"),
    "venv-activate": ("bash .gemini/hooks/h.sh", ".venv/bin/activate", ". .venv/bin/activate\n"),
}  # fmt: skip
"""Command, loaded file and script of layouts whose programs are rarely installed."""


@pytest.fixture
def store(tmp_path):
    return TrustStore(tmp_path / "trust")


def configure(world, command):
    hook = {"type": "command", "command": command, "timeout": 20_000}
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})


def load(world, store):
    return world.load(trust_once=False, trust_store=store, warm=False)


def trust(world, store):
    subjects = load(world, store).guard.subjects()
    store.trust(world.project, subjects, agent="gemini")
    return subjects[0]


def status(world, store):
    (result,) = asyncio.run(load(world, store).dispatch(WRITE)).results
    return result.status


def is_named(subject, loaded):
    """Return whether what is listed names a file, its directory or the program that runs it."""
    listed = "\n".join(subject.unclear)
    path = PurePosixPath(loaded)
    directories = [f"{parent}/" for parent in path.parents if str(parent) not in (".", HOOKS)]
    programs = re.findall(r"[\w-]{3,}", subject.handler.command.replace(HOOKS, ""))
    names = [path.name, *directories, *(f"what {program} runs" for program in programs)]
    return any(name in listed for name in names)


@pytest.mark.slow
@pytest.mark.parametrize(
    "layout", [pytest.param(layout, id=name) for name, layout in [*layouts(), *odd_layouts()]]
)
def test_code_that_changed_does_not_run_or_was_listed(world, store, layout):
    for file, text in layout.files.items():
        world.write(world.project / file, text)
    loaded = world.write(world.project / layout.loaded, layout.content(world, "first"))
    configure(world, layout.command)
    subject = trust(world, store)
    mark = world.root / "mark"
    status(world, store)
    if all(map(shutil.which, layout.needs)):
        assert "first" in mark.read_text()

    world.write(loaded, layout.content(world, "second"))

    assert status(world, store) == "withheld" or is_named(subject, layout.loaded), subject.unclear


@pytest.mark.parametrize(
    "command",
    [
        f'bash "$GEMINI_PROJECT_DIR/{HOOKS}/my guard.sh"',
        f"bash '{HOOKS}/my guard.sh'",
        f"{HOOKS}/my\\ guard.sh",
        f"bash {HOOKS}/outer.sh",
    ],
)
def test_a_script_whose_name_has_blanks_is_not_listed_when_it_is_bound(world, store, command):
    script = world.write(world.project / HOOKS / "my guard.sh", "exit 0\n")
    world.write(world.project / HOOKS / "outer.sh", f'bash "$PWD/{HOOKS}/my guard.sh"\n')
    configure(world, command)

    subject = trust(world, store)

    assert not subject.unclear
    world.write(script, "exit 2\n")
    assert load(world, store).guard.changes()


@pytest.mark.parametrize("name", UNTESTED)
def test_a_change_is_noticed_or_listed_also_of_programs_that_are_not_installed(world, store, name):
    command, loaded, script = UNTESTED[name]
    for word in command.split():
        if word.startswith(HOOKS):
            world.write(world.project / word, script.replace("/PROJECT", str(world.project)))
    world.write(world.project / "package.json", '{"scripts": {"guard": "node scripts/g.js"}}')
    path = world.write(world.project / loaded, "first\n")
    configure(world, command)
    subject = trust(world, store)

    world.write(path, "second\n")

    assert load(world, store).guard.changes() or is_named(subject, loaded), subject.unclear
