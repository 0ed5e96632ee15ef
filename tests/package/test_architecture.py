"""The structure of the package: layers, cycles, size of modules, and what is written about it."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions, requires
from itertools import chain
from pathlib import Path

import pytest

import anyhook
from anyhook.agents import NAMES
from anyhook.history.schema import TABLES

ROOT = Path(__file__).parents[2]
SRC = Path(anyhook.__file__).parent
MAX_LINES = 450
"""Lines of a module."""
MAX_LINES_WITH_REASON = 900
"""Lines of a module whose docstring gives the reason why it is one."""


def layers():
    """Return the layers of the package, the lowest first; each is a set of modules and packages."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    diagram = page.split("<!-- layers -->")[1].split("<!-- /layers -->")[0]
    rows = [line[:40].split() for line in diagram.splitlines() if line.startswith(" ")]
    return [set(row) for row in reversed(rows)]


def layer_of(module):
    """Return the number of the layer of a module; -1 for the package itself."""
    top = [*module.split("."), ""][1]
    for number, names in enumerate(layers()):
        if top in names:
            return number
    return -1


def module_name(file):
    parts = file.relative_to(SRC.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules():
    return {module_name(file): ast.parse(file.read_bytes()) for file in sorted(SRC.rglob("*.py"))}


@cache
def imports():
    """Return the modules of the package that each module imports, also late and only for types."""
    return {name: set(_imported(tree)) - {name} for name, tree in modules().items()}


def _imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("anyhook"):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules() else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules())


def _names_of(requirements):
    """Return the names of the distributions that requirements name."""
    return {re.match(r"[\w-]+", text)[0].lower().replace("_", "-") for text in requirements}


def _imported_packages(tree):
    """Yield the top-level packages that a module imports, but not those for types only."""
    for node in ast.iter_child_nodes(tree):
        is_for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield str(node.module).partition(".")[0]
        elif not is_for_types:
            yield from _imported_packages(node)


@pytest.mark.slow
def test_every_library_that_is_imported_is_required():
    """A library that another one requires may be gone with the next release of that one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = _names_of(chain(*project["optional-dependencies"].values()))
    required = _names_of(project["dependencies"]) | extras
    # The integration of a framework uses what the framework is made of.
    distributions = packages_distributions()
    installed = _names_of(chain(*distributions.values()))
    of_frameworks = extras & installed
    for _ in range(3):  # pydantic-ai, pydantic-ai-slim, pydantic, pydantic-core
        parts = chain(*[requires(name) or () for name in of_frameworks])
        of_frameworks |= _names_of(parts) & installed

    missing = set()
    for module, tree in modules().items():
        known = required
        if module.startswith("anyhook.integrations"):
            known = required | of_frameworks
        for package in set(_imported_packages(tree)) - sys.stdlib_module_names - {"anyhook"}:
            # One that is not installed has the name of its package.
            if _names_of(distributions.get(package, [package])).isdisjoint(known):
                missing.add((module, package))

    # pytest itself loads this module.
    assert missing == {("anyhook.testing.plugin", "pytest")}


def test_the_diagram_shows_every_package():
    ours = {path.stem for path in SRC.iterdir() if path.suffix == ".py" or path.is_dir()}

    assert ours - {"__init__", "__pycache__"} == set().union(*layers())


@pytest.mark.slow
def test_a_module_uses_only_its_own_layer_and_lower_ones():
    higher = {
        f"{module} uses {used}"
        for module, all_used in imports().items()
        for used in all_used
        if layer_of(used) > layer_of(module) >= 0
    }

    assert higher == set()


def test_there_is_no_import_cycle():
    """Packages are left out: importing a module imports its package, whatever that names."""
    packages = {module_name(file) for file in SRC.rglob("__init__.py")}
    uses = {module: used - packages for module, used in imports().items() if module not in packages}

    TopologicalSorter(uses).prepare()  # raises an error that names the modules of a cycle


def test_a_long_module_gives_the_reason():
    for module, tree in modules().items():
        lines = max((node.end_lineno or 0 for node in tree.body), default=0)

        docstring = " ".join((ast.get_docstring(tree) or "").split())

        has_reason = "one module because" in docstring
        maximum = MAX_LINES_WITH_REASON if has_reason else MAX_LINES
        assert lines <= maximum, module


EDITORS = {
    "anyhook.settings.json_edit": (),
    "anyhook.settings.toml_edit": ("table_lines",),
    "anyhook.settings.edit": ("read_settings",),
    "anyhook.settings.write": ("stay_inside",),
    # A probe sets members in the copy of a home in which it runs an agent.
    "anyhook.settings.overlay": ("lay_over",),
}
"""Modules that edit the texts of settings files to what other packages may use of them."""


@pytest.mark.slow
def test_only_the_package_settings_edits_settings_files():
    offenders = set()
    for name, tree in modules().items():
        if name.startswith("anyhook.settings"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module in EDITORS:
                names = {alias.name for alias in node.names} - {*EDITORS[node.module]}
                offenders |= {f"{name} imports {node.module}.{other}" for other in names}
    assert offenders == set()


TABLE_NAMES = re.findall(r"CREATE (?:VIRTUAL )?TABLE (\w+)", TABLES)
STATEMENT = re.compile(rf"\b(FROM|JOIN|INTO|UPDATE)\s+({'|'.join(TABLE_NAMES)})\b")
"""A part of a statement on a table of the history."""


@pytest.mark.slow
def test_only_the_package_history_has_statements_on_the_history():
    offenders = set()
    for name, tree in modules().items():
        if name.startswith("anyhook.history"):
            continue
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if is_text and STATEMENT.search(node.value):
                offenders.add(name)
    assert offenders == set()


COLORS = re.compile(r"\b(black|red|green|yellow|blue|magenta|cyan|white)\b|#[0-9a-f]{3,6}\b")


def _texts(tree):
    """Yield the texts of a module with their lines, without docstrings."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in docstrings:
            yield node.lineno, node.value


def test_only_the_table_of_colours_names_colours():
    named = [
        f"{name}:{line} {text!r}"
        for name, tree in modules().items()
        if name.startswith(("anyhook.cli", "anyhook.page")) and name != "anyhook.cli.colors"
        for line, text in _texts(tree)
        if COLORS.search(text)
    ]

    assert named == []


def test_only_the_table_of_the_stylesheet_has_colours():
    page = SRC / "page"
    style = (page / "static" / "page.css").read_text(encoding="utf-8")
    table, _, rules = style.partition("* { box-sizing")
    texts = [rules, *(path.read_text(encoding="utf-8") for path in page.glob("templates/*.html"))]
    values = re.compile(r"(?:color|background|border|fill|stroke)[\w-]*\s*[:=]([^;>]*)")
    declarations = [value for text in texts for value in values.findall(text)]

    assert COLORS.search(table)
    assert len(declarations) > 20
    assert [value for value in declarations if COLORS.search(value)] == []


@pytest.mark.slow
def test_only_their_own_package_compares_with_names_of_agents():
    offenders = set()
    for name, tree in modules().items():
        if name.startswith("anyhook.agents"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare):
                values = [node.left, *node.comparators]
            elif isinstance(node, ast.MatchValue):
                values = [node.value]
            else:
                continue
            inner = [child for value in values for child in ast.walk(value)]
            compared = {child.value for child in inner if isinstance(child, ast.Constant)}
            offenders |= {f"{name}:{node.lineno} {agent}" for agent in compared & {*NAMES}}
    assert offenders == set()


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_every_path_that_a_page_names_is_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = re.findall(r"`((?:src|tests|docs|examples|benchmarks)/[^`]*)`", text)

    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_target_that_contributing_names_is_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(
        r"^\$ make ([\w-]+)", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE
    )

    assert targets
    assert [name for name in targets if f"\n{name}:" not in makefile] == []


def _uses_of_python(tree):
    """Yield what a module uses of the standard library, like `os.environ` and `time.time`."""
    modules_of_python = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] in sys.stdlib_module_names:
                    yield alias.name
                    name = alias.asname or alias.name.partition(".")[0]
                    modules_of_python[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module.partition(".")[0] in sys.stdlib_module_names:
                yield module
                yield from (f"{module}.{alias.name}" for alias in node.names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            names = []
            value = node
            while isinstance(value, ast.Attribute):
                names.insert(0, value.attr)
                value = value.value
            if isinstance(value, ast.Name) and value.id in modules_of_python:
                yield ".".join([modules_of_python[value.id], *names])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id not in ("getattr", "setattr"):
                continue
            # Of an object of Python: no attribute of ours is read in this way.
            name = node.args[1]
            if isinstance(name, ast.Constant):
                yield f"getattr.{name.value}"


PRIVATE = re.compile(r"(.*\.)?_[a-z]\w*(\..*)?", re.IGNORECASE)
"""A private module or attribute."""
PUBLIC = ("os._exit", "_thread")
"""Names that the documentation of Python describes although they begin with an underscore."""


def test_private_interfaces_of_python_are_in_one_module():
    offenders = set()
    for name, tree in modules().items():
        # What frameworks keep private is listed in tests/integrations/test_private_names.py.
        if name.startswith("anyhook.integrations"):
            continue
        for use in _uses_of_python(tree):
            if PRIVATE.fullmatch(use) and not use.startswith(PUBLIC):
                offenders.add((name, use))

    assert {name for name, _ in offenders} == {"anyhook._compat", "anyhook.history.tap"}, offenders


SYSTEM = re.compile(
    r"(os\.(path\.(realpath|exists|is\w+)|environ|stat|listdir|scandir|open|getcwd|access)"
    r"|shutil|time|datetime|subprocess|socket|tempfile|glob)\b(?<!isabs)"
)
"""What asks the system: its files, its environment or its clock."""


def test_only_three_modules_of_the_core_ask_the_system():
    asking = {}
    for name, tree in modules().items():
        if name.split(".")[1:2] in (["model"], ["matching"], ["shell"]):
            uses = {use for use in _uses_of_python(tree) if SYSTEM.match(use)}
            if uses:
                asking[name] = uses

    assert asking == {
        "anyhook.matching.paths": {"os.path.realpath"},
        "anyhook.model.event": {"os.environ"},
        "anyhook.shell.programs": {"shutil", "shutil.which"},
    }
