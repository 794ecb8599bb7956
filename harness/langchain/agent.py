"""The agent of the end-to-end test: LangChain's own loop and OpenAI client, the middleware, the stub model server.

Usage: agent.py '{"url": "http://127.0.0.1:PORT/v1", "prompts": 1, "trigger": 4000, "window": 100000, "async": false}'
Prints one JSON line.
"""

import asyncio
import json
import logging
import subprocess
import sys

from foldline_langchain import FoldlineSummarization
from langchain.agents import create_agent
from langchain_core.tools import ToolException, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
logging.getLogger("foldline").setLevel(logging.INFO)
options = {"prompts": 1, "trigger": 4000, "window": 100000, "async": False, "adapter": "", **json.loads(sys.argv[1])}


@tool
def bash(command: str) -> str:
    """Runs a command."""
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=20)
    if done.returncode != 0:
        raise ToolException(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


bash.handle_tool_error = True
class AskedTwice(FoldlineSummarization):
    """Asks twice at every boundary, as a run does that is resumed from its last checkpoint."""

    same = True

    def before_model(self, state, runtime):
        first, second = super().before_model(state, runtime), super().before_model(state, runtime)
        self.same &= first == second
        return second


class Changed(FoldlineSummarization):
    """As if another version of LangChain had taken away what the adapter uses."""

    def _tokens(self, messages, stale_usage):
        raise AttributeError("no such attribute")


model = ChatOpenAI(model="stub-model", base_url=options["url"], api_key="stub-key", max_retries=0)
middleware = {"twice": AskedTwice, "changed": Changed}.get(options["adapter"], FoldlineSummarization)(
    model=model, trigger=("tokens", options["trigger"]), keep=("messages", 2), trim_tokens_to_summarize=None,
    window_tokens=options["window"],
)
agent = create_agent(model, [bash], middleware=[middleware], checkpointer=InMemorySaver())
config = {"configurable": {"thread_id": "one"}, "recursion_limit": 200}
result = {}
for prompt in range(options["prompts"]):
    request = {"messages": [("user", f"prompt {prompt}")]}
    result = asyncio.run(agent.ainvoke(request, config)) if options["async"] else agent.invoke(request, config)
memory = agent.get_state(config).values.get("foldline", {})
print(json.dumps({
    "last": result["messages"][-1].content,
    "messages": len(result["messages"]),
    "compactions": memory.get("gate", {}).get("compactions", 0),
    "remembered": len(memory.get("summarised", [])),
    "private": "foldline" not in result,
    "same": getattr(middleware, "same", None),
}))
