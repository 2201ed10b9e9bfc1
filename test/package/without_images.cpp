// A user's program that links tenon::core alone: it trains and reads data without images, and is told what to link where it asks for
// one. An error of a step names its lines, not those of a library whose sources lay elsewhere when it was built.
#include <tenon/data/from.hpp>
#include <tenon/debug/summary_writer.hpp>
#include <tenon/runtime/session/print_config.hpp>
#include <tenon/tenon.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace {

bool names_what_to_link(const std::function<void()>& asks) {
    try {
        asks();
    } catch (const tenon::unimplemented_error& e) {
        std::puts(e.what());
        return std::string(e.what()).find("link tenon::image") != std::string::npos;
    }
    return false;
}

bool names_this_program_alone() {
    const auto x = tenon::untyped::placeholder(tenon::element_type::float32, {tenon::dynamic_extent}, "rows");
    const auto reversed = tenon::untyped::reverse(x, {0});
    const std::string line = __FILE__ + (":" + std::to_string(__LINE__ - 1));
    const tenon::any_tensor sum = x + reversed * tenon::constant({1.0f, 2.0f});
    try {
        tenon::session().run(tenon::feed(x, {1.0f, 2.0f, 3.0f}), sum);
    } catch (const tenon::invalid_argument_error& e) {
        std::puts(e.what());
        const std::string said = e.what();
        return said.find(line) != std::string::npos && said.find("tenon/expr/") == std::string::npos;
    }
    return false;
}

} // namespace

int main() {
    const auto x = tenon::placeholder<float, tenon::shape<2>>("x");
    tenon::session sess;
    if (sess.run(tenon::feed(x, {1.0f, 2.0f}), x + 1.0f)(1) != 3.0f || !names_this_program_alone()) return 1;

    const std::string folder = (std::filesystem::temp_directory_path() / "tenon_without_images").string();
    std::filesystem::create_directories(folder + "/a_class");
    std::ofstream(folder + "/a_class/one.png") << "\x89PNG";
    bool fails = false;
    fails |= !names_what_to_link([&] {
        for (const auto& [image, label] : tenon::data::image_folder(folder)) std::printf("%d\n", label);
    });
    fails |= !names_what_to_link(
        [&] { tenon::summary_writer(folder).image("black", tenon::array<std::uint8_t, tenon::shape<1, 1, 3>>(), 0); });
    fails |= tenon::config_text().find("images are tenon::image") == std::string::npos;
    std::filesystem::remove_all(folder);
    return fails ? 1 : 0;
}
