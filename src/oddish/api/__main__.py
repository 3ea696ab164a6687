"""``python -m oddish.api``: serve HTTP until told to stop."""

import sys

from oddish import loading

if __name__ == "__main__":
    with loading.for_good():
        from oddish.api.process import main
    sys.exit(main())
