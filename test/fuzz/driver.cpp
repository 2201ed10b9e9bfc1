// A small stand-in for libFuzzer: runs try_input on every seed and on a fixed number of
// mutations of them, the same each time. An input that crashes or takes too long is written to a file.
//
//   PROGRAM [-runs=N] [-seed=N] [-timeout=SECONDS] [FILE or FOLDER]...

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#if defined(__unix__)
#include <fcntl.h>
#include <unistd.h>
#endif

#include "fuzz/fuzzing.hpp"

namespace {

using bytes = std::vector<std::uint8_t>;

bytes current; // what is being tried, for the signal handler

#if defined(__unix__)
// Only what is safe in a signal handler: open, write, and ending as the signal would have.
extern "C" void keep_input(int signal) {
    constexpr char words[] = "the input that failed is in the file failing-input\n";
    const int file = open("failing-input", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    bool kept = file >= 0;
    for (std::size_t done = 0; kept && done < current.size();) {
        const ssize_t wrote = write(file, current.data() + done, current.size() - done);
        kept = wrote > 0;
        done += kept ? static_cast<std::size_t>(wrote) : 0;
    }
    if (kept) kept = write(STDERR_FILENO, words, sizeof words - 1) > 0;
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

void watch(unsigned seconds) { alarm(seconds); }

void install_handlers() {
    for (int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM}) std::signal(signal, keep_input);
}
#else
void watch(unsigned) {}
void install_handlers() {}
#endif

std::size_t below(std::mt19937_64& random, std::size_t limit) { return limit == 0 ? 0 : random() % limit; }

// One small change, of the kinds that upset parsers: lengths, signs, ends, repeats, pieces of other inputs.
void mutate(bytes& input, const std::vector<bytes>& seeds, std::mt19937_64& random) {
    constexpr std::array<std::uint64_t, 12> edges{
        0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, ~0ULL};
    constexpr std::string_view marks = "{}[]\",:-+.eE0123456789 \\";
    const std::size_t size = input.size();
    const std::size_t at = below(random, size);
    const auto here = input.begin() + static_cast<std::ptrdiff_t>(at);
    const auto some = [&](std::size_t most) { // up to `most` bytes after `here`
        return here + static_cast<std::ptrdiff_t>(1 + below(random, std::min(size - at, most)));
    };
    switch (size == 0 ? 7 : below(random, 9)) {
    case 0: input[at] ^= static_cast<std::uint8_t>(1U << below(random, 8)); break;
    case 1: input[at] = static_cast<std::uint8_t>(random()); break;
    case 2: input[at] = static_cast<std::uint8_t>(marks[below(random, marks.size())]); break;
    case 3: { // an integer at the edge of its range, in either byte order
        std::uint64_t value = edges[below(random, edges.size())];
        const std::size_t width = std::min<std::size_t>(std::size_t{1} << below(random, 4), size - at);
        const bool big = (random() & 1) != 0;
        for (std::size_t i = 0; i < width; ++i, value >>= 8)
            input[at + (big ? width - 1 - i : i)] = static_cast<std::uint8_t>(value);
        break;
    }
    case 4: input.resize(at); break;
    case 5: input.erase(here, some(16)); break;
    case 6: { // repeat a piece
        const bytes piece(here, some(64));
        input.insert(here, piece.begin(), piece.end());
        break;
    }
    case 7: input.insert(here, static_cast<std::uint8_t>(random())); break;
    case 8: { // go on as another seed does
        const bytes& other = seeds[below(random, seeds.size())];
        const auto from = other.begin() + static_cast<std::ptrdiff_t>(below(random, other.size()));
        input.resize(at);
        input.insert(input.end(), from, other.end());
        break;
    }
    }
}

// A number, a text, a word or a mark of a text such as JSON.
struct token {
    std::size_t begin, end;
};

std::vector<token> tokens_of(const bytes& input) {
    const auto is_word = [&](std::size_t i) {
        const std::uint8_t c = input[i];
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+' ||
               c == '.';
    };
    std::vector<token> tokens;
    for (std::size_t i = 0, end = 0; i < input.size(); i = end) {
        end = i + 1;
        if (input[i] <= ' ') continue;
        if (input[i] == '"') {
            while (end < input.size() && input[end] != '"') end += input[end] == '\\' ? 2 : 1;
            end = std::min(end + 1, input.size());
        } else if (is_word(i)) {
            while (end < input.size() && is_word(end)) ++end;
        }
        tokens.push_back({i, end});
    }
    return tokens;
}

// From this token to the end of the value that it begins: all of a list or an object, else itself.
token value_at(const bytes& input, const std::vector<token>& tokens, std::size_t n) {
    const token first = tokens[n];
    for (int depth = 0; n < tokens.size(); ++n) {
        const std::uint8_t c = input[tokens[n].begin];
        depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
        if (depth <= 0) return {first.begin, tokens[n].end};
    }
    return {first.begin, input.size()};
}

bool is_text(const bytes& input) { return std::find(input.begin(), input.end(), '{') != input.end(); }

// A change that leaves a text's words whole: numbers and names that are others, values that are missing, doubled or
// elsewhere.
void mutate_text(bytes& input, const std::vector<bytes>& seeds, std::mt19937_64& random) {
    constexpr std::string_view numbers[] = {"-1",
                                            "0",
                                            "-0",
                                            "1",
                                            "2",
                                            "3",
                                            "4",
                                            "7",
                                            "8",
                                            "9",
                                            "0.5",
                                            "-2.5",
                                            "1e308",
                                            "1e999",
                                            "-1e999",
                                            "1e-320",
                                            "null",
                                            "true",
                                            "127",
                                            "-128",
                                            "255",
                                            "256",
                                            "2147483647",
                                            "2147483648",
                                            "-2147483648",
                                            "4294967296",
                                            "3037000500",
                                            "1099511627776",
                                            "9223372036854775807",
                                            "9223372036854775808",
                                            "-9223372036854775808",
                                            "18446744073709551615",
                                            "18446744073709551616"};
    const std::vector<token> tokens = tokens_of(input);
    if (tokens.empty()) return mutate(input, seeds, random);
    const auto copy = [](const bytes& from, token t) {
        return bytes(from.begin() + static_cast<std::ptrdiff_t>(t.begin),
                     from.begin() + static_cast<std::ptrdiff_t>(t.end));
    };
    const auto replace = [&](token t, const auto& by) {
        const auto at = input.erase(input.begin() + static_cast<std::ptrdiff_t>(t.begin),
                                    input.begin() + static_cast<std::ptrdiff_t>(t.end));
        input.insert(at, by.begin(), by.end());
    };
    const auto is_number = [&](token t) {
        return input[t.begin] == '-' || (input[t.begin] >= '0' && input[t.begin] <= '9');
    };
    const auto is_name = [&](token t) { return input[t.begin] == '"'; };
    // The next token of a kind, from some token on; any token where there is none.
    const auto some = [&](const auto& kind) {
        const std::size_t from = below(random, tokens.size());
        for (std::size_t i = 0; i < tokens.size(); ++i)
            if (const token t = tokens[(from + i) % tokens.size()]; kind(t)) return t;
        return tokens[from];
    };
    const std::size_t n = below(random, tokens.size());
    switch (below(random, 8)) {
    case 0: replace(some(is_number), numbers[below(random, std::size(numbers))]); break;
    case 1: replace(some(is_number), std::to_string(below(random, 12))); break;
    case 2: replace(some(is_name), copy(input, some(is_name))); break;
    case 3: replace(tokens[n], std::string_view()); break;
    case 4: { // twice, as elements of a list are
        bytes twice = copy(input, value_at(input, tokens, n));
        const bytes once = twice;
        if (random() & 1) twice.push_back(',');
        twice.insert(twice.end(), once.begin(), once.end());
        replace(value_at(input, tokens, n), twice);
        break;
    }
    case 5: { // without it, and the comma after it
        token t = value_at(input, tokens, n);
        if (t.end < input.size() && input[t.end] == ',') ++t.end;
        replace(t, std::string_view());
        break;
    }
    case 6:
        replace(value_at(input, tokens, n), copy(input, value_at(input, tokens, below(random, tokens.size()))));
        break;
    case 7: { // a value of another seed
        const bytes& other = seeds[below(random, seeds.size())];
        const std::vector<token> theirs = tokens_of(other);
        if (!theirs.empty())
            replace(value_at(input, tokens, n), copy(other, value_at(other, theirs, below(random, theirs.size()))));
        break;
    }
    }
}

void read_seeds(const std::filesystem::path& path, std::vector<bytes>& seeds) {
    if (std::filesystem::is_directory(path)) {
        std::vector<std::filesystem::path> inside(std::filesystem::directory_iterator(path), {});
        std::sort(inside.begin(), inside.end());
        for (const auto& entry : inside) read_seeds(entry, seeds);
        return;
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        std::fprintf(stderr, "cannot read %s\n", path.c_str());
        std::exit(2);
    }
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

void run_current(unsigned timeout) {
    // memory of exactly its size, so that a sanitizer sees one byte read too much
    const auto exact = std::make_unique_for_overwrite<std::uint8_t[]>(current.size());
    std::copy(current.begin(), current.end(), exact.get());
    watch(timeout);
    try_input({exact.get(), current.size()});
    watch(0);
}

} // namespace

int main(int argc, char** argv) {
    std::uint64_t runs = 20000, seed = 1, timeout = 25;
    std::vector<bytes> seeds(1); // the empty input is always tried
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        const auto number = [&](std::string_view name, std::uint64_t& value) {
            if (!argument.starts_with(name)) return false;
            const char* end = argument.data() + argument.size();
            return std::from_chars(argument.data() + name.size(), end, value).ptr == end;
        };
        if (number("-runs=", runs) || number("-seed=", seed) || number("-timeout=", timeout)) continue;
        read_seeds(argument, seeds);
    }

    install_handlers();
    std::size_t longest = 4096;
    for (const bytes& input : seeds) {
        longest = std::max(longest, 2 * input.size());
        current = input;
        run_current(static_cast<unsigned>(timeout));
    }
    std::mt19937_64 random(seed);
    for (std::uint64_t i = 0; i < runs; ++i) {
        current = seeds[below(random, seeds.size())];
        const bool by_words = is_text(current) && below(random, 4) != 0;
        for (std::size_t changes = 1 + below(random, by_words ? 2 : 6); changes > 0; --changes)
            by_words ? mutate_text(current, seeds, random) : mutate(current, seeds, random);
        if (current.size() > longest) current.resize(longest);
        run_current(static_cast<unsigned>(timeout));
    }
    std::printf("%zu seeds and %llu mutations of them: nothing failed\n", seeds.size(),
                static_cast<unsigned long long>(runs));
}
