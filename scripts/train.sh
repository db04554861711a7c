#!/usr/bin/env bash
# Installs into .venv and trains. Flags go to the trainer; with none, Rainbow learns CartPole:
#   scripts/train.sh --base_dir=runs/pong --gin_files=rainbow.gin
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh" plots

if [ $# -eq 0 ]; then
  set -- --base_dir="$root/runs/rainbow_cartpole" --gin_files=rainbow_cartpole.gin \
    --gin_bindings='Runner.num_iterations = 30'
fi
exec "$python" -m dopamine_lite.discrete_domains.train "$@"
