import subprocess
import sys


def test_what_the_command_line_imports_is_the_standard_library_and_small() -> None:
    program = "import sys; before = set(sys.modules); import oddish.stack.client; print(*set(sys.modules) - before)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert {name.partition(".")[0] for name in loaded} <= {*sys.stdlib_module_names, "oddish"}
    assert not {"subprocess", "asyncio", "ssl", "http", "tempfile", "shutil"} & set(loaded)
    ours = {name for name in loaded if name.startswith("oddish")}
    assert ours <= {
        "oddish",
        "oddish.errors",
        "oddish.home",
        "oddish.room",
        "oddish.stack",
        "oddish.variables",
        *(f"oddish.stack.{name}" for name in ("client", "environment", "layout", "lock", "logs", "port", "process")),
        *(f"oddish.stack.{name}" for name in ("start", "state", "token")),
    }
