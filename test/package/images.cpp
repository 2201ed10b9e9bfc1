// A user's program that links tenon::image: what the core does with images is there without a name of the library in the program.
#include <tenon/data/from.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

int main() {
    const std::string folder = (std::filesystem::temp_directory_path() / "tenon_images").string();
    std::filesystem::create_directories(folder + "/a_class");
    std::ofstream(folder + "/a_class/one.pgm") << "P2 1 1 255 7";
    int seen = 0;
    for (const auto& [image, label] : tenon::data::image_folder<1>(folder)) seen += image(0, 0, 0);
    std::filesystem::remove_all(folder);
    std::printf("%d\n", seen);
    return seen == 7 ? 0 : 1;
}
