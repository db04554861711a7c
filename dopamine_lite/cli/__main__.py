import sys

from dopamine_lite.cli.main import main

sys.exit(main())
