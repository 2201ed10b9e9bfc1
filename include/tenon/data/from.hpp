#pragma once

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <tenon/data/data_set.hpp>
#include <tenon/data/idx.hpp>
#include <tenon/data/steps/sources.hpp>
#include <tenon/io/numpy/npy.hpp>

/// Where data sets come from.

namespace tenon::detail {

void require_rows(const any_array& rows, const tensor_type& type, const std::string& path);
/// uint8[height, width, channels]
any_array image_of_file(const std::string& path, int channels, std::int64_t largest_pixels);

/// `rows` were read from the file `path`, which was `is`: its size and time.
data_rows rows_from(any_array rows, const std::string& path, const file_mark& is);
/// read(path, its mark): its array.
template <class T, class S, class Read> auto rows_of_file(Read read, const std::string& path) {
    using set = typename data_set_of_operands<operand_list<operand_type<T, S>>>::type;
    file_mark is;
    any_array rows = read(path, is);
    require_rows(rows, {element_type_of<T>, S::extents}, path);
    return set(untyped::data_set(row_elements(rows_from(std::move(rows), path, is), set::types())));
}

} // namespace tenon::detail

namespace tenon::data {

/// One element: these tensors.
template <class... A> auto tensors(const A&... values) {
    constexpr bool good =
        sizeof...(A) > 0 && (!std::is_void_v<typename tenon::detail::named_component<A>::type> && ...);
    static_assert(good, "tenon::data::tensors: it takes numbers, texts, and arrays whose shape their type says");
    if constexpr (good) {
        using operands = tenon::detail::operand_list<typename tenon::detail::named_component<A>::type...>;
        using set = typename tenon::detail::data_set_of_operands<operands>::type;
        std::vector<any_array> element;
        (element.push_back(tenon::detail::array_from(values)), ...);
        return set(untyped::data_set(tenon::detail::one_element(std::move(element), set::types())));
    } else return tenon::ill_shaped{};
}

/// The elements along dimension 0 of the arrays, which is as long in all of them. Their memory is shared, and is not to be written
/// meanwhile; views must outlive the data set.
template <class... A> auto slices(const A&... arrays) {
    constexpr bool good =
        sizeof...(A) > 0 &&
        (!std::is_void_v<typename tenon::detail::row_operand<typename tenon::detail::named_component<A>::type>::type> &&
         ...);
    static_assert(
        good,
        "tenon::data::slices: it takes arrays with a dimension 0 whose shape their type says: a.as<shape<dyn, 784>>()");
    if constexpr (good) {
        using operands = tenon::detail::operand_list<
            typename tenon::detail::row_operand<typename tenon::detail::named_component<A>::type>::type...>;
        using set = typename tenon::detail::data_set_of_operands<operands>::type;
        tenon::detail::data_rows all;
        (all.arrays.push_back(arrays.untyped().share()), ...);
        return set(untyped::data_set(tenon::detail::row_elements(std::move(all), set::types())));
    } else return tenon::ill_shaped{};
}

/// begin, begin + step, .. before end.
inline data_set<std::int64_t> range(std::int64_t begin, std::int64_t end, std::int64_t step = 1) {
    return data_set<std::int64_t>(untyped::data_set(tenon::detail::range_elements(begin, end, step)));
}
inline data_set<std::int64_t> range(std::int64_t end) { return range(0, end); }

struct text_options {
    std::int64_t skip_header_lines = 0; ///< of each file
    compression compressed = compression::automatic;
    std::int64_t largest_line = std::int64_t{1} << 28; ///< bytes; a longer one is a resource_exhausted_error
};
/// The lines of files, one file after another, without their ends.
data_set<std::string> text_lines(const name_list& files, const text_options& o = {});

struct fixed_length_options {
    std::int64_t header_bytes = 0; ///< of each file
    std::int64_t footer_bytes = 0;
    compression compressed = compression::automatic;
};
/// Stretches of so many bytes.
data_set<std::string> fixed_length_records(const name_list& files, std::int64_t record_bytes,
                                           const fixed_length_options& o = {});

struct tf_record_options {
    compression compressed = compression::automatic;
    bool ignore_errors = false; ///< damaged records are left out
    std::int64_t largest_record = std::int64_t{1} << 28;
};
/// The records of TFRecord files.
data_set<std::string> tf_records(const name_list& files, const tf_record_options& o = {});

/// The rows of an array in a file, IDX (MNIST's) or NumPy's: elements of T with sizes S. The file is read once, now. Two zipped are as
/// slices of both. A state is refused where the file was another one, as of other files. invalid_argument_error, naming both types,
/// where the file holds others.
template <Element T, Shape S = shape<>> auto idx(const std::string& path) {
    return tenon::detail::rows_of_file<T, canonical_t<S>>(tenon::detail::read_idx_and_mark, path);
}
template <Element T, Shape S = shape<>> auto npy(const std::string& path) {
    return tenon::detail::rows_of_file<T, canonical_t<S>>(tenon::detail::read_npy_and_mark, path);
}

struct image_folder_options {
    int parallelism = 1;                                 ///< images that are decoded at the same time, as of map_host
    std::int64_t largest_pixels = std::int64_t{1} << 26; ///< of an image: a larger one is a resource_exhausted_error
};
/// The names of the folders in a folder, sorted: of an image folder the classes.
std::vector<std::string> class_names(const std::string& folder);
/// The PNG, JPEG and PNM files of a folder that has a folder for each class, by class and name, and the numbers of their classes.
/// not_found_error where there are none.
data_set<std::string, std::int32_t> image_files(const std::string& folder);
/// The images in files, uint8[height, width, Channels], and what stands beside their names.
template <auto Channels = 3, class Label>
auto decoded_images(const data_set<std::string, Label>& files, const image_folder_options& o = {}) {
    static_assert(Channels == 1 || Channels == 3 || Channels == 4, "tenon::data: an image has 1, 3 or 4 channels");
    using image = array<std::uint8_t, shape<dyn, dyn, Channels>>;
    return files.map_host(
        [pixels = o.largest_pixels](const std::string& file, const Label& label) {
            return std::tuple(image(tenon::detail::image_of_file(file, static_cast<int>(Channels), pixels)), label);
        },
        {.parallelism = o.parallelism});
}

/// The images of such a folder, uint8[height, width, Channels], and their classes. To shuffle them, shuffle image_files(), which are
/// small, and decode what comes: decoded_images(image_files(folder).shuffle(10'000)).
template <auto Channels = 3> auto image_folder(const std::string& folder, const image_folder_options& o = {}) {
    return decoded_images<Channels>(image_files(folder), o);
}

/// The files whose names match a pattern (matching_files), sorted; not_found_error where there are none.
data_set<std::string> files(const std::string& pattern);

/// Random numbers without end: of T even in [0, 1), integers even over all values of T. Of one seed the same; 0: one is drawn.
template <Element T, Shape S = shape<>> auto random(std::uint64_t seed = 0) {
    static_assert(!std::is_same_v<T, std::string> && S::extents.is_static(),
                  "tenon::data::random: give an element type of numbers, and sizes that are numbers");
    using set = typename tenon::detail::data_set_of_operands<
        tenon::detail::operand_list<tenon::detail::operand_type<T, canonical_t<S>>>>::type;
    return set(untyped::data_set(tenon::detail::random_elements({element_type_of<T>, S::extents}, seed)));
}

namespace detail {
template <class X> struct generated { using type = void; };
template <class X> struct generated<std::optional<X>> { using type = X; };
} // namespace detail

template <class X>
    requires(!std::is_invocable_v<X&>)
ill_shaped generator(const X&) {
    static_assert(tenon::detail::is_mistake<X>, "tenon::data::generator: it takes a function, called without arguments "
                                                "each time that the data set is gone through");
    return {};
}
/// What begin() gives, called each time that the data set is gone through: a function that returns std::optional of an element, nothing
/// at the end; or a range, such as a coroutine's (generator.hpp). Elements are as map_host's.
template <class Begin>
    requires std::is_invocable_v<Begin&>
auto generator(Begin begin) {
    using made = std::remove_cvref_t<decltype(begin())>;
    if constexpr (std::is_invocable_v<made&>) {
        using given = typename detail::generated<std::remove_cvref_t<decltype(std::declval<made&>()())>>::type;
        static_assert(!std::is_void_v<given>, "tenon::data::generator: the function that begin() gives returns "
                                              "std::optional of an element");
        using result = tenon::detail::data_set_of_result<given>;
        static_assert(result::good,
                      "tenon::data::generator: an element is a number, a text, an array whose shape its type "
                      "says, a std::tuple of them, or a struct with fields()");
        using set = typename result::type;
        return set(untyped::data_set(tenon::detail::generated_elements(set::types(), [begin]() mutable {
            return tenon::detail::element_generator([next = begin()](std::vector<any_array>& x) mutable {
                auto value = next();
                if (!value) return false;
                x = set::arrays(std::move(*value));
                return true;
            });
        })));
    } else {
        using given = std::remove_cvref_t<decltype(*std::declval<made&>().begin())>;
        using result = tenon::detail::data_set_of_result<given>;
        static_assert(result::good,
                      "tenon::data::generator: an element is a number, a text, an array whose shape its type "
                      "says, a std::tuple of them, or a struct with fields()");
        using set = typename result::type;
        return set(untyped::data_set(tenon::detail::generated_elements(set::types(), [begin]() mutable {
            struct walk {
                explicit walk(made&& r) : range(std::move(r)) {}
                made range;
                std::optional<decltype(range.begin())> at; // none: it was not begun
            };
            return tenon::detail::element_generator(
                [w = std::make_shared<walk>(begin())](std::vector<any_array>& x) mutable {
                    if (w->at) ++*w->at;
                    else w->at.emplace(w->range.begin());
                    if (*w->at == w->range.end()) return false;
                    x = set::arrays(given(std::move(**w->at)));
                    return true;
                });
        })));
    }
}

/// Tuples of the elements of each; it ends with the shortest.
template <class... Set> auto zip(const Set&... sets) {
    constexpr bool good = sizeof...(Set) > 0 && (requires { typename Set::operands; } && ...);
    static_assert(good, "tenon::data::zip: it takes data sets");
    if constexpr (!good) return ill_shaped{};
    else {
        using result = typename tenon::detail::joined_lists<typename Set::operands...>::type;
        return result(untyped::zip({sets.untyped()...}));
    }
}

/// Each element from one of them, which is chosen at random by weights (none: all alike); of one that has ended no more. Of one seed
/// the same; 0: one is drawn.
template <class... C>
data_set<C...> sample(const std::vector<data_set<C...>>& all, std::vector<double> weights = {},
                      std::uint64_t seed = 0) {
    std::vector<untyped::data_set> sets;
    for (const data_set<C...>& one : all) sets.push_back(one.untyped());
    return data_set<C...>(untyped::sample(sets, std::move(weights), seed));
}

} // namespace tenon::data

#if TENON_HEADER_ONLY
#include <tenon/data/from.ipp>
#endif
