"""Arrays: there and back, without a copy."""

import array
import copy
import gc
import pickle
import subprocess
import sys
import unittest

import numpy as np
import tenon
from support import imported, needs

numbers = ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
ours = {"float32": "float", "float64": "double", "float16": "half"}


class Memory(unittest.TestCase):
    def test_numpy_sees_the_same_memory_both_ways(self):
        for name in numbers:
            with self.subTest(name):
                x = np.array([[0, 1, 1], [1, 0, 1]], dtype=name)
                a = tenon.Array(x)
                self.assertEqual((a.dtype, a.shape, a.ndim, a.size, a.nbytes), (ours.get(name, name), (2, 3), 2, 6, x.nbytes))
                back = np.from_dlpack(a)
                self.assertEqual(back.dtype, x.dtype)
                self.assertTrue(np.shares_memory(back, x))
                back[0, 0] = 1
                self.assertEqual(x[0, 0], 1)
                self.assertTrue(np.shares_memory(a.numpy(), x))
                self.assertTrue(np.shares_memory(np.asarray(a), x))
                self.assertFalse(np.shares_memory(a.copy().numpy(), x))

    def test_memory_lives_as_long_as_anybody_sees_it(self):
        x = np.arange(6, dtype=np.float32)
        kept = sys.getrefcount(x)
        a = tenon.Array(x)
        self.assertGreater(sys.getrefcount(x), kept)
        view = np.from_dlpack(a)
        row = tenon.Array(x.reshape(2, 3))[1]
        del a
        gc.collect()
        self.assertEqual(view.tolist(), [0, 1, 2, 3, 4, 5])
        self.assertEqual(row.tolist(), [3, 4, 5])
        del view, row
        gc.collect()
        self.assertEqual(sys.getrefcount(x), kept)

    def test_a_capsule_that_nobody_takes_gives_back_what_it_holds(self):
        x = np.arange(3, dtype=np.float32)
        kept = sys.getrefcount(x)
        for version in (None, (1, 0)):
            capsule = tenon.Array(x).__dlpack__(max_version=version)
            self.assertGreater(sys.getrefcount(x), kept)
            del capsule
            self.assertEqual(sys.getrefcount(x), kept)

    def test_what_may_not_be_written_or_lies_otherwise_is_copied(self):
        x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
        still = x.copy()
        still.flags.writeable = False
        unaligned = np.frombuffer(bytearray(9), dtype=np.uint8)[1:].view(np.float32)
        for given in (x.T, x[:, ::-1], x[::2, 1:, ::3], np.broadcast_to(x[0, 0], (5, 4)), np.asfortranarray(x), still,
                      unaligned, memoryview(bytes(still))):
            a = tenon.Array(given)
            self.assertEqual(a.numpy().tolist(), np.asarray(given).tolist())
            self.assertFalse(np.shares_memory(a.numpy(), x))
            self.assertFalse(np.shares_memory(a.numpy(), still))
            a.numpy()[...] = 7  # changes nobody else's
        self.assertEqual(still.tolist(), np.arange(24).reshape(2, 3, 4).tolist())

    def test_without_elements_and_without_dimensions(self):
        self.assertEqual(np.from_dlpack(tenon.Array(np.zeros((2, 0, 3), np.float32))).shape, (2, 0, 3))
        self.assertEqual(tenon.Array(np.zeros((0, 3), np.int64).T).shape, (3, 0))
        one = tenon.Array(np.array(2.5, np.float32))
        self.assertEqual((one.shape, one.item(), float(one), int(one), bool(one), f"{one:.2f}"), ((), 2.5, 2.5, 2, True, "2.50"))

    def test_buffers(self):
        for given, dtype in ((array.array("d", [1, 2]), "double"), (bytearray(b"ab"), "uint8"), (array.array("q", [1, 2]), "int64"),
                             (memoryview(array.array("h", [1, 2])), "int16")):
            a = tenon.Array(given)
            self.assertEqual(a.dtype, dtype)
            self.assertEqual(a.tolist(), list(given))
        own = array.array("f", [1, 2])
        tenon.Array(own).numpy()[0] = 5
        self.assertEqual(own[0], 5)
        with self.assertRaisesRegex(NotImplementedError, 'a buffer of elements "Zf"'):
            tenon.Array(memoryview(np.zeros(2, np.complex64)))

    def test_what_dlpack_asks_for(self):
        a = tenon.Array([[1.0, 2.0]])
        self.assertEqual(a.__dlpack_device__(), (1, 0))
        self.assertIn('"dltensor"', repr(a.__dlpack__()))
        self.assertIn('"dltensor_versioned"', repr(a.__dlpack__(max_version=(1, 1))))
        np_copy = np.from_dlpack(a, copy=True)
        self.assertFalse(np.shares_memory(np_copy, a.numpy()))
        for bad in ({"stream": 1}, {"dl_device": (2, 0)}):
            with self.assertRaises(BufferError):
                a.__dlpack__(**bad)
        with self.assertRaisesRegex(BufferError, r"DLPack has no texts; tolist\(\) and numpy\(\) give those of string\[1\]"):
            tenon.Array(["a"]).__dlpack__()

    @needs("torch")
    def test_torch(self):
        torch = imported("torch")
        t = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3)
        a = tenon.Array(t)
        self.assertEqual((a.dtype, a.shape), ("bfloat16", (2, 3)))
        torch.from_dlpack(a)[0, 0] = 5
        self.assertEqual(t[0, 0].item(), 5)
        self.assertEqual(tenon.Array(t.T).tolist(), t.T.tolist())

    @needs("jax")
    def test_jax(self):
        jax = imported("jax")
        import jax.numpy as jnp

        j = jnp.arange(6, dtype=jnp.bfloat16).reshape(2, 3)  # nobody may write to it
        a = tenon.Array(j)
        self.assertEqual((a.dtype, a.shape, a.tolist()), ("bfloat16", (2, 3), [[0, 1, 2], [3, 4, 5]]))
        self.assertEqual(a.numpy().dtype, np.float32)
        self.assertEqual(jax.dlpack.from_dlpack(tenon.Array(np.arange(4, dtype=np.float32))).tolist(), [0, 1, 2, 3])

    @unittest.skipIf(np.__version__ < "2", "NumPy 1 asks without copy=")
    def test_what_is_to_be_no_copy_is_none_or_refused(self):
        a = tenon.Array(np.ones(3, np.float32))
        for dtype in (None, np.float32):
            self.assertTrue(np.shares_memory(np.asarray(a, dtype=dtype, copy=False), np.from_dlpack(a)))
        for given, dtype in ((a, np.float64), (tenon.Array([1.5], "bfloat16"), None), (tenon.Array(["a"]), None)):
            with self.assertRaisesRegex(ValueError, "by a copy alone"):
                np.asarray(given, dtype=dtype, copy=False)

    @needs("ml_dtypes")
    def test_bfloat16_of_numpy(self):
        import ml_dtypes

        x = np.array([[1, 2.5], [3, 4]], dtype=ml_dtypes.bfloat16)
        a = tenon.Array(x)
        self.assertEqual((a.dtype, a.tolist()), ("bfloat16", [[1, 2.5], [3, 4]]))
        x[0, 0] = 7
        self.assertEqual(a[0].tolist(), [7, 2.5])
        self.assertEqual(tenon.Array(x.T).tolist(), [[7, 3], [2.5, 4]])


class Values(unittest.TestCase):
    def test_lists_have_the_type_of_what_is_in_them(self):
        for values, dtype, shape in (([1, 2], "int64", (2,)), ([[1, 2.5]], "float", (1, 2)), ([True, False], "bool", (2,)),
                                     ([True, 2], "int64", (2,)), ("text", "string", ()), ([[], []], "float", (2, 0)),
                                     ([np.float32(1.5), 2], "float", (2,)), ([np.arange(2), np.arange(2)], "int64", (2, 2)),
                                     (np.int16(4), "int64", ())):
            a = tenon.Array(values)
            self.assertEqual((a.dtype, a.shape), (dtype, shape))
            self.assertEqual(np.asarray(a.tolist()).tolist(), np.asarray(values).tolist())
        self.assertEqual(tenon.Array([1, 2], "half").dtype, "half")
        self.assertEqual(tenon.Array([2**64 - 1], "uint64").tolist(), [2**64 - 1])
        self.assertEqual(tenon.Array([-(2**63)]).tolist(), [-(2**63)])
        self.assertEqual(tenon.Array([1, 0], "bool").tolist(), [True, False])

    def test_texts(self):
        a = tenon.Array([["größer", b"\xff\x00"], ["", "c"]])
        self.assertEqual((a.dtype, a.shape), ("string", (2, 2)))
        self.assertEqual(a.tolist(as_bytes=True), [["größer".encode(), b"\xff\x00"], [b"", b"c"]])
        self.assertEqual(a.tolist(), [["größer", "\udcff\x00"], ["", "c"]])
        self.assertEqual(tenon.Array(a.tolist()).tolist(as_bytes=True), a.tolist(as_bytes=True))
        self.assertEqual(a.numpy().dtype, object)
        self.assertEqual(a.numpy().tolist(), a.tolist())
        self.assertEqual(tenon.Array(np.array(["ab", "c"])).tolist(), ["ab", "c"])
        self.assertEqual(repr(tenon.Array(["größer", b"\xff"])), 'tenon.Array string[2] ["größer", "\\xff"]')
        self.assertEqual(tenon.Array(np.array(["ab", "c"], dtype=object)).tolist(), ["ab", "c"])

    def test_what_is_refused(self):
        for values, dtype, kind, says in (
            ([[1, 2], [3]], None, ValueError, "Array: its lists are ragged: along dimension 1 one has 1 values, another 2"),
            ([1, [2]], None, ValueError, "ragged"),
            ([[1], 2], None, ValueError, "ragged: a value stands where others have a list"),
            ([[], [1]], None, ValueError, "ragged"),
            ([300], "uint8", ValueError, "300"),
            ([1.5], "int32", ValueError, "1.5"),
            ([2**64], None, ValueError, "18446744073709551616 has more than 64 bits"),
            (["a", 1], None, ValueError, "a number stands where texts"),
            ([object()], None, TypeError, "Array: object is no array: give a tenon.Array"),
            (None, None, TypeError, "NoneType is no array"),
            ([1], "complex", ValueError, '"complex" is no element type; there are float, double'),
            (np.zeros(2), "float", ValueError, r"the values are double\[2\], not of type float"),
            ([[[[[[[[[1]]]]]]]]], None, ValueError, "more than 8 deep"),
            (np.zeros(2, ">f4"), None, NotImplementedError, r"of the other byte order .*newbyteorder"),
            (np.array(["2024-02-29"], "datetime64[D]"), None, NotImplementedError, r"elements of type datetime64\[D\]: .* astype"),
        ):
            with self.subTest(says), self.assertRaisesRegex(kind, says):
                tenon.Array(values, dtype)
        a = tenon.Array([[1, 2], [3, 4]])
        self.assertEqual([row.tolist() for row in a], [[1, 2], [3, 4]])
        self.assertEqual(a[-1].tolist(), [3, 4])
        for what, kind, says in ((lambda: a[2], IndexError, r"no row 2 of int64\[2, 2\]"), (lambda: a.item(), ValueError, "4 elements, not one"),
                                 (lambda: len(tenon.Array(1)), TypeError, "no length"),
                                 (lambda: a[0:1], TypeError, r"of other parts ask NumPy: a.numpy\(\)")):
            with self.assertRaisesRegex(kind, says):
                what()

    def test_lists_that_change_while_they_are_read(self):
        grows = [1, 2]

        class Leaf:
            def tolist(self):
                grows.extend(range(100_000))
                return 3

        grows.append(Leaf())
        with self.assertRaisesRegex(ValueError, "its lists have changed while they were read"):
            tenon.Array(grows)

        class Other:
            def __init__(self):
                self.asked = 0

            def tolist(self):
                self.asked += 1
                return [1] * (1 if self.asked < 2 else 100_000)

        self.assertEqual(tenon.Array([Other(), Other()]).tolist(), [[1], [1]])

    def test_types_of_numpy_as_dtype_and_comparing_as_numpy(self):
        for dtype, name in ((np.float16, "half"), (np.dtype("int8"), "int8"), (float, "double"), (bool, "bool"), ("float32", "float")):
            self.assertEqual(tenon.Array([1, 0], dtype).dtype, name)
        a = tenon.Array([1, 2, 3])
        self.assertEqual((a == tenon.Array([1, 0, 3])).tolist(), [True, False, True])
        self.assertEqual((a == np.array([1, 0, 3])).tolist(), [True, False, True])
        self.assertEqual((np.array([1, 0, 3]) != a).tolist(), [False, True, False])
        self.assertEqual((a != 2).tolist(), [True, False, True])
        with self.assertRaises(TypeError):
            hash(a)

    def test_pickled_and_copied(self):
        arrays = [tenon.Array(np.arange(6).astype(t).reshape(2, 3)) for t in numbers]
        arrays += [tenon.Array(["", "\u00e9", b"\xff\x00".decode("utf-8", "surrogateescape")]), tenon.Array([[], []]),
                   tenon.Array(2.5), tenon.Array([1.5, -2], "bfloat16")]
        for a in arrays:
            for other in [pickle.loads(pickle.dumps(a, protocol=p)) for p in range(2, pickle.HIGHEST_PROTOCOL + 1)] + [
                    copy.copy(a), copy.deepcopy(a), copy.deepcopy({"in": [a]})["in"][0]]:
                self.assertEqual((other.dtype, other.shape, other.tolist()), (a.dtype, a.shape, a.tolist()))
        a = tenon.Array(np.zeros(3))
        copy.deepcopy(a).numpy()[0] = 1
        self.assertEqual(a.tolist(), [0, 0, 0])
        for state in [("float", (2,), b"123"), ("float", (-1,), b""), ("string", (1,), b"1"), ("float", (1 << 62, 8), b""),
                      ("none", (), b"")]:
            with self.assertRaises(tenon.InvalidArgumentError):
                tenon.Array.__new__(tenon.Array).__setstate__(state)

    def test_shown(self):
        self.assertEqual(repr(tenon.Array([[1, 2.5]])), "tenon.Array float[1, 2]\n[[1  , 2.5]]")
        self.assertEqual(f"{tenon.Array(2)}", repr(tenon.Array(2)))


class Ending(unittest.TestCase):
    def test_arrays_that_are_left_when_the_interpreter_ends(self):
        left = "import numpy as np, tenon\na = tenon.Array(np.arange(3.0))\nb = np.from_dlpack(a)\nc = a.__dlpack__()\nprint('ended')"
        ran = subprocess.run([sys.executable, "-c", left], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "ended\n", ""))


if __name__ == "__main__":
    unittest.main()
