"""The guard as a service that stays up; it prints its port."""

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = re.compile("AKIA[0-9A-Z]{16}")


class Guard(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        given = event["tool_input"]
        text = given.get("command", "") + given.get("content", "")
        answer = b"{}"
        if event["tool_name"] in ("Bash", "Write") and KEY.search(text):
            specific = {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": "that looks like an AWS key",
            }
            answer = json.dumps({"hookSpecificOutput": specific}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Guard)
    print(server.server_address[1], flush=True)
    server.serve_forever()
