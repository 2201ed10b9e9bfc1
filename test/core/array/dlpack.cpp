#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include <messages.hpp>
#include <tenon/core/array/array.hpp>
#include <tenon/core/array/dlpack.hpp>

namespace tn = tenon;

namespace {

// As dlpack.h has it, declared anew: what another library's header calls things.
struct DLDevice {
    int device_type;
    int32_t device_id;
};
struct DLDataType {
    uint8_t code, bits;
    uint16_t lanes;
};
struct DLTensor {
    void* data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};
struct DLManagedTensor {
    DLTensor dl_tensor;
    void* manager_ctx;
    void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void* manager_ctx;
    void (*deleter)(DLManagedTensorVersioned*);
    uint64_t flags;
    DLTensor dl_tensor;
};

// A tensor of another library: memory of its own, and a count of how often it was ended.
template <class M> struct theirs {
    std::vector<float> memory{0, 1, 2, 3, 4, 5, 6};
    std::int64_t sizes[2]{2, 3}, strides[2]{3, 1};
    int ended = 0;
    M managed{};
    theirs() {
        managed.dl_tensor = {memory.data(), {1, 0}, 2, {2, 32, 1}, sizes, strides, 4};
        managed.manager_ctx = this;
        managed.deleter = [](M* m) { ++static_cast<theirs*>(m->manager_ctx)->ended; };
    }
};

} // namespace

TEST_CASE("an array goes out without a copy, and its memory lives until the structure is ended") {
    tn::array<float> a{{1, 2, 3}, {4, 5, 6}};
    const float* const memory = a.data();
    tn::any_array kept = a.untyped().share();
    auto* const m = tn::to_dlpack<DLManagedTensor>(std::move(a).untyped());
    CHECK_FALSE(kept.is_unique());
    CHECK(m->dl_tensor.data == memory);
    CHECK(m->dl_tensor.device.device_type == 1);
    CHECK(m->dl_tensor.ndim == 2);
    CHECK((m->dl_tensor.dtype.code == 2 && m->dl_tensor.dtype.bits == 32 && m->dl_tensor.dtype.lanes == 1));
    CHECK((m->dl_tensor.shape[0] == 2 && m->dl_tensor.shape[1] == 3));
    CHECK((m->dl_tensor.strides[0] == 3 && m->dl_tensor.strides[1] == 1));
    // And back, to the same memory.
    {
        const tn::any_array back = tn::from_dlpack(m);
        CHECK(back.data() == memory);
        CHECK(back == kept);
    }
    CHECK(kept.is_unique());
    auto* const v = tn::to_dlpack<DLManagedTensorVersioned>(kept.share());
    CHECK((v->major == 1 && v->flags == 0));
    CHECK(v->dl_tensor.data == memory);
    v->deleter(v);
    CHECK(kept.is_unique());
    for (const auto e : {tn::element_type::int8, tn::element_type::uint64, tn::element_type::float16,
                         tn::element_type::bfloat16, tn::element_type::boolean}) {
        const tn::any_array back = tn::from_dlpack(tn::to_dlpack(tn::any_array::zeros(e, {2, 0, 5})));
        CHECK(back.type() == tn::tensor_type{e, {2, 0, 5}});
    }
    CHECK(message_of<tn::unimplemented_error>([] { tn::to_dlpack(tn::any_array(tn::element_type::string, {1})); }) ==
          "to_dlpack: DLPack has no elements of type string");
    // Who is given a view is given a copy: nobody else keeps its memory.
    float own[2]{1, 2};
    auto* const copied = tn::to_dlpack(tn::any_array::view(own, tn::element_type::float32, {2}));
    CHECK(copied->dl_tensor.data != own);
    copied->deleter(copied);
}

TEST_CASE("another library's tensor is an array of its memory, and is ended with the last owner") {
    theirs<DLManagedTensor> t;
    {
        const tn::any_array a = tn::from_dlpack(&t.managed);
        CHECK(a == tn::array<float>{{1, 2, 3}, {4, 5, 6}}.untyped());
        CHECK(a.data() == t.memory.data() + 1);
        const tn::any_array shared = a.share();
        CHECK(t.ended == 0);
    }
    CHECK(t.ended == 1);
    theirs<DLManagedTensorVersioned> v;
    v.managed.major = 1;
    v.managed.flags = 1; // nobody may write: a copy
    CHECK(tn::from_dlpack(&v.managed).data() != v.memory.data() + 1);
    CHECK(v.ended == 1);
}

TEST_CASE("what an array cannot be is refused in words and stays the caller's") {
    theirs<DLManagedTensor> t;
    const auto said = [&] { return message_of<tn::error>([&] { (void)tn::from_dlpack(&t.managed); }); };
    t.strides[0] = 1, t.strides[1] = 2;
    CHECK(said() == "from_dlpack: the strides of float[2, 3] are not those of a dense array by rows (2 elements along "
                    "dimension 1, not "
                    "1); copy it there first, as .contiguous() does in PyTorch");
    t = {};
    t.managed.dl_tensor.shape = t.sizes, t.managed.dl_tensor.strides = nullptr,
    t.managed.dl_tensor.data = t.memory.data();
    t.managed.dl_tensor.device.device_type = 2;
    CHECK(contains(said(), "its memory is of a device of DLPack's type 2 (CUDA); arrays lie in the host's memory"));
    t.managed.dl_tensor.device.device_type = 1;
    t.managed.dl_tensor.dtype.lanes = 4;
    CHECK(contains(said(), "type code 2 with 32 bits in 4 lanes"));
    t.managed.dl_tensor.dtype.lanes = 1;
    t.managed.dl_tensor.byte_offset = 2;
    CHECK(contains(said(), "not aligned to 4 bytes"));
    t.managed.dl_tensor.ndim = 9;
    CHECK(contains(said(), "9 dimensions; 8 are the most"));
    t.managed.dl_tensor.ndim = 2;
    t.sizes[0] = -1;
    CHECK(contains(said(), "size 0 is -1"));
    CHECK(t.ended == 0);
    theirs<DLManagedTensorVersioned> v;
    v.managed.major = 7;
    CHECK_ERROR(tn::unimplemented_error, "DLPack's version 7.0; 1 is read", tn::from_dlpack(&v.managed));
    CHECK(v.ended == 0);
}

TEST_CASE("where it may be copied, a tensor may lie in any order, and where its elements are not aligned") {
    const tn::array<float> transposed{{1, 3, 5}, {2, 4, 6}}, reversed{{6, 5, 4}, {3, 2, 1}},
        repeated{{1, 1, 1}, {2, 2, 2}};
    const auto copied = [](std::int64_t first, std::int64_t rows, std::int64_t columns,
                           const tn::array<float>& wanted) {
        theirs<DLManagedTensor> t;
        t.strides[0] = rows, t.strides[1] = columns;
        t.managed.dl_tensor.byte_offset = static_cast<std::uint64_t>(4 * first);
        CHECK(tn::from_dlpack_or_copy(&t.managed) == wanted.untyped());
        CHECK(t.ended == 1);
    };
    copied(1, 1, 2, transposed);
    copied(6, -3, -1, reversed);
    copied(1, 1, 0, repeated);
    {
        theirs<DLManagedTensor> t;
        {
            const tn::any_array a = tn::from_dlpack_or_copy(&t.managed);
            CHECK(a.data() == t.memory.data() + 1); // it lies as an array does
            CHECK(t.ended == 0);
        }
        CHECK(t.ended == 1);
    }
    theirs<DLManagedTensor> shifted;
    std::vector<std::byte> bytes(25);
    std::memcpy(bytes.data() + 1, shifted.memory.data() + 1, 24);
    shifted.managed.dl_tensor.data = bytes.data();
    shifted.managed.dl_tensor.byte_offset = 1;
    CHECK(tn::from_dlpack_or_copy(&shifted.managed) == tn::array<float>{{1, 2, 3}, {4, 5, 6}}.untyped());
    theirs<DLManagedTensorVersioned> v;
    v.managed.major = 1;
    v.managed.flags = 1;
    v.strides[0] = 1, v.strides[1] = 2;
    CHECK(tn::from_dlpack_or_copy(&v.managed) == transposed.untyped());
    CHECK(v.ended == 1);
    theirs<DLManagedTensor> on_a_card;
    on_a_card.managed.dl_tensor.device.device_type = 2;
    CHECK_THROWS_AS(tn::from_dlpack_or_copy(&on_a_card.managed), tn::unimplemented_error);
    CHECK(on_a_card.ended == 0);
}
