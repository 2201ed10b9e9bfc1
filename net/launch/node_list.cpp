#include <net/launch/node_list.hpp>

namespace tenon::net {

namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool part_of_name(char c) {
    return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.';
}

/// Reads the list from left to right.
class reader {
public:
    explicit reader(const named_value& list) : list_(list), text_(list.value) {}

    std::vector<std::string> names() {
        std::vector<std::string> all;
        do {
            for (std::string& name : one()) all.push_back(std::move(name));
            if (all.size() > most_nodes) too_many();
        } while (take(','));
        if (at_ < text_.size()) fail("is not to be expected here");
        return all;
    }

private:
    // What stands between two commas outside of brackets.
    std::vector<std::string> one() {
        std::vector<std::string> names{""};
        const std::size_t begin = at_;
        while (at_ < text_.size() && text_[at_] != ',') {
            if (take('[')) {
                const std::vector<std::string> numbers = group();
                if (numbers.size() > most_nodes / names.size()) too_many();
                std::vector<std::string> longer;
                longer.reserve(names.size() * numbers.size());
                for (const std::string& name : names)
                    for (const std::string& number : numbers) longer.push_back(name + number);
                names = std::move(longer);
                continue;
            }
            if (!part_of_name(text_[at_])) fail("cannot be a part of a host's name");
            for (std::string& name : names) name += text_[at_];
            if (names.front().size() > 255) fail("makes a name of more than 255 characters");
            ++at_;
        }
        if (at_ == begin) fail("stands where a host's name should");
        return names;
    }

    // "1-3,07-09]"
    std::vector<std::string> group() {
        std::vector<std::string> numbers;
        do {
            const std::string first = digits();
            std::string last = first;
            if (take('-')) last = digits();
            const int from = std::stoi(first), to = std::stoi(last);
            if (to < from) fail("follows a range that runs backwards: " + first + "-" + last);
            if (static_cast<std::size_t>(to - from) >= most_nodes - numbers.size()) too_many();
            for (int n = from; n <= to; ++n) {
                const std::string text = std::to_string(n);
                numbers.push_back(std::string(first.size() - std::min(first.size(), text.size()), '0') + text);
            }
        } while (take(','));
        if (!take(']')) fail("stands where a comma or a closing bracket should");
        return numbers;
    }

    std::string digits() {
        std::string found;
        while (at_ < text_.size() && digit(text_[at_])) found += text_[at_++];
        if (found.empty()) fail("stands where a number should");
        if (found.size() > 9) fail("follows a number of more than 9 digits");
        return found;
    }

    bool take(char c) {
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    [[noreturn]] void fail(const std::string& why) const {
        const std::string what = at_ < text_.size()
                                     ? std::string("'") + text_[at_] + "' at character " + std::to_string(at_)
                                     : std::string("the end of the list");
        list_.refuse(what + " " + why);
    }
    [[noreturn]] void too_many() const { list_.refuse("these are more than " + std::to_string(most_nodes) + " hosts"); }

    const named_value& list_;
    const std::string& text_;
    std::size_t at_ = 0;
};

} // namespace

std::vector<std::string> expand_node_list(const named_value& list) { return reader(list).names(); }

} // namespace tenon::net
