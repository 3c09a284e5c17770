"""The process of a `workers.Worker`, started with the file descriptor of its pipe."""

import sys
from multiprocessing.connection import Connection

from workers import serve

if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
