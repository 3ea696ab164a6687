"""Messages that the documentation explains are those of the product."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_every_message_that_is_explained_is_said_somewhere() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text()
    section = page.partition("## What commands say")[2].partition("\n## ")[0]
    messages = re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)
    assert len(messages) > 10
    source = "\n".join(path.read_text() for path in (ROOT / "src" / "oddish").rglob("*.py"))
    unsaid = [part for message in messages for part in message.split("...") if part.strip() not in source]
    assert unsaid == []
