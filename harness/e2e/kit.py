"""What the end-to-end tests of all harnesses share: checks, a loopback-only namespace, installs, bounded runs."""

import atexit
import fcntl
import glob
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HARNESS = os.path.dirname(HERE)
REPOSITORY = os.path.dirname(HARNESS)
sys.path.insert(0, os.path.join(HARNESS, "stub"))
from stub_server import Stub


class Skip(Exception):
    """The client cannot be installed here; the text says why."""


class Checks:
    """Counts checks, prints one line each, ends with `N passed, M failed`."""

    def __init__(self, title):
        self.title, self.passed, self.failed = title, 0, 0
        print(f"== {title}", flush=True)

    def group(self, name):
        print(f"-- {name}", flush=True)

    def check(self, what, holds, seen=""):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
        print(f"{'ok  ' if holds else 'FAIL'} {what}{f' [{seen}]' if seen != '' else ''}", flush=True)
        return holds

    def finish(self):
        print(f"{self.title}: {self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed or not self.passed else 0


def loopback_up():
    """Sets the loopback interface up, as `ip link set lo up` does, without needing iproute2."""
    get_flags, set_flags, up = 0x8913, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(sock, get_flags, request))[1]
        fcntl.ioctl(sock, set_flags, struct.pack("16sh14x", b"lo", flags | up))


def enter_loopback_namespace():
    """Re-runs this program where only loopback exists; where that is not allowed, says so and goes on."""
    if os.environ.get("FOLDLINE_E2E_NAMESPACE") == "1":
        loopback_up()
        return
    unshare = shutil.which("unshare")
    if unshare and subprocess.run([unshare, "-rn", "true"], capture_output=True).returncode == 0:
        os.environ["FOLDLINE_E2E_NAMESPACE"] = "1"
        os.execv(unshare, [unshare, "-rn", sys.executable, *sys.argv])
    print("note: no network namespace here; relying on the clients' offline settings", flush=True)


def offline_environment(home):
    """An environment without proxies and with a home folder of its own."""
    dropped = ("http_proxy", "https_proxy", "all_proxy")
    environment = {key: value for key, value in os.environ.items() if key.lower() not in dropped}
    environment.update(HOME=home, NO_PROXY="127.0.0.1,localhost", DO_NOT_TRACK="1")
    return environment


def npm_install(folder, *packages, scripts=False):
    """Installs npm packages into `folder` unless they are there.

    Raises Skip where npm or its registry is out of reach, and ends the test where an install fails though it is not.
    """
    stamp = os.path.join(folder, ".installed")
    wanted = " ".join(packages)
    if os.path.exists(stamp) and read_text(stamp) == wanted:
        return folder
    npm = shutil.which("npm")
    if npm is None:
        raise Skip("npm is not installed (Debian: apt-get install nodejs npm)")
    os.makedirs(folder, exist_ok=True)
    write_text(os.path.join(folder, "package.json"), '{"name": "client-under-test", "private": true}\n')
    command = [npm, "install", "--no-audit", "--no-fund", "--no-update-notifier", "--fetch-retries=1", *packages]
    if not scripts:
        command.insert(2, "--ignore-scripts")
    done = run(command, cwd=folder, timeout=600)
    if done.code != 0:
        said = " / ".join(line for line in done.stderr.splitlines() if "error" in line)[:300]
        if run([npm, "view", packages[0], "version", "--fetch-retries=0"], timeout=60).code != 0:
            raise Skip(f"npm's registry is out of reach: {said}")
        sys.exit(f"npm could not install {wanted}: {said}")
    write_text(stamp, wanted)
    return folder


def venv_install(folder, python, *packages):
    """Makes a virtual environment with PyPI packages unless it is there; returns its interpreter."""
    stamp, wanted = os.path.join(folder, ".installed"), " ".join(packages)
    interpreter = os.path.join(folder, "bin", "python")
    if os.path.exists(stamp) and read_text(stamp) == wanted:
        return interpreter
    if shutil.which(python) is None:
        raise Skip(f"{python} is not installed")
    for command in ([python, "-m", "venv", folder], [interpreter, "-m", "pip", "install", "-q", *packages]):
        done = run(command, timeout=900)
        if done.code != 0:
            raise Skip(f"{command[1:4]} failed: {done.stderr.strip()[-300:]}")
    write_text(stamp, wanted)
    return interpreter


class Done:
    """How a command ended. `code` is -1 when it had to be stopped."""

    def __init__(self, code, stdout, stderr):
        self.code, self.stdout, self.stderr = code, stdout, stderr


def run(command, cwd=None, env=None, text=None, timeout=120):
    """Runs a command bounded in time; its whole process group goes when the time is over."""
    child = subprocess.Popen(
        command, cwd=cwd, env=env, start_new_session=True, text=True, errors="replace",
        stdin=subprocess.PIPE if text is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    try:
        stdout, stderr = child.communicate(text, timeout=timeout)
        return Done(child.returncode, stdout, stderr)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        stdout, stderr = child.communicate()
        return Done(-1, stdout, stderr)


def read_text(path):
    with open(path, encoding="utf-8") as source:
        return source.read()


def write_text(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def write_program(path, text):
    """Writes an executable script and returns its path."""
    write_text(path, text)
    os.chmod(path, 0o755)
    return path


def json_lines(path_or_text):
    """The JSON objects of a file (or of a text with line breaks), skipping what is not JSON."""
    if "\n" not in path_or_text:
        if not os.path.exists(path_or_text):
            return []
        path_or_text = read_text(path_or_text)
    values = []
    for line in path_or_text.splitlines():
        try:
            values.append(json.loads(line))
        except ValueError:
            continue
    return values


class Workspace:
    """A folder for one run. Removed at its end, or kept under FOLDLINE_E2E_KEEP."""

    def __init__(self, name):
        kept = os.environ.get("FOLDLINE_E2E_KEEP")
        self.kept = kept is not None
        if self.kept:
            self.root = os.path.join(os.path.abspath(kept), name)
            shutil.rmtree(self.root, ignore_errors=True)
            os.makedirs(self.root)
        else:
            self.root = tempfile.mkdtemp(prefix="foldline-e2e-")
            atexit.register(shutil.rmtree, self.root, ignore_errors=True)

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def close(self, done=None):
        if not self.kept:
            shutil.rmtree(self.root, ignore_errors=True)
        elif done is not None:
            write_text(self.path("stdout.txt"), done.stdout)
            write_text(self.path("stderr.txt"), done.stderr)


def foldline_binary():
    """The binary under test."""
    default = os.path.join(REPOSITORY, "target", "debug", "foldline")
    binary = os.path.abspath(os.environ.get("FOLDLINE_BIN", default))
    if not os.access(binary, os.X_OK):
        sys.exit(f"no foldline binary at {binary}: run `cargo build --no-default-features` or set FOLDLINE_BIN")
    return binary


def policy(name):
    """A policy whose rule always allows or always blocks: always-allow, always-block."""
    folder = os.environ.get("FOLDLINE_E2E_POLICIES", os.path.join(HERE, "policies"))
    return os.path.join(folder, f"{name}.json")


def scratch(name):
    """A path in a folder that lives as long as the test."""
    if not hasattr(scratch, "folder"):
        scratch.folder = tempfile.mkdtemp(prefix="foldline-e2e-")
        atexit.register(shutil.rmtree, scratch.folder, ignore_errors=True)
    return os.path.join(scratch.folder, name)


def broken_policy():
    """The blocking policy cut off in the middle."""
    text = read_text(policy("always-block"))
    write_text(scratch("broken.json"), text[: len(text) // 2])
    return scratch("broken.json")


def slow_binary():
    """A binary that answers `block` far too late."""
    answer = '{"decision":"block","mode":"enforce","cancel":true}'
    return write_program(scratch("slow"), f"#!/bin/sh\nsleep 30\necho '{answer}'\n")


class PythonRun:
    """One run of a Python harness's test agent against the stub, with the adapter's settings in the environment."""

    def __init__(self, name, command, script, policy_path, mode="enforce", binary=None, stub=None, env=None, timeout=120):
        space = Workspace(name)
        with Stub(script=script, **(stub or {})) as server:
            variables = offline_environment(space.path("home"))
            os.makedirs(space.path("home"))
            variables.update(
                PYTHONPATH=os.path.join(HARNESS, "python"), PYTHONDONTWRITEBYTECODE="1", FOLDLINE_POLICY=policy_path, FOLDLINE_MODE=mode,
                FOLDLINE_BIN=binary or foldline_binary(), FOLDLINE_LOG=space.path("decisions.ndjson"), **(env or {}))
            started = time.monotonic()
            done = run(command(server, space), cwd=space.root, env=variables, timeout=timeout)
            self.seconds = time.monotonic() - started
            self.summaries, self.overflows, self.turns = (server.count(k) for k in ("summary", "overflow", "turn"))
            self.tokens = [f"{request['kind']}:{request['prompt_tokens']}" for request in server.requests]
        self.code, self.stdout, self.stderr = done.code, done.stdout, done.stderr
        self.decisions = [line for line in json_lines(space.path("decisions.ndjson")) if "decision" in line]
        self.logged = done.stderr + "".join(read_text(path) for path in glob.glob(space.path("home/.*/logs/*.log")))
        self.report = (json_lines(done.stdout + "\n") or [{}])[-1]
        space.close(done)

    def decided_by(self):
        return [f"{line['decision']}:{line['decided_by']}" for line in self.decisions]


def check_python_failures(checks, start, finished, logs=True):
    """Whatever is wrong with foldline, the harness compacts as if it were not there.

    `start(name, **PythonRun options)` runs a session in which compaction becomes due; `finished(run)` judges its end.
    `logs` is false where the harness turns logging off.
    """
    block = policy("always-block")
    seen = start("no-binary", policy_path=block, binary="/nonexistent/foldline")
    checks.check(f"without the binary compaction happens{' and the log says why' if logs else ''}",
                 seen.summaries >= 1 and finished(seen) and ("compaction goes on" in seen.logged or not logs),
                 next((line for line in seen.logged.splitlines() if "compaction goes on" in line), "")[-120:])
    seen = start("broken-policy", policy_path=broken_policy())
    checks.check("with a broken policy compaction happens",
                 seen.summaries >= 1 and finished(seen) and "allow:policy_error" in seen.decided_by(), seen.decided_by())
    seen = start("no-policy", policy_path="/nonexistent/policy.json")
    checks.check("with a missing policy compaction happens", seen.summaries >= 1 and finished(seen))
    seen = start("timeout", policy_path=block, binary=slow_binary(), env={"FOLDLINE_TIMEOUT_MS": "500"})
    checks.check("with an answer too late compaction happens",
                 seen.summaries >= 1 and finished(seen) and ("timed out" in seen.logged or not logs) and seen.seconds < 60,
                 f"{seen.seconds:.1f} s")


def python_of(*versions):
    """The first Python found of some versions, as `3.12`."""
    for version in versions:
        for candidate in (shutil.which(f"python{version}"), *sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python")))):
            if candidate and run([candidate, "--version"]).code == 0:
                return candidate
    raise Skip(f"no Python {' or '.join(versions)} is installed")
