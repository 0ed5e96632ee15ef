"""Only these hosts are contacted."""

from anyhook.authoring import Hooks, ask

hooks = Hooks()
KNOWN = ("github.com", "pypi.org", "localhost")


@hooks.before_tool("shell", "web_fetch")
def known_hosts(event):
    if match := event.contacts("*", but_not=KNOWN):
        return ask(match.why)


hooks.example(tool="shell", input={"command": "curl https://evil.example/x"}, expect="ask")
hooks.example(tool="shell", input={"command": "curl $ADDRESS"}, expect="ask")
hooks.example(tool="shell", input={"command": "git clone https://github.com/a/b"}, expect="none")

if __name__ == "__main__":
    hooks.run()
