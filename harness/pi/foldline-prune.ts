// foldline for pi: removes the entries of a compaction summary that have no source in the session's outputs.
//
// pi writes the summary as it would have; what it wrote goes through `foldline prune` before it is stored, so that the
// next compaction starts from the pruned summary. Settings are environment variables:
//   FOLDLINE_PRUNE             shadow (default: judge and log, store the summary as pi wrote it), enforce, or off
//   FOLDLINE_PRUNE_ARGS        further arguments of `foldline prune`, such as "--judge jev" (white space parts them)
//   FOLDLINE_PRUNE_LOG         file that gets one JSON line per summary
//   FOLDLINE_BIN               the foldline binary (default: foldline on PATH)
//   FOLDLINE_PRUNE_TIMEOUT_MS  how long an answer may take (default 60000: a judge over the network may be retried)
//
// Whatever goes wrong, pi's own summary is stored, or pi compacts by itself. Where foldline.ts is used too, load it first:
// a compaction that it cancels needs no summary.

import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { compact } from "@mariozechner/pi-coding-agent";

const text = (content: any): string =>
  typeof content === "string"
    ? content
    : (content ?? []).map((block: any) => (block.type === "text" ? block.text : "")).join("\n");

/**
 * The steps of messages that are summarised away. What the user said goes away with them, so it is a source like an
 * output; what the agent wrote is none. Exported for its test.
 */
export function stepsOf(messages: any[]): { action: string; observation: string }[] {
  const calls = new Map<string, string>();
  const steps = [];
  for (const message of messages) {
    if (message.role === "assistant") {
      for (const block of message.content ?? []) {
        if (block.type === "toolCall") {
          calls.set(block.id, JSON.stringify({ name: block.name, arguments: block.arguments }));
        }
      }
    } else if (message.role === "toolResult") {
      steps.push({ action: calls.get(message.toolCallId) ?? "", observation: text(message.content) });
    } else if (message.role === "bashExecution") {
      steps.push({ action: message.command ?? "", observation: message.output ?? "" });
    } else if (message.role === "user") {
      steps.push({ action: "", observation: text(message.content) });
    }
  }
  return steps;
}

/** One request to `foldline prune --json`; rejects on anything but a complete answer in time. */
function prune(request: any, args: string[], timeout: number): Promise<any> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.env.FOLDLINE_BIN || "foldline", ["prune", "--json", ...args]);
    let out = "";
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      child.stdout.destroy(); // whoever still holds these pipes must not keep pi waiting
      child.stderr.destroy();
      reject(new Error(`no answer within ${timeout} ms`));
    }, timeout);
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (out += chunk));
    child.stderr.resume();
    child.stdin.on("error", () => {}); // a binary that ends without reading is judged by its answer
    child.on("close", (code) => {
      clearTimeout(timer);
      try {
        const answer = JSON.parse(out);
        if (code !== 0 || typeof answer.summary !== "string") throw new Error(answer.reason ?? `exit code ${code}`);
        resolve(answer);
      } catch (error) {
        reject(error);
      }
    });
    child.stdin.end(JSON.stringify(request));
  });
}

export default function foldlinePrune(pi: any) {
  const mode = process.env.FOLDLINE_PRUNE || "shadow";
  if (mode === "off") return;
  const timeout = Number(process.env.FOLDLINE_PRUNE_TIMEOUT_MS) || 60_000;
  const args = (process.env.FOLDLINE_PRUNE_ARGS ?? "").split(/\s+/).filter(Boolean);
  if (mode !== "enforce") args.push("--shadow");

  pi.on("session_before_compact", async (event: any, ctx: any) => {
    const { preparation, customInstructions, signal } = event;
    let written: any;
    try {
      const auth = await ctx.modelRegistry.getApiKeyAndHeaders(ctx.model);
      if (auth.ok === false) throw new Error(auth.error);
      written = await compact(preparation, ctx.model, auth.apiKey, auth.headers, customInstructions, signal);
    } catch (error) {
      console.error(`foldline prune: pi compacts by itself: ${(error as Error).message}`);
      return undefined;
    }
    try {
      const request = {
        summary: written.summary,
        history: stepsOf([...preparation.messagesToSummarize, ...preparation.turnPrefixMessages]),
        previous: preparation.previousSummary ?? null,
      };
      const answer = await prune(request, args, timeout);
      if (process.env.FOLDLINE_PRUNE_LOG) {
        appendFileSync(process.env.FOLDLINE_PRUNE_LOG, JSON.stringify(answer) + "\n");
      }
      return { compaction: { ...written, summary: answer.summary } };
    } catch (error) {
      console.error(`foldline prune: the summary stays as it is: ${(error as Error).message}`);
      return { compaction: written };
    }
  });
}
