"""The notebook of the documentation runs, and is committed with what it prints and draws."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[1] / 'docs' / 'tour.ipynb'

# What must hold after the last cell.
CHECKS = """
assert len(plt.get_fignums()) == 3
assert len(episodes) == sum(row['metric'] == 'Train/NumEpisodes' and int(row['value'])
                            for row in metrics)
assert agent.training_steps == int(episodes[-1]['agent_steps']) >= 3000
assert max(float(row['return']) for row in episodes) >= 100  # it learns
steps, losses = measured('Agent/Loss')
assert steps == list(range(520, steps[-1] + 1, 40)) and min(losses) > 0
assert abs(distributions(states['upright']).sum(axis=1) - 1).max() < 1e-5
assert abs(often.sum() - 1) < 1e-9
"""


@pytest.fixture(scope='module')
def cells():
    notebook = json.loads(NOTEBOOK.read_text(encoding='utf-8'))
    assert (notebook['nbformat'], notebook['metadata']['kernelspec']['name']) == (4, 'python3')
    return [cell for cell in notebook['cells'] if cell['cell_type'] == 'code']


def test_the_cells_run(cells, tmp_path):
    program = '\n\n'.join(''.join(cell['source']) for cell in cells)
    environment = {**os.environ, 'MPLBACKEND': 'Agg', 'TF_CPP_MIN_LOG_LEVEL': '3'}
    environment |= {'TMPDIR': str(tmp_path)}
    result = subprocess.run(
        [sys.executable, '-c', program + CHECKS],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stderr


def test_it_is_committed_with_its_pictures(cells):
    assert [cell['execution_count'] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell['outputs']]
    kinds = [output['output_type'] for output in outputs]
    assert set(kinds) == {'stream', 'display_data'}
    assert sum('image/png' in output.get('data', ()) for output in outputs) == 3
