"""What `oddish.Client` has, for the reference."""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, get_type_hints

from oddish import Client

MODULES = re.compile(r"\b(?:\w+\.)+(?=\w)")


def rows() -> Iterator[tuple[str, str, str]]:
    """The call, what it returns, and the first paragraph of its description; of parts of the client after its own."""
    yield from _methods(Client, "client")
    for name, member in vars(Client).items():
        if isinstance(member, property) and isinstance(part := get_type_hints(member.fget)["return"], type):
            yield from _methods(part, f"client.{name}")


def _methods(kind: type, prefix: str) -> Iterator[tuple[str, str, str]]:
    for name, member in vars(kind).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property) and (returned := _returned(member.fget)) in ("str", "int"):
            yield f"`{prefix}.{name}`", f"`{returned}`", _said(member)
        elif inspect.isfunction(member):
            yield f"`{prefix}.{name}({_parameters(member)})`", f"`{_returned(member)}`", _said(member)


def _parameters(function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    shown = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=shown[1:], return_annotation=inspect.Signature.empty))[1:-1]


def _returned(function: Any) -> str:
    annotation = inspect.signature(function).return_annotation
    return MODULES.sub("", inspect.formatannotation(annotation).strip("'\""))


def _said(member: object) -> str:
    text = inspect.getdoc(member) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("``", "`")
