class KilledWorker(Exception): ...  # noqa: N818 - the library's name
