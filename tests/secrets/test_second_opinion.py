"""What detect-secrets finds in the forms of secrets, the redactor finds, too."""

from __future__ import annotations

import json

from detect_secrets.core.scan import scan_line
from detect_secrets.settings import transient_settings

from anyhook.secrets.examples import EXAMPLES
from anyhook.secrets.redact import Redactor
from tests.secrets.forms import examples
from tests.tables import each

PLUGINS = (
    *("ArtifactoryDetector", "AWSKeyDetector", "AzureStorageKeyDetector", "BasicAuthDetector"),
    *("CloudantDetector", "DiscordBotTokenDetector", "GitHubTokenDetector", "GitLabTokenDetector"),
    *("IbmCosHmacDetector", "JwtTokenDetector", "KeywordDetector", "MailchimpDetector"),
    *("NpmDetector", "OpenAIDetector", "PrivateKeyDetector", "PypiTokenDetector"),
    *("SendGridDetector", "SlackDetector", "SoftlayerDetector", "SquareOAuthDetector"),
    *("StripeDetector", "TelegramBotTokenDetector", "TwilioKeyDetector"),
)
"""All but those that only measure entropy, and IP addresses."""
HEADINGS = {"PuTTY-User-Key-File-2"}
"""What it reports in the place of a key."""
TEXTS = [text for _, text, _ in examples()] + [f"echo {example}" for example in EXAMPLES.values()]


def found_by_detect_secrets(text):
    with transient_settings({"plugins_used": [{"name": name} for name in PLUGINS]}):
        return {
            secret.secret_value
            for line in text.splitlines()
            for secret in scan_line(line)
            if secret.secret_value
        }


def test_detect_secrets_finds_something_in_many_forms():
    assert sum(bool(found_by_detect_secrets(text)) for text in TEXTS) > 40


@each("text", TEXTS)
def test_a_secret_that_detect_secrets_finds_is_replaced(text):
    redacted, _ = Redactor({}).redact(json.dumps({"command": text}))

    kept = {secret for secret in found_by_detect_secrets(text) if secret in redacted}
    assert kept <= HEADINGS
