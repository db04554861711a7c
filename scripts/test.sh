#!/usr/bin/env bash
# Installs into .venv with what the tests need, and runs them. Arguments go to pytest.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh" test

cd "$root"
"$python" -m ruff check .
"$python" -m ruff format --check .
exec "$python" -m pytest -n 2 --dist loadfile "$@"
