"""The pruned summariser on the real package, a scripted model and the real binary.

Usage: prune_test.py, with a Python that has langchain 1.x; FOLDLINE_BIN names the binary. Exits 0 with a line SKIP where
langchain is not installed.
"""

import asyncio
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "python")]
try:
    from foldline_pruned import PrunedSummarization
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
except ImportError as error:
    print(f"SKIP langchain prune: {error}")
    sys.exit(0)
from foldline_prune import Pruner

SUMMARY = """## Facts
- Created payment request 6097 for mel.bailey@gmail.com

## Open TODOs
- Decide later whether anything else should be done
"""
PRUNED = SUMMARY.replace("- Decide later whether anything else should be done\n", "").strip()


def messages():
    call = {"id": "c1", "name": "request", "args": {"amount": 28}}
    result = '{"payment_request_id": 6097, "email": "mel.bailey@gmail.com"}'
    return [HumanMessage("Ask Melissa for the money", id="m1"), AIMessage("", tool_calls=[call], id="m2"),
            ToolMessage(result, tool_call_id="c1", id="m3"), AIMessage("done", id="m4"), HumanMessage("go on", id="m5")]


def middleware(summaries, **pruner):
    model = GenericFakeChatModel(messages=iter([AIMessage(text) for text in summaries]))
    return PrunedSummarization(model=model, trigger=("messages", 4), keep=("messages", 1),
                               pruner=Pruner(**{"mode": "enforce", **pruner}))


def summary_of(update):
    return next(message.content for message in update["messages"] if getattr(message, "content", "").startswith("Here is"))


def main():
    seen = summary_of(middleware([SUMMARY]).before_model({"messages": messages()}, None))
    assert seen.strip().endswith(PRUNED) and "Decide" not in seen, seen
    seen = summary_of(asyncio.run(middleware([SUMMARY]).abefore_model({"messages": messages()}, None)))
    assert "Decide" not in seen and "6097" in seen, seen
    # the committed summary is a source at the next boundary, the outputs it came from are gone
    first = middleware([SUMMARY, SUMMARY])
    update = first.before_model({"messages": messages()}, None)
    kept = [message for message in update["messages"] if hasattr(message, "content") and message.content]
    later = kept + [AIMessage("and on", id="n1"), HumanMessage("and on", id="n2"), AIMessage("on", id="n3"), HumanMessage("x", id="n4")]
    seen = summary_of(first.before_model({"messages": later}, None))
    assert "6097" in seen and "Decide" not in seen, seen
    # shadow is the default, and a missing binary loses nothing
    for options in ({"mode": "shadow"}, {"binary": "/nonexistent/foldline"}, {"arguments": ["--tau", "7"]}):
        seen = summary_of(middleware([SUMMARY], **options).before_model({"messages": messages()}, None))
        assert seen.endswith(SUMMARY.strip()), (options, seen)
    print("ok: langchain summaries are pruned, sync and async, over two boundaries, and survive every failure")


if __name__ == "__main__":
    main()
