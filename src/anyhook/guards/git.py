"""Keep work and history in git from being lost.

It denies what throws away changes that are not committed, or commits that others have: hard resets,
`checkout` and `restore` over changes, `clean`, dropped stashes, forced pushes, deleted branches,
rewritten history, and deleting `.git`.

Families: git
Why: An agent that was asked to restore one deleted line ran `git checkout -- .` and threw away two
hours of work; others ran `git reset --hard` over changes that they had just listed.
Source: https://github.com/anthropics/claude-code/issues/70363
Version: 1
"""

from pathlib import Path

from anyhook.authoring import Hooks, ask, deny

UNCOMMITTED = "throws away changes that are not committed"
COMMIT_FIRST = "Commit or stash the changes first, or ask the user."
LAST_BRANCH = "deletes a branch whose commits may be nowhere else"
DELETE_SAFELY = "Use `git branch -d`, which refuses to lose commits."
NO_WAY_BACK = "deletes the way back to commits"
ASK_USER = "Ask the user to do it."
# Words behind `git`, options that it has, options with which it is harmless, what it does, and what
# to do instead.
RULES = [
    ("reset", {"--hard"}, [], UNCOMMITTED, COMMIT_FIRST),
    ("reset", {"--merge"}, [], UNCOMMITTED, COMMIT_FIRST),
    ("checkout", {"--force"}, [], UNCOMMITTED, COMMIT_FIRST),
    ("switch", {"--force"}, [], UNCOMMITTED, COMMIT_FIRST),
    ("switch", {"--discard-changes"}, [], UNCOMMITTED, COMMIT_FIRST),
    ("restore", {"--worktree"}, [], UNCOMMITTED, COMMIT_FIRST),
    ("checkout-index", {"--force"}, [], UNCOMMITTED, COMMIT_FIRST),
    ("read-tree", {"--reset"}, [], UNCOMMITTED, COMMIT_FIRST),
    (
        "clean",
        {"--force"},
        ["--dry-run"],
        "deletes files that are not in git",
        "List them with `git clean -n`, and delete single files that you made.",
    ),
    ("rm", {"--force"}, ["--cached"], UNCOMMITTED, COMMIT_FIRST),
    ("submodule deinit", {"--force"}, [], UNCOMMITTED, COMMIT_FIRST),
    ("stash drop", set(), [], "deletes changes that were put aside", ASK_USER),
    ("stash clear", set(), [], "deletes changes that were put aside", ASK_USER),
    (
        "push",
        {"--force"},
        ["--dry-run"],
        "overwrites commits that others may have",
        "Use `git push --force-with-lease` on a branch of your own.",
    ),
    ("push", {"--mirror"}, [], "overwrites and deletes branches", ASK_USER),
    ("push", {"--prune"}, [], "deletes branches", ASK_USER),
    ("push", {"--delete"}, [], "deletes a branch or tag that others may have", ASK_USER),
    ("branch", {"-D"}, [], LAST_BRANCH, DELETE_SAFELY),
    ("branch", {"--delete", "--force"}, [], LAST_BRANCH, DELETE_SAFELY),
    ("reflog expire", {"--expire"}, ["--dry-run"], NO_WAY_BACK, ASK_USER),
    ("reflog expire", {"--expire-unreachable"}, ["--dry-run"], NO_WAY_BACK, ASK_USER),
    ("reflog expire", {"-c"}, ["--dry-run"], NO_WAY_BACK, ASK_USER),
    ("reflog delete", set(), ["--dry-run"], "deletes the way back to old commits", ASK_USER),
    (
        "gc",
        {"--prune"},
        ["--prune=2.weeks.ago"],  # as `git gc` alone does
        "deletes commits that no branch holds",
        ASK_USER,
    ),
    ("prune", set(), ["--dry-run"], "deletes commits that no branch holds", ASK_USER),
    ("filter-branch", set(), [], "rewrites the whole history", ASK_USER),
    ("filter-repo", set(), ["--dry-run", "--analyze"], "rewrites the whole history", ASK_USER),
    ("update-ref", {"-d"}, [], "deletes a branch or tag", ASK_USER),
    (
        "worktree remove",
        {"--force"},
        [],
        "deletes a directory with changes that are not committed",
        COMMIT_FIRST,
    ),
]

hooks = Hooks(on_crash="deny")
hooks.about(families=["git"])


@hooks.before_tool
def guard_git(event):
    """Deny commands that lose work or history in git."""
    for words, options, harmless, loss, instead in RULES:
        for match in event.runs("git", *words.split(), options=options):
            if not any(has_option(match.command, option) for option in harmless):
                return answer(match, loss, instead)
    for command in event.commands:
        if command.program == "git" and loses_changes(command, event.cwd):
            return deny(f"`{command.source}` {UNCOMMITTED}. {COMMIT_FIRST}")
        if command.program == "git" and overwrites_branch(command):
            return deny(f"`{command.source}` overwrites or deletes a branch. {ASK_USER}")
    # The agent may be in a directory of the repository.
    above = [str(path) for path in Path(event.cwd).parents]
    parts = ("/.git", "/.git/objects", "/.git/refs", "/.git/HEAD")
    matches = event.deletes(*(directory + part for directory in (".", *above) for part in parts))
    for match in sorted(matches, key=lambda match: not match.certain):
        if not is_git_rm(match.command):
            return answer(match, "deletes the repository with its history", ASK_USER)
    return None


def is_git_rm(command):
    """Return whether a command is `git rm`, which spares the repository also in `git rm -r .`."""
    return command is not None and command.program == "git" and command.operands[:1] == ("rm",)


def has_option(command, option):
    """Return whether a command has an option, and no other value of it than one behind `=`."""
    name, _, value = option.partition("=")
    if value and (command.uncertain_arguments or set(command.options.get(name, ())) != {value}):
        return False
    return command.has_options([name])


def answer(match, loss, instead):
    """Deny what is certain, and ask about what only the shell knows."""
    if match.certain:
        return deny(f"{match.why}, which {loss}. {instead}")
    return ask(f"{match.why}; that may be a command that {loss}.")


def loses_changes(command, directory):
    """Return whether `git checkout` or `git restore` overwrites files that are not committed."""
    subcommand, *operands = command.operands or ("",)
    if subcommand == "restore":
        return bool(operands) and not command.has_options(["--staged"])
    if subcommand != "checkout":
        return False
    if command.has_options(["--ours"]) or command.has_options(["--theirs"]):  # of a conflict
        return False
    names_paths = "--" in command.arguments and command.arguments[-1] != "--"
    if names_paths or len(operands) > 1:  # `git checkout main src`
        return True
    # No branch has such a name, and git refuses a name that is a branch and a file.
    are_paths = [it.startswith((".", "/", "*", ":")) or "/." in it for it in operands]
    places = [Path(directory, place) for place in command.directories if place is not None]
    are_files = [(place / name).exists() for place in places for name in operands]
    return any(are_paths) or any(are_files)


def overwrites_branch(command):
    """Return whether `git push` has a refspec that forces (`+main`) or deletes (`:main`)."""
    subcommand, *operands = command.operands or ("",)
    return subcommand == "push" and any(operand.startswith(("+", ":")) for operand in operands)


for denied in """
git reset --hard HEAD~3
git -C ../api reset --hard
git reset --merge
git checkout -- src/main.py
git checkout .
git checkout src/..
git checkout ./
git checkout '*'
git checkout :/
git checkout /srv/app
cd src && git checkout ..
git checkout HEAD src/main.py
git checkout main src
git checkout-index -f -a
git read-tree -u --res HEAD
cd $DIRECTORY && git checkout .
git checkout -f main
git switch -f main
git switch --discard-changes main
git restore src
git restore --staged --worktree src
git clean -fdx
git rm -rf src
git rm -f src/main.py
git submodule deinit -f lib
git stash drop
git stash clear
git push -f
git push origin +main
git push origin :release
git push --mirror backup
git push --prune origin
git push origin --delete release
git branch -D feature
git branch --delete --force feature
git reflog expire --expire=now --all
git reflog delete HEAD@{1}
git reflog expire --expire-unreachable=now --all
git -c gc.reflogExpire=now reflog expire --all
git gc --prune=now
git gc --prune=2.weeks.ago --prune=now
git prune
git filter-branch --tree-filter true HEAD
git filter-repo --path secrets --invert-paths
git update-ref -d refs/heads/main
git worktree remove --force ../hotfix
rm -rf .git
rm -rf .git/objects
bash -c 'git reset --hard'
git push -f --dry-run; git push -f
git clean -fdx --dry-run --no-dry-run
""".strip().splitlines():
    hooks.example(tool="shell", input={"command": denied}, expect="deny")
in_directory = {"command": "rm -rf ../.git"}
hooks.example(tool="shell", cwd="/project/src", input=in_directory, expect="deny")
for asked in """
git $ACTION --hard
git restore --staged -$X src
find . -name .git -delete
git clean -f --no-force
git -c clean.requireForce=false -c clean.requireForce=true clean
""".strip().splitlines():
    hooks.example(tool="shell", input={"command": asked}, expect="ask")
for harmless_command in """
git push --force-with-lease origin feature
git push origin $(git branch --show-current)
git reset HEAD src/main.py
git checkout -b feature
git checkout -b feature origin/main
git checkout --theirs package-lock.json src/a.py
git checkout main
git checkout main --
git add -- . :/
git restore --staged src
git clean -nd
git clean -fdx --dry-run
git branch -d done
git branch --force feature main
git stash
git stash pop
git gc
git gc --prune=2.weeks.ago
git reflog
git reflog expire --all
git reflog expire --dry-run --expire=now --all
git worktree remove ../hotfix
git worktree add --force ../hotfix main
git filter-repo --analyze
git filter-repo --dry-run --path secrets
git commit -m 'Do not use git push --force'
git rm --cached config.yml
git rm -rf --cached .
git rm -r .
rm -rf build
find . -name '*.pyc' -delete
""".strip().splitlines():
    hooks.example(tool="shell", input={"command": harmless_command}, expect="none")

if __name__ == "__main__":
    hooks.run()
