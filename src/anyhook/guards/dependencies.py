"""Ask before new packages are installed, and deny names that look like a mistake.

It asks before a package is added, before one comes from an address or another index, before a tool
runs a package that is not part of the project, and before something is published. It denies names
that differ from a popular package by one letter: attackers register them.

Families: dependencies
Why: Models invent names of packages, and attackers register these: in a study of 16 models a fifth
of the recommended packages did not exist.
Source: https://arxiv.org/abs/2406.10279
Version: 1
"""

from anyhook.authoring import Hooks, ask, deny

# Packages that may be installed without a question.
ALLOWED = {""}
# Programs with the words that install packages, and the kind of their names.
INSTALLERS = [
    (["pip", "install"], "python"),
    (["pip3", "install"], "python"),
    (["pipx", "install"], "python"),
    (["pipx", "run"], "python"),
    (["uv", "add"], "python"),
    (["uv", "pip", "install"], "python"),
    (["uv", "tool", "install"], "python"),
    (["uv", "tool", "run"], "python"),
    (["uvx"], "python"),
    (["poetry", "add"], "python"),
    (["pdm", "add"], "python"),
    (["conda", "install"], "python"),
    (["npm", "install"], "node"),
    (["npm", "i"], "node"),
    (["npm", "add"], "node"),
    (["npm", "exec"], "node"),
    (["npx"], "node"),
    (["pnpm", "add"], "node"),
    (["pnpm", "dlx"], "node"),
    (["yarn", "add"], "node"),
    (["yarn", "dlx"], "node"),
    (["bun", "add"], "node"),
    (["bunx"], "node"),
    (["cargo", "add"], "other"),
    (["cargo", "install"], "other"),
    (["go", "get"], "other"),
    (["go", "install"], "other"),
    (["gem", "install"], "other"),
    (["composer", "require"], "other"),
    (["brew", "install"], "other"),
    (["apt", "install"], "other"),
    (["apt-get", "install"], "other"),
]
# Commands that publish a package, or change where packages come from.
OTHERS = [
    (["npm", "publish"], "publishes a package"),
    (["pnpm", "publish"], "publishes a package"),
    (["yarn", "publish"], "publishes a package"),
    (["cargo", "publish"], "publishes a package"),
    (["poetry", "publish"], "publishes a package"),
    (["uv", "publish"], "publishes a package"),
    (["twine", "upload"], "publishes a package"),
    (["gem", "push"], "publishes a package"),
    (["npm", "config", "set"], "changes where packages come from"),
    (["pip", "config", "set"], "changes where packages come from"),
    (["yarn", "config", "set"], "changes where packages come from"),
]
# Options that take packages from another place, or without a check.
RISKY_OPTIONS = [
    *("--index-url", "--extra-index-url", "--trusted-host", "--registry", "--source", "--git"),
]
# Programs of the project that `npx` and its like run: they are installed already.
PROJECT_TOOLS = {
    *("eslint", "jest", "mocha", "next", "nx", "playwright", "prettier", "tsc", "turbo", "vite"),
    *("vitest", "webpack", "ruff", "mypy", "pytest", "black"),
}
# Names of which one letter is easily wrong.
POPULAR = {
    "python": {
        *("aiohttp", "beautifulsoup4", "boto3", "click", "cryptography", "django", "fastapi"),
        *("flask", "httpx", "jinja2", "matplotlib", "numpy", "openai", "pandas", "pillow"),
        *("pydantic", "pytest", "pyyaml", "requests", "scikit-learn", "scipy", "selenium"),
        *("setuptools", "sqlalchemy", "tensorflow", "torch", "transformers", "urllib3"),
    },
    "node": {
        *("axios", "chalk", "commander", "cross-env", "dotenv", "eslint", "express", "jest"),
        *("lodash", "mongoose", "next", "nodemon", "prettier", "react", "react-dom", "redux"),
        *("rollup", "tailwindcss", "typescript", "vite", "webpack", "zod"),
    },
}

hooks = Hooks(on_crash="deny")
hooks.about(families=["dependencies"])


@hooks.before_tool("shell")
def guard_dependencies(event):
    """Ask about new packages, and deny names that look like a mistake."""
    if any(name in event.text for name in ("GONOSUMDB", "GOINSECURE", "GONOSUMCHECK")):
        return ask("This switches the check of packages off.")
    for words, what in OTHERS:
        match = event.runs(*words)
        if match and not match.command.has_options(["--dry-run"]):
            return ask(f"{match.why}, which {what}.")
    for words, kind in INSTALLERS:
        match = event.runs(*words)
        if not match:
            continue
        if not match.certain:
            return ask(f"{match.why}; that may install a package.")
        names = new_packages(match.command, words)
        for name in names:
            popular = mistaken_name(name, kind)
            if popular:
                return deny(f"`{name}` is one letter away from `{popular}`. Did you mean that?")
        risky = [option for option in RISKY_OPTIONS if match.command.has_options([option])]
        if names or risky:
            return ask(f"{match.why}: {', '.join([*names, *risky])}. Is that package wanted?")
    return None


def new_packages(command, words):
    """Return the names of the packages that a command installs, without those of the project."""
    names = command.operands[len(words) - 1 :]
    if words[0] in command.chain:
        names = (command.program,)  # `npx NAME` runs the program of the package
    of_files = {".", "..", "./...", "-"}
    return [
        name
        for name in names
        if name not in of_files | ALLOWED | PROJECT_TOOLS
        and not name.startswith((".", "/", "-", "["))
        and not is_file_option(command, name)
    ]


def is_file_option(command, name):
    """Return whether a word is the value of `-r FILE`, `-c FILE` or `-e DIRECTORY`."""
    for option in ("--requirement", "--constraint", "--editable"):
        if name in command.options.get(option, ()):
            return True
    return False


def mistaken_name(name, kind):
    """Return the popular package whose name differs by one letter; or nothing."""
    plain = name.split("==")[0].split(">")[0].split("[")[0].lower()
    if not plain.startswith("@"):
        plain = plain.split("@")[0]
    popular = POPULAR.get(kind, set())
    if plain in popular or len(plain) < 5:
        return ""
    return next((other for other in sorted(popular) if is_one_edit(plain, other)), "")


def is_one_edit(first, second):
    """Return whether two words differ by one letter: another one, one more, or two swapped."""
    if abs(len(first) - len(second)) > 1:
        return False
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
    rest, other = first[start:], second[start:]
    is_swapped = rest[:2] == other[1::-1] and rest[2:] == other[2:]
    return rest[1:] == other[1:] or rest[1:] == other or rest == other[1:] or is_swapped


for denied in (
    "pip install reqeusts",
    "pip install request",
    "npm install lodahs",
    "uv add numpyy",
):
    hooks.example(tool="shell", input={"command": denied}, expect="deny")
for asked in (
    "pip install requests",
    "pip install git+https://github.com/someone/tool.git",
    "pip install --index-url http://pypi.example.com/simple -r requirements.txt",
    "npm install -g left-pad-cli",
    "npm i -D left-pad",
    "npx --yes create-something-unknown",
    "uvx some-unknown-tool --option x",
    "cargo install --git https://github.com/someone/tool",
    "go install example.com/cmd/tool@latest",
    "npm config set registry http://registry.example.com",
    "npm publish",
    "twine upload dist/*",
    "GONOSUMDB='*' go get example.com/lib",
):
    hooks.example(tool="shell", input={"command": asked}, expect="ask")
for harmless in (
    "npm ci",
    "npm install",
    "npm run build",
    "npx tsc --noEmit",
    "npm publish --dry-run",
    "pip install -r requirements.txt",
    "pip install -e .",
    "pip install --require-hashes -r requirements.lock",
    "pip list --outdated",
    "uv sync --frozen",
    "poetry install",
    "cargo build --locked",
    "go mod download",
    "npm config get registry",
    "echo 'pip install reqeusts'",
):
    hooks.example(tool="shell", input={"command": harmless}, expect="none")

if __name__ == "__main__":
    hooks.run()
