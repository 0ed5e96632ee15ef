"""Format the files that the agent writes, and say so.

It changes instead of denying: after a file was written or edited, the formatter for its ending runs on
it, if it is installed. The agent reads that the file changed, so that its next edit fits.

Families: format
Why: Agents write code that the project's formatter changes again, so that every review has noise.
Source: https://code.claude.com/docs/en/hooks-guide
Version: 1
"""

import shutil
import subprocess
from pathlib import Path

from anyhook.authoring import Hooks, context

# Endings of files to the commands that format them. The first that is installed runs.
FORMATTERS = {
    ".py .pyi": ["ruff format --quiet", "black --quiet"],
    ".js .jsx .mjs .ts .tsx .css .scss .html .vue .json .yaml .yml": [
        "prettier --write",
        "biome format --write",
    ],
    ".go": ["gofmt -w"],
    ".rs": ["rustfmt"],
    ".tf": ["terraform fmt"],
    ".sh .bash": ["shfmt -w"],
    ".c .h .cc .cpp .hpp": ["clang-format -i"],
}
SECONDS = 20  # that a formatter may take

hooks = Hooks(on_crash="allow")
hooks.about(families=["format"])


@hooks.after_tool("write_file", "edit_file")
def format_files(event):
    """Format the files, and report to the agent which ones that changed."""
    paths = dict.fromkeys(Path(event.cwd, match.path) for match in event.writes("**"))
    reports = [report for path in paths if (report := format_file(path, event.cwd))]
    return context("\n".join(reports)) if reports else None


def format_file(path, directory):
    """Format a file, and return what the agent has to know about it."""
    command = formatter_of(path)
    if command is None or not path.is_file():
        return ""
    before = path.read_bytes()
    result = subprocess.run(
        command, cwd=directory, capture_output=True, timeout=SECONDS, check=False
    )
    if result.returncode != 0:
        problem = result.stderr.decode(errors="replace").strip()[:500]
        return f"{command[0]} could not format {path.name}: {problem}"
    if path.read_bytes() == before:
        return ""
    return f"{command[0]} formatted {path.name}; read it again before you edit it."


def formatter_of(path):
    """Return the command that formats a file; nothing if none is installed."""
    for endings, commands in FORMATTERS.items():
        for words in map(str.split, commands):
            if path.suffix in endings.split() and shutil.which(words[0]):
                return [*words, str(path)]
    return None


hooks.example(
    "after_tool",
    tool="write_file",
    input={"file_path": "notes.unknown", "content": "x"},
    expect="none",
)

if __name__ == "__main__":
    hooks.run()
