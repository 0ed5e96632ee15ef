"""A synthetic corpus: sessions of Claude Code whose members, sizes and shares follow recorded ones.

Records have the members of files that Claude Code 2.1.197 wrote. The shares of tools, the events of
a session and the lengths of outputs are those of coding sessions, chosen here; every figure that is
measured on the corpus is one of synthetic data. The same seed gives the same bytes.

python -m benchmarks.corpus DIRECTORY --events N [--form transcripts|jsonl|parquet] [--seed N]
"""

from __future__ import annotations

import argparse
import json
import random
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from anyhook.agents import get_agent
from anyhook.agents.claude.transcripts import TRANSCRIPTS
from anyhook.agents.payloads import decode_event
from anyhook.history.events import RecordedEvent
from anyhook.history.export import export_jsonl, export_parquet
from anyhook.model.events import ToolEvent

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 20_261_122
START = 1_790_000_000.0
"""Unix timestamp of the first session."""
TOOLS = {"Bash": 38, "Read": 27, "Edit": 16, "Grep": 8, "Write": 5, "Glob": 4, "TaskCreate": 2}
"""Tool to its share of calls, in percent."""
OUTPUT_MEDIAN = {"Bash": 500, "Read": 2400, "Edit": 1800, "Grep": 400, "Glob": 250, "Write": 1200}
"""Tool to the median of the characters of its output or content; lengths are log-normal."""
SPREAD = 1.1
LONGEST = 60_000
CALLS_OF_TURN = 6
TURNS_OF_SESSION = 5
USAGE = {
    "input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 9000,
    "output_tokens": 200, "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
    "service_tier": "standard",
    "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
    "inference_geo": "", "iterations": [], "speed": "standard",
}  # fmt: skip
LISTINGS = {"agent_listing_delta": 1500, "skill_listing": 4700}
"""What Claude Code lists for the model at the start of a session, to its characters."""
COMMANDS = (
    "git status", "git diff --stat", "ls -la src", "python -m pytest -q tests/{name}",
    "rg -n '{name}' src | head -50", "cat {path} | head -100", "npm run build",
    "rm -rf build/{name}", "make check", "git commit -qm 'Change {name}'",
    "curl -s https://example.org/api/{name}", "sed -n 1,80p {path}",
    "find . -name '*{name}*' -not -path './node_modules/*'",
)  # fmt: skip
WORDS = (
    "return value error handler request token parser config import async await class def self "
    "result stream buffer index table render update cache module test assert path file line "
    "number string object list dict none true false if else for while try except raise with"
).split()


class _Call(NamedTuple):
    """A call of a tool.

    Attributes:
        arguments: Its arguments.
        response: Its result, as hooks get it.
        text: Its result, as the model gets it.
    """

    arguments: dict[str, Any]
    response: dict[str, Any]
    text: str


class Corpus:
    """Sessions from a seed.

    Args:
        seed: The seed.
    """

    def __init__(self, seed: int = SEED) -> None:
        self._random = random.Random(seed)
        # One long text, of which outputs are pieces: words for each would take most of the time.
        lines = [" ".join(self._random.choices(WORDS, k=8)) for _ in range(4000)]
        self._text = "\n".join(lines)
        self._time = START

    def sessions(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Yield the ids of sessions and the records of their transcripts, without end."""
        while True:
            session = self._id()
            yield session, list(self._session(session))

    def _id(self) -> str:
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def _piece(self, median: int) -> str:
        length = min(LONGEST, int(median * self._random.lognormvariate(0, SPREAD)))
        start = self._random.randrange(max(1, len(self._text) - length))
        return self._text[start : start + length]

    def _session(self, session: str) -> Iterator[dict[str, Any]]:
        self._parent: str | None = None
        project = f"/home/dev/project-{self._random.randrange(40)}"
        self._common = {
            "userType": "external", "entrypoint": "sdk-cli", "cwd": project, "sessionId": session,
            "version": "2.1.197", "gitBranch": "main",
        }  # fmt: skip
        for turn in range(self._random.randint(1, 2 * TURNS_OF_SESSION)):
            prompt = self._piece(200)
            waiting = {"type": "queue-operation", "sessionId": session}
            yield waiting | {"operation": "enqueue", "timestamp": self._now(), "content": prompt}
            yield waiting | {"operation": "dequeue", "timestamp": self._now()}
            self._prompt_id = self._id()
            yield self._record({
                "promptId": self._prompt_id, "type": "user",
                "message": {"role": "user", "content": prompt}, "permissionMode": "default",
                "promptSource": "sdk",
            })  # fmt: skip
            if turn == 0:
                for kind, length in LISTINGS.items():
                    listing = {"type": kind, "content": self._text[:length]}
                    yield self._record({"attachment": listing, "type": "attachment"})
            for _ in range(self._random.randint(1, 2 * CALLS_OF_TURN)):
                yield from self._call(project)
            yield self._answer([{"type": "text", "text": self._piece(400)}], "end_turn")
            yield {
                "type": "last-prompt", "lastPrompt": prompt, "leafUuid": self._parent,
                "sessionId": session,
            }  # fmt: skip

    def _now(self) -> str:
        return _iso(self._time)

    def _record(self, members: dict[str, Any]) -> dict[str, Any]:
        uuid = self._id()
        self._time += self._random.expovariate(1 / 4)
        record: dict[str, Any] = {"parentUuid": self._parent, "isSidechain": False, **members}
        record |= {"uuid": uuid, "timestamp": self._now(), **self._common}
        self._parent = uuid
        return record

    def _answer(self, content: list[dict[str, Any]], reason: str) -> dict[str, Any]:
        message = {
            "id": f"msg_{self._id()}", "type": "message", "role": "assistant",
            "model": "claude-opus-4-8", "content": content, "stop_reason": reason,
            "stop_sequence": None, "usage": USAGE, "stop_details": None,
        }  # fmt: skip
        return self._record({"message": message, "requestId": self._id(), "type": "assistant"})

    def _call(self, project: str) -> Iterator[dict[str, Any]]:
        tool = self._random.choices(list(TOOLS), list(TOOLS.values()))[0]
        name = self._random.choice(WORDS)
        path = f"{project}/src/{name}/{self._random.choice(WORDS)}.py"
        output = self._piece(OUTPUT_MEDIAN.get(tool, 100))
        call_id = f"toolu_{self._id()}"
        call = self._call_of(tool, name, path, output)
        block = {"type": "tool_use", "id": call_id, "name": tool, "input": call.arguments}
        yield self._answer([block], "tool_use")
        result = {"tool_use_id": call_id, "type": "tool_result", "content": call.text}
        yield self._record({
            "promptId": self._prompt_id, "type": "user",
            "message": {"role": "user", "content": [result]},
            "toolUseResult": call.response, "sourceToolAssistantUUID": self._parent,
        })  # fmt: skip

    def _call_of(self, tool: str, name: str, path: str, output: str) -> _Call:
        if tool == "Bash":
            command = self._random.choice(COMMANDS).format(name=name, path=path)
            streams = {
                "stdout": output, "stderr": "", "interrupted": False, "isImage": False,
                "noOutputExpected": False,
            }  # fmt: skip
            return _Call({"command": command, "description": f"Run {name}"}, streams, output)
        if tool == "Read":
            lines = output.split("\n")
            file = {
                "filePath": path, "content": output, "numLines": len(lines), "startLine": 1,
                "totalLines": len(lines),
            }  # fmt: skip
            listing = "\n".join([f"{number}\t{line}" for number, line in enumerate(lines, 1)])
            return _Call({"file_path": path}, {"type": "text", "file": file}, listing)
        if tool == "Edit":
            old, new = output[:300], output[300:600]
            hunk = [f"-{line}" for line in old.split("\n")] + [
                f"+{line}" for line in new.split("\n")
            ]
            patch = {"oldStart": 1, "oldLines": 9, "newStart": 1, "newLines": 9, "lines": hunk}
            response = {
                "filePath": path, "oldString": old, "newString": new, "originalFile": output,
                "structuredPatch": [patch], "userModified": False, "replaceAll": False,
            }  # fmt: skip
            edit = {"replace_all": False, "file_path": path, "old_string": old, "new_string": new}
            return _Call(edit, response, f"The file {path} has been updated successfully.")
        if tool == "Write":
            response = {
                "type": "create", "filePath": path, "content": output, "structuredPatch": [],
                "originalFile": None, "userModified": False,
            }  # fmt: skip
            written = {"file_path": path, "content": output}
            return _Call(written, response, f"File created successfully at: {path}")
        if tool in ("Grep", "Glob"):
            search = {"pattern": name, "path": path.rpartition("/")[0]}
            return _Call(search, {"mode": "content", "content": output, "numFiles": 3}, output)
        task = {"task": {"id": "1", "subject": name}}
        return _Call({"subject": name, "description": output}, task, "Task #1 created")


def _iso(timestamp: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(timestamp, UTC).isoformat(timespec="milliseconds")


def write_transcripts(directory: Path, size: int, seed: int = SEED) -> int:
    """Write transcripts of at least so many bytes together, and return how many it were."""
    directory.mkdir(parents=True, exist_ok=True)
    written = 0
    for session, records in Corpus(seed).sessions():
        if written >= size:
            return written
        text = "".join(
            json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
            for record in records
        )
        data = text.encode()
        (directory / f"{session}.jsonl").write_bytes(data)
        written += len(data)
    return written


def recorded_events(directory: Path, seed: int = SEED) -> Iterator[RecordedEvent]:
    """Yield the events of the sessions, as an import of their transcripts gives them, without end.

    Args:
        directory: Takes one transcript at a time.
        seed: The seed.
    """
    agent = get_agent("claude")
    for session, records in Corpus(seed).sessions():
        path = directory / f"{session}.jsonl"
        text = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)
        path.write_text(text)
        events = list(TRANSCRIPTS.read(path, lambda _problem: None))
        path.unlink()
        for event in events:
            event.payload["transcript_path"] = f"/home/dev/.claude/projects/p/{session}.jsonl"
            typed, _ = decode_event(agent, event.payload)
            yield RecordedEvent(
                "claude", session, event.event, event.time or 0.0, event.payload, "import",
                project=str(event.payload.get("cwd", "")),
                tool=typed.tool if isinstance(typed, ToolEvent) else None,
                reconstructed=event.reconstructed, key=event.key,
            )  # fmt: skip


def main() -> None:
    """Write a corpus."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corpus")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--form", choices=("transcripts", "jsonl", "parquet"), default="jsonl")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    directory: Path = options.directory
    directory.mkdir(parents=True, exist_ok=True)
    if options.form == "transcripts":
        write_transcripts(directory, options.events * 2_000, options.seed)
        return
    events = islice(recorded_events(directory, options.seed), options.events)
    if options.form == "parquet":
        export_parquet(events, directory / "events.parquet")
    else:
        with (directory / "events.jsonl").open("w", encoding="utf-8") as stream:
            export_jsonl(events, stream)


if __name__ == "__main__":
    main()
