// ONNX's own single-node cases, which test/onnx/cases.py writes to a folder: each has a model, and NumPy's files of its inputs and outputs.
#include <filesystem>
#include <fstream>

#include <tenon/io/numpy/npy.hpp>
#include <tenon/onnx/onnx.hpp>
#include <tenon/ops/image/decode_image.hpp>

#include "tests.hpp"
#include "alike.hpp"

namespace fs = std::filesystem;

namespace {

std::vector<tn::any_array> arrays(const fs::path& folder, const char* what) {
    std::vector<tn::any_array> all;
    for (int i = 0;; ++i) {
        const std::string name = (folder / (what + std::to_string(i))).string();
        if (fs::exists(name + ".npy")) all.push_back(tn::read_npy(name + ".npy"));
        else if (fs::exists(name + ".bits.npy")) { // of bfloat16
            const tn::any_array bits = tn::read_npy(name + ".bits.npy");
            all.emplace_back(tn::element_type::bfloat16, bits.extents());
            std::memcpy(all.back().data(), bits.data(), bits.bytes());
        } else return all;
    }
}

enum class outcome { passed, refused, failed };

// Which numbers these draw ONNX does not say.
bool draws(const fs::path& folder) {
    const std::string name = folder.filename().string();
    return name.find("bernoulli") != std::string::npos ||
           (name.find("training_dropout") != std::string::npos && name.find("zero_ratio") == std::string::npos);
}

// The model with its first inputs fed and those of `fixed` constants.
std::vector<tn::any_array> run(const fs::path& folder, const std::vector<tn::any_array>& inputs,
                               const std::vector<std::string>& names, const std::vector<bool>& fixed, bool again) {
    own_graph g;
    tn::onnx_read_options o;
    for (std::size_t i = 0; i < inputs.size() && i < names.size(); ++i)
        if (fixed[i]) o.values.push_back({names[i], inputs[i]});
    const tn::onnx_model m = tn::read_onnx((folder / "model.onnx").string(), o);
    std::vector<tn::fed_value> feeds;
    std::size_t next = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (fixed[i]) continue;
        feeds.push_back({m.inputs.at(next++), inputs[i].share()});
    }
    tn::session s(g);
    if (!again) return s.run_untyped(std::move(feeds), m.outputs);
    // Written and read again it computes the same.
    std::vector<tn::named_tensor> ins, outs;
    for (std::size_t i = 0; i < m.inputs.size(); ++i) ins.push_back({m.input_names[i], m.inputs[i]});
    for (std::size_t i = 0; i < m.outputs.size(); ++i) outs.push_back({m.output_names[i], m.outputs[i]});
    const std::string bytes = tn::onnx_bytes(s, ins, outs);
    std::ofstream(folder / "written.onnx", std::ios::binary) << bytes; // for ONNX Runtime (cases.py written)
    own_graph second;
    const tn::onnx_model copy = tn::parse_onnx(std::as_bytes(std::span(bytes)));
    for (std::size_t i = 0; i < feeds.size(); ++i) feeds[i].tensor = copy.inputs.at(i);
    return tn::session(second).run_untyped(std::move(feeds), copy.outputs);
}

outcome tried(const fs::path& folder, std::string& why, bool again) {
    const auto inputs = arrays(folder, "in"), wanted = arrays(folder, "out");
    std::vector<std::string> names;
    std::ifstream list(folder / "inputs");
    for (std::string line; std::getline(list, line);) names.push_back(line);
    // First nothing is a constant; then what are integers and bools, then all but the first, then all.
    for (int way = 0; way < 4; ++way) {
        std::vector<bool> fixed(inputs.size());
        for (std::size_t i = 0; i < inputs.size(); ++i)
            fixed[i] = way == 1 ? !tn::is_floating(inputs[i].element()) : way == 2 ? i > 0 : way == 3;
        try {
            const auto given = run(folder, inputs, names, fixed, again);
            for (std::size_t i = 0; i < wanted.size(); ++i)
                if (i >= given.size() ||
                    !(draws(folder) ? given[i].type() == wanted[i].type() : alike(given[i], wanted[i]))) {
                    why = "output " + std::to_string(i) + " of " + std::to_string(given.size()) + " is not " +
                          tn::to_string(wanted[i].type()) + " as it should be" +
                          (i < given.size() ? ", but " + tn::to_string(given[i].type()) : "");
                    return outcome::failed;
                }
            return outcome::passed;
        } catch (const tn::unimplemented_error& e) {
            why = e.what();
        } catch (const std::exception& e) {
            why = e.what();
            if (why.find("this is no PNG, JPEG or PNM image") != std::string::npos) return outcome::refused;
            if (way == 3) return outcome::failed;
        }
    }
    return outcome::refused;
}

// All cases of a folder.
std::map<outcome, int> try_all(const char* folder) {
    const char* const twice = std::getenv("TENON_ONNX_AGAIN");
    const bool again = twice && *twice != 0;
    std::vector<fs::path> folders(fs::directory_iterator(folder), {});
    std::sort(folders.begin(), folders.end());
    std::map<outcome, int> count;
    for (const fs::path& f : folders) {
        std::string why;
        const outcome o = tried(f, why, again);
        ++count[o];
        if (o != outcome::passed)
            std::printf("%s %s: %s\n", o == outcome::failed ? "FAILED" : "refused", f.filename().c_str(), why.c_str());
    }
    std::printf("%d cases passed, %d are refused, %d failed\n", count[outcome::passed], count[outcome::refused],
                count[outcome::failed]);
    return count;
}

} // namespace

TEST_CASE("ONNX's single-node cases" * doctest::skip(std::getenv("TENON_ONNX_CASES") == nullptr)) {
    auto count = try_all(std::getenv("TENON_ONNX_CASES"));
    CHECK(count[outcome::failed] == 0);
    // Of 1669 of onnx 1.23; written again, but for images and patterns.
    const char* const twice = std::getenv("TENON_ONNX_AGAIN");
    CHECK(count[outcome::passed] >= (twice && *twice != 0 ? 1640 : 1660));
}

// What test/onnx/networks.py and older.py write, with what ONNX Runtime computes.
TEST_CASE("networks as others export them" * doctest::skip(std::getenv("TENON_ONNX_NETWORKS") == nullptr)) {
    auto count = try_all(std::getenv("TENON_ONNX_NETWORKS"));
    CHECK(count[outcome::failed] == 0);
    CHECK(count[outcome::refused] == 0);
    CHECK(count[outcome::passed] >= 37);
}
