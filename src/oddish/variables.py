"""Variables of processes by what they may be used for. Standard library only: the command line imports it."""

import re

INHERITED = frozenset(
    {
        "ALL_PROXY",
        "CURL_CA_BUNDLE",
        "DOCKER_CERT_PATH",
        "DOCKER_CONFIG",
        "DOCKER_CONTEXT",
        "DOCKER_HOST",
        "DOCKER_TLS_VERIFY",
        "HOME",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "LANG",
        "LANGUAGE",
        "LC_ALL",
        "LC_CTYPE",
        "LD_LIBRARY_PATH",
        "LOGNAME",
        "NODE_EXTRA_CA_CERTS",
        "NO_PROXY",
        "PATH",
        "PIP_CERT",
        "REQUESTS_CA_BUNDLE",
        "SHELL",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TMPDIR",
        "TZ",
        "USER",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_RUNTIME_DIR",
    }
)
"""What programs need to run at all, and to reach the network and the container engine of their machine."""

RESERVED = re.compile(
    r"(LD|DYLD|PYTHON|GIT|DOCKER|COMPOSE|BUILDKIT|BASH|HARBOR|ODDISH)_.*|PYTHON.*"
    r"|PATH|HOME|SHELL|ENV|IFS|CDPATH|TMPDIR|PERL5LIB|PERL5OPT|RUBYOPT|NODE_OPTIONS|JAVA_TOOL_OPTIONS"
)
"""Variables that steer Python, the shell, the container engine or git on the worker itself."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def inherited(name: str) -> bool:
    """Whether every process of ours is started with it when it is set; proxies are, in lower case as well."""
    return name in INHERITED or (name.endswith("_proxy") and name.upper() in INHERITED)


def is_variable_name(name: str) -> bool:
    return _VARIABLE.fullmatch(name) is not None


def can_be_handed_over(name: str) -> bool:
    """Whether an attempt can be given the variable: a valid name that steers nothing on the worker."""
    return is_variable_name(name) and RESERVED.fullmatch(name) is None
