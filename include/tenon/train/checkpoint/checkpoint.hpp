#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <vector>

#include <tenon/io/safetensors/safetensors.hpp>
#include <tenon/runtime/session/session.hpp>

/// Variables in files: safetensors, whose names are the variables'.
///
///     tn::save_variables(sess, "weights.safetensors");
///     tn::load_variables(sess, "weights.safetensors");    // in a later program with the same model
///
/// Saved and loaded are the variables of the collection global_variables: weights, what optimisers keep beside them,
/// and the global step; not those that were made with collected = false. Of a variable that replicated training keeps
/// on several devices (train/replicated/mirrored.hpp) one copy is saved, and all are loaded.

namespace tenon {

struct save_options {
    /// Which variables; empty: all of global_variables.
    std::vector<any_tensor> variables{};
    /// Texts that go with them; "format" is set to "tenon" unless it is given.
    safetensors_metadata metadata{};
    /// True: all is done but for putting the file in its place. A program that will save after hours of training learns
    /// before them that it can.
    bool rehearsal = false;
};

/// Writes the values that variables have in a session, all of one step. The file appears whole or not at all. Throws
/// failed_precondition_error naming a variable that has no value, and what write_safetensors throws.
void save_variables(session& s, const std::string& path, const save_options& o = {});
/// What it would write, in memory; `name` stands in messages.
safetensors_file copy_variables(session& s, const std::string& name, const save_options& o = {});

struct load_options {
    /// Which variables; empty: all of global_variables.
    std::vector<any_tensor> variables{};
    /// True: loads what there is and fits, and reports the rest. False: all or nothing.
    bool partial = false;
    /// What the names in the graph begin with and those in the file do not: "member_2/", where a name_scope is around the model that
    /// was none when it was saved. Variables that are called otherwise stay as they are, where none are given.
    std::string prefix{};
};

struct load_report {
    std::vector<std::string> loaded;     ///< variables that got their values
    std::vector<std::string> missing;    ///< variables that the file does not have
    std::vector<std::string> mismatched; ///< "w: float[784, 300] here, float[784, 100] in the file"
    std::vector<std::string> unused;     ///< tensors of the file that no variable asked for
};

/// Values of variables: a safetensors file that was read, which must outlive it, or the path of one.
// A class, so that load_variables is one function: a compiler that refuses a call has little to say.
class saved_values {
public:
    saved_values(const safetensors_file& file) : file_(&file) {} // NOLINT
    template <std::convertible_to<std::string> Path>
    saved_values(const Path& path) : read_(read_safetensors(path)), file_(&*read_) {} // NOLINT
    saved_values(saved_values&&) = delete;
    ~saved_values() = default;
    const safetensors_file& file() const noexcept { return *file_; }

private:
    std::optional<safetensors_file> read_;
    const safetensors_file* file_;
};

/// Gives variables of a session the values they have in a file: they count as initialised then. Not partial, it changes
/// no variable and throws not_found_error that lists what is missing, or invalid_argument_error that lists what has
/// another type or other sizes. Throws what read_safetensors throws.
load_report load_variables(session& s, const saved_values& from, const load_options& o = {});

namespace detail {
/// What load_variables does but for its step: the file is read and held against the variables; none has changed.
struct prepared_load {
    load_report report;
    std::vector<fed_value> feeds;
    std::vector<operation> assignments;
};
prepared_load prepare_load(session& s, const safetensors_file& file, const load_options& o);

/// The first few of them.
std::string joined(const std::vector<std::string>& names, const char* between);
/// Those that were given, or all that the graph has, each of them a variable; `what` is for messages.
std::vector<any_tensor> checkpoint_variables(const graph& g, const std::vector<any_tensor>& given, const char* what);
/// The variables that a source of these names has as they are here; the report says what of the others, or, where it is not
/// partial, an error does.
std::vector<any_tensor> match_variables(const char* what, const std::string& source,
                                        const std::vector<any_tensor>& variables,
                                        function_ref<const tensor_type*(const std::string&)> type_of,
                                        const std::vector<std::string>& names, bool partial, load_report& report);
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/checkpoint/checkpoint.ipp>
#endif
