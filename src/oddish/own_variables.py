"""The environment variables of oddish that are no settings of its server or worker, with what they mean.

Standard library only.
"""

CLIENT = {
    "ODDISH_API_URL": "Address of the server that commands talk to. Without it they use the stack of this machine.",
    "ODDISH_API_KEY": "Key for the server that commands use. The local stack has one of its own, for when none is set.",
    "ODDISH_PREVIEW_PR": "Number of a pull request whose preview deployment commands talk to.",
    "ODDISH_PREVIEW_URL_TEMPLATE": "Address of preview deployments, with `{n}` in place of the number.",
    "SANDBOX_GATEWAY_URL": "Address of the job gateway for `oddish gateway`, where it is another server's.",
    "SANDBOX_API_KEY": "Key for that gateway.",
    "ODDISH_HARBOR": "Another Harbor for the trials of `oddish run`, as `--harbor` names it.",
    "ODDISH_SWEEP_BATCH_MAX_TASKS": "Tasks of one submission call when a dataset is sent, 1 to 100. Default: 10.",
    "ODDISH_DOCKERHUB_USERNAME": "Account at Docker Hub for the images of trials, together with the next one.",
    "ODDISH_DOCKERHUB_TOKEN": "Access token of that account. `oddish run` sends both, to be kept encrypted.",
}
STACK = {
    "ODDISH_IDLE_MINUTES": "Minutes without use after which the stack of this machine stops; 0: never. Default: 15.",
    "ODDISH_POSTGRES_BIN": "Directories with PostgreSQL's programs, to use instead of the bundled ones.",
}
TESTS = {
    "ODDISH_REQUIRE": "Rings of tests, separated by commas, whose absence is a failure.",
    "ODDISH_TEST_PREPARATION": "A program that provides what the docker and browser rings need, while others run.",
    "ODDISH_TEST_DATABASE_URL": "A PostgreSQL server for the tests, whose user can create databases.",
}
