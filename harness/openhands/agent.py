"""The agent of the end-to-end test: the SDK's own conversation, a small shell tool, the condenser, the stub server.

Usage: agent.py '{"url": "http://127.0.0.1:PORT/v1", "folder": "/somewhere", "max_size": 12, "window": null,
"condense_after": false}'. Prints one JSON line.
"""

import json
import logging
import subprocess
import sys
from collections.abc import Sequence

from foldline_openhands import FoldlineCondenser
from openhands.sdk import LLM, Agent, Conversation, Tool
from openhands.sdk.event.condenser import Condensation
from openhands.sdk.tool import Action, Observation, ToolDefinition, ToolExecutor, register_tool
from pydantic import SecretStr

logging.getLogger("foldline").setLevel(logging.INFO)
options = {"max_size": 12, "window": None, "condense_after": False, "twice": False, **json.loads(sys.argv[1])}


class ShellAction(Action):
    command: str


class ShellObservation(Observation):
    pass


class ShellExecutor(ToolExecutor[ShellAction, ShellObservation]):
    def __call__(self, action, conversation=None):
        done = subprocess.run(["bash", "-c", action.command], capture_output=True, text=True, timeout=20)
        return ShellObservation.from_text(done.stdout + done.stderr, is_error=done.returncode != 0)


class BashTool(ToolDefinition[ShellAction, ShellObservation]):
    @classmethod
    def create(cls, conv_state=None, **_) -> Sequence["BashTool"]:
        return [cls(action_type=ShellAction, observation_type=ShellObservation, description="Runs a command.",
                    executor=ShellExecutor())]


class AskedTwice(FoldlineCondenser):
    """Asks twice at every boundary."""

    def condensation_requirement(self, view, agent_llm=None):
        first = super().condensation_requirement(view, agent_llm)
        second = super().condensation_requirement(view, agent_llm)
        assert first == second, "two answers at one boundary"
        return second


register_tool("bash", BashTool)
llm = LLM(model="openai/stub-model", base_url=options["url"], api_key=SecretStr("stub-key"), usage_id="agent",
          num_retries=0, max_input_tokens=options["window"])
condenser = (AskedTwice if options["twice"] else FoldlineCondenser)(
    llm=llm.model_copy(update={"usage_id": "condenser"}), max_size=options["max_size"], keep_first=2)
agent = Agent(llm=llm, tools=[Tool(name="bash")], condenser=condenser)
conversation = Conversation(agent=agent, workspace=options["folder"], persistence_dir=f"{options['folder']}/sessions",
                            visualizer=None)
conversation.send_message("run the steps")
conversation.run()
if options["condense_after"]:
    conversation.condense()
events = list(conversation.state.events)
print(json.dumps({
    "status": conversation.state.execution_status.value,
    "events": len(events),
    "condensations": sum(isinstance(event, Condensation) for event in events),
}))
