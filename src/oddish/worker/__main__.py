"""``python -m oddish.worker``: run one worker until SIGTERM or SIGINT."""

import sys

from oddish import loading

if __name__ == "__main__":
    with loading.for_good():
        from oddish.worker.process import main
    sys.exit(main())
