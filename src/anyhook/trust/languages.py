"""How the programs of each language name what they load: one table.

A row lists the statements with which a language loads files and modules, the calls with which it
runs command lines, and the statements that change where modules are looked for. The expressions are
applied to one statement at a time, and they may match too much: only names of files that exist
count.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from anyhook.expressions import expression
from anyhook.shell.programs import PACKAGE_RUNNERS, SHELLS, TASK_RUNNERS

_NOTHING = expression(r"(?!)")
_EVALUATE = expression(r"-\w*e|--eval")


class Language(NamedTuple):
    """How the texts of one language name what they load.

    Attributes:
        suffixes: Suffixes of its files.
        programs: Names of its interpreters, without versions.
        comment: What begins a line that is a comment.
        loads: Matches in statements that load the modules and files that they name.
        loads_value: Calls that load what their argument says, which may be computed.
        runs: Calls that run a command line, up to the beginning of their arguments.
        searches: Matches in statements that change where modules are looked for.
        itself: An expression for the interpreter itself.
        entries: Files that stand for a directory that is loaded.
        code_option: Options whose value is a program.
    """

    suffixes: tuple[str, ...]
    programs: tuple[str, ...]
    comment: str = "#"
    loads: re.Pattern[str] = _NOTHING
    loads_value: re.Pattern[str] = _NOTHING
    runs: re.Pattern[str] = _NOTHING
    searches: re.Pattern[str] = _NOTHING
    itself: str = ""
    entries: tuple[str, ...] = ()
    code_option: re.Pattern[str] = _EVALUATE


_CALL = r"(?<![\w.$>:])"
"""In front of a function that is not a method."""

SHELL = Language(
    suffixes=(".sh", ".bash", ".zsh", ".fish", ".ksh", ".mk", ".just", ".env"),
    programs=tuple(sorted(SHELLS)),
    searches=expression(
        r"(?:^|\s)-I|\b(?:PATH|\w+PATH|\w*LIB|\w*_ENV|ENV|\w*OPTIONS|\w*OPT|\w*STARTUP|LD_\w+)\+?="
    ),
    code_option=expression(r"-\w*c\w*"),
)
PYTHON = Language(
    suffixes=(".py", ".pyw", ".pyi", ".pth"),
    programs=("python", "pypy"),
    loads=expression(
        r"^\s*(?:import|from)\b|;\s*(?:import|from)\b|:\s*(?:import|from)\s+\w"
        rf"|{_CALL}(?:exec|eval|compile|execfile|__import__)\s*\(|\brunpy\b|\bimportlib\b|\bimp\."
        r"|\bimport_module\b|\brun_(?:path|module)\b|\bspec_from_file_location\b|\bzipimport"
        r"|\bSourceFileLoader\b|\bSourcelessFileLoader\b|\bCDLL\b|\bLoadLibrary\b|\bpkgutil\b"
        r"|\b(?:pickle|marshal|joblib|torch|shelve|dill)\.\w+|\bunsafe_load\b|\bUnsafeLoader\b"
    ),
    loads_value=expression(
        rf"{_CALL}(?:exec|eval|execfile|__import__|import_module|run_path|run_module"
        r"|spec_from_file_location|SourceFileLoader|CDLL)\s*\("
        r"|\.(?:import_module|run_path|run_module|spec_from_file_location|SourceFileLoader|CDLL"
        r"|load_source|exec_module)\s*\("
    ),
    runs=expression(
        r"\b(?:subprocess|sp)\.\w+\s*\(|\bos\.(?:system|popen|exec\w+|spawn\w+|posix_spawnp?)\s*\("
        rf"|{_CALL}(?:Popen|check_output|check_call|getoutput|getstatusoutput|system|popen)\s*\("
        rf"|{_CALL}(?:run|call)\s*\(\s*(?=[\[\"'])"
        r"|create_subprocess_(?:exec|shell)\s*\(|\bpty\.spawn\s*\("
    ),
    searches=expression(
        r"\bsys\.path\b|\baddsitedir\b|PYTHONPATH|\bpath\.(?:insert|append|extend)\b"
        r"|__path__|\bsys\.meta_path\b|\bsys\.path_hooks\b"
    ),
    itself="sys.executable",
    entries=("__init__.py", "__main__.py"),
    code_option=expression(r"-\w*c.*", re.DOTALL),
)
JAVASCRIPT = Language(
    suffixes=(".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"),
    programs=("node", "nodejs", "deno", "bun", "tsx", "ts-node", "esno", "qjs"),
    comment="//",
    loads=expression(
        r"^\s*import\b|^\s*export\b.*\bfrom\b|\brequire\b|\bimport\s*\(|\bcreateRequire\b"
        rf"|\bWorker\b|{_CALL}(?:fork|eval|Function)\s*\(|\bnew\s+Function\b|\bvm\.|\bimport\s*[\"'{{*]"
        r"|\b(?:runIn\w*Context|process\.dlopen|loadScript|importScripts)\b|^\s*\}\s*from\b"
    ),
    loads_value=expression(
        rf"{_CALL}(?:require|import|eval|Function|fork|Worker|importScripts)\s*\("
        r"|\brunIn\w*Context\s*\(|\brequire\.resolve\s*\(|\bprocess\.dlopen\s*\("
    ),
    runs=expression(
        rf"{_CALL}(?:execSync|execFile|execFileSync|spawn|spawnSync|execa|execaSync|exec)\s*\("
        r"|\b(?:child_process|childProcess|cp)\.\w+\s*\(|\bDeno\.(?:run|Command)\s*\("
        r"|\bBun\.(?:spawn|spawnSync)\s*\(|\bnew\s+Deno\.Command\s*\(|(?<!\w)\$(?=`)"
        r"|\brequire\([\"'](?:node:)?child_process[\"']\)\.\w+\s*\("
    ),
    searches=expression(r"NODE_PATH|\bmodule\.paths\b|\bglobalPaths\b|_initPaths"),
    itself="process.execPath",
    entries=(
        *("package.json", "index.js", "index.mjs", "index.cjs", "index.ts", "index.tsx", "mod.ts"),
        *("index.jsx", "index.mts", "index.json", "index.node"),
    ),
    code_option=expression(r"-\w*[ep]|--eval|--print"),
)
RUBY = Language(
    suffixes=(".rb", ".rake", ".gemspec"),
    programs=("ruby", "jruby", "irb"),
    loads=expression(r"\b(?:require|require_relative|load|autoload|\w*eval|binding)\b"),
    loads_value=expression(
        rf"{_CALL}(?:require|require_relative|load|eval)\b[ (]+|\b(?:instance|class)_eval\b[ (]+"
    ),
    runs=expression(
        rf"{_CALL}(?:system|exec|spawn)\b[ (]*|\b(?:popen|capture[23]e?|popen[23]e?)\b[ (]*"
        r"|(?=`)|%x"
    ),
    searches=expression(r"\$LOAD_PATH|\$:|RUBYLIB|RUBYOPT"),
    itself="RbConfig.ruby",
)
PERL = Language(
    suffixes=(".pl", ".pm", ".t", ".plx"),
    programs=("perl",),
    loads=expression(r"\b(?:use|require|do|eval|no|lib|parent|base)\b"),
    loads_value=expression(rf"{_CALL}(?:require|do|eval)\b[ (]*(?=[$\"'])"),
    runs=expression(rf"{_CALL}(?:system|exec)\b[ (]*|\bqx\b|(?=`)|\bopen\b(?=[^|\n]{0, 200}\|)"),
    searches=expression(r"\buse\s+lib\b|@INC|PERL5LIB|PERL5OPT|\blib->"),
    itself="$^X",
    code_option=expression(r"-\w*[eE]"),
)
PHP = Language(
    suffixes=(".php", ".phtml", ".phar", ".inc"),
    programs=("php",),
    loads=expression(r"\b(?:include|require)(?:_once)?\b|\beval\b|\bautoload|\bspl_autoload"),
    loads_value=expression(rf"{_CALL}(?:(?:include|require)(?:_once)?|eval)\b[ (]*"),
    runs=expression(
        rf"{_CALL}(?:exec|shell_exec|system|passthru|proc_open|popen|pcntl_exec)\s*\(|(?=`)"
    ),
    searches=expression(r"\binclude_path\b|\bautoload"),
    itself="PHP_BINARY",
    code_option=expression(r"-r|--run"),
)
LUA = Language(
    suffixes=(".lua",),
    programs=("lua", "luajit"),
    comment="--",
    loads=expression(r"\b(?:require|dofile|loadfile|loadstring|load|loadlib)\b"),
    loads_value=expression(rf"{_CALL}(?:require|dofile|loadfile|loadstring|load)\b[ (]*"),
    runs=expression(r"\bos\.execute\s*\(|\bio\.popen\s*\("),
    searches=expression(r"\bpackage\.c?path\b|LUA_PATH|LUA_CPATH"),
    entries=("init.lua",),
)
POWERSHELL = Language(
    suffixes=(".ps1", ".psm1", ".psd1"),
    programs=("pwsh", "powershell"),
    loads=expression(
        r"(?:^|[;{(|])\s*[.&]\s|\bImport-Module\b|\busing\s+module\b|\bInvoke-Expression\b|\biex\b"
        r"|\bAdd-Type\b|\bStart-Process\b|\bInvoke-Command\b",
        re.IGNORECASE,
    ),
    loads_value=expression(
        r"(?:^|[;{(|])\s*[.&]\s+(?=\$)|\b(?:Invoke-Expression|iex|Import-Module)\s+",
        re.IGNORECASE,
    ),
    searches=expression(r"PSModulePath|\$env:PATH", re.IGNORECASE),
    code_option=expression(r"-c(?:ommand)?", re.IGNORECASE),
)
OTHER = Language(
    suffixes=(".awk", ".sed", ".jq", ".tcl", ".exp", ".r", ".jl", ".ex", ".exs", ".groovy"),
    programs=("awk", "gawk", "mawk", "nawk", "sed", "jq", "tclsh", "Rscript", "julia", "elixir"),
    loads=expression(
        r"\b(?:include|import|source|require|load|use|eval|exec|system|getline|run|open)\b"
        r"|@(?:include|load)"
    ),
    code_option=expression(r"-e|--expression"),
)
"""Languages of which only the names in their statements are followed."""
DATA = Language(
    suffixes=(".json", ".yml", ".yaml", ".toml", ".cfg", ".ini"),
    programs=(),
    loads=expression(r"\"(?:main|module|exports|imports|import|require|default)\""),
    comment="\0",
    entries=JAVASCRIPT.entries,
)
"""Files that say what a directory stands for, such as `package.json`."""

LANGUAGES = (SHELL, PYTHON, JAVASCRIPT, RUBY, PERL, PHP, LUA, POWERSHELL, OTHER, DATA)
_BY_SUFFIX: dict[str, Language] = {}
_BY_PROGRAM: dict[str, Language] = {}
for _language in LANGUAGES:
    _BY_SUFFIX |= dict.fromkeys(_language.suffixes, _language)
    _BY_PROGRAM |= dict.fromkeys(_language.programs, _language)
_VERSION = expression(r"(?<=[a-z])[\d.]+(?:\.exe)?\Z")

_BINARY_SUFFIXES = frozenset(".pyc .so .pyd .node .wasm .jar .dll .dylib .bat .cmd".split())
CODE_SUFFIXES = _BINARY_SUFFIXES | (_BY_SUFFIX.keys() - {".env", *DATA.suffixes})
"""Suffixes of files that interpreters load by a name without a suffix, or that people source."""

FILE_OPTIONS = frozenset(
    "-f --file --from-file -I -r --require --import --loader --experimental-loader --rcfile"
    " --init-file -l -m -S --env-file --include --config -c --preload -File".split()
)
"""Options of interpreters whose value names what is loaded."""
VALUE_OPTIONS = frozenset(
    "-W -X -o -O +o +O -v -F -d -s --stack-size --max-old-space-size -ExecutionPolicy".split()
)
"""Options of interpreters whose value is not code."""
FILE_OPTION_PROGRAMS = frozenset("awk gawk mawk nawk sed jq".split())
"""Interpreters whose first argument is the program itself, unless an option names a file."""

PROJECT_FILES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), ("package.json",)),
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "gmake": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml"),
    "rake": ("Rakefile", "rakefile"),
    "mise": ("mise.toml", ".mise.toml"),
    "deno": ("deno.json", "deno.jsonc"),
    "pytest": ("conftest.py", "pytest.ini"),
    "tox": ("tox.ini",),
    "nox": ("noxfile.py",),
    "invoke": ("tasks.py",),
    "pre-commit": (".pre-commit-config.yaml",),
}
"""Files of a project that say what a program runs."""
PROJECT_RUNNERS = (
    TASK_RUNNERS
    | PACKAGE_RUNNERS
    | PROJECT_FILES.keys()
    | frozenset(
        "unittest doctest coverage pre-commit husky lefthook lint-staged eslint jest vitest mocha"
        " ava tsx ts-node webpack vite turbo nx rspec phpunit cmake ninja meson ansible"
        " ansible-playbook devbox direnv run-parts".split()
    )
)
"""Programs that run what files of the project define."""
ARGUMENT_RUNNERS = frozenset(
    "unittest doctest runpy trace timeit pdb cProfile profile coverage pytest".split()
)
"""Modules of Python that run the modules or files that are their arguments."""


def language_of_program(name: str) -> Language | None:
    """Return the language of an interpreter, by its name without directories."""
    return _BY_PROGRAM.get(name) or _BY_PROGRAM.get(_VERSION.sub("", name))


def language_of_file(name: str, text: str) -> Language:
    """Return the language of a file, by its suffix or its first line; shell if neither shows it."""
    suffix = os.path.splitext(name)[1].lower()
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    if text.startswith("#!"):
        for word in re.split(r"[\s/]+", text.partition("\n")[0]):
            language = language_of_program(word)
            if language is not None:
                return language
    return SHELL
