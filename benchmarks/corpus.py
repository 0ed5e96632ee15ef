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
from typing import TYPE_CHECKING, Any
from uuid import UUID

from anyhook.agents import get_agent
from anyhook.agents.claude.transcripts import read
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
            "userType": "external", "entrypoint": "cli", "cwd": project, "sessionId": session,
            "version": "2.1.197", "gitBranch": "main",
        }  # fmt: skip
        for _ in range(self._random.randint(1, 2 * TURNS_OF_SESSION)):
            prompt = self._piece(200)
            yield self._record({
                "promptId": self._id(), "type": "user",
                "message": {"role": "user", "content": prompt}, "permissionMode": "default",
            })  # fmt: skip
            for _ in range(self._random.randint(1, 2 * CALLS_OF_TURN)):
                yield from self._call(project)
            yield self._answer([{"type": "text", "text": self._piece(400)}], "end_turn")

    def _record(self, members: dict[str, Any]) -> dict[str, Any]:
        uuid = self._id()
        self._time += self._random.expovariate(1 / 4)
        record: dict[str, Any] = {"parentUuid": self._parent, "isSidechain": False, **members}
        record |= {"uuid": uuid, "timestamp": _iso(self._time), **self._common}
        self._parent = uuid
        return record

    def _answer(self, content: list[dict[str, Any]], reason: str) -> dict[str, Any]:
        usage = {"input_tokens": 100, "cache_read_input_tokens": 9000, "output_tokens": 200}
        message = {
            "id": f"msg_{self._id()}", "type": "message", "role": "assistant",
            "model": "claude-opus-4-8", "content": content, "stop_reason": reason,
            "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        return self._record({"message": message, "requestId": self._id(), "type": "assistant"})

    def _call(self, project: str) -> Iterator[dict[str, Any]]:
        tool = self._random.choices(list(TOOLS), list(TOOLS.values()))[0]
        name = self._random.choice(WORDS)
        path = f"{project}/src/{name}/{self._random.choice(WORDS)}.py"
        output = self._piece(OUTPUT_MEDIAN.get(tool, 100))
        call_id = f"toolu_{self._id()}"
        arguments, response = self._arguments(tool, name, path, output)
        block = {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}
        yield self._answer([block], "tool_use")
        result = {"tool_use_id": call_id, "type": "tool_result", "content": output}
        yield self._record({
            "type": "user", "message": {"role": "user", "content": [result]},
            "toolUseResult": response,
        })  # fmt: skip

    def _arguments(
        self, tool: str, name: str, path: str, output: str
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        if tool == "Bash":
            command = self._random.choice(COMMANDS).format(name=name, path=path)
            streams = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
            return {"command": command, "description": f"Run {name}"}, streams
        if tool == "Read":
            file = {"filePath": path, "content": output, "numLines": output.count("\n") + 1}
            return {"file_path": path}, {"type": "text", "file": file}
        if tool == "Edit":
            old, new = output[:300], output[300:600]
            edit = {"file_path": path, "old_string": old, "new_string": new}
            return edit, {"filePath": path, "originalFile": output, "structuredPatch": []}
        if tool == "Write":
            written = {"file_path": path, "content": output}
            return written, {"type": "create", "filePath": path, "content": output}
        if tool in ("Grep", "Glob"):
            search = {"pattern": name, "path": path.rpartition("/")[0]}
            return search, {"mode": "content", "content": output, "numFiles": 3}
        return {"subject": name, "description": output}, {"task": {"id": "1", "subject": name}}


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
        events = list(read(path, lambda _problem: None))
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
