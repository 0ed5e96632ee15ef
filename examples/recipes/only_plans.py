"""Infrastructure is planned, not applied."""

from anyhook.authoring import Hooks, deny

hooks = Hooks()


@hooks.before_tool("shell")
def only_plans(event):
    for words in (
        ("terraform", "apply"),
        ("terraform", "destroy"),
        ("kubectl", "delete"),
        ("helm", "uninstall"),
    ):
        if match := event.runs(*words):
            return deny(match.why)


hooks.example(tool="shell", input={"command": "terraform -chdir=prod destroy"}, expect="deny")
hooks.example(tool="shell", input={"command": "kubectl -n web delete pod a"}, expect="deny")
hooks.example(tool="shell", input={"command": "terraform plan"}, expect="none")

if __name__ == "__main__":
    hooks.run()
