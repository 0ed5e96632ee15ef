"""What release 1.0.102 of GitHub Copilot CLI was observed to do is predicted by the engine.

Each case holds hooks and calls of tools, and what the program did with them: whether the tool ran,
what the model got, which hooks ran. `beyond` names why the engine cannot predict a case.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from anyhook import Engine, TrustStore
from tests.agents.copilot_session import BAD_INPUT, Session

CASES = json.loads(
    (Path(__file__).parent / "observed" / "copilot.json").read_text(encoding="utf-8")
)
LEAST_PREDICTED = 0.97
SHELL_CALL = ["bash", {"command": "echo RAN > ran.txt; echo ran-output", "description": "run"}]
REPLIES = {
    "ctx": (200, {"additionalContext": "CTX-HTTP"}),
    "201": (201, {"additionalContext": "CTX-HTTP"}),
    "500": (500, {"additionalContext": "CTX-HTTP"}),
    "deny": (200, {"permissionDecision": "deny", "permissionDecisionReason": "HTTP-DENY"}),
    "text": (200, "plain text"),
    "204": (204, ""),
}


@contextmanager
def web_server():
    """Serve the replies that the hooks of the cases ask for."""

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            status, reply = REPLIES[self.path.rpartition("/")[2]]
            body = b"" if reply == "" else json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def play(case, root):
    """Play a case, and return what it shows."""
    project, home = root / "project", root / "home"
    for directory in (project, home):
        directory.mkdir(parents=True)
    if case.get("git", True):
        (project / ".git").mkdir()
    (project / "a.txt").write_text("one\n")
    with web_server() as port:

        def fill(text):
            text = text.replace("{P}", str(project)).replace("~/", f"{home}/")
            return text.replace("http://127.0.0.1/http_", f"http://127.0.0.1:{port}/http_").replace(
                "http://127.0.0.1/x", "http://127.0.0.1:1/x"
            )

        write_files(case, project, home, fill)
        engine = load(case, project, home, root)
        arguments = case.get("arguments", "--allow-all-tools")
        session = Session(
            engine,
            allows="--allow-all-tools" in arguments,
            denied_command=arguments.partition("shell(")[2].partition(")")[0],
        )
        calls = json.loads(fill(json.dumps(case.get("calls", [SHELL_CALL]))))
        compacts = "COPILOT_PROVIDER_MAX_PROMPT_TOKENS" in case.get("environ", {})
        notifies = any(arguments.get("mode") == "async" for _, arguments in calls)
        asyncio.run(session.run(calls, compacts=compacts, notifies=notifies))
    return session, project


def write_files(case, project, home, fill):
    text = case.get("text") or json.dumps(case.get("settings", {}))
    if "text" in case or "settings" in case:
        write(project / ".github" / "hooks" / "hooks.json", fill(text))
    for name, file in case.get("files", {}).items():
        path = home / name[2:] if name.startswith("~/") else project / name
        content = file.get("content")
        if content is None:
            command = f"cat >/dev/null; echo {file['tag']} >> {project}/order.txt"
            entry = {"type": "command", "bash": command}
            settings = {"version": 1, "hooks": {"preToolUse": [entry]}}
            settings |= {k: v for k, v in file.items() if k != "tag"}
            content = json.dumps(settings)
        write(path, fill(content))
        if name == "real.json":
            (project / ".github" / "hooks").mkdir(parents=True)
            (project / ".github" / "hooks" / "a.json").symlink_to(path)
    for name in case.get("scripts", {}):
        write(project / name, fill(case["scripts"][name]["text"]))
        (project / name).chmod(case["scripts"][name]["mode"])


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def load(case, project, home, root):
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "USER": "somebody",
        "ANYHOOK_MANAGED_SETTINGS": str(home / "policy" / "*.json"),
        "ANYHOOK_WORKER": "off",
        "COPILOT_HOOK_ALLOW_LOCALHOST": "0" if "not_opted_in" in case["name"] else "1",
        **{k: v.replace("~/", f"{home}/") for k, v in case.get("environ", {}).items()},
    }
    return Engine.load(
        project,
        agent="copilot",
        rules="observed",
        home=home,
        environ=environ,
        trust_once=not case.get("untrusted") or opts_in(case),
        trust_store=TrustStore(root / "trust"),
        on_message=lambda _text: None,
    )


def opts_in(case):
    """Return whether the run trusts the project this once."""
    variables = ("GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS", "COPILOT_ALLOW_ALL")
    return "--trust-folder" in case.get("arguments", "") or any(
        case.get("environ", {}).get(name) == "true" for name in variables
    )


def differences(case, session, project):
    """Return what differs from the observation, by the name of the difference."""
    observed = case["observed"]
    shown = {
        "ran": (project / "ran.txt").exists(),
        "modified": read(project / "ran.txt") == "MODIFIED",
        "wrote": read(project / "ran.txt"),
        "tags": " ".join(read(project / "order.txt").split()),
        "fired": len(read(project / "fired.txt").split()),
        "user": session.user,
        "tool": session.tool,
        "requests": session.requests,
        "warning": observed.get("warning") in session.warnings and observed.get("warning"),
        "made": {name: read(project / name) for name in observed.get("made", {})},
    }
    expected = {key: filled(value, project) for key, value in observed.items()}
    if str(expected.get("tool", "")).startswith(BAD_INPUT):
        expected["tool"] = BAD_INPUT
    return {key: (shown[key], value) for key, value in expected.items() if shown[key] != value}


def filled(value, project):
    if isinstance(value, dict):
        return {key: filled(inner, project) for key, inner in value.items()}
    return value.replace("{P}", str(project)) if isinstance(value, str) else value


def read(path):
    return path.read_text().rstrip("\n") if path.exists() else ""


PREDICTED = [case for case in CASES if "beyond" not in case]


@pytest.mark.slow
@pytest.mark.parametrize("case", PREDICTED, ids=[case["id"] for case in PREDICTED])
def test_an_observed_case_is_predicted(case, tmp_path):
    session, project = play(case, tmp_path)

    assert differences(case, session, project) == {}


def test_nearly_all_observed_cases_are_predicted():
    assert len(PREDICTED) >= LEAST_PREDICTED * len(CASES)
