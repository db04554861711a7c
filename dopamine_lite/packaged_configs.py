"""Where the gin files that come with the package are, so that a bare name finds them."""

import functools
import importlib.util  # noqa: F401  (gin's search for files uses it without importing it)
import logging
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


def find(name: str) -> str | None:
    """Returns the path of the packaged gin file `name`, or None where there is no such file."""
    path = directory() / name
    return str(path) if path.is_file() else None


@functools.cache
def install_search_path() -> None:
    """Lets gin look for a file here that does not exist under the path that was given."""
    gin.add_config_file_search_path(str(directory()))
    # Before it comes here, gin looks for a Python package of the path, and logs an error that there
    # is none. A file that is nowhere is reported all the same, by the exception.
    logging.getLogger().addFilter(_is_not_gins_search)


def _is_not_gins_search(record: logging.LogRecord) -> bool:
    return record.module != 'resource_reader'
