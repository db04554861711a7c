"""Packaging: the package, and the gin files of `configs/` inside it."""

from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent

PLOTS = ['matplotlib>=3.7']
VIDEO = [*PLOTS, 'pygame-ce>=2.5', 'imageio-ffmpeg>=0.5']
PANDAS = ['pandas>=2']
# rliable wants an `arch` below 8, which does not import beside pandas 3.
STATS = [*PLOTS, 'rliable>=1.2', 'pandas>=2,<3']
MINATAR = ['minatar>=1.0.15']
BOX2D = ['gymnasium[box2d]>=1.0']
# What any of the commands needs.
ALL = [*VIDEO, *PANDAS, *STATS, *MINATAR, *BOX2D]
TEST = ['pytest>=8', 'pytest-xdist>=3.5', 'hypothesis>=6', 'ruff>=0.6']

setup(
    name='dopamine_lite',
    version='0.1.0',
    description='Value-based deep RL agents in TensorFlow graph mode, a drop-in for Dopamine',
    long_description=(ROOT / 'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    python_requires='>=3.10',
    # Gin files live in `configs/` and are installed as data of `dopamine_lite.configs`.
    packages=[
        *find_packages(include=['dopamine_lite', 'dopamine_lite.*']),
        'dopamine_lite.configs',
    ],
    package_dir={'dopamine_lite.configs': 'configs'},
    package_data={'dopamine_lite.configs': ['*.gin', '*/*.gin']},
    install_requires=[
        'tensorflow>=2.16',
        'tf-keras>=2.16',
        'gin-config>=0.5',
        'absl-py>=1.4',
        'numpy>=1.26',
        'numba>=0.60',
        'gymnasium>=1.0',
        'ale-py>=0.10.1',
        'opencv-python-headless>=4.8',
        'tqdm>=4.66',
        'isal>=1.6',
    ],
    entry_points={'console_scripts': ['dopamine-lite = dopamine_lite.cli.main:main']},
    extras_require={
        'plots': PLOTS,
        'all': ALL,
        'box2d': BOX2D,
        'colab': PANDAS,
        'wandb': ['wandb>=0.17'],
        'stats': STATS,
        'video': VIDEO,
        'viz': VIDEO,
        'minatar': MINATAR,
        'test': [*TEST, *ALL],
    },
)
