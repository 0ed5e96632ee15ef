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

# Ending of a file to the command that formats it; `{file}` is its path. The first that is installed runs.
FORMATTERS = {
    ".py": [["ruff", "format", "--quiet", "{file}"], ["black", "--quiet", "{file}"]],
    ".js": [["prettier", "--write", "{file}"], ["biome", "format", "--write", "{file}"]],
    ".go": [["gofmt", "-w", "{file}"]],
    ".rs": [["rustfmt", "{file}"]],
    ".tf": [["terraform", "fmt", "{file}"]],
    ".sh": [["shfmt", "-w", "{file}"]],
    ".c": [["clang-format", "-i", "{file}"]],
}
# Endings that are formatted as another one.
AS = {
    **dict.fromkeys((".ts", ".tsx", ".jsx", ".mjs", ".css", ".scss", ".html", ".vue"), ".js"),
    **dict.fromkeys((".json", ".yaml", ".yml"), ".js"),
    **dict.fromkeys((".h", ".cc", ".cpp", ".hpp"), ".c"),
    ".pyi": ".py",
    ".bash": ".sh",
}
SECONDS = 20  # that a formatter may take

hooks = Hooks(on_crash="allow")
hooks.about(families=["format"])


@hooks.after_tool("write_file", "edit_file")
def format_file(event):
    """Format the file, and tell the agent if that changed it."""
    path = Path(event.cwd, str(event.call.arguments.get("file_path")))
    command = formatter_of(path)
    if command is None or not path.is_file():
        return None
    before = path.read_bytes()
    result = subprocess.run(
        command, cwd=event.cwd, capture_output=True, timeout=SECONDS, check=False
    )
    if result.returncode != 0:
        problem = result.stderr.decode(errors="replace").strip()[:500]
        return context(f"{command[0]} could not format {path.name}: {problem}")
    if path.read_bytes() == before:
        return None
    return context(f"{command[0]} formatted {path.name}; read it again before you edit it.")


def formatter_of(path):
    """Return the command that formats a file; nothing if none is installed."""
    suffix = AS.get(path.suffix, path.suffix)
    for words in FORMATTERS.get(suffix, ()):
        if shutil.which(words[0]):
            return [word.replace("{file}", str(path)) for word in words]
    return None


hooks.example(
    "after_tool",
    tool="write_file",
    input={"file_path": "notes.unknown", "content": "x"},
    expect="none",
)

if __name__ == "__main__":
    hooks.run()
