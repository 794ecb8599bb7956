"""A conversation, two questions at its end, then what the command `/compress` does, through Hermes' own agent class."""

import json

from hermes_cli.config import load_config
from run_agent import AIAgent

model = load_config()["model"]
agent = AIAgent(base_url=model["base_url"], api_key=model["api_key"], provider="custom", model=model["default"],
                quiet_mode=True, enabled_toolsets=["terminal"])
result = agent.run_conversation("run the steps")
asked = [agent.context_compressor.should_compress(80_000) for _ in range(2)]
before = len(result["messages"])
compressed, _ = agent._compress_context(result["messages"], "", approx_tokens=80_000, force=True)
print(json.dumps({"asked": asked, "before": before, "after": len(compressed), "engine": agent.context_compressor.name}))
