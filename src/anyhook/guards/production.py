"""Keep production systems from being changed or deleted.

It looks at commands that delete or change what runs elsewhere: Terraform, Kubernetes, Helm, the tools
of clouds, databases. Where a name, a host or a context says that it is production, it denies them;
where one says that it is a local or a test system, it lets them pass; otherwise it asks.

Families: production
Why: An agent deleted a production database during a code freeze, against its instructions; another
ran `terraform destroy` on a running platform with the data of two and a half years.
Source: https://incidentdatabase.ai/cite/1152/
Version: 1
"""

import re

from anyhook.authoring import Hooks, ask, deny

# Words in a command, as parts of names, that stand for production, and for systems that may break.
PRODUCTION = re.compile(r"(?<![a-z])(?:prod|production|prd|live)(?![a-z])", re.IGNORECASE)
HARMLESS = re.compile(
    r"(?<![a-z])(?:localhost|127\.0\.0\.1|::1|:memory:|minikube|kind|k3d|docker-desktop"
    r"|rancher-desktop|test|tests|testing|dev|development|staging|sandbox|preview|local)(?![a-z])",
    re.IGNORECASE,
)
# Programs with their first arguments; `*` stands for any characters.
COMMANDS = [
    ["aws", "*", "delete-*"],
    ["aws", "*", "terminate-*"],
    ["aws", "*", "stop-*"],
    ["aws", "*", "modify-*"],
    ["aws", "s3", "rb"],
    ["aws", "s3api", "put-bucket-policy"],
    ["az", "*", "delete"],
    ["az", "*", "*", "delete"],
    ["docker", "stack", "rm"],
    ["docker", "swarm", "leave"],
    ["eb", "terminate"],
    ["fly", "apps", "destroy"],
    ["flyctl", "apps", "destroy"],
    ["gcloud", "*", "delete"],
    ["gcloud", "*", "*", "delete"],
    ["gcloud", "*", "*", "*", "delete"],
    ["gh", "repo", "delete"],
    ["gh", "release", "delete"],
    ["gsutil", "rb"],
    ["helm", "delete"],
    ["helm", "rollback"],
    ["helm", "uninstall"],
    ["helm", "upgrade"],
    ["heroku", "apps:destroy"],
    ["heroku", "pg:reset"],
    ["kubectl", "apply"],
    ["kubectl", "cordon"],
    ["kubectl", "delete"],
    ["kubectl", "drain"],
    ["kubectl", "edit"],
    ["kubectl", "patch"],
    ["kubectl", "replace"],
    ["kubectl", "rollout", "undo"],
    ["kubectl", "scale"],
    ["netlify", "deploy"],
    ["pulumi", "destroy"],
    ["pulumi", "up"],
    ["railway", "down"],
    ["redis-cli", "flush*"],
    ["redis-cli", "FLUSH*"],
    ["serverless", "remove"],
    ["terraform", "apply"],
    ["terraform", "destroy"],
    ["terraform", "state", "rm"],
    ["terraform", "taint"],
    ["tofu", "apply"],
    ["tofu", "destroy"],
    ["vercel", "remove"],
]
OPTIONS = [
    ("aws", ["s3", "rm"], {"--recursive"}),
    ("aws", ["s3", "sync"], {"--delete"}),
    ("gsutil", ["rm"], {"-r"}),
    ("netlify", ["deploy"], {"--prod"}),
    ("vercel", [], {"--prod"}),
]
# Options with which a command only shows what it would do.
DRY_RUN = ["--dry-run", "--dryrun", "--what-if", "--check", "--help", "--diff"]
# Clients of databases, and statements that delete or change a structure.
DATABASES = {
    *(
        "clickhouse-client",
        "cockroach",
        "mariadb",
        "mongo",
        "mongosh",
        "mysql",
        "psql",
        "redis-cli",
    ),
    *("snowsql", "sqlcmd", "sqlplus", "usql", "mysqladmin", "dropdb"),
}
STATEMENT = re.compile(
    r"\b(?:drop|truncate|alter)\s+(?:table|database|schema|view|index|user|role|collection)\b"
    r"|\btruncate\s+\w|\bdelete\s+from\s+\S+\s*(?:;|\"|'|$)|\bdropdatabase\b|\.drop\(|\bflush(?:all|db)\b"
    r"|\bupdate\s+\S+\s+set\b(?!.*\bwhere\b)",
    re.IGNORECASE,
)
ASK_USER = "Tell the user what you would run and what it changes, and let them run it."

hooks = Hooks(on_crash="deny")
hooks.about(families=["production"])


@hooks.before_tool("shell")
def guard_production(event):
    """Deny changes of production systems, and ask where it is not known which system it is."""
    for words in COMMANDS:
        match = event.runs(*words)
        if match:
            return answer(event, match)
    for program, words, options in OPTIONS:
        match = event.runs(program, *words, options=options)
        if match:
            return answer(event, match)
    for command in event.commands:
        is_remote_docker = command.program == "docker" and "-H" in command.arguments
        is_database = command.program in DATABASES
        if command.program == "dropdb" or (is_database and STATEMENT.search(command.source)):
            return decide(f"`{command.program}` deletes or changes data", command.source)
        if is_remote_docker and {"rm", "stop", "kill", "down"} & set(command.operands):
            return decide("this ends containers on another machine", command.source)
    return None


def answer(event, match):
    """Answer about a command of the table."""
    command = match.command
    if any(command.has_options([option]) for option in DRY_RUN):
        return None
    if not match.certain:
        return ask(f"{match.why}; that may change a system that others use.")
    return decide(match.why, f"{command.source} {' '.join(variables(event))}")


def variables(event):
    """Return the assignments in front of the command: `KUBECONFIG=prod.yaml kubectl …`."""
    return re.findall(r"\b[A-Z][A-Z_]*=\S+", event.text)


def decide(why, text):
    """Deny what names production; let what names a test system pass; ask about the rest."""
    if PRODUCTION.search(text):
        return deny(f"{why} in production. {ASK_USER}")
    if HARMLESS.search(text):
        return None
    return ask(f"{why}, and nothing says that it is a test system.")


for denied in (
    "kubectl delete namespace production",
    "kubectl --context prod delete deployment api",
    "helm uninstall api -n production",
    "aws rds delete-db-instance --db-instance-identifier prod --skip-final-snapshot",
    "gcloud sql instances delete prod-db",
    "az group delete --name prod-rg --yes",
    "aws s3 sync --delete . s3://prod-assets",
    "netlify deploy --prod",
    'psql -h prod-db.example.com -c "DELETE FROM orders"',
    'psql "$PROD_DATABASE_URL" -c "DROP TABLE users"',
    "docker -H ssh://prod.example.com rm -f api",
    "dropdb prod",
):
    hooks.example(tool="shell", input={"command": denied}, expect="deny")
for asked in (
    "terraform destroy -auto-approve",
    "terraform apply -auto-approve",
    "kubectl drain node-1 --force",
    "aws s3 rb s3://customer-uploads --force",
    "aws s3 rm s3://customer-uploads --recursive",
    "gh repo delete acme/shop --yes",
    "fly apps destroy shop",
    'mysql -e "TRUNCATE TABLE sessions" shop',
):
    hooks.example(tool="shell", input={"command": asked}, expect="ask")
for harmless in (
    "terraform plan",
    "kubectl get pods -n production",
    "kubectl delete pod api-1 --dry-run=server",
    "kubectl --context minikube delete pod api-1",
    "helm template ./chart",
    "aws s3 ls s3://customer-uploads",
    "psql -h localhost test -c 'DROP TABLE tmp_import'",
    "psql -h prod-db.example.com -c 'SELECT count(*) FROM orders'",
    "sqlite3 :memory: 'CREATE TABLE t(a); DROP TABLE t'",
    "git commit -m 'Drop table users after the migration'",
    "docker compose down",
):
    hooks.example(tool="shell", input={"command": harmless}, expect="none")

if __name__ == "__main__":
    hooks.run()
