"""Forms in which secrets are written, each with a place for the secret and an example of it.

The secrets are random, made anew from a seed, so that no file holds one.
"""

from __future__ import annotations

import random
import string

LETTERS = string.ascii_letters
MIXED = LETTERS + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
DIGITS = string.digits

TOKENS = {
    # Kind: prefix, then lengths and alphabets of what follows.
    "aws-key": [("AKIA", (16, UPPER)), ("ASIA", (16, UPPER))],
    "github-token": [
        *[(f"gh{letter}_", (36, MIXED)) for letter in "pousr"],
        ("github_pat_", (22, MIXED), "_", (59, MIXED)),
    ],
    "gitlab-token": [
        *[(f"gl{part}-", (20, MIXED)) for part in ("pat", "dt", "rt", "ptt", "ft", "oas", "soat")],
        ("GR" + "1348941", (20, MIXED)),
    ],
    "slack-token": [
        ("xoxb-", (12, DIGITS), "-", (24, MIXED)),
        ("xapp-1-A", (10, UPPER), "-", (64, HEX)),
        ("xoxe.xoxp-1-", (160, UPPER)),
    ],
    "slack-webhook": [
        ("hooks.slack.com/services/T", (8, UPPER), "/B", (8, UPPER), "/", (24, MIXED))
    ],
    "api-key": [
        ("sk_live_", (24, MIXED)),
        ("rk_live_", (24, MIXED)),
        ("sk-proj-", (48, MIXED)),
    ],
    "webhook-secret": [("whsec_", (32, MIXED))],
    "anthropic-key": [("sk-ant-api03-", (90, MIXED))],
    "google-key": [("AIza", (35, MIXED))],
    "google-token": [("ya29.", (60, MIXED))],
    "google-client-secret": [("GOCSPX-", (28, MIXED))],
    "huggingface-token": [("hf_", (34, MIXED))],
    "npm-token": [("npm_", (36, MIXED))],
    "pypi-token": [("pypi-AgEIcHlwaS5vcmc", (60, MIXED))],
    "sendgrid-key": [("SG.", (22, MIXED), ".", (43, MIXED))],
    "age-key": [("AGE-SECRET-KEY-1", (58, UPPER))],
    "twilio-key": [("SK", (32, HEX))],
    "mailgun-private-api-token": [("key-", (32, HEX))],
    "digitalocean-pat": [("dop_v1_", (64, HEX))],
    "shopify-access-token": [("shpat_", (32, HEX))],
    "databricks-api-token": [("dapi", (32, HEX))],
    "doppler-api-token": [("dp.pt.", (43, MIXED))],
    "vault-token": [("hvs.", (90, MIXED))],
    "terraform-token": [((14, MIXED), ".atlasv1.", (60, MIXED))],
    "linear-api-key": [("lin_api_", (40, MIXED))],
    "notion-token": [("ntn_", (46, MIXED))],
    "figma-token": [("figd_", (40, MIXED))],
    "groq-key": [("gsk_", (52, MIXED))],
    "xai-key": [("xai-", (80, MIXED))],
    "perplexity-api-key": [("pplx-", (48, MIXED))],
    "replicate-token": [("r8_", (37, MIXED))],
    "new-relic-user-api-key": [("NRAK-", (27, UPPER))],
    "grafana-service-account-token": [("glsa_", (32, MIXED), "_", (8, HEX))],
    "sentry-token": [("sntrys_", (60, MIXED))],
    "atlassian-token": [("ATATT3xFfGF0", (170, MIXED))],
    "azure-client-secret": [((3, MIXED), "8Q~", (34, MIXED))],
    "discord-token": [("MT", (24, MIXED), ".", (6, MIXED), ".", (38, MIXED))],
    "json-web-token": [("eyJhbGciOiJIUzI1NiJ9.eyJ", (30, MIXED), ".", (43, MIXED))],
}

PLACES = {
    "command-password": [
        "curl -u admin:{} https://example.org",
        "curl -s -X POST -H 'Accept: text/html' --user 'admin:{}' https://example.org",
        "curl https://example.org \\\n  -u admin:{}",
        "mysql -uroot -p{} shop",
        "mysqldump -h db -p'{}' shop",
        "sshpass -p {} ssh host",
        "docker login -u me -p {} example.org",
        "ssh-keygen -t ed25519 -N '{}' -f key",
        "openssl enc -aes-256-cbc -pass pass:{}",
        "openssl enc -k pass:{}",
        "machine example.org login me password {}",
        "machine example.org\n  login me\n  password {}",
    ],
    "cookie": [
        "curl -H 'Cookie: session={}' https://example.org",
        "Set-Cookie: sid={}; Path=/; HttpOnly",
    ],
    "url-signature": [
        "https://a.example.org/c?sv=2020&sig={}%3D",
        "https://a.example.org/c?X-Amz-Signature={}",
    ],
    "url-password": [
        "https://user:{}@example.org/x",
        "postgres://user:{}@db:5432/x",
        "redis://:{}@db:6379",
        "mongodb+srv://user:{}@db.example.org/",
        "mysql://root:p/{}@db/x",
        "ftp://root:p@{}@host/x",
    ],
    "http-authorization": [
        "curl -H 'Authorization: Bearer {}'",
        "curl -H 'Authorization: Basic {}=='",
    ],
    "putty-key": ["PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 1\n{}\nPrivate-MAC: 0"],
    "private-key": [
        f"-----BEGIN {kind}PRIVATE KEY{block}-----\n{{}}\n-----END {kind}PRIVATE KEY{block}-----"
        for kind, block in (("", ""), ("RSA ", ""), ("OPENSSH ", ""), ("PGP ", " BLOCK"))
    ]
    + ["-----BEGIN EC PRIVATE KEY-----\n{}", "key: |\n  -----BEGIN PRIVATE KEY-----\n  {}"],
    "secret": [
        "DB_PASSWORD={}",
        "export API_KEY={}",
        'API_KEY="{}"',
        "PASSPHRASE='correct horse {}'",
        "PASS={}",
        "DB_PASS='{}'",
        "MYSQL_PWD={}",
        "AZURE_DEVOPS_PAT={}",
        "CF_API_TOKEN={} make",
        "TOKEN_2={}",
        "AccountName=a;AccountKey={}==;EndpointSuffix=example.org",
        "Endpoint=sb://x/;SharedAccessKeyName=R;SharedAccessKey={}=",
        "Server=x;Uid=sa;Pwd={};",
        "_auth={}",
        "//example.org/:_authToken={}",
        "DB_PASSWORD='${}'",
        "DB_PASSWORD=\\${}",
        "password=({})",
        "password=<{}>",
        "password: {}",
        "password:\n  {}",
        "password     =     {}",
        "Passwort: {}",
        "secret_key = '{}'",
        "apiKey: `{}`",
        'apiKey: "{}"',
        '$env:API_KEY = "{}"',
        "set -x GITHUB_TOKEN {}",
        "set -gx GITHUB_TOKEN '{}'",
        "setx API_KEY {}",
        'setx API_KEY "{}" /M',
        "mysql --password {}",
        "mysql --password={}",
        "tool --db-password '{}'",
        "gpg --passphrase {} -c x",
        "curl -H 'X-Api-Key: {}'",
        "kubectl create secret generic x --from-literal=password={}",
        "helm install x --set db.password={}",
        "grant_type=x&client_secret={}",
        "https://example.org/?access_token={}",
        "<password>{}</password>",
        "<apiToken>\n    {}\n</apiToken>",
        '<add key="Password" value="{}"/>',
        'var serviceToken string = "{}"',
        'serviceToken := "{}"',
        'SERVICE_TOKEN ?= "{}"',
        'SERVICE_TOKEN ::= "{}"',
        '$serviceToken .= "{}"',
        '"serviceToken" => "{}"',
        'System.setProperty("SERVICE_TOKEN", "{}")',
        "token=\\u0041{}",
    ],
}
"""Kind to texts in which `{}` is a secret that only its surroundings show."""
MEMBERS = ("password", "api_key", "apiKey", "x-access-token", "client_secret", "pass", "pwd")


def random_token(seed: random.Random, *parts: str | tuple[int, str]) -> str:
    """Return a token of fixed and random parts."""
    return "".join(
        part if isinstance(part, str) else "".join(seed.choices(part[1], k=part[0]))
        for part in parts
    )


def examples() -> list[tuple[str, str, str]]:
    """Return kind, text and secret of every form."""
    seed = random.Random(20261123)
    rows = []
    for kind, forms in TOKENS.items():
        for form in forms:
            token = random_token(seed, *form)
            rows += [(kind, f"echo {token} > file", token), (kind, f"echo '{token}',", token)]
    for kind, texts in PLACES.items():
        for text in texts:
            secret = random_token(seed, (11, LETTERS), (1, DIGITS), (28, MIXED))
            rows.append((kind, text.replace("{}", secret), secret))
    return rows
