"""terminus-2 that gives up when its shell waits for the rest of a command and it does nothing about it.

An open here-document or quote takes whatever is typed, and nothing ever comes of waiting: without this the trial would
hold its place, and ask its model, until the agent's time is over.
"""

from typing import ClassVar, override

from harbor.agents.terminus_2.terminus_2 import Command, Terminus2
from harbor.agents.terminus_2.tmux_session import TmuxSession
from harbor.llms.base import LLMResponse
from harbor.llms.chat import Chat

from oddish.engine.agents.standstill import Standstill, last_line


class TerminusNoProgressError(Exception):
    """The terminal has only shown one continuation prompt for too many episodes."""


class GuardedTerminus2(Terminus2):
    stuck_episodes: ClassVar[int]
    """How many episodes of standstill are too many."""

    @override
    def _reset_per_run_state(self) -> None:
        super()._reset_per_run_state()
        self._standstill = Standstill()

    @override
    async def _handle_llm_interaction(
        self, chat: Chat, prompt: str, original_instruction: str = "", session: TmuxSession | None = None
    ) -> tuple[list[Command], bool, str, str, str, LLMResponse]:
        """Here rather than after the commands, so that the episode that was one too many is in the trajectory."""
        if self._standstill.episodes >= self.stuck_episodes:
            raise TerminusNoProgressError(
                f"The screen has not changed for {self._standstill.episodes} episodes and the shell waits for the rest "
                f"of a command: {self._standstill.line!r}."
            )
        return await super()._handle_llm_interaction(chat, prompt, original_instruction, session)

    @override
    async def _execute_commands(self, commands: list[Command], session: TmuxSession) -> tuple[bool, str]:
        timed_out, output = await super()._execute_commands(commands, session)
        # The output ends as the screen does: only then is it worth asking for more.
        if Standstill.is_prompt(last_line(output)):
            self._standstill.see(await session.capture_pane(), await _cursor_column(session))
        else:
            self._standstill.see("", 0)
        return timed_out, output


async def _cursor_column(session: TmuxSession) -> int:
    """0 where tmux does not say."""
    command = f"tmux display-message -p -t {session._session_name} '#{{cursor_x}}'"
    answer = await session.environment.exec(command, user=session._user)
    said = (answer.stdout or "").strip()
    return int(said) if said.isdecimal() else 0
