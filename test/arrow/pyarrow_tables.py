"""Writes tables with pyarrow for test_arrow, or reads what it wrote: pyarrow_tables.py write|read FOLDER"""

import datetime
import decimal
import sys
import warnings

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

command, folder = sys.argv[1:]
ROWS = 1000


def column(values, kind):
    return pa.array(list(values), kind)


def tables():
    n = range(ROWS)
    return pa.table({
        "i8": column((i % 100 for i in n), pa.int8()),
        "u64": column((i * 10**12 for i in n), pa.uint64()),
        "half": pa.array([i / 4 for i in n], pa.float32()).cast(pa.float16()),
        "float": column((i / 8 for i in n), pa.float32()),
        "double": column((i / 3 for i in n), pa.float64()),
        "bool": column((i % 3 == 0 for i in n), pa.bool_()),
        "text": column((f"text {i % 10}" for i in n), pa.string()),
        "large_text": column((f"ä{i}" for i in n), pa.large_string()),
        "bytes": column((bytes([i % 256, 255]) for i in n), pa.binary()),
        "category": column((f"class {i % 4}" for i in n), pa.string()).dictionary_encode(),
        "null_double": column((None if i % 5 == 0 else i / 2 for i in n), pa.float64()),
        "day": column((datetime.date(1970, 1, 1) + datetime.timedelta(i) for i in n), pa.date32()),
        "time": column((i * 1000 for i in n), pa.timestamp("us")),
        "money": column((decimal.Decimal(i) / 100 for i in n), pa.decimal128(12, 2)),
        "fixed": column(([i, i + 1, i + 2] for i in n), pa.list_(pa.int32(), 3)),
        "lists": column(([i * 1.5] * 4 for i in n), pa.list_(pa.float64())),
        "ragged": column((list(range(i % 5)) for i in n), pa.large_list(pa.int64())),
        "matrix": column(([[i, i + 1], [i + 2, i + 3]] for i in n), pa.list_(pa.list_(pa.float32(), 2), 2)),
        "null_list": column((None if i % 7 == 0 else [i, None] for i in n), pa.list_(pa.int32())),
        "tensor": pa.ExtensionArray.from_storage(
            pa.fixed_shape_tensor(pa.float32(), [2, 2]),
            column(([i, 0, 0, -i] for i in n), pa.list_(pa.float32(), 4))),
    })


def nested():
    """Structs in structs, in lists, and maps; some of them null; texts and lists as views, large ones, wide decimals."""
    n = range(ROWS)
    point = pa.struct([("x", pa.float32()), ("y", pa.float32())])
    place = pa.struct([("city", pa.string()), ("at", point), ("zip", pa.int32())])
    return pa.table({
        "before": column(n, pa.int64()),
        "place": column((None if i % 6 == 0 else {"city": f"city {i % 9}", "at": None if i % 4 == 0 else {"x": i / 2, "y": -i}, "zip": 1000 + i} for i in n), place),
        "path": column((None if i % 5 == 0 else [{"x": k, "y": i} for k in range(i % 4)] for i in n), pa.list_(point)),
        "tags": column(([(f"t{k}", i * k) for k in range(i % 3)] for i in n), pa.map_(pa.string(), pa.int64())),
        "pair": column(([{"x": i, "y": 1}, {"x": i + 0.5, "y": 2}] for i in n), pa.list_(point, 2)),
        "money": column((decimal.Decimal(i * 10**20) / 100 for i in n), pa.decimal256(60, 2)),
        "a.b": column((i % 7 for i in n), pa.int8()),
    })


def views():
    n = range(ROWS)
    return pa.table({
        "text": column((f"a text that is longer than twelve bytes {i}" if i % 2 else f"short {i}" for i in n), pa.string_view()),
        "list": column(([i] * (i % 4) for i in n), pa.list_view(pa.int32())),
    })


def split(table, folder):
    with pa.ipc.new_file(folder, table.schema) as out:
        out.write_table(table, max_chunksize=99)


if command == "write":
    table = tables()
    pq.write_table(nested(), f"{folder}/nested.parquet", row_group_size=300)
    split(nested(), f"{folder}/nested.arrow")
    split(views(), f"{folder}/views.arrow")
    pq.write_table(table, f"{folder}/snappy.parquet", row_group_size=300)
    pq.write_table(table, f"{folder}/zstd.parquet", compression="zstd", version="1.0", data_page_size=512, write_page_checksum=True)
    pq.write_table(table, f"{folder}/plain.parquet", compression="none", use_dictionary=False, data_page_version="2.0")
    feather.write_feather(table, f"{folder}/lz4.feather", chunksize=170)
    with pa.ipc.new_file(f"{folder}/file.arrow", table.schema) as out:
        out.write_table(table, max_chunksize=99)
    with pa.ipc.new_stream(f"{folder}/stream.arrow", table.schema) as out:
        out.write_table(table, max_chunksize=99)
    warnings.simplefilter("ignore") # of a format that is not written any more
    feather.write_feather(pa.table({"a": [1]}), f"{folder}/old.feather", version=1)
else:
    for path, read in (("t.parquet", pq.read_table), ("t.arrow", feather.read_table)):
        table = read(f"{folder}/{path}")
        got = table.to_pylist()
        wanted = [{
            "rooms": i,
            "price": i / 2,
            "city": f"city {i % 7}",
            "sold": i % 3 == 0,
            "scores": [[i * 10 + k for k in range(3)], [i * 10 + k for k in range(3, 6)]],
        } for i in range(500)]
        assert got == wanted, (path, got[:2], wanted[:2])
        kinds = [str(t) for t in table.schema.types]
        assert kinds[:4] == ["int32", "float", "string", "bool"], kinds
        assert kinds[4].startswith("fixed_size_list<") and kinds[4].endswith("[2]"), kinds
    assert pq.ParquetFile(f"{folder}/t.parquet").num_row_groups == 4
    for path, read in (("s.parquet", pq.read_table), ("s.arrow", feather.read_table)):
        table = read(f"{folder}/{path}")
        wanted = [{"id": i, "place": {"city": f"city {i % 3}", "at": {"x": i / 2, "y": [i, i + 1]}}, "last": -i} for i in range(70)]
        assert table.to_pylist() == wanted, (path, table.to_pylist()[:2])
        assert str(table.schema.field("place").type).startswith("struct<city: string"), table.schema
    for path, read in (("l.parquet", pq.read_table), ("l.arrow", feather.read_table)):
        table = read(f"{folder}/{path}")
        wanted = [{"id": i, "path": [{"x": k / 2, "at": {"name": f"stop {i + k}", "y": [i, k]}} for k in range(i % 4)], "ends": [{"k": -i}, {"k": i}]} for i in range(70)]
        assert table.to_pylist() == wanted, (path, table.to_pylist()[:4])
        assert "<k: int32 not null>" in str(table.schema.field("ends").type), table.schema
    print("pyarrow reads what was written")
