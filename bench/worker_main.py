"""The process of a `workers.Worker`: started with the number of the pipe's file descriptor."""

import sys
from multiprocessing.connection import Connection

from workers import serve

if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
