# /// script
# requires-python = ">=3.9"
# ///
"""Writes down that something happened, one line of JSON each."""

import argparse
import json
import sys
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--kind", required=True)
kind = parser.parse_args().kind

event = json.load(sys.stdin)
directory = Path("logs")
directory.mkdir(exist_ok=True)
with (directory / f"{kind}.jsonl").open("a") as file:
    file.write(
        json.dumps({"event": event["hook_event_name"], "session": event["session_id"]}) + "\n"
    )
