"""Arrow's side: its reader of JSON lines, which makes one table of a file."""

import tempfile

import pyarrow
import pyarrow.json

from timing import arguments, json_lines, report, seconds

args = arguments()
pyarrow.set_cpu_count(args.threads)
options = pyarrow.json.ReadOptions(use_threads=args.threads > 1)
with tempfile.TemporaryDirectory() as folder:
    name = json_lines(folder)
    report(args.row, args.threads, "read_json", seconds(lambda: pyarrow.json.read_json(name, read_options=options)))
