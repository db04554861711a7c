# Sourced by train.sh and test.sh: makes .venv in the checkout and installs the package with an extra.
# Usage: . scripts/environment.sh EXTRA. Leaves $python, the interpreter of the environment.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv="$root/.venv"
python="$venv/bin/python"
stamp="$venv/.installed-$1"

if [ ! -x "$python" ]; then
  "${PYTHON:-python3}" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
    echo "Python 3.10 or newer is needed; set PYTHON to one" >&2
    exit 1
  }
  "${PYTHON:-python3}" -m venv "$venv"
fi
# The stamp is newer than what decides the installed packages, or there is something to install.
if [ ! "$stamp" -nt "$root/setup.py" ] || [ ! "$stamp" -nt "$root/pyproject.toml" ]; then
  echo "Installing into $venv: TensorFlow alone takes 2 GB" >&2
  "$python" -m pip install --quiet --disable-pip-version-check --editable "$root[$1]"
  touch "$stamp"
fi
