"""Generated files are not edited by hand."""

from anyhook.authoring import Hooks, ask, deny

hooks = Hooks()


@hooks.before_tool
def generated(event):
    match = event.writes("*.lock", "package-lock.json", "dist/**")
    if match:
        return deny(f"{match.why}; run the generator instead") if match.certain else ask(match.why)


hooks.example(tool="shell", input={"command": "sed -i s/1/2/ uv.lock"}, expect="deny")
hooks.example(
    tool="edit_file",
    input={"file_path": "dist/a.js", "old_string": "1", "new_string": "2"},
    expect="deny",
)
hooks.example(tool="shell", input={"command": "touch $FILE"}, expect="ask")
hooks.example(tool="shell", input={"command": "uv lock"}, expect="none")

if __name__ == "__main__":
    hooks.run()
