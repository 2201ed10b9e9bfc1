#pragma once

#include <exception>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <tenon/data/from.hpp>
#include <tenon/io/records/tar.hpp>

/// Samples in tar archives, as WebDataset has them: consecutive files whose names are the same up to the first dot of the last part are
/// one sample, "train/0017.jpg" and "train/0017.cls", say. A file whose name has no dot there, or begins with it ("._0017.jpg", as macOS
/// adds), is of no sample.
///
///     const auto samples = tn::data::tar<"jpg", "cls">(tn::matching_files("shards/train-*.tar"));
///     // of texts: the key "train/0017", the bytes of each file
///     const auto labels = samples.map_host([](const std::string& key, const std::string& jpg, const std::string& cls) { .. });

namespace tenon::data {

struct tar_options {
    tar_limits limits{};
    bool skip_incomplete = false; ///< samples without one of the files are left out; else they are a not_found_error
};

} // namespace tenon::data

namespace tenon::detail {

// One going through archives, sample by sample.
class tar_samples {
public:
    tar_samples(std::vector<std::string> files, std::vector<std::string> extensions, data::tar_options o) :
        files_(std::move(files)), extensions_(std::move(extensions)), options_(std::move(o)) {}
    /// The key, and the bytes of the file with each of the extensions.
    bool next(std::vector<std::string>& sample);

private:
    bool peek();

    std::vector<std::string> files_, extensions_;
    data::tar_options options_;
    std::size_t file_ = 0; // the next
    std::optional<tar_reader> reader_;
    std::optional<tar_entry> ahead_;
    std::exception_ptr failure_;
};

template <class, std::size_t> using text_for = std::string;

} // namespace tenon::detail

namespace tenon::data {

/// The samples of archives, one after another: each its key, then the bytes of its file with each of these extensions, all that follows
/// the first dot, in whichever case. Files with others are left out; a sample that has one twice is an invalid_argument_error, and the next
/// follows. What tar_reader throws comes behind the samples whose files are all there.
template <fixed_string... Extensions> auto tar(const name_list& files, const tar_options& o = {}) {
    static_assert(sizeof...(Extensions) > 0,
                  "tenon::data::tar: name the extensions that make a sample: tar<\"jpg\", \"cls\">(files)");
    const std::vector<std::string> extensions{std::string(Extensions.text)...};
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        using element = std::tuple<std::string, tenon::detail::text_for<void, I>...>;
        return generator([files = files.all(), extensions, o] {
            return [from = std::make_shared<tenon::detail::tar_samples>(files, extensions,
                                                                        o)]() mutable -> std::optional<element> {
                std::vector<std::string> s;
                if (!from->next(s)) return std::nullopt;
                return element(std::move(s[0]), std::move(s[I + 1])...);
            };
        });
    }
    (std::make_index_sequence<sizeof...(Extensions)>());
}

} // namespace tenon::data

#if TENON_HEADER_ONLY
#include <tenon/data/tar.ipp>
#endif
