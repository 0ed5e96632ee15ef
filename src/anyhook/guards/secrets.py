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

import fnmatch
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
HARMLESS_FILES = [
    ".env.example",
    ".env.sample",
    ".env.template",
    ".env.dist",
    "*.pub",
    "~/.gnupg/*.conf",
]
# Programs, with their first arguments, that print secrets.
PRINTING_PROGRAMS = [
    "aws configure export-credentials",
    "aws secretsmanager get-secret-value",
    "aws ssm get-parameter*",
    "az account get-access-token",
    "gcloud auth application-default print-*",
    "gcloud auth print-*",
    "gcloud secrets versions access",
    "gh auth token",
    "git credential fill",
    "heroku config",
    "kubectl get secret*",
    "op read",
    "pass show",
    "vault kv get",
    "vault read",
]
PRINTING_OPTIONS = [("gh", "--show-token"), ("gpg", "--export-secret-keys"), ("security", "-w")]
# Beginnings of these to the options with which they show names, and no secrets.
LISTING_OPTIONS = {
    "kubectl get": {"--all-namespaces", "--context", "--namespace", "--output", "--selector"},
    "aws ssm": {"--name", "--names", "--profile", "--region"},  # secret parameters stay encrypted
}
# Programs that look at a file without showing what is in it.
NAMING = {"file", "stat", "wc", "md5sum"}
# Parts of names of variables that hold no secret, and options with which `env | grep PATH` shows
# only these.
HARMLESS_NAMES = {"CONDA_PREFIX", "JAVA_HOME", "LANG", "NODE_ENV", "PATH", "SHELL", "VIRTUAL_ENV"}
FILTERING = {"--extended-regexp", "--ignore-case", "--line-number", "--word-regexp"}
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
    matches = [*event.reads(*SECRET_FILES, but_not=HARMLESS_FILES)]
    for words in PRINTING_PROGRAMS:
        matches += [match for match in event.runs(*words.split()) if not lists(match.command)]
    for program, option in PRINTING_OPTIONS:
        matches += event.runs(program, options={option})
    shown = [m for m in matches if m.command is None or m.command.program not in NAMING]
    for match in shown:
        if match.certain:
            return deny(f"{match.why}, and that shows secrets to the model. {ENV_INSTEAD}")
    for command in event.commands:
        if prints_variables(command) and not is_filtered(command):
            return deny(f"`{command.source}` shows secrets to the model. {ENV_INSTEAD}")
    for match in shown:
        if event.tool.startswith("mcp__") or is_unknown(match):
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
    can_patch = event.tool == "edit_file" or event.runs("apply_patch")
    is_patch = can_patch and "*** Begin Patch" in lines
    kept_lines = set(str(kept).splitlines()) if kept else set()
    return "\n".join(
        line for line in lines if line not in kept_lines and not (is_patch and line[:1] == "-")
    )


def is_unknown(match):
    """Return whether it is not known which files a command or a tool reads.

    A whole directory does not count: secrets in what `grep -r` finds are hidden in the result.
    `find … | xargs grep x` searches a directory as well.
    """
    command = match.command
    paths = command.read_paths if command else [match.path]
    patterns = [path for path in paths if re.search(r"[*?[]", path)]
    unknown = set(command.uncertain_arguments) if command else set()
    if patterns and command and command.program in {"grep", "rg"}:
        unknown -= {"{}"}
        patterns = [path for path in patterns if not path.endswith("/**")]
    if not all(is_harmless(path) for path in patterns):
        return True
    return command is not None and bool(not command.program or unknown)


def is_harmless(pattern):
    """Return whether a pattern is `*.py` or the like, an ending that no secret file has."""
    name = pattern.rpartition("/")[2]
    is_ending = name[:2] == "*." and name.count(".") == 1 and "/." not in pattern
    return is_ending and not fnmatch.filter(SECRET_FILES, name)


def lists(command):
    """Return whether a command lists secrets or parameters without showing one."""
    options = LISTING_OPTIONS.get(" ".join([command.program, *command.operands[:1]]))
    if options is None or command.uncertain_arguments:
        return False
    is_list = {"name", "wide"}.issuperset(command.options.get("--output", ()))
    return is_list and command.options.keys() <= options


def prints_variables(command):
    """Return whether a command prints the environment, or a secret variable of it."""
    text = " ".join(command.arguments)
    names = "$" + " $".join(command.operands)
    match command.program:
        case "env":  # with a command to run, it is not among the commands
            return not re.search(r"--(?:split|ignore)", " ".join(command.options))
        case "set":
            return not text
        case "printenv":
            return not command.operands or SECRET_NAME.search(names) is not None
        case "export" | "declare" | "typeset" if not command.operands:
            return set("".join(command.options)) <= set("-px")
        case "declare" | "typeset":
            return "-p" in command.options and SECRET_NAME.search(names) is not None
        case "python" | "python3" | "node":
            return re.search(r"\b(?:os\.environ|process\.env)(?:\)|$)", text) is not None
        case "echo" | "printf":
            return SECRET_NAME.search(text) is not None
        case "docker":
            return "inspect" in text and "Env" in text
    return False


def is_filtered(command):
    """Return whether `grep` shows only harmless ones of all variables that a command prints."""
    grep = command.piped_into
    if grep is None or grep.program != "grep" or command.operands or command.written_paths:
        return False
    is_known = not grep.uncertain_arguments and grep.options.keys() <= FILTERING
    return is_known and HARMLESS_NAMES.issuperset("|".join(grep.operands).upper().split("|"))


KEY = "AKIA" + "QZ3VXN7HTR5WLD2M"  # not a key: it is written in two parts so that no tool finds one
OF_SECRETS = """.env config/.env.production .envrc .netrc .npmrc .pgpass .pypirc x.key x.p12 x.pem x.pfx
    credentials.json id_dsa id_ecdsa id_ed25519 id_rsa secrets.json secrets.yaml secrets.yml
    service-account-x.json /etc/shadow /proc/self/environ ~/.aws/credentials ~/.azure/x
    ~/.config/gcloud/x ~/.config/gh/hosts.yml ~/.docker/config.json ~/.git-credentials ~/.gnupg/x
    ~/.kube/config ~/.ssh/id_work"""
for path in OF_SECRETS.split():
    hooks.example(tool="read_file", input={"file_path": path}, expect="deny")
DENIED = """
env | sort; env -0; env -u PATH A=1; set; printenv -0; export; export -p; declare -px
env > x | grep PATH; env | grep KEY; env | grep -v PATH; env | grep -A9 PATH; env | grep $X
env | grep 'PATH|TOKEN'; env | cut -d= -f1; env | tee x | grep PATH; env | (cat) | grep PATH
env && echo 'env | grep PATH'; declare -p API_KEY; printenv GITHUB_TOKEN; printf %s ${CLIENT_SECRET}; node -p process.env
echo $GITHUB_TOKEN; echo $DB_PASSWORD; echo $PGPASSWD; echo $OPENAI_API_KEY; echo $APIKEY
echo $PRIVATE_KEY; echo $PRIVATEKEY; echo $aws_credentials
cat .env; head -5 config/.env.production; base64 ~/.ssh/id_ed25519; cat /proc/self/environ
cp ~/.netrc notes.txt; git cat-file -p main:app/.env.production; git diff HEAD~1 -- .env
gh auth token; gh auth status --show-token; git credential fill; az account get-access-token
gcloud auth application-default print-access-token; gcloud auth print-access-token
gcloud secrets versions access latest --secret x; heroku config; op read op://a/b; pass show mail
aws configure export-credentials; aws secretsmanager get-secret-value --secret-id x
aws secretsmanager get-secret-value --name x; aws ssm get-parameter --cli-input-json file://x
aws ssm get-parameters --names x --with-decryption; docker inspect --format '{{.Config.Env}}' api
kubectl get secret db -o yaml; kubectl get secret/db -o yaml; kubectl get secrets -o yaml
kubectl get secret db -o name -o yaml; kubectl get secret db --template x; kubectl get secret db $X
vault kv get secret/db; vault read secret/db; gpg --export-secret-keys
security find-generic-password -s github -w
""".strip()
for denied in (
    *re.split(r"; |\n", DENIED),
    f"aws configure set aws_access_key_id {KEY}",
    "python3 -c \"print(open('.env').read())\"",
    "python3 -c 'import os; print(os.environ)'",
    "cat $X; cat .env",
):
    hooks.example(tool="shell", input={"command": denied}, expect="deny")
old, new = {"old_string": f"KEY = '{KEY}'"}, {"new_string": f"KEY = '{KEY}'"}
kept = {"old_string": f"A\n{KEY}\nB", "new_string": f"A\n{KEY}\nC"}
for content in (f"KEY = '{KEY}'", f"-{KEY}", f"*** a\n- {KEY}", f"*** Begin Patch\n-{KEY}"):
    arguments = {"file_path": "a.py", "content": content}
    hooks.example(tool="write_file", input=arguments, expect="deny")
hooks.example(tool="edit_file", input={"file_path": "a", "old_string": "", **new}, expect="deny")
hooks.example(tool="edit_file", input={"file_path": "a", **old, "new_string": ""}, expect="none")
# Agents edit in several forms: with lines around the change, or by a patch.
hooks.example(tool="edit_file", input={"file_path": "a", **kept}, expect="none", agents=["claude"])
START, END = "*** Begin Patch\n*** Update File: a\n@@\n", "\n*** End Patch"
patch = f"{START}-KEY = '{KEY}'\n+KEY = ''{END}"
hooks.example(tool="edit_file", input={"command": patch}, expect="none", agents=["codex"])
for lines in (f"-KEY = ''\n+KEY = '{KEY}'", f" KEY = '{KEY}'\n+A = ''"):
    patch = f"{START}{lines}{END}"
    hooks.example(tool="edit_file", input={"command": patch}, expect="deny", agents=["codex"])
env = {"path": ".env"}
hooks.example(tool="mcp__files__read_file", input=env, expect="ask", agents=["claude"])
sources, env = ({"pattern": "x", "path": ".", "glob": glob} for glob in ("*.py", ".env*"))
hooks.example(tool="grep", input=sources, expect="none", agents=["claude"])
hooks.example(tool="grep", input=env, expect="ask", agents=["claude"])
for path in (".env.example", "README.md"):
    hooks.example(tool="read_file", input={"file_path": path}, expect="none")
for asked in """
grep KEY= .env*
cat .en?
cat $FILE; echo done
find . -name '*.p??' -exec cat {} +
find . -name '.en?' | xargs grep KEY
find . | xargs cat
cat names | xargs grep KEY
eval "$X"
""".strip().splitlines():
    hooks.example(tool="shell", input={"command": asked}, expect="ask")
for harmless in """
cp .env.example .env
cat .env.sample .env.template .env.dist src/*.py *.md
find . -name '*.py' -exec cat {} +
find . -name '*.py' -print0 | xargs -0 cat
find . -name '*.py' | xargs grep -n password
find . -type f -exec grep -n password {} +
env | grep PATH; env | grep -iE 'path|VIRTUAL_ENV'; set | grep LANG; export -p | grep JAVA_HOME
grep -rn password src
ls -la ~/.ssh
cat ~/.ssh/id_ed25519.pub
ssh-keygen -lf ~/.ssh/id_ed25519
file .env; stat .env; wc -l .env; md5sum .env
printenv PATH; node -p process.env.PATH
declare -p PATH
declare -a tokens
env NODE_ENV=test npm test; env -i A=1; env -S 'A=1 ls'
export A=1
set -e
gh auth status
kubectl get secrets
kubectl get secret db
kubectl get secrets -A --context a -n b -l c -o name
kubectl get secret db -o wide
aws ssm get-parameter --name x --profile a --region b
aws ssm get-parameters --names x y
ssh -i ~/.ssh/id_ed25519 example.com uptime
curl --cert client.pem --key client.key https://example.com
cat ~/.gnupg/gpg.conf
yq eval-all .key notes.yaml
git show HEAD:.env.example
git add x:.env
docker inspect api
docker run -e Env=1 api
aws ssm describe-parameters
gcloud auth list
gcloud secrets versions list x
git credential approve
vault list x
heroku ps
kubectl get pods
op list
pass ls
vault kv list x
gpg --export x
security list-keychains
aws secretsmanager list-secrets
gcloud secrets list
echo TOKEN
""".strip().splitlines():
    hooks.example(tool="shell", input={"command": harmless}, expect="none")
shell = {"command": "cat notes.txt"}
hooks.example("after_tool", tool="shell", input=shell, tool_response="nothing", expect="none")
hooks.example(
    "after_tool", tool="shell", input=shell, tool_response=f"key {KEY}", expect="replace_result"
)

if __name__ == "__main__":
    hooks.run()
