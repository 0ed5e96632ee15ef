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

import re

from anyhook.authoring import Hooks, ask, deny

# Packages that may be installed without a question.
ALLOWED = {""}
# Programs with the words that install packages, and the kind of their names.
INSTALLERS = {
    "python": [
        "pip install",
        "pip3 install",
        "pipx install",
        "pipx run",
        "uv add",
        "uv pip install",
        "uv tool install",
        "uv tool run",
        "uvx",
        "poetry add",
        "pdm add",
        "conda install",
    ],
    "node": [
        "npm install",
        "npm i",
        "npm add",
        "npm exec",
        "npx",
        "pnpm add",
        "pnpm dlx",
        "yarn add",
        "yarn dlx",
        "bun add",
        "bunx",
    ],
    "other": [
        "cargo add",
        "cargo install",
        "go get",
        "go install",
        "gem install",
        "composer require",
        "brew install",
        "apt install",
        "apt-get install",
    ],
}
# Commands that publish a package, or change where packages come from.
OTHERS = {
    "publishes a package": [
        "npm publish",
        "pnpm publish",
        "yarn publish",
        "cargo publish",
        "poetry publish",
        "uv publish",
        "twine upload",
        "gem push",
    ],
    "changes where packages come from": ["npm config set", "pip config set", "yarn config set"],
}
# Options that take packages from another place, or without a check.
RISKY_OPTIONS = [
    "--index-url",
    "--extra-index-url",
    "--trusted-host",
    "--registry",
    "--source",
    "--git",
]
# Variables that switch the check of packages off.
UNCHECKED = ("GONOSUMDB", "GOINSECURE", "GONOSUMCHECK")
# Options whose values are files and directories of the project.
FILE_OPTIONS = ["--requirement", "--constraint", "--editable"]
# Programs of the project that `npx` and its like run: they are installed already.
PROJECT_TOOLS = set(
    """
    eslint jest mocha next nx playwright prettier tsc turbo vite vitest webpack ruff mypy
    pytest black
    """.split()
)
# Names of which one letter is easily wrong.
POPULAR = {
    "python": set(
        """
        aiohttp beautifulsoup4 boto3 click cryptography django fastapi flask httpx jinja2
        matplotlib numpy openai pandas pillow pydantic pytest pyyaml requests scikit-learn
        scipy selenium setuptools sqlalchemy tensorflow torch transformers urllib3
        """.split()
    ),
    "node": set(
        """
        axios chalk commander cross-env dotenv eslint express jest lodash mongoose next
        nodemon prettier react react-dom redux rollup tailwindcss typescript vite webpack
        """.split()
    ),
}

hooks = Hooks(on_crash="deny")
hooks.about(families=["dependencies"])


@hooks.before_tool("shell")
def guard_dependencies(event):
    """Ask about new packages, and deny names that look like a mistake."""
    questions = []
    if any(name in event.text for name in UNCHECKED):
        questions.append("This switches the check of packages off.")
    for what, commands in OTHERS.items():
        for match, _ in matches(event, commands):
            if not match.command.has_options(["--dry-run"]):
                questions.append(f"{match.why}, which {what}.")
    for kind, commands in INSTALLERS.items():
        for match, words in matches(event, commands):
            if not match.certain:
                questions.append(f"{match.why}; that may install a package.")
                continue
            names = new_packages(match.command, words)
            for name in names:
                popular = mistaken_name(name, kind)
                if popular:
                    return deny(f"`{name}` is one letter away from `{popular}`. Did you mean that?")
            risky = [option for option in RISKY_OPTIONS if match.command.has_options([option])]
            if names or risky:
                what = ", ".join([*names, *risky])
                questions.append(f"{match.why}: {what}. Is that package wanted?")
    return ask(questions[0]) if questions else None


def matches(event, commands):
    """Yield what runs one of some commands, with the words of that one."""
    for words in map(str.split, commands):
        for match in event.runs(*words):
            yield match, words


def new_packages(command, words):
    """Return the names of the packages that a command installs, without those of the project."""
    names = command.operands[len(words) - 1 :]
    if words[0] in command.chain:
        names = (command.program,)  # `npx NAME` runs the program of the package
    files = [name for option in FILE_OPTIONS for name in command.options.get(option, ())]
    known = {*ALLOWED, *PROJECT_TOOLS, *files}
    return [name for name in names if name not in known and not name.startswith((".", "/", "-"))]


def mistaken_name(name, kind):
    """Return the popular package whose name differs by one letter; or nothing."""
    plain = re.split(r"[@=<>~\[]", name)[0].lower()
    popular = POPULAR.get(kind, set())
    if plain in popular or len(plain) < 5:
        return None
    return next(
        (other for other in sorted(popular) if not gaps(plain).isdisjoint(gaps(other))), None
    )


def gaps(word):
    """Return a word, and the word without each of its letters: words one letter apart share one."""
    return {word, *(word[:place] + word[place + 1 :] for place in range(len(word)))}


PYTHON_MISTAKES = """aiohtpt beautifulsoup boto33 clikk criptography djang fastap flaskk htttpx jinj2
    matplotlb nunpy opena1 panda pilow pydantik pytst pyaml reqeusts scikit-lern scippy seleniun
    setuptool sqlalchmy tensorflw torchh transformer urlib3"""
NODE_MISTAKES = """axois chalkk comander cross-enw dotenw eslnt expres jestt lodahs mongose nextt nodemo
    pretier reactt react-dm reduxx rolup tailwindcs typescrip vitee webpak"""
for mistake in PYTHON_MISTAKES.split():
    hooks.example(tool="shell", input={"command": f"pip install {mistake}"}, expect="deny")
for mistake in NODE_MISTAKES.split():
    hooks.example(tool="shell", input={"command": f"npm install {mistake}"}, expect="deny")
for denied in """
pip install pytest; uv add Reqeusts==2.0
pip install 'reqeusts>2'
pip install 'reqeusts[socks]'
npm i lodahs@4
pip install ' reqests'
""".strip().splitlines():
    hooks.example(tool="shell", input={"command": denied}, expect="deny")
for asked in """
pip install requests
pip3 install x
pipx install x
pipx run x
uv add x
uv pip install x
uv tool install x
uv tool run x
uvx some-tool --option x
poetry add x
pdm add x
conda install x
npm install -g x
npm i -D x
npm add x
npm exec x
npx --yes x
pnpm add x
pnpm dlx x
yarn add x
yarn dlx x
bun add x
bunx x
cargo add x
cargo install x
go get example.com/x
go install example.com/cmd/tool@latest
gem install x
composer require x
brew install x
apt install x
apt-get install x
$TOOL install x
pip install git+https://github.com/someone/tool.git
npm i vits
npm i @types/lodash
npm i @eslnt
cargo add reqeusts
npm i reqeusts
pip install --index-url http://pypi.example.com/simple -r requirements.txt
pip install --extra-index-url http://pypi.example.com/simple -r requirements.txt
pip install --trusted-host pypi.example.com -r requirements.txt
npm install --registry http://registry.example.com
gem install --source http://gems.example.com
cargo install --git https://example.com/x
npm publish
pnpm publish
yarn publish
cargo publish
poetry publish
uv publish
twine upload dist/*
gem push x.gem
npm publish --dry-run; npm publish
npm config set registry http://x
pip config set global.index-url http://x
yarn config set registry http://x
GONOSUMDB='*' go mod tidy
GOINSECURE='*' go mod tidy
GONOSUMCHECK=1 go mod tidy
""".strip().splitlines():
    hooks.example(tool="shell", input={"command": asked}, expect="ask")
for harmless in """
npm ci
npm install
npm run build
npx tsc --noEmit
npm publish --dry-run
npm i -D eslint jest mocha next nx playwright prettier tsc turbo vite vitest webpack
uv add ruff mypy pytest black
pip install ./lib /srv/lib -
go install ./...
pip install -r requirements.txt
pip install -c limits.txt -e .
pip install -e lib
pip install --require-hashes -r requirements.lock
pip list --outdated
uv sync
poetry install
poetry version
cargo build --locked
cargo test
go mod download
npm config get registry
pip config list
pipx list
uv pip list
uv tool list
pnpm test
yarn test
bun test
composer install
brew list
apt list
gem list
conda list
pdm run x
twine check dist/*
yarn config list
apt-get update
echo 'pip install reqeusts'
""".strip().splitlines():
    hooks.example(tool="shell", input={"command": harmless}, expect="none")

if __name__ == "__main__":
    hooks.run()
