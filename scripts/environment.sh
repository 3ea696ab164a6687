# Sourced by the other scripts: sets ROOT and VENV, and makes VENV match requirements/dev.txt.
#
# Nothing is installed outside the checkout, or outside the user's cache directory when the checkout is not theirs.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
VENV="$ROOT/.venv"
TOOLS="$ROOT/.uv"
export UV_PYTHON_DOWNLOADS=never
unset VIRTUAL_ENV
unset PYTHONDONTWRITEBYTECODE # else each process compiles anew whatever it imports

fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 12))' >/dev/null 2>&1
}

find_python() {
    local candidate pyenv
    for candidate in python3.12 python3.13 python3.14 python3; do
        candidate="$(command -v "$candidate")" || continue
        if new_enough "$candidate"; then
            "$candidate" -c 'import sys; print(sys.executable)'
            return
        fi
    done
    for pyenv in ${PYENV_ROOT:+"$PYENV_ROOT"} "$HOME/.pyenv"; do
        for candidate in "$pyenv"/versions/*/bin/python3; do
            if new_enough "$candidate"; then
                echo "$candidate"
                return
            fi
        done
    done
    "$UV" python find '>=3.12' 2>/dev/null
}

find_uv() {
    if UV="$(command -v uv)"; then
        return
    fi
    UV="$TOOLS/bin/uv"
    if "$UV" --version >/dev/null 2>&1; then
        return
    fi
    echo "Installing uv into $TOOLS ..." >&2
    python3 -m pip install --quiet --quiet --target "$TOOLS" uv >&2 && return
    python3 -m venv "$TOOLS/venv" >&2 && "$TOOLS/venv/bin/pip" install --quiet uv >&2 && UV="$TOOLS/venv/bin/uv" && return
    fail "uv is not installed, and neither 'python3 -m pip' nor 'python3 -m venv' can install it. Install one of them."
}

stamp() {
    { cat "$ROOT/requirements/dev.txt" "$ROOT/pyproject.toml"; echo "$ROOT"; } | cksum
}

ready() {
    [[ "$(cat "$VENV/.stamp" 2>/dev/null)" == "$(stamp)" ]] && "$VENV/bin/python" -c '' 2>/dev/null
}

build() {
    local python
    find_uv
    if ! new_enough "$VENV/bin/python"; then
        python="$(find_python)" || fail "no Python 3.12 or newer was found on PATH or below pyenv. Install one."
        "$UV" venv --quiet --clear --python "$python" "$VENV" || fail "cannot make $VENV"
    fi
    echo "Installing the pinned requirements into $VENV ..." >&2
    "$UV" pip sync --quiet --python "$VENV/bin/python" --require-hashes "$ROOT/requirements/dev.txt" &&
        "$UV" pip install --quiet --quiet --python "$VENV/bin/python" --no-deps --no-build-isolation --editable "$ROOT" ||
        fail "cannot install the requirements"
    stamp >"$VENV/.stamp"
}

prepare() {
    if ready; then
        return
    fi
    if [[ ! -w "$ROOT" ]] || { [[ -e "$VENV" ]] && [[ ! -w "$VENV" ]]; }; then
        local cache
        cache="${XDG_CACHE_HOME:-$HOME/.cache}/oddish/$(printf '%s' "$ROOT" | cksum | cut -d' ' -f1)"
        VENV="$cache/venv" TOOLS="$cache/uv"
    fi
    mkdir -p "$TOOLS"
    (
        if command -v flock >/dev/null; then
            flock 9
        fi
        ready || build
    ) 9>"$TOOLS/lock" || exit 1
}

prepare
