#include <net/launch/node_list.hpp>

#include "tests.hpp"

using namespace tenon::net;

namespace {

std::string expanded(const std::string& list) {
    std::string all;
    for (const std::string& name : expand_node_list({"LIST", list})) all += (all.empty() ? "" : " ") + name;
    return all;
}
std::string mistake(const std::string& list) {
    return message_of<tenon::invalid_argument_error>([&] { expand_node_list({"LIST", list}); });
}

} // namespace

TEST_CASE("node lists: ranges, widths, several groups") {
    CHECK(expanded("a") == "a");
    CHECK(expanded("a,B_5,login-1.example.org") == "a B_5 login-1.example.org");
    CHECK(expanded("a[1-3,07-09],b5") == "a1 a2 a3 a07 a08 a09 b5");
    CHECK(expanded("n[8-11]") == "n8 n9 n10 n11");
    CHECK(expanded("n[098-101]") == "n098 n099 n100 n101");
    CHECK(expanded("n[3]") == "n3");
    CHECK(expanded("rack[1-2]n[01-02]-ib,x") == "rack1n01-ib rack1n02-ib rack2n01-ib rack2n02-ib x");
    CHECK(expanded("[1-2]") == "1 2");
    CHECK(expand_node_list({"LIST", "n[0-65535]"}).size() == 65536);
}

TEST_CASE("node lists: what is none is refused with the place") {
    CHECK(mistake("a[1-3") == "LIST=\"a[1-3\": the end of the list stands where a comma or a closing bracket should");
    CHECK(mistake("a[3-1]") == "LIST=\"a[3-1]\": ']' at character 5 follows a range that runs backwards: 3-1");
    CHECK(mistake("a]") == "LIST=\"a]\": ']' at character 1 cannot be a part of a host's name");
    CHECK(mistake("a[[1]]") == "LIST=\"a[[1]]\": '[' at character 2 stands where a number should");
    for (const char* list :
         {"", ",", "a,", ",a", "a,,b", "a[]", "a[1,]", "a[-1]", "a[1-]", "a[x]", "a b", "a[1 ]", "a[1234567890]", "a:1",
          "n[0-65536]", "n[1-99999],m", "n[1-300]m[1-300]", "n[0-65535],m"}) {
        CAPTURE(list);
        CHECK(mistake(list).starts_with(std::string("LIST=\"") + list + "\": "));
    }
}
