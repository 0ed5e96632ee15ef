"""Nothing runs as root."""

from anyhook.authoring import Hooks, deny

hooks = Hooks()


@hooks.before_tool("shell")
def not_as_root(event):
    for command in event.commands:
        if {"sudo", "doas", "su", "pkexec"} & {command.program, *command.chain}:
            return deny("this runs as root")


hooks.example(tool="shell", input={"command": "echo x | sudo tee /etc/hosts"}, expect="deny")
hooks.example(tool="shell", input={"command": "echo sudo"}, expect="none")

if __name__ == "__main__":
    hooks.run()
