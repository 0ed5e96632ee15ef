"""Keep files from being deleted or overwritten where that loses something.

It denies deleting what is outside of the project, the project as a whole, and protected files. It
asks before whole directories are deleted that no build makes again, before files outside of the
project are changed, and where only the shell knows what is deleted.

Families: files
Why: A recursive delete of an agent took the whole home directory of its user; another agent deleted
the only copies of 3,467 documents while it sorted them.
Source: https://github.com/anthropics/claude-code/issues/10077
Version: 1
"""

import fnmatch
import re
from pathlib import Path

from anyhook.authoring import Hooks, ask, deny

# Places outside of the project in which an agent may delete and write.
SCRATCH = ["/tmp/**", "/var/tmp/**", "/private/tmp/**"]
# Directories that a build or an installation makes again.
DISPOSABLE = [
    "*.egg-info",
    "*.log",
    "*.o",
    "*.py[co]",
    "*.tmp",
    ".cache",
    ".coverage*",
    ".eggs",
    ".gradle",
    ".mypy_cache",
    ".next",
    ".nuxt",
    ".parcel-cache",
    ".pytest_cache",
    ".ruff_cache",
    ".terraform",
    ".tox",
    ".turbo",
    ".venv",
    "DerivedData",
    "__pycache__",
    "_build",
    "bin",
    "build",
    "coverage",
    "dist",
    "htmlcov",
    "node_modules",
    "obj",
    "out",
    "site-packages",
    "target",
    "temp",
    "tmp",
    "venv",
]
# Files in the project that are neither deleted nor overwritten, like "data/**" or "migrations/**".
PROTECTED = [".git/HEAD", ".git/config", ".git/objects/**", ".git/refs/**"]

# Compiled when the file is loaded, which a warm hook does once for all events.
DISPOSABLE_NAMES = [re.compile(fnmatch.translate(name)) for name in DISPOSABLE]

hooks = Hooks(on_crash="deny")
hooks.about(families=["files"])


@hooks.before_tool
def guard_files(event):
    """Deny or ask before something is deleted or overwritten."""
    projects = names_of_project(event)
    deleted = outside(event.deletes, projects)
    if deleted.certain and deleted:
        return deny(
            f"{deleted.why}, which is outside of the project. Delete files of the project only, and "
            "ask the user to do the rest."
        )
    wholes = without_git(event.deletes(*projects, "~", "/tmp", "/var/tmp"))
    for whole in wholes:
        if whole.certain:
            return deny(f"{whole.why} as a whole. Delete single files and directories in it.")
    above = list(projects)  # `chmod -R u+w .` names no protected file
    for project in projects:
        above += map(str, Path(project).parents)
    protected = [*PROTECTED, *(f"{project}/{it}" for project in projects for it in PROTECTED)]
    changed = [*event.deletes(*protected), *event.writes(*protected, but_not=above)]
    for match in without_git(changed):
        if match.certain:
            return deny(f"{match.why}, which is protected. Ask the user.")
    lost = lost_files(event, projects)
    if lost:
        return ask(f"This deletes everything in {lost}, and no build makes it again.")
    for match in (deleted, *wholes, outside(event.writes, projects)):
        if match:
            return ask(f"{match.why}. Is that what you want?")
    return None


def names_of_project(event):
    """Return the paths of the project: as the agent names it, without links, and as the call does.

    It is the directory whose `.anyhook` holds this file, or else the one in which the agent is.
    """
    here = Path(__file__).resolve().parent
    directory = Path(event.cwd)
    real = directory.resolve()
    if here.name == ".anyhook" and real.is_relative_to(here.parent):
        real = here.parent
        above = [path for path in (directory, *directory.parents) if path.resolve() == real]
        directory = above[0] if above else real
    names = [directory, real]
    for match in (*event.deletes("/**"), *event.writes("/**")):
        path = Path(match.path)
        if path.is_absolute() and not any(path.is_relative_to(name) for name in names):
            names += [it for it in (path, *path.parents) if it.resolve() == real]
    return list(dict.fromkeys(map(str, names)))


def without_git(matches):
    """Return matches without those of git, which has a guard of its own."""
    return [match for match in matches if match.command is None or match.command.program != "git"]


def outside(question, projects):
    """Return the answer to a question about paths that are neither in the project nor scratch."""
    own = [f"{project}/**" for project in projects]
    # A home may be in a place for temporary files.
    answers = [question("~/**", but_not=own), question("/**", but_not=[*own, *SCRATCH])]
    return max(answers, key=lambda match: (match.matched, match.certain))


def lost_files(event, projects):
    """Return a directory or a pattern of files that is deleted or emptied as a whole, if any."""
    for command in event.commands:
        if command.program in {"mv", "git"} or "--dry-run" in command.options:
            continue
        for effect in command.effects:
            is_wide = effect.is_recursive is not False or "*" in effect.target
            is_emptied = effect.kind == "writes" and command.program == "truncate"
            is_lost = effect.kind == "deletes" or is_emptied
            if (
                is_lost
                and is_wide
                and effect.is_known
                and not is_disposable(effect.target, projects)
            ):
                return effect.target
    return None


def is_disposable(target, projects):
    """Return whether a path, or a directory of the project above it, is one that is made again."""
    path = Path(target)
    project = next((project for project in projects if path.is_relative_to(project)), None)
    if project is None:
        return any(path.is_relative_to(place.removesuffix("/**")) for place in SCRATCH)
    parts = path.relative_to(project).parts
    return any(name.match(part) for part in parts for name in DISPOSABLE_NAMES)


for denied in """
rm -rf /
rm -rf ~
rm -rf "$HOME/Documents"
rm "$(which node)"
rm -r -f ../other-project
rm -rf .
sudo rm -rf /var/lib/postgresql
cd / && rm -rf etc
rm -rf /tmp
rm -rf *
find . -type f -delete
rsync -a --delete /tmp/empty/ ./
mv ~/projects /tmp/x
find ~ -name '*.bak' -exec rm {} +
rm .git/HEAD
rm .git/config
rm .git/objects/4b/825dc
rm .git/refs/heads/main
bash -c 'rm -rf ~/Desktop'
""".strip().splitlines():
    hooks.example(tool="shell", input={"command": denied}, expect="deny")
for asked in """
rm --recursive --force src
rm -rf $BUILD_DIR/
truncate -s 0 src/*.py
rm -$X src
find . -mtime +30 -delete
echo x > ~/.profile
""".strip().splitlines():
    hooks.example(tool="shell", input={"command": asked}, expect="ask")
hooks.example(tool="write_file", input={"file_path": "/etc/hosts", "content": ""}, expect="ask")
for harmless in """
rm -rf *.egg-info *.log *.o *.pyc *.tmp .cache .coverage.1 .eggs .gradle .mypy_cache .next
rm -rf .nuxt .parcel-cache .pytest_cache .ruff_cache .terraform .tox .turbo .venv DerivedData
rm -rf __pycache__ _build bin build coverage dist htmlcov node_modules obj out site-packages
rm -rf ./target/debug temp tmp venv
rm -f notes.txt
D=$(mktemp -d) && cp src/a.py $D && rm -rf $D
find . -name '*.pyc' -delete
find . -name __pycache__ -type d -exec rm -rf {} +
rm -rf /tmp/session-4121 /var/tmp/x /private/tmp/x
rsync -a --delete --dry-run empty/ src/
make | tee /dev/null /dev/stderr /dev/tty /private/tmp/x
mv src/old.py src/new.py
git clean -fd
rsync -a "$SOURCE/" src/
chmod -R u+w .
mv src/* .
git stash
make > /dev/null 2>&1
grep -rn 'rm -rf' scripts
""".strip().splitlines():
    hooks.example(tool="shell", input={"command": harmless}, expect="none")
hooks.example(tool="write_file", input={"file_path": "src/a.py", "content": ""}, expect="none")
# The agent may be in a directory of the project: what is above it is not outside.
HERE = str(Path(__file__).resolve().parent)
if HERE.endswith(".anyhook"):
    hooks.example(tool="shell", cwd=HERE, input={"command": "rm -f ../notes.txt"}, expect="none")

if __name__ == "__main__":
    hooks.run()
