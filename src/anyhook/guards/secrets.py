"""Keep secrets out of files, commands and the model's context.

It denies writing a secret into a file or a command (removing one is fine), reading files that hold
secrets, and commands that print them. A secret in the result of a tool is replaced by its kind
before the model reads it.

Families: secrets
Why: An agent copied the keys of `.env.local` into an example file that was pushed; others show whole
files of secrets when they look for the cause of a failing start.
Source: https://github.com/anthropics/claude-code/issues/7921
Version: 1
"""

import re

from anyhook.authoring import Hooks, ask, deny, find_secrets, hide_secrets, replace_result

# Files that hold secrets. A name without a slash is looked for in every directory.
SECRET_FILES = [
    ".env",
    ".env.*",
    ".envrc",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    "*.key",
    "*.p12",
    "*.pem",
    "*.pfx",
    "credentials.json",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "secrets.json",
    "secrets.yaml",
    "secrets.yml",
    "service-account*.json",
    "/etc/shadow",
    "/proc/*/environ",
    "~/.aws/credentials",
    "~/.azure/**",
    "~/.config/gcloud/**",
    "~/.config/gh/hosts.yml",
    "~/.docker/config.json",
    "~/.git-credentials",
    "~/.gnupg/**",
    "~/.kube/config",
    "~/.ssh/id_*",
]
# Of these, the ones that hold none.
HARMLESS_FILES = [".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub"]
# Programs, with their first arguments, that print secrets.
PRINTING_PROGRAMS = [
    ["aws", "secretsmanager", "get-secret-value"],
    ["aws", "ssm", "get-parameter*"],
    ["gcloud", "auth", "print-*"],
    ["gcloud", "secrets", "versions", "access"],
    ["gh", "auth", "token"],
    ["git", "credential", "fill"],
    ["heroku", "config"],
    ["kubectl", "get", "secret", "*"],
    ["kubectl", "get", "secret/*"],
    ["op", "read"],
    ["pass", "show"],
    ["vault", "kv", "get"],
    ["vault", "read"],
]
PRINTING_OPTIONS = [
    ("gpg", {"--export-secret-keys"}),
    ("security", {"-w"}),
]
# Names of variables whose values are secret.
SECRET_NAME = re.compile(
    r"\$\{?\w*(?:TOKEN|SECRET|PASSW(?:OR)?D|API_?KEY|PRIVATE_?KEY|CREDENTIAL)\w*", re.IGNORECASE
)
ENV_INSTEAD = "Refer to the variable in the code, and let the program read it when it runs."

hooks = Hooks(on_crash="deny")
hooks.about(families=["secrets"])


@hooks.before_tool
def guard_secrets(event):
    """Deny writing, reading and printing secrets."""
    kinds = find_secrets(added_text(event))
    if kinds:
        return deny(f"This contains a secret ({', '.join(kinds)}). {ENV_INSTEAD}")
    match = event.reads(*SECRET_FILES, but_not=HARMLESS_FILES)
    if match and only_names_files(match.command):
        match = None
    for words in PRINTING_PROGRAMS:
        match = match or event.runs(*words)
    for program, options in PRINTING_OPTIONS:
        match = match or event.runs(program, options=options)
    if match and match.certain:
        return deny(f"{match.why}, and that shows secrets to the model. {ENV_INSTEAD}")
    for command in event.commands:
        if prints_variables(command):
            return deny(f"`{command.source}` shows secrets to the model. {ENV_INSTEAD}")
    if match and is_unknown(match.command):
        return ask(f"{match.why}; that may show secrets to the model.")
    return None


@hooks.after_tool
def hide_secrets_in_results(event):
    """Replace secrets in results before the model reads them."""
    text = event.result.text
    hidden = hide_secrets(text)
    if hidden != text:
        return replace_result(hidden)
    return None


def added_text(event):
    """Return what a call adds: an edit that removes a secret must pass."""
    arguments = event.call.arguments
    kept = arguments.get("old_string") if event.tool == "edit_file" else None
    texts = [text for name, text in arguments.items() if name != "old_string"]
    lines = "\n".join(str(text) for text in texts).splitlines()
    # In a patch, lines that begin with a minus sign are removed.
    is_patch = any(line.startswith("*** ") for line in lines)
    kept_lines = set(str(kept).splitlines()) if kept else set()
    return "\n".join(
        line for line in lines if line not in kept_lines and not (is_patch and line[:1] == "-")
    )


def only_names_files(command):
    """Return whether a command looks at a file without showing what is in it."""
    return command is not None and command.program in {"file", "stat", "ssh-keygen", "wc", "md5sum"}


def is_unknown(command):
    """Return whether only the shell knows which files a command reads.

    A whole directory does not count: secrets in what `grep -r` finds are hidden in the result.
    """
    if command is None:
        return False
    has_patterns = any("*" in path for path in command.read_paths)
    return not command.program or has_patterns or bool(command.uncertain_arguments)


def prints_variables(command):
    """Return whether a command prints the environment, a secret variable, or a file of git."""
    if command.program in {"printenv", "env", "export", "set"} and not command.arguments:
        return True
    if command.program == "docker" and command.operands[:1] == ("inspect",):
        return any("Env" in argument for argument in command.arguments)
    if command.program == "git" and command.operands[:1] in {("show",), ("cat-file",)}:
        return any(re.search(r":(?:.*/)?\.env$", operand) for operand in command.operands)
    is_printed = command.program in {"echo", "printf", "printenv"}
    words = command.arguments if is_printed else ()
    if command.program == "printenv":
        words = [f"${word}" for word in words]
    return any(SECRET_NAME.search(word) for word in words)


KEY = "AKIA" + "QZ3VXN7HTR5WLD2M"  # not a key: it is written in two parts so that no tool finds one
for command in (
    f"aws configure set aws_access_key_id {KEY}",
    "cat .env",
    "head -5 config/.env.production",
    "base64 ~/.ssh/id_ed25519",
    "python3 -c \"print(open('.env').read())\"",
    "cat /proc/self/environ",
    "cp ~/.netrc notes.txt",
    "printenv",
    "env | sort",
    "echo $GITHUB_TOKEN",
    "printenv GITHUB_TOKEN",
    "git show HEAD:.env",
    "docker inspect --format '{{.Config.Env}}' api",
    "gh auth token",
    "aws secretsmanager get-secret-value --secret-id x",
    "kubectl get secret db -o yaml",
    "vault kv get secret/db",
    "gpg --export-secret-keys",
    "security find-generic-password -s github -w",
):
    hooks.example(tool="shell", input={"command": command}, expect="deny")
hooks.example(
    tool="write_file", input={"file_path": "a.py", "content": f"KEY = '{KEY}'"}, expect="deny"
)
hooks.example(
    tool="edit_file",
    input={"file_path": "a.py", "old_string": "KEY = ''", "new_string": f"KEY = '{KEY}'"},
    expect="deny",
)
hooks.example(
    tool="edit_file",
    input={"file_path": "a.py", "old_string": f"KEY = '{KEY}'", "new_string": "KEY = ''"},
    expect="none",
)
hooks.example(tool="read_file", input={"file_path": "config/.env"}, expect="deny")
hooks.example(tool="read_file", input={"file_path": ".env.example"}, expect="none")
hooks.example(tool="shell", input={"command": "cat $FILE"}, expect="ask")
hooks.example(tool="shell", input={"command": "grep KEY= .env*"}, expect="ask")
for command in (
    "cp .env.example .env",
    "grep -rn password src",
    "ls -la ~/.ssh",
    "cat ~/.ssh/id_ed25519.pub",
    "ssh-keygen -lf ~/.ssh/id_ed25519",
    "printenv PATH",
    "env NODE_ENV=test npm test",
    "echo $HOME",
    "test -f .env && echo exists",
    "gh auth status",
    "kubectl get secrets",
    "git show HEAD:README.md",
    "docker inspect api",
):
    hooks.example(tool="shell", input={"command": command}, expect="none")

if __name__ == "__main__":
    hooks.run()
