"""The worker: claims jobs, runs each as a child process, keeps its lease, records outcomes."""
