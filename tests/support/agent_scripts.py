"""One small piece of work, as the model of each real agent program has it done: write /app/hello.txt and look at it."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_programs import PROGRAMS, Program

from support.model_servers import Script, Tool, Turn, Usage

FILE = "/app/hello.txt"
LOOK = "cat hello.txt && wc -c hello.txt"
SAYS = (
    "I will create the greeting file first.",
    "The file is there. I check it.",
    "Done: hello.txt holds the greeting.",
)
TOKENS = (Usage(4200, output=90), Usage(350, 3000, output=60), Usage(250, 3200, output=30))
WRITTEN_TOKENS = (Usage(1200, 0, 3000, 90), Usage(150, 3000, 200, 60), Usage(130, 3200, 120, 30))
"""Of a provider that counts what is written to its cache."""


@dataclass(frozen=True)
class RealAgent:
    """An agent of Harbor, what it needs on this machine, and what its model says."""

    name: str
    model: str
    script: Script
    programs: tuple[str, ...] = ()
    on_path: str = ""
    """A program of the machine that it uses."""
    kwargs: Mapping[str, Any] = field(default_factory=lambda: {"skip_install": True})
    env: Mapping[str, str] = field(default_factory=dict)
    base: str = "OPENAI_BASE_URL"
    """The variable that gets the address of the model, or the argument, where it is in small letters."""
    path: str = "/v1"
    key: str = "OPENAI_API_KEY"
    cost: float | None = None
    """Dollars of the script at the prices of its model; None where nobody knows them."""
    own_cost: bool = False
    """Whether the program says itself what it cost."""
    live: bool = True
    """Whether it writes what its model says to its logs before it has all been said."""
    live_usage: bool = True
    shown_as: tuple[str, ...] = ()
    """Its tools in the transcript, where they have other names there."""

    @property
    def needs(self) -> list[Program]:
        return [PROGRAMS[name] for name in self.programs]

    @property
    def tools(self) -> list[str]:
        """As its transcript names what it uses, in order."""
        return list(self.shown_as) or [tool.name for turn in self.script.turns for tool in turn.tools]

    @property
    def missing(self) -> str | None:
        """Why it cannot run."""
        if lacking := [str(program.executable) for program in self.needs if not program.there]:
            return f"{', '.join(lacking)}: not there; scripts/fetch-agents fetches it"
        if self.on_path and not shutil.which(self.on_path):
            return f"there is no {self.on_path} on PATH"
        return None

    def config(self, url: str) -> dict[str, Any]:
        """Its entry of a sweep; ``url`` is its conversation's."""
        address = {self.base: url + self.path}
        kwargs = {**self.kwargs, **(address if self.base.islower() else {})}
        env = {self.key: "not-a-key", **self.env, **({} if self.base.islower() else address)}
        return {"name": self.name, "model_name": self.model, "kwargs": kwargs, "env": env}


def _script(
    write: Tool,
    look: Tool,
    *,
    main_tool: str | None,
    tokens: tuple[Usage, ...] = TOKENS,
    end: Tool | None = None,
) -> Script:
    tools = ((write,), (look,), (end,) if end else ())
    return Script(tuple(map(Turn, SAYS, tools, tokens)), main_tool)


def _keystrokes(number: int, *commands: str, complete: bool = False) -> Turn:
    """An answer to terminus-2, which has no tools: a document that says what to type."""
    typed = [{"keystrokes": f"{command}\n", "duration": 0.1} for command in commands]
    said = {"analysis": SAYS[number], "plan": "I go on.", "commands": typed, "task_complete": complete}
    return Turn(json.dumps(said), usage=TOKENS[number])


CLAUDE_CODE = RealAgent(
    "claude-code",
    "anthropic/claude-sonnet-4-5",
    _script(
        Tool("Write", {"file_path": FILE, "content": "hello world\n"}),
        Tool("Bash", {"command": LOOK, "description": "Check the file"}),
        main_tool="Bash",
        tokens=WRITTEN_TOKENS,
    ),
    ("claude-code",),
    env={"CLAUDE_CODE_MAX_RETRIES": "3"},
    base="ANTHROPIC_BASE_URL",
    path="",
    key="ANTHROPIC_API_KEY",
    cost=0.02145,
    own_cost=True,
)
CODEX = RealAgent(
    "codex",
    "openai/gpt-5.5",
    _script(
        Tool("apply_patch", "*** Begin Patch\n*** Add File: hello.txt\n+hello world\n*** End Patch\n", custom=True),
        Tool("exec_command", {"cmd": LOOK}),
        main_tool=None,
    ),
    ("node", "codex"),
    kwargs={"skip_install": True, "config": {"features": {"plugins": False}, "analytics": {"enabled": False}}},
    cost=0.0325,
    live_usage=False,
    shown_as=("file_change", "command_execution"),
)
GEMINI_CLI = RealAgent(
    "gemini-cli",
    "gemini/gemini-2.5-pro",
    _script(
        Tool("write_file", {"file_path": FILE, "content": "hello world\n"}),
        Tool("run_shell_command", {"command": LOOK, "description": "Check the file"}),
        main_tool="run_shell_command",
    ),
    ("node", "gemini-cli"),
    base="GOOGLE_GEMINI_BASE_URL",
    path="",
    key="GEMINI_API_KEY",
    cost=0.008575,
    live_usage=False,
)
QWEN_CODER = RealAgent(
    "qwen-coder",
    "openai/scripted-a",
    _script(
        Tool("write_file", {"file_path": FILE, "content": "hello world\n"}),
        Tool("run_shell_command", {"command": LOOK, "description": "Check the file", "is_background": False}),
        main_tool="run_shell_command",
    ),
    ("node", "qwen-code"),
    live=False,
)
OPENCODE = RealAgent(
    "opencode",
    "openai/scripted-a",
    _script(
        Tool("write", {"filePath": FILE, "content": "hello world\n"}),
        Tool("bash", {"command": LOOK, "description": "Check the file"}),
        main_tool="bash",
    ),
    ("opencode",),
)
MINI_SWE_AGENT = RealAgent(
    "mini-swe-agent",
    "openai/scripted-a",
    _script(
        Tool("bash", {"command": "cat > hello.txt <<'EOF'\nhello world\nEOF"}),
        Tool("bash", {"command": LOOK}),
        main_tool="bash",
        end=Tool("bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}),
    ),
    ("mini-swe-agent",),
    env={"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
)
TERMINUS_2 = RealAgent(
    "terminus-2",
    "openai/scripted-a",
    Script(
        (
            _keystrokes(0, "echo hello world > hello.txt"),
            _keystrokes(1, LOOK, complete=True),
            _keystrokes(2, complete=True),
        )
    ),
    on_path="tmux",
    kwargs={"record_terminal_session": False, "model_info": {"max_input_tokens": 100_000, "max_output_tokens": 8_000}},
    base="api_base",
    shown_as=("bash_command", "bash_command", "mark_task_complete", "mark_task_complete"),
)
REAL_AGENTS = (CLAUDE_CODE, CODEX, GEMINI_CLI, QWEN_CODER, OPENCODE, MINI_SWE_AGENT, TERMINUS_2)
