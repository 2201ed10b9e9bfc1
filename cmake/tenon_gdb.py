"""Tenon's arrays and tensors as gdb shows them.

    (gdb) source /usr/share/tenon/gdb/tenon_gdb.py
    (gdb) print a
    $1 = float[2, 3] {1, 2, 3, 4, 5, 6}
    (gdb) print y
    $2 = matmul: float[batch, 2] (matmul)

In ~/.gdbinit it is there in every session. How many elements are shown is gdb's own "set print elements".
"""

import struct

import gdb
import gdb.printing

NAMES = ["none", "float", "double", "half", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "bool", "string"]
FORMATS = {"float": "f", "double": "d", "half": "e", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H",
           "uint32": "I", "uint64": "Q", "bool": "?"}


def extents_text(e):
    rank = int(e["rank_"]) & 0xFFFFFFFF
    sizes = []
    for i in range(min(rank, 8)):
        size, name = int(e["dims_"][i]["size"]), e["dims_"][i]["name"].string()
        sizes.append(str(size) if size >= 0 else name or "?")
    return "[" + ", ".join(sizes) + "]"


def element_name(e):
    number = int(e)
    return NAMES[number] if number < len(NAMES) else "?"


def type_text(t):
    return element_name(t["element"]) + extents_text(t["extents"])


class ExtentsPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return extents_text(self.value)


class TypePrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return type_text(self.value)


class ArrayPrinter:
    """any_array, array<T, S> and const_array<T, S>: the type, and the elements in row-major order."""

    def __init__(self, value):
        fields = [f.name for f in value.type.fields()]
        while "data_" not in fields:  # array<T, S> has an any_array, or is one
            value = value[value.type.fields()[0]]
            fields = [f.name for f in value.type.fields()]
        self.value = value

    def elements(self):
        count, name = int(self.value["elements_"]), element_name(self.value["type_"]["element"])
        limit = gdb.parameter("print elements") or count
        shown, at = min(count, limit), int(self.value["data_"])
        if name == "string":
            texts = self.value["data_"].cast(gdb.lookup_type("std::string").pointer())
            return [str(texts[i]) for i in range(shown)]
        code = FORMATS.get(name, "H")
        width = struct.calcsize("<" + code)
        memory = bytes(gdb.selected_inferior().read_memory(at, shown * width)) if shown else b""
        values = struct.unpack("<%d%s" % (shown, code), memory)
        if name == "bfloat16":
            values = [struct.unpack("<f", struct.pack("<I", v << 16))[0] for v in values]
        if name in ("bool",):
            return ["true" if v else "false" for v in values]
        return ["%.9g" % v if isinstance(v, float) and name != "double" else repr(v) for v in values]

    def to_string(self):
        if element_name(self.value["type_"]["element"]) == "none":
            return "nothing (empty, or moved from)"
        count = int(self.value["elements_"])
        shown = self.elements()
        return type_text(self.value["type_"]) + " {" + ", ".join(shown) + ("..." if len(shown) < count else "") + "}"


class TensorPrinter:
    """any_tensor, tensor<T, S>, variables: the node's name, its type, and its op."""

    def __init__(self, value):
        while "index_" not in [f.name for f in value.type.fields()]:
            value = value[value.type.fields()[0]]
        self.value = value

    def to_string(self):
        node = self.value["handle_"]["node_"]
        if int(node) == 0:
            return "no tensor"
        index = int(self.value["index_"])
        outputs = node["outputs"]["_M_impl"]["_M_start"]  # of libstdc++
        name = node["name"]["_M_dataplus"]["_M_p"].string()
        return "%s%s: %s (%s)" % (name, ":%d" % index if index else "", type_text(outputs[index]), node["op"]["name"].string())


class SmallFloatPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        base = self.value[self.value.type.fields()[0]]
        bits = int(base["bits_"])
        if "bfloat16" in str(self.value.type.strip_typedefs()):
            return repr(struct.unpack("<f", struct.pack("<I", bits << 16))[0])
        return repr(struct.unpack("<e", struct.pack("<H", bits))[0])


def build():
    printers = gdb.printing.RegexpCollectionPrettyPrinter("tenon")
    printers.add_printer("extents", "^tenon::extents$", ExtentsPrinter)
    printers.add_printer("tensor_type", "^tenon::tensor_type$", TypePrinter)
    printers.add_printer("array", r"^tenon::(any_array|array<.*>|const_array<.*>)$", ArrayPrinter)
    printers.add_printer("tensor", r"^tenon::(any_tensor|tensor<.*>|variable_tensor<.*>|variable_handle<.*>)$", TensorPrinter)
    printers.add_printer("half", "^tenon::(half|bfloat16)$", SmallFloatPrinter)
    return printers


gdb.printing.register_pretty_printer(gdb.current_objfile(), build(), replace=True)
