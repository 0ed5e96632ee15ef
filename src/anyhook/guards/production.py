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
    "alembic downgrade",
    "aws * delete-*",
    "aws * terminate-*",
    "aws * stop-*",
    "aws * modify-*",
    "aws s3 rb",
    "aws s3api put-bucket-policy",
    "az * delete",
    "az * * delete",
    "cdk destroy",
    "docker stack rm",
    "docker swarm leave",
    "docker volume prune",
    "docker volume rm",
    "doctl * * delete",
    "dotnet ef database drop",
    "eb terminate",
    "etcdctl del",
    "firebase *:delete",
    "fly * destroy",
    "flyctl * destroy",
    "gcloud * delete",
    "gcloud * * delete",
    "gcloud * * * delete",
    "gh repo delete",
    "gh release delete",
    "gsutil rb",
    "helm delete",
    "helm rollback",
    "helm uninstall",
    "helm upgrade",
    "heroku apps:destroy",
    "heroku pg:reset",
    "kubectl apply",
    "kubectl cordon",
    "kubectl delete",
    "kubectl drain",
    "kubectl edit",
    "kubectl patch",
    "kubectl replace",
    "kubectl rollout undo",
    "kubectl scale",
    "mix ecto.drop",
    "mysqladmin drop",
    "netlify deploy",
    "npm unpublish",
    "php* *artisan db:wipe",
    "php* *artisan migrate:fresh",
    "prisma migrate reset",
    "pulumi destroy",
    "pulumi up",
    "python* *manage.py flush",
    "railway down",
    "rclone purge",
    "rails db:drop",
    "rails db:reset",
    "rake db:drop",
    "rake db:reset",
    "sequelize db:drop",
    "serverless remove",
    "terraform apply",
    "terraform destroy",
    "terraform state rm",
    "terraform taint",
    "tofu apply",
    "tofu destroy",
    "vault kv destroy",
    "vercel remove",
    "wp db drop",
    "wp db reset",
]
OPTIONS = [
    ("aws s3 rm", "--recursive"),
    ("aws s3 sync", "--delete"),
    ("docker compose down", "--volumes"),
    ("docker system prune", "--volumes"),
    ("gsutil rm", "-r"),
    ("mc rm", "--recursive"),
    ("prisma db push", "--force-reset"),
    ("s3cmd del", "--recursive"),
    ("supabase db reset", "--linked"),
    ("vercel", "--prod"),
]
# Commands of Docker that count if they are for another machine.
DOCKER = ["docker rm", "docker stop", "docker kill", "docker compose down", "docker network rm"]
# Options with which a command only shows what it would do.
DRY_RUN = ["--dry-run", "--dryrun", "--what-if", "--check", "--help", "--diff"]
# Clients of databases, and statements that delete or change a structure.
DATABASES = set(
    """
    clickhouse-client cockroach mariadb mongo mongosh mysql mysqladmin psql redis-cli snowsql sqlcmd
    sqlplus usql wrangler
    """.split()
)
DELETING_WORDS = {"truncate", "dropdatabase", "flushall", "flushdb"}
STRUCTURES = {"table", "database", "schema", "view", "index", "user", "role", "db"}
ASK_USER = "Tell the user what you would run and what it changes, and let them run it."

hooks = Hooks(on_crash="deny")
hooks.about(families=["production"])


@hooks.before_tool("shell")
def guard_production(event):
    """Deny changes of production systems, and ask where it is not known which system it is."""
    answers = [answer for answer in answers_to(event) if answer is not None]
    denials = [answer for answer in answers if answer.outcome == "deny"]
    return next(iter([*denials, *answers]), None)


def answers_to(event):
    """Yield an answer about each command; nothing about what is harmless."""
    questions = [event.runs(*words.split()) for words in COMMANDS]
    questions += [event.runs(*words.split(), options={option}) for words, option in OPTIONS]
    for question in questions:
        for match in question:
            yield answer(event, match)
    for words in DOCKER:
        for match in event.runs(*words.split(), options={"--host"}):
            if match.certain or "://" in text_of(match.command):
                yield answer(event, match)
    for command in event.commands:
        if command.program == "dropdb" or changes_data(command):
            yield decide(f"`{command.program}` deletes or changes data", text_of(command))


def answer(event, match):
    """Answer about a command of the table."""
    command = match.command
    if any(command.has_options([option]) for option in DRY_RUN):
        return None
    if not match.certain:
        return ask(f"{match.why}; that may change a system that others use.")
    # `KUBECONFIG=prod.yaml kubectl …`
    assignments = [word for word in event.text.split() if "=" in word]
    return decide(match.why, " ".join([text_of(command), *assignments]))


def text_of(command):
    """Return what a command gets, without the files that it reads and writes."""
    texts = [redirect.target for redirect in command.redirects if redirect.is_text]
    return " ".join([*command.arguments, *texts])


def changes_data(command):
    """Return whether a client of a database gets a statement that deletes data or structures."""
    words = set(re.split(r"\W+", text_of(command).lower()))
    takes_all_rows = {"delete", "from"} <= words or {"update", "set"} <= words
    is_deleting = (
        not words.isdisjoint(DELETING_WORDS)
        or (takes_all_rows and "where" not in words)
        or (not words.isdisjoint({"drop", "alter"}) and not words.isdisjoint(STRUCTURES))
    )
    return command.program in DATABASES and is_deleting


def decide(why, text):
    """Deny what names production; let what names a test system pass; ask about the rest."""
    if PRODUCTION.search(text):
        return deny(f"{why} in production. {ASK_USER}")
    if HARMLESS.search(text):
        return None
    return ask(f"{why}, and nothing says that it is a test system.")


for denied in """
aws s3 rb s3://x; kubectl --context minikube delete pod a; kubectl delete namespace production
kubectl delete pod a --dry-run=server; kubectl delete namespace prd
docker -H tcp://prod network rm shop
kubectl --context prod delete deployment api
helm uninstall api -n production
aws rds delete-db-instance --db-instance-identifier prod --skip-final-snapshot
gcloud sql instances delete prod-db
az group delete --name prod-rg --yes
aws s3 sync --delete . s3://prod-assets
netlify deploy --prod
vercel --prod
gsutil rm -r gs://live-assets
RAILS_ENV=production rails db:drop
terraform -chdir=prod destroy < /dev/null
KUBECONFIG=prod.yaml kubectl apply -f app.yaml
psql -h prod-db.example.com -c "DELETE FROM orders"
psql "$PROD_DATABASE_URL" -c "DROP TABLE users"
docker -H ssh://prod.example.com rm -f api
docker -H tcp://prod stop api
docker -H tcp://prod kill api
docker -H tcp://prod compose down
mysql -h live.example.com -e "UPDATE users SET admin = 1"
dropdb prod
""".strip().splitlines():
    hooks.example(tool="shell", input={"command": denied}, expect="deny")
for asked in """
terraform destroy -auto-approve
alembic downgrade base
docker compose down -v
docker system prune -a --volumes -f
docker volume prune -f
docker volume rm shop_data
dotnet ef database drop --force
etcdctl del "" --prefix
firebase firestore:delete --all-collections
fly volumes destroy vol_1
flyctl postgres destroy shop
mc rm --recursive --force store/uploads
mix ecto.drop
mysqladmin drop shop
npm unpublish shop --force
php artisan db:wipe
php artisan migrate:fresh --seed
rclone purge store:uploads
s3cmd del --recursive s3://uploads
sequelize db:drop
supabase db reset --linked
vault kv destroy -versions=1 secret/shop
wp db drop --yes
wp db reset --yes
wrangler d1 execute shop --remote --command "DROP TABLE users"
terraform apply -auto-approve
kubectl drain node-1 --force
aws s3 rb s3://customer-uploads --force
aws ec2 terminate-instances --instance-ids i-1
aws ec2 stop-instances --instance-ids i-1
aws rds modify-db-instance --id x
aws s3api put-bucket-policy --bucket x --policy file://p.json
az group delete --name x
az vm disk delete --name x
docker stack rm shop
docker swarm leave --force
eb terminate shop
flyctl apps destroy shop
gcloud projects delete x
gcloud sql instances delete x
gcloud compute backend-services groups delete x
gh release delete v1 --yes
gsutil rb gs://x
helm delete api
helm rollback api 1
helm upgrade api ./chart
heroku apps:destroy shop
heroku pg:reset
kubectl apply -f x.yaml
kubectl cordon n
kubectl edit deploy api
kubectl patch deploy api -p x
kubectl replace -f x.yaml
kubectl rollout undo deploy/api
kubectl scale deploy api --replicas=0
netlify deploy
pulumi destroy
pulumi up
railway down
redis-cli flushall
redis-cli FLUSHDB
serverless remove
terraform state rm x
terraform taint x
tofu apply
tofu destroy
vercel remove shop
kubectl $VERB pod api -n production
docker $OPTION ssh://prod stop api
docker -H $HOST stop api
terraform destroy < /dev/null
aws s3 rm s3://customer-uploads --recursive
gh repo delete acme/shop --yes
fly apps destroy shop
mysql -e "TRUNCATE TABLE sessions" shop
mysqladmin drop database shop
clickhouse-client -q 'drop table a'
cdk destroy
doctl compute droplet delete x
npx prisma migrate reset
prisma db push --force-reset
python3 manage.py flush
rails db:drop
bin/rails db:reset
bundle exec rake db:drop
rake db:reset
dropdb shop
cockroach sql -e 'drop table a'
mariadb -e 'alter table a add b int' shop
mongo shop --eval 'db.dropDatabase()'
mongosh shop --eval 'db.orders.drop()'
snowsql -q 'truncate orders'
sqlcmd -Q 'drop view a'
sqlplus x 'drop index a'
usql -c 'drop schema a'
psql -c 'drop user a' shop
psql -c 'drop role a' shop
redis-cli -h cache flushall
psql -c 'delete from a;' shop
""".strip().splitlines():
    hooks.example(tool="shell", input={"command": asked}, expect="ask")
for harmless in """
terraform plan; helm template ./chart; kubectl get pods -n production
rails db:migrate; RAILS_ENV=test rails db:reset; MIX_ENV=test mix ecto.drop; prisma db push
python3 manage.py migrate; alembic upgrade head; php artisan migrate; supabase db reset
kubectl delete pod api-1 --dry-run=server; aws s3 rb s3://x --dryrun
az group delete --name x --what-if
helm upgrade x . --help; kubectl apply -f x.yaml --check; helm upgrade x . --diff
redis-cli -h localhost flushall; redis-cli -h 127.0.0.1 flushall; redis-cli -h ::1 flushall
kubectl --context kind delete pod a; kubectl --context k3d delete pod a
kubectl --context minikube delete pod api-1; kubectl --context docker-desktop delete pod a
kubectl --context rancher-desktop delete pod a
helm delete a -n testing; helm delete a -n test; helm delete a -n tests; helm delete a -n dev
helm delete a -n development; helm delete a -n staging; helm delete a -n sandbox
helm delete a -n preview; helm delete a -n local; helm list -n prod
docker -H tcp://prod ps; docker rm x; docker stop $(docker ps -q); docker compose down
docker service ls; docker volume ls; docker system prune -f
aws s3 rm s3://x/a.txt; aws s3 sync . s3://x; aws s3 ls s3://uploads; rclone copy x:uploads .
gsutil rm gs://x/a; mc rm x/a.txt; s3cmd del s3://x/a.txt; vercel; heroku pg:info
redis-cli get a; psql -c 'update a set b = 1 where c = 2' shop
mysql -e 'select a from b' shop; wrangler d1 execute shop --command "SELECT 1"
psql -c 'select delete' shop; psql -c 'select update' shop; psql -c 'select drop' shop
psql -c 'set a = 1' shop; psql -c 'create table a (b int)' shop
psql -c 'delete from a where b = 1' shop; psql -h localhost test -c 'DROP TABLE tmp_import'
psql -h prod-db.example.com -c 'SELECT count(*) FROM orders'; usql :memory: -c 'drop table a'
sqlite3 :memory: 'CREATE TABLE t(a); DROP TABLE t'; grep -rn 'drop table' src; echo delete from a
git commit -m 'Drop table users after the migration'
""".strip().splitlines():
    hooks.example(tool="shell", input={"command": harmless}, expect="none")

if __name__ == "__main__":
    hooks.run()
