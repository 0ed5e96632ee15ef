"""Nothing runs as root."""

from anyhook.authoring import Hooks, ask, deny

hooks = Hooks()


@hooks.before_tool("shell")
def not_as_root(event):
    for program in ("sudo", "doas", "su", "pkexec"):
        if match := event.runs(program):
            return deny("this runs as root") if match.certain else ask(match.why)


hooks.example(tool="shell", input={"command": "echo x | sudo tee /etc/hosts"}, expect="deny")
hooks.example(tool="shell", input={"command": "$PROGRAM -u root tee /etc/hosts"}, expect="ask")
hooks.example(tool="shell", input={"command": "echo sudo"}, expect="none")

if __name__ == "__main__":
    hooks.run()
