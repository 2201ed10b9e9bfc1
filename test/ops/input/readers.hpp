#pragma once

#include <zlib.h>

#include <tenon/input.hpp>
#include <tenon/io/files/input_path.hpp>
#include <tenon/io/records/tfrecord.hpp>

#include "ops/waiting.hpp"

// Readers and queues of names.

namespace reader_test {

using namespace waiting;
using tn::element_type;

inline constexpr struct some : tn::dim<"some"> {} some;
using texts = std::vector<std::string>;

inline tn::any_array text(const std::string& s) { return tn::test::array_of<std::string>({}, {s}); }
inline tn::any_array list(const texts& all) { return tn::test::array_of(all); }
inline texts texts_in(const tn::any_array& a) { return {a.data<std::string>(), a.data<std::string>() + a.elements()}; }
template <class A> texts texts_of(const A& a) { return {a.begin(), a.end()}; }

inline std::string tfrecords(const texts& all) {
    std::string bytes;
    for (const std::string& r : all) {
        std::string head(12, '\0');
        tn::detail::put_little_endian<std::uint64_t>(r.size(), head.data());
        tn::detail::put_little_endian<std::uint32_t>(tn::detail::masked_crc32c(head.data(), 8), head.data() + 8);
        std::string tail(4, '\0');
        tn::detail::put_little_endian<std::uint32_t>(tn::detail::masked_crc32c(r.data(), r.size()), tail.data());
        bytes += head + r + tail;
    }
    return bytes;
}
inline void write_gzip(const std::string& path, const std::string& bytes) {
    const gzFile file = ::gzopen(path.c_str(), "wb");
    REQUIRE(file);
    REQUIRE(::gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())) == static_cast<int>(bytes.size()));
    ::gzclose(file);
}

// A queue of names and a reader, in a session whose queue holds these and is closed.
template <class Reader> struct reading {
    reading(tn::session& s, const Reader& r, const texts& files) : session(s), reader(r) {
        const auto put = names.enqueue_many(
            tn::tensor<std::string, tn::shape<tn::dyn>>::unchecked(tn::untyped::constant(list(files))));
        const auto close = names.close();
        session.run(put);
        session.run(close);
    }
    tn::session& session;
    Reader reader;
    tn::fifo_queue<std::string> names{100};
};
// All that a reader gives: "key=value".
template <class Reader> texts all_of(const Reader& r, const texts& files) {
    tn::session sess({.operation_timeout = 60});
    reading<Reader> from(sess, r, files);
    const auto given = r.read(from.names);
    [[maybe_unused]] const auto &key = std::get<0>(given), &value = std::get<1>(given);
    texts all;
    try {
        for (;;) {
            const auto [k, v] = sess.run(key, value);
            all.push_back(k() + "=" + v());
        }
    } catch (const tn::end_of_data_error&) {
    }
    return all;
}

// By hand: a queue of names and a line reader on one device.
struct by_hand {
    explicit by_hand(const tn::text_line_reader_options& o = {}) : lines(o) {}
    void put(const std::string& file) {
        started s(enqueue.node(), on, tuple(text(file)));
        REQUIRE(s.done);
        REQUIRE(s.failure.empty());
    }
    void close() { run(closing.node(), on); }
    std::int64_t names_left() { return *run(size.node(), on).data<std::int64_t>(); }
    const tn::node* read() { return std::get<0>(lines.read(names)).node(); }
    const tn::node* read_up_to(std::int64_t n) { return std::get<0>(lines.read_up_to(names, n)).node(); }

    own_graph graph;
    device on;
    tn::fifo_queue<std::string> names{100, {.name = "names"}};
    tn::text_line_reader lines;
    tn::operation enqueue = names.enqueue(tn::placeholder<std::string, tn::shape<>>("file")), closing = names.close();
    tn::any_tensor size = names.size();
};
inline std::string value_of(started& s) {
    REQUIRE(s.done);
    REQUIRE(s.failure == "");
    return *s.got()[1].data<std::string>();
}

} // namespace reader_test
