// foldline for pi: asks a frozen policy before pi compacts a session.
//
// Settings are environment variables:
//   FOLDLINE_POLICY      the policy file; without it this extension does nothing
//   FOLDLINE_MODE        shadow (default: decide and log, never cancel) or enforce
//   FOLDLINE_BIN         the foldline binary (default: foldline on PATH)
//   FOLDLINE_STATE_DIR   where foldline keeps its side-car state and its log decisions.ndjson
//   FOLDLINE_TIMEOUT_MS  how long an answer may take (default 2000)
//
// Whatever goes wrong (no binary, a broken policy, no answer in time), pi compacts as it would have without us:
// only a complete answer that says so cancels a compaction.

import { spawn } from "node:child_process";

type Reason = "manual" | "threshold" | "overflow";

/** Why pi compacts, for versions before 0.79.10, which do not say it. */
function inferReason(event: any, contextWindow: number | undefined, mayAskByItself: boolean): Reason {
  // pi asks by itself once after a run and once before a prompt; every other call is somebody's /compact.
  if (event.customInstructions || !mayAskByItself) return "manual";
  const messages = event.branchEntries.filter((entry: any) => entry.type === "message").map((e: any) => e.message);
  const last = messages.findLast((message: any) => message.role === "assistant");
  // A failed or cut-off last answer: nothing may stand in the way of the recovery.
  if (last?.stopReason === "error" || last?.stopReason === "length") return "overflow";
  const usage = last?.usage ?? {};
  const sum = (usage.input ?? 0) + (usage.output ?? 0) + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0);
  const tokens = usage.totalTokens || sum;
  if (contextWindow && tokens > contextWindow) return "overflow";
  // pi compares the same number with the same limit; below it, pi did not ask by itself.
  const limit = (contextWindow ?? 0) - (event.preparation.settings?.reserveTokens ?? 0);
  return tokens > limit ? "threshold" : "manual";
}

/** Runs the binary with one request on its standard input; rejects on anything but one JSON answer in time. */
function ask(binary: string, args: string[], request: string, timeout: number): Promise<any> {
  return new Promise((resolve, reject) => {
    const child = spawn(binary, args, { stdio: ["pipe", "pipe", "pipe"] });
    let out = "";
    let err = "";
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
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (err += chunk));
    child.stdin.on("error", () => {}); // a binary that ends without reading is judged by its answer
    child.on("close", (code) => {
      clearTimeout(timer);
      try {
        if (code !== 0) throw new Error(`exit code ${code}`);
        resolve(JSON.parse(out));
      } catch (error) {
        reject(new Error(`${(error as Error).message}: ${(err || out).trim().slice(0, 300)}`));
      }
    });
    child.stdin.end(request + "\n");
  });
}

/** Leaves out what no feature reads and what can be large: pictures and thinking. */
const slim = (_key: string, value: any) =>
  value && (value.type === "image" || value.type === "thinking") ? { type: value.type } : value;

export default function foldline(pi: any) {
  const policy = process.env.FOLDLINE_POLICY;
  if (!policy) return;
  const binary = process.env.FOLDLINE_BIN || "foldline";
  const timeout = Number(process.env.FOLDLINE_TIMEOUT_MS) || 2000;
  const args = ["hook", "pi", policy, ...(process.env.FOLDLINE_MODE === "enforce" ? ["--enforce"] : [])];

  // What is needed of pi's context, taken while it may be used: pi 0.73.1 asks once more while it ends a session, and
  // refuses any use of the context then.
  let known: { session?: string; window?: number; ui?: any } = {};
  const look = (ctx: any) => {
    try {
      known = {
        session: ctx.sessionManager?.getSessionId?.() ?? known.session,
        window: ctx.model?.contextWindow ?? known.window,
        ui: ctx.hasUI ? ctx.ui : undefined,
      };
    } catch {
      // the session is ending: what was known stays
    }
  };
  const say = (text: string, kind: "info" | "warning") => {
    try {
      if (known.ui) return known.ui.notify(`foldline: ${text}`, kind);
    } catch {
      // no user interface any more
    }
    console.error(`foldline: ${text}`);
  };

  // Calls that pi may still make by itself: one after a run, one before a prompt (they can overlap).
  const expected = { afterRun: false, beforePrompt: false };
  pi.on("session_start", async (_event: any, ctx: any) => look(ctx));
  pi.on("agent_end", async (_event: any, ctx: any) => {
    look(ctx);
    expected.afterRun = true;
  });
  pi.on("input", async (_event: any, ctx: any) => {
    look(ctx);
    expected.beforePrompt = true;
  });
  pi.on("before_agent_start", async () => {
    expected.beforePrompt = false;
  });

  pi.on("session_before_compact", async (event: any, ctx: any) => {
    try {
      look(ctx);
      const mayAskByItself = expected.afterRun || expected.beforePrompt;
      if (expected.afterRun) expected.afterRun = false;
      else expected.beforePrompt = false;
      const reason = event.reason ?? inferReason(event, known.window, mayAskByItself);
      const { tokensBefore, isSplitTurn, settings } = event.preparation;
      const request = {
        event: "session_before_compact",
        session_id: known.session ?? null,
        reason,
        willRetry: event.willRetry ?? null,
        preparation: { tokensBefore, isSplitTurn, settings },
        branchEntries: event.branchEntries,
        contextWindow: known.window ?? null,
        customInstructions: event.customInstructions ?? null,
      };
      const answer = await ask(binary, args, JSON.stringify(request, slim), timeout);
      if (answer.cancel !== true || answer.mode !== "enforce" || answer.decision !== "block") return undefined;
      say(`compaction deferred (${answer.decided_by})`, "info");
      return { cancel: true };
    } catch (error) {
      say(`not asked, compaction goes on: ${(error as Error).message}`, "warning");
      return undefined;
    }
  });
}
