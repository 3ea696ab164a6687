"""What a call to the server can end with, besides an answer."""

from oddish.client.types import Problem
from oddish.errors import OddishError

JOB_GOES_ON = "job_goes_on"
"""The code of a refusal to wait any longer for a job, which is asked for elsewhere."""


class ApiError(OddishError):
    """The server refused. ``problem`` is its document, completed from the response when it sent none."""

    code = "api_error"

    def __init__(self, problem: Problem, http_status: int) -> None:
        super().__init__(problem.get("detail") or problem.get("title") or "no reason given", fix=problem.get("fix"))
        self.problem = problem
        self.http_status = http_status

    @property
    def problem_code(self) -> str:
        return self.problem.get("code") or self.code


class AnalysisNotEnabled(OddishError):
    """The analysis of trials was asked for at a server that does not analyse any."""

    code = "analysis_not_enabled"
    status = 404


class Unreachable(OddishError):
    """No answer came from the server."""

    code = "unreachable"
    status = 503


class UnexpectedAnswer(OddishError):
    """Something answered that does not speak this interface."""

    code = "unexpected_answer"
    status = 502


class NotPacked(OddishError):
    """The archive of a task could not be written on this machine."""

    code = "not_packed"
    status = 507
