import sys

from dopamine_lite.cli import main

if __name__ == '__main__':
    sys.exit(main.main())
