#include <fstream>

#include "certificates.hpp"

namespace net_test {

namespace {

std::string written(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path) << text;
    return path.string();
}

} // namespace

certificate_maker::certificate_maker(const std::string& authority) :
    authority_(authority, -100, 1000), file_(written(folder_ / "authority.crt", authority_.certificate())) {}

certificate_files certificate_maker::make(const std::vector<std::string>& hosts, int from_day, int until_day,
                                          bool rsa) {
    const std::string name = "task " + std::to_string(++count_);
    const auto made = authority_.certify(name, hosts, from_day, until_day, rsa);
    const std::string path = "task" + std::to_string(count_);
    return {written(folder_ / (path + ".crt"), made.certificate), written(folder_ / (path + ".key"), made.key)};
}

} // namespace net_test
