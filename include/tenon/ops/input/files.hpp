#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <tenon/ops/elementwise/constant.hpp>

/// Files, as ops see them: where the op is placed, below the folder that its task allows (server_options::files), which
/// relative paths begin at. What checkpoints are made of (train/checkpoint/saver.hpp). What a path may not be is a
/// permission_denied_error; what else goes wrong is what the file system says, as an error that names the file.

namespace tenon {

namespace detail {
// Of each: it sees what is there when it runs, on the host.
struct file_op {
    static constexpr op_flags flags = op_flags::stateful;
    static constexpr element_types gpu_types = no_elements;
    using attributes = no_attributes;
};
constexpr bool is_path(type_list in, int i) {
    return i < in.size() && in[i].element == element_type::string && in[i].extents.rank() == 0;
}
} // namespace detail

/// in: a path. All that the file holds, as a text.
struct read_file_op : detail::file_op {
    static constexpr const char* name = "read_file";
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (!detail::is_path(in, 0)) return fault::path_must_be_text;
        return inferred(element_type::string, {});
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(files, read_file);

/// in: a path; who claims it, a text; for how many seconds, double: a negative number gives it back. Who has the file of this path
/// while he writes others, which is a lease (resources/lease.hpp) by the clock of this task, and a lock that other processes see: it
/// ends with this process. One that `renews` goes on with what is still held, and else claims nothing: somebody may have had it
/// between. out: who has it then, "" nobody; where it is another process, what its file says.
struct claim_file_op : detail::file_op {
    static constexpr const char* name = "claim_file";
    struct attributes {
        bool renews = false;
    };
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 3) return fault::expects_more_operands;
        if (!detail::is_path(in, 0) || !detail::is_path(in, 1)) return fault::path_must_be_text;
        if (in[2].element != element_type::float64) return fault::element_type_not_supported;
        return in[2].extents.rank() == 0 ? inferred(element_type::string, {}) : inferred(fault::rank_too_high);
    }
    static void of_before(const graph&, node& n) {
        if (!n.attributes.find("renews")) n.attributes.set("renews", std::int64_t{0});
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(files, claim_file);

/// in: a path; a text; where it is given, the path of a file and who claimed that. A file that holds the text: it appears whole or
/// not at all, in place of what was there. Missing folders are made. aborted_error where the claim has run out.
struct write_file_op : detail::file_op {
    static constexpr const char* name = "write_file";
    static constexpr int outputs(const attributes&, int) { return 0; }
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 2 && in.size() != 4) return fault::expects_more_operands;
        for (int i = 0; i < in.size(); ++i)
            if (!detail::is_path(in, i)) return fault::path_must_be_text;
        return fault::none;
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(files, write_file);

/// in: paths [n]; a claim as of write_file. Removes these files, one after another; one that is not there is no error.
struct remove_files_op : detail::file_op {
    static constexpr const char* name = "remove_files";
    static constexpr int outputs(const attributes&, int) { return 0; }
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 1 && in.size() != 3) return fault::expects_more_operands;
        for (int i = 1; i < in.size(); ++i)
            if (!detail::is_path(in, i)) return fault::path_must_be_text;
        return in[0].element == element_type::string && in[0].extents.rank() == 1 ? fault::none
                                                                                  : fault::path_must_be_text;
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(files, remove_files);

/// in: a folder. The names of the files in it [n], sorted; none where there is no such folder.
struct list_files_op : detail::file_op {
    static constexpr const char* name = "list_files";
    static constexpr op_flags flags = op_flags::stateful | op_flags::waits; // how many there are is known late
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (!detail::is_path(in, 0)) return fault::path_must_be_text;
        return inferred(element_type::string, extents(dynamic_extent));
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(files, list_files);

/// in: a path; a tensor for each name. A safetensors file of them, with that name each: it appears whole or not at all.
/// out: int64 [2], how many bytes it has, and their hash (XXH64).
struct save_shard_op : detail::file_op {
    static constexpr const char* name = "save_shard";
    struct attributes {
        std::shared_ptr<const any_array> names; ///< string [n]
    };
    static inferred infer(const attributes& a, type_list in, int) {
        if (!a.names || a.names->element() != element_type::string || in.size() != a.names->elements() + 1)
            return fault::names_differ;
        if (!detail::is_path(in, 0)) return fault::path_must_be_text;
        return inferred(element_type::int64, extents(2));
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(files, save_shard);

/// in: paths of files, string [n]; of each a tensor that is in it, string [n]; and which rows of that are which rows of an
/// output, int64 [n, 6]: the output, how many bytes the file has and their hash, the first of the rows in the file's tensor,
/// how many there are, and the first in the output. What has no dimensions is one row. All rows of an output come from
/// somewhere, once. Of those that nobody reads, the files are not looked at. A file that is not as it should be is a
/// data_loss_error.
struct restore_shard_op : detail::file_op {
    static constexpr const char* name = "restore_shard";
    struct attributes {
        std::vector<tensor_type> types; ///< of the outputs, whose sizes are numbers
    };
    /// Of the third.
    struct piece {
        std::int64_t output, bytes, hash, from_row, rows, to_row;
    };
    static constexpr std::int64_t columns = 6;
    static int outputs(const attributes& a, int) { return static_cast<int>(a.types.size()); }
    static inferred infer(const attributes& a, type_list in, int output) {
        if (in.size() != 3) return fault::expects_more_operands;
        if (in[0].element != element_type::string || in[1].element != element_type::string ||
            in[0].extents.rank() != 1 || in[1].extents.rank() != 1)
            return fault::path_must_be_text;
        const extent n = in[0].extents[0];
        if (in[2].element != element_type::int64) return fault::element_type_must_be_integer;
        if (const fault f = equal_shapes(in[1].extents, extents{n}).what; f != fault::none) return f;
        if (const fault f = equal_shapes(in[2].extents, extents{n, extent(columns)}).what; f != fault::none) return f;
        const tensor_type& is = a.types[static_cast<std::size_t>(output)];
        if (!is.extents.is_static()) return fault::size_must_be_known;
        return is.element == element_type::string ? inferred(fault::element_type_not_supported) : inferred(is);
    }
    /// Before there were pieces: in: paths, and what each file has in bytes and their hash, int64 [n, 2]; `names` was an attribute,
    /// and each was an output, all of it.
    static void of_before(const graph& to, node& n);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(files, restore_shard);

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_files)

#include <tenon/ops/input/files.inl>

namespace tenon {

TENON_KERNEL(read_file, detail::read_file_kernel);
TENON_KERNEL(claim_file, detail::claim_file_kernel);
TENON_KERNEL(write_file, detail::write_file_kernel);
TENON_KERNEL(remove_files, detail::remove_files_kernel);
TENON_KERNEL(list_files, detail::list_files_kernel);
TENON_KERNEL(save_shard, detail::save_shard_kernel);
TENON_KERNEL(restore_shard, detail::restore_shard_kernel);

} // namespace tenon

#endif
