"""Where the gin files that come with the package are, so that a bare name finds them."""

import functools
from pathlib import Path

import gin

_PACKAGE = Path(__file__).resolve().parent


def directory() -> Path:
    """Returns the folder of the gin files: the installed one, or that of the checkout."""
    installed = _PACKAGE / 'configs'
    return installed if installed.is_dir() else _PACKAGE.parent / 'configs'


def names() -> list[str]:
    """Returns what `--gin_files` takes for each of them, sorted: its path within `directory()`."""
    folder = directory()
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob('*.gin'))


@functools.cache
def install_search_path() -> None:
    """Lets gin look for a file here that does not exist under the path that was given."""
    gin.add_config_file_search_path(str(directory()))
