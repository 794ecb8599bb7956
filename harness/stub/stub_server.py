#!/usr/bin/env python3
"""A stub model server on loopback: scripted replies, deterministic token usage, every request recorded.

It speaks OpenAI chat completions (`/v1/chat/completions`) and Anthropic messages (`/v1/messages`), streamed or
whole, and needs nothing but Python's standard library. A test imports `Stub` and runs it in a thread; by hand:

    python3 stub_server.py --port 18080 --scenario scenario.json --record requests.jsonl

A scenario (all fields optional):

    script        list of replies, in order. {"run": "seq 1 10"} calls the client's shell tool with that command,
                  {"text": "done"} ends the turn. After the last one every request gets {"text": "done"}.
    base_tokens   reported prompt tokens = base_tokens + bytes_share * bytes of the request's messages
    bytes_share
    window        above this many prompt tokens a request with tools is refused, as a provider refuses an overflow
    summary       the text that answers a summarisation request
"""

import argparse
import json
import math
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Names of shell tools in the harnesses tested here, in the order they are looked for.
SHELL_TOOLS = ["bash", "Bash", "terminal", "run_shell"]

# A request without tools is a summarisation; Claude Code sends its tools along, so its wording tells.
SUMMARY_WORDS = re.compile(
    r"detailed summary of (the|this|our) conversation|create a detailed summary|respond with text only", re.I
)

DEFAULTS = {
    "script": [],
    "base_tokens": 0,
    "bytes_share": 0.25,
    "window": 0,
    "summary": "## Goal\nRun the steps.\n\n## Progress\n- The first steps ran.\n",
}


def text_of(content):
    """The text of a message content, whether a string or a list of blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or [] if isinstance(block, dict))


def tool_names(body):
    """Tool names of a request in either API's shape."""
    tools = body.get("tools") or []
    return [tool.get("function", tool).get("name") for tool in tools]


class Stub:
    """A running stub server. `requests` holds one record a request, in order."""

    def __init__(self, port=0, record=None, **scenario):
        unknown = set(scenario) - set(DEFAULTS)
        if unknown:
            raise ValueError(f"unknown scenario fields: {sorted(unknown)}")
        self.scenario = {**DEFAULTS, **scenario}
        self.requests = []
        self.position = 0
        self.record_path = record
        self.lock = threading.Lock()
        handler = type("BoundHandler", (Handler,), {"stub": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def kinds(self):
        """What each request was: turn, summary, overflow or side."""
        return [request["kind"] for request in self.requests]

    def count(self, kind):
        """Number of requests of one kind."""
        return self.kinds().count(kind)

    def tokens_of(self, messages):
        """Reported prompt tokens of a message list."""
        size = len(json.dumps(messages, ensure_ascii=False).encode())
        return math.ceil(self.scenario["base_tokens"] + self.scenario["bytes_share"] * size)

    def answer(self, body, summary_by_words):
        """Chooses the reply to one request and records it: (kind, reply, prompt tokens)."""
        with self.lock:
            messages = body.get("messages") or []
            tokens = self.tokens_of(messages)
            names = tool_names(body)
            last = text_of(messages[-1].get("content")) if messages else ""
            kind, reply = self.choose(names, last, tokens, summary_by_words)
            record = {
                "n": len(self.requests) + 1,
                "kind": kind,
                "messages": len(messages),
                "prompt_tokens": tokens,
                "reply": reply,
            }
            self.requests.append({**record, "body": body})
            if self.record_path:
                with open(self.record_path, "a", encoding="utf-8") as out:
                    out.write(json.dumps(record) + "\n")
            return kind, reply, tokens

    def choose(self, names, last, tokens, summary_by_words):
        asks_summary = SUMMARY_WORDS.search(last) if summary_by_words else not names
        if asks_summary:
            return "summary", {"text": self.scenario["summary"]}
        shell = next((name for name in SHELL_TOOLS if name in names), None)
        if shell is None:
            return "side", {"text": "ok"}
        if self.scenario["window"] and tokens > self.scenario["window"]:
            return "overflow", None
        script = self.scenario["script"]
        if self.position >= len(script):
            return "turn", {"text": "done"}
        step = script[self.position]
        self.position += 1
        if "text" in step:
            return "turn", {"text": step["text"]}
        arguments = {"command": step["run"]}
        if shell == "Bash":
            arguments["description"] = "one step of the script"
        return "turn", {"tool": shell, "id": f"call_{self.position}", "arguments": arguments}


class Handler(BaseHTTPRequestHandler):
    """Parses a request, asks the stub, writes the reply in the API's shape."""

    stub = None
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """The stub records requests itself."""

    def do_GET(self):
        path = self.path.split("?")[0]
        if path.endswith("/models"):
            return self.send_json(200, {"object": "list", "data": [{"id": "stub-model", "object": "model"}]})
        return self.send_json(200 if path == "/healthz" else 404, {})

    def do_POST(self):
        path = self.path.split("?")[0]
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            return self.send_json(400, {"error": {"message": "the body is not JSON"}})
        if path.endswith("/chat/completions"):
            return self.chat_completions(body)
        if path.endswith("/count_tokens"):
            return self.send_json(200, {"input_tokens": self.stub.tokens_of(body.get("messages") or [])})
        if path.endswith("/messages"):
            return self.anthropic_messages(body)
        return self.send_json(404, {})

    def send_json(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def send_events(self, lines):
        """Server-sent events; the connection closes at the end, so no length is needed."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-cache")
        self.send_header("connection", "close")
        self.end_headers()
        for line in lines:
            self.wfile.write(line.encode())
        self.close_connection = True

    def chat_completions(self, body):
        kind, reply, tokens = self.stub.answer(body, summary_by_words=False)
        if kind == "overflow":
            window = self.stub.scenario["window"]
            message = (
                f"This model's maximum context length is {window} tokens. "
                f"However, your messages resulted in {tokens} tokens."
            )
            error = {"message": message, "type": "invalid_request_error", "code": "context_length_exceeded"}
            return self.send_json(400, {"error": error})
        usage = {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20}
        head = {"id": f"chatcmpl-{len(self.stub.requests)}", "created": 1, "model": body.get("model", "stub-model")}
        if "tool" in reply:
            call = {
                "id": reply["id"],
                "type": "function",
                "function": {"name": reply["tool"], "arguments": json.dumps(reply["arguments"])},
            }
            message, finish = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
        else:
            message, finish = {"role": "assistant", "content": reply["text"]}, "stop"
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish}
            return self.send_json(200, {**head, "object": "chat.completion", "choices": [choice], "usage": usage})
        delta = dict(message)
        if "tool_calls" in delta:
            delta["tool_calls"] = [{"index": 0, **call} for call in delta["tool_calls"]]
        chunks = [
            {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
            {"choices": [], "usage": usage},
        ]
        lines = [f"data: {json.dumps({**head, 'object': 'chat.completion.chunk', **chunk})}\n\n" for chunk in chunks]
        return self.send_events([*lines, "data: [DONE]\n\n"])

    def anthropic_messages(self, body):
        kind, reply, tokens = self.stub.answer(body, summary_by_words=True)
        if kind == "overflow":
            error = {"type": "invalid_request_error", "message": f"prompt is too long: {tokens} tokens > {self.stub.scenario['window']} maximum"}
            return self.send_json(400, {"type": "error", "error": error})
        usage = {
            "input_tokens": tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 20,
        }
        if "tool" in reply:
            block = {"type": "tool_use", "id": f"toolu_{reply['id']}", "name": reply["tool"], "input": reply["arguments"]}
            empty, stop = {**block, "input": {}}, "tool_use"
            delta = {"type": "input_json_delta", "partial_json": json.dumps(reply["arguments"])}
        else:
            text = f"<summary>{reply['text']}</summary>" if kind == "summary" else reply["text"]
            block, empty, stop = {"type": "text", "text": text}, {"type": "text", "text": ""}, "end_turn"
            delta = {"type": "text_delta", "text": text}
        message = {
            "id": f"msg_{len(self.stub.requests)}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "stub-model"),
        }
        if not body.get("stream"):
            whole = {**message, "content": [block], "stop_reason": stop, "stop_sequence": None, "usage": usage}
            return self.send_json(200, whole)
        start = {**message, "content": [], "stop_reason": None, "stop_sequence": None, "usage": {**usage, "output_tokens": 1}}
        events = [
            {"type": "message_start", "message": start},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ]
        return self.send_events([f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events])


def main():
    parser = argparse.ArgumentParser(description="stub model server on 127.0.0.1")
    parser.add_argument("--port", type=int, default=18080)
    parser.add_argument("--scenario", help="JSON file with the fields named at the top of this file")
    parser.add_argument("--record", help="append one JSON line per request to this file")
    options = parser.parse_args()
    scenario = {}
    if options.scenario:
        with open(options.scenario, encoding="utf-8") as source:
            scenario = json.load(source)
    stub = Stub(options.port, options.record, **scenario)
    print(f"stub on http://127.0.0.1:{stub.port}/v1", flush=True)
    try:
        stub.server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
