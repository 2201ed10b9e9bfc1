// A struct whose member is no component.
// error[gcc]: In instantiation of .*split
// lines: 16
// error: tenon::record_fields: a member is a number, a text, or array<T, shape<...>>
#include <vector>

#include <tenon/input.hpp>

namespace tn = tenon;

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
