"""Running this interpreter and this package as somebody without privileges, from a test that may have them."""

import os
import sys
import sysconfig
from pathlib import Path

import oddish

_UID = 64321
_SETUP = """
set -e
mount -t tmpfs -o mode=755 none /mnt
for name in python packages source tests; do mkdir /mnt/$name; done
mount --bind "$1" /mnt/python
mount --bind "$2" /mnt/packages
mount --bind "$3" /mnt/source
mount --bind "$4" /mnt/tests
mkdir -m 700 /mnt/scratch /mnt/home
mkdir -p /mnt/home/.local/lib/%(python)s/site-packages
printf '%%s\n' /mnt/source /mnt/tests /mnt/packages >/mnt/home/.local/lib/%(python)s/site-packages/oddish.pth
chown -R %(uid)d:%(uid)d /mnt/scratch /mnt/home
shift 4
exec setpriv --reuid %(uid)d --regid %(uid)d --clear-groups -- env -i "$@"
"""


def command(module: str, *arguments: str) -> list[str]:
    """``python -m support.<module> <scratch directory> <arguments>`` as an ordinary user.

    For root: in a mount namespace of its own, where interpreter and packages are bound to places that everybody may
    read; they can be installed below a home directory that nobody else may enter.
    """
    if os.geteuid() != 0:
        return [sys.executable, "-m", f"support.{module}", *arguments]
    python = Path(sys.base_prefix)
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/mnt/home",
        "TMPDIR": "/mnt/scratch",
        "LD_LIBRARY_PATH": "/mnt/python/lib",
        "PYTHONDONTWRITEBYTECODE": "1",
        **{name: value for name, value in os.environ.items() if name.startswith("ODDISH_TEST_")},
    }
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        _SETUP % {"uid": _UID, "python": version},
        "sh",
        str(python),
        sysconfig.get_path("purelib"),
        str(Path(oddish.__file__).parents[1]),
        str(Path(__file__).parents[1]),
        *(f"{name}={value}" for name, value in environment.items()),
        f"/mnt/python/bin/{version}",
        "-m",
        f"support.{module}",
        *arguments,
    ]
