"""Where the local stack keeps its files. Standard library only: the command line imports it."""

from dataclasses import dataclass
from pathlib import Path

from oddish.home import home, private_directory


@dataclass(frozen=True, slots=True)
class Layout:
    home: Path

    @property
    def run(self) -> Path:
        return self.home / "run"

    @property
    def state(self) -> Path:
        return self.run / "stack.json"

    @property
    def lock(self) -> Path:
        return self.run / "stack.lock"

    @property
    def token(self) -> Path:
        return self.run / "token"

    @property
    def activity(self) -> Path:
        """Its modification time is when the API last answered an authenticated request."""
        return self.run / "activity"

    @property
    def postgres(self) -> Path:
        return self.home / "postgres"

    @property
    def store(self) -> Path:
        return self.home / "store"

    def log(self, name: str) -> Path:
        return self.home / "logs" / f"{name}.log"

    def logs(self) -> list[Path]:
        return sorted((self.home / "logs").glob("*.log"))

    def create(self) -> None:
        for directory in (self.home, self.run, self.home / "logs", self.store):
            private_directory(directory)


def layout() -> Layout:
    return Layout(home())
