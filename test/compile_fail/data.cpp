// Data sets: what functions of elements take and give.
#include <vector>

#include <tenon/arrow.hpp>
#include <tenon/input.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

// case data_arithmetic: Arithmetic of a data set.
// error[gcc]: In instantiation of .*arrays_and_texts_are_no_tensors
// error: tenon: arrays and texts are no tensors: .* as d.map\(f\) does of a data set
auto program() {
    return tn::data::range(10) * 2;                                      // wrong
    return tn::data::range(10).map([](const auto& x) { return x * 2; }); // right
}

// case data_batch_named: A batch of a named size that does not say how many.
// error[gcc]: In instantiation of .*batch
// error: tenon::data_set::batch: say how many once, .* a named size is a template argument beside the number, batch<rows>\(32\)
inline constexpr struct rows : tn::dim<"rows"> {} rows;
auto f(const tn::data_set<float>& s) {
    return s.batch<rows>();   // wrong
    return s.batch<rows>(32); // right
}

// case data_columns_names: Two columns and one name.
// error[gcc]: In instantiation of .*columns
// error: tenon::data::columns: give a name for each column
auto f() {
    return tn::data::columns<float, std::int64_t>("x").names().size();      // wrong
    return tn::data::columns<float, std::int64_t>("x", "y").names().size(); // right
}

// case data_csv_matrix: A line of a CSV file that is to hold a matrix.
// error[gcc]: In instantiation of .*csv
// error: tenon::data::csv: a component is a number or a text, or component<T, shape<n>>: n columns
auto f() {
    return tn::data::csv<std::int32_t, tn::component<float, tn::shape<28, 28>>>("train.csv"); // wrong
    return tn::data::csv<std::int32_t, tn::component<float, tn::shape<784>>>("train.csv");    // right
}

// case data_csv_row: What the columns hold is not said.
// error[gcc]: In instantiation of .*tenon::data::csv\(
// error: tenon::data::csv: say what the columns hold
auto f() {
    return tn::data::csv("days.csv");                                // wrong
    return tn::data::csv("days.csv", tn::data::columns<float>("x")); // right
}

// case data_filter_no_bool: A filter whose function says no yes or no.
// error[gcc]: In instantiation of .*filter
// error: tenon::data_set::filter: the function gives a bool tensor without dimensions
auto f(const tn::data_set<tn::component<float, tn::shape<3>>>& s) {
    return s.filter([](auto x) { return x > 0.0f; });          // wrong
    return s.filter([](auto x) { return tn::max(x) > 0.0f; }); // right
}

// case data_group_by_window_reduce: A window that is made a number, not a data set.
// error[gcc]: In instantiation of .*group_by_window
// error: tenon::data_set::group_by_window: the function gives a data set, such as window.batch\(32\)
auto f(const tn::data_set<std::int64_t>& s) {
    const auto parity = [](std::int64_t x) { return x % 2; };
    return s.group_by_window(parity, 3, [](std::int64_t, const auto& window) { return window.size(); });   // wrong
    return s.group_by_window(parity, 3, [](std::int64_t, const auto& window) { return window.batch(3); }); // right
}

// case data_iterator_components: An iterator, and a data set of other elements.
// error[gcc]: In instantiation of .*make_initializer
// error: tenon::iterator::make_initializer: the data set has other components than the iterator
auto f(const tn::data_set<float>& floats, const tn::data_set<std::int64_t>& integers) {
    const tn::iterator<float> it;
    (void)floats;                         // wrong
    return it.make_initializer(integers); // wrong
    (void)integers;                       // right
    return it.make_initializer(floats);   // right
}

// case data_json_lines_row: What a line holds is not said.
// error[gcc]: In instantiation of .*tenon::data::json_lines\(
// error: tenon::data::json_lines: say what a line holds
auto f() {
    return tn::data::json_lines("days.jsonl");                                // wrong
    return tn::data::json_lines("days.jsonl", tn::data::columns<float>("x")); // right
}

// case data_json_sizes: A member's lists in a list are of any length.
// error[gcc]: In instantiation of .*json_lines
// error: tenon::data::json_lines: the sizes of a member's lists are numbers
auto f() {
#ifdef TENON_EXPECT_ERROR
    return tn::data::json_lines("a.jsonl", tn::data::columns<tn::component<float, tn::shape<3, tn::dyn>>>("scores"));
#else
    return tn::data::json_lines("a.jsonl", tn::data::columns<tn::component<float, tn::shape<tn::dyn, 3>>>("scores"));
#endif
}

// case data_map_arrays: A function of arrays where a map computes with tensors.
// error[gcc]: In instantiation of .*map
// error: tenon::data_set::map: the function takes a tensor for each component of an element; one that takes arrays and numbers goes to map_host
auto f(const tn::data_set<std::int64_t, tn::component<float, tn::shape<3>>>& s) {
    const auto first = [](std::int64_t n, const tn::array<float, tn::shape<3>>& x) { return x(n); };
    return s.map(first);      // wrong
    return s.map_host(first); // right
}

// case data_map_gives: A function of the host that gives what is no component.
// error[gcc]: In instantiation of .*map_host
// error: tenon::data_set::map_host: the function gives a number, a text, an array whose shape its type says
auto f(const tn::data_set<float>& s) {
    return s.map_host([](float x) { return std::vector<float>{x, x}; });             // wrong
    return s.map_host([](float x) { return tn::array<float, tn::shape<2>>{x, x}; }); // right
}

// case data_map_host_tensors: A function of tensors where one of the host is asked for.
// error[gcc]: In instantiation of .*map_host
// error: tenon::data_set::map_host: the function takes the element's components
auto f(const tn::data_set<float>& s) {
    const auto twice = [](const tn::tensor<float, tn::shape<>>& x) { return x + x; };
    return s.map_host(twice); // wrong
    return s.map(twice);      // right
}

// case data_parquet_ragged: Lists in a Parquet file that hold lists of any length.
// error[gcc]: In instantiation of .*table_set
// error: tenon::data::parquet, arrow_file: a component is a number, a text, or an array of either, whose sizes are numbers but for the first
auto f() {
    return tn::data::parquet<std::int32_t, tn::component<float, tn::shape<28, tn::dyn>>>("train.parquet"); // wrong
    return tn::data::parquet<std::int32_t, tn::component<float, tn::shape<tn::dyn, 28>>>("train.parquet"); // right
}

// case data_record_member: A struct whose member is no component.
// error[gcc]: In instantiation of .*split
// lines: 16
// error: tenon::record_fields: a member is a number, a text, or array<T, shape<...>>
struct sample {
    tn::array<float, tn::shape<2>> image;
    std::vector<int> labels;
    std::int32_t label = 0;
#ifdef TENON_EXPECT_ERROR
    static constexpr auto fields() { return tn::record_fields("image", &sample::image, "labels", &sample::labels); }
#else
    static constexpr auto fields() { return tn::record_fields("image", &sample::image, "label", &sample::label); }
#endif
};

auto f(const tn::data_set<sample>& s) { return s.size(); }

// case data_scan_host_element: A function of the host that gives the next state alone.
// error[gcc]: In instantiation of .*scan_host
// error: tenon::data_set::scan_host: the function gives a std::pair of the next state
auto f(const tn::data_set<float>& s) {
    return s.scan_host(0.0f, [](float sum, float x) { return sum + x; });               // wrong
    return s.scan_host(0.0f, [](float sum, float x) { return std::pair(sum + x, x); }); // right
}

// case data_scan_state: A running state that becomes one of another type.
// error[gcc]: In instantiation of .*scan
// error: tenon::data_set::scan: the function gives a std::pair of the next state, of the state's element type and shape
auto f(const tn::data_set<std::int32_t>& s) {
    return s.scan(0, [](auto sum, auto x) { return std::pair(tn::cast<float>(sum + x), x); }); // wrong
    return s.scan(0, [](auto sum, auto x) { return std::pair(sum + x, tn::cast<float>(x)); }); // right
}

// case data_slices_scalar: Rows of a scalar.
// error[gcc]: In instantiation of .*slices
// error: tenon::data::slices: it takes arrays with a dimension 0 whose shape their type says
auto f(const tn::array<float, tn::shape<tn::dyn, 2>>& x, float y) {
    return tn::data::slices(x, y); // wrong
    (void)y;                       // right
    return tn::data::slices(x, x); // right
}

// case data_unbatch_scalars: Rows of elements that have none.
// error[gcc]: In instantiation of .*unbatch
// error: tenon::data_set::unbatch: a component is a scalar and has no rows
auto f(const tn::data_set<tn::component<float, tn::shape<5>>, std::int32_t>& s,
       const tn::data_set<tn::component<float, tn::shape<5>>>& rows) {
    (void)rows;            // wrong
    return s.unbatch();    // wrong
    (void)s;               // right
    return rows.unbatch(); // right
}

// case data_window_twice: A window whose size is a number of the type and one of the call.
// error[gcc]: In instantiation of .*window
// error: tenon::data_set::window: write the number once: window<5>\(\)
auto f(const tn::data_set<float>& s) {
    return s.window<5>(5, {.shift = 2}); // wrong
    return s.window<5>({.shift = 2});    // right
}

// case fit_arrays: Arrays where batches are.
// error[gcc]: In instantiation of .*tenon::fit\(
// error: tenon::fit: it takes a callable and its data
auto f(tn::session& s, const tn::tensor<float, tn::shape<batch>>& x, const tn::array<float, tn::shape<batch>>& a) {
    return tn::fit(s, {.epochs = 3}, s.callable(tn::feeds(x, x), tn::fetches(sum(x))), a, a); // wrong
    return tn::fit(s, {.epochs = 3}, s.callable(tn::feeds(x, x), tn::fetches(sum(x))),        // right
                   tn::minibatches({.size = 2}, a, a));                                       // right
}

// case fit_batches: Batches in another order than the callable is fed.
// lines: 17
// error[gcc]: feed: element types differ: float\[batch\] x int32\[\?\]
// error[clang]: feed_rule, tenon::fault::element_types_differ
auto f(tn::session& s, const tn::tensor<float, tn::shape<batch>>& x, const tn::array<float, tn::shape<batch>>& a,
       const tn::array<std::int32_t, tn::shape<batch>>& b) {
#ifdef TENON_EXPECT_ERROR
    (void)a;
    return tn::fit(s, {.epochs = 3}, s.callable(tn::feeds(x), tn::fetches(sum(x))), tn::minibatches({.size = 2}, b));
#else
    (void)b;
    return tn::fit(s, {.epochs = 3}, s.callable(tn::feeds(x), tn::fetches(sum(x))), tn::minibatches({.size = 2}, a));
#endif
}

// case csv_of_characters: A column of what no table holds.
// error[gcc]: In instantiation of .*csv
// error: tenon::data::csv: a column holds numbers, bools or texts, a row is a struct with fields\(\)
auto program() {
    return tn::data::csv<char>("x.csv");        // wrong
    return tn::data::csv<std::string>("x.csv"); // right
}

// case generator_of_number: What is no function.
// error[gcc]: In instantiation of .*generator
// error: tenon::data::generator: it takes a function, called without arguments
auto program() {
    return tn::data::generator(5);                                                    // wrong
    return tn::data::generator([] { return [] { return std::optional<float>(); }; }); // right
}

// case data_in_iterator: An iterator that is made of a data set.
// error: deleted
// error: make_one_shot_iterator\(d\), or its make_initializer\(d\)
auto program(const tn::data_set<float>& d) {
    return tn::iterator(d).get_next();               // wrong
    return tn::make_one_shot_iterator(d).get_next(); // right
}

// case data_map_name: A function that is several of one name.
// error[gcc]: a_lambda_that_calls_it
// error[clang]: no matching member function for call to 'map'
auto program(const tn::data_set<float>& d) {
    return d.map(tn::exp);                                  // wrong
    return d.map([](const auto& x) { return tn::exp(x); }); // right
}
