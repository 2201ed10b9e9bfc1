#include <tenon/io/text/tokenizer.hpp>

#include "tests.hpp"

using ids = std::vector<std::int32_t>;

TEST_CASE("a vocabulary numbers words by how often they occur; others are its first word") {
    const std::vector<std::string> texts{"the cat  sat\n", "the dog sat on the cat", "b a"};
    const tn::vocabulary v = tn::vocabulary::of(texts, {.most = 7, .special = {"<unknown>", "<end>"}});
    CHECK(v.size() == 7);
    CHECK(v.encode("the cat sat a b <end> zebra") == ids{2, 3, 4, 5, 6, 1, 0}); // of those that occur once the smallest
    CHECK(v.encode("the\vcat\fsat\ta\rb") == ids{2, 3, 4, 5, 6});               // whatever stands between
    CHECK(v.decode(ids{2, 3, 1}) == "the cat <end>");
    CHECK(tn::vocabulary::of(texts, {.least_count = 2}).size() == 4);
    const temporary_folder folder;
    v.save(folder / "words");
    CHECK(tn::vocabulary::load(folder / "words").encode("sat zebra") == ids{4, 0});
    v.save(folder / "words.gz");
    CHECK(read_bytes(folder / "words.gz").starts_with("\x1f\x8b"));
    CHECK(tn::vocabulary::load(folder / "words.gz").encode("sat zebra") == ids{4, 0});
    write_bytes(folder / "crlf", "<unknown>\r\nthe\r\ncat");
    CHECK(tn::vocabulary::load(folder / "crlf").encode("the cat") == ids{1, 2});
    CHECK_ERROR(tn::invalid_argument_error, "end of line", tn::vocabulary({"a\r"}).save(folder / "crlf"));
    write_bytes(folder / "twice", "a\nb\na\n");
    CHECK_ERROR(tn::data_loss_error, "the word \"a\" is given twice", tn::vocabulary::load(folder / "twice"));
    CHECK(message_of<tn::out_of_range_error>([&] { (void)v.word(7); }) ==
          "vocabulary: there is no word 7; there are 7");
}

namespace {

// Byte-pair encoding as its definition has it: all pairs are counted anew before each merge.
std::vector<std::pair<int, int>> trained_plainly(const std::vector<std::string>& words, int merges) {
    std::vector<ids> all;
    for (const std::string& w : words) {
        all.emplace_back();
        for (const char c : w) all.back().push_back(static_cast<unsigned char>(c));
    }
    std::vector<std::pair<int, int>> made;
    for (int m = 0; m < merges; ++m) {
        std::map<std::pair<int, int>, int> counts;
        for (const ids& w : all)
            for (std::size_t i = 0; i + 1 < w.size(); ++i) ++counts[{w[i], w[i + 1]}];
        std::pair<int, int> best;
        int most = 1;
        for (const auto& [p, n] : counts)
            if (n > most) most = n, best = p;
        if (most < 2) break;
        made.push_back(best);
        for (ids& w : all) {
            ids next;
            for (std::size_t i = 0; i < w.size(); ++i)
                if (i + 1 < w.size() && w[i] == best.first && w[i + 1] == best.second) next.push_back(256 + m), ++i;
                else next.push_back(w[i]);
            w = next;
        }
    }
    return made;
}

} // namespace

TEST_CASE("byte pairs are those that the definition gives, and every text is its tokens") {
    std::mt19937 random(1);
    std::vector<std::string> words;
    for (int i = 0; i < 200; ++i) {
        std::string w;
        for (unsigned n = 1 + random() % 8; n-- > 0;) w += static_cast<char>('a' + random() % 4);
        words.push_back(w);
    }
    const tn::byte_pair_tokenizer t = tn::byte_pair_tokenizer::train(words, 256 + 60);
    const auto wanted = trained_plainly(words, 60);
    REQUIRE(t.size() == 256 + static_cast<int>(wanted.size()));
    for (std::size_t i = 0; i < wanted.size(); ++i)
        CHECK(t.text(256 + static_cast<int>(i)) == t.text(wanted[i].first) + t.text(wanted[i].second));

    std::string bytes;
    for (int i = 0; i < 5000; ++i) bytes += random() % 2 == 0 ? " \nab1."[random() % 6] : static_cast<char>(random());
    for (const std::string& text :
         {std::string(), std::string("abab cdcd  abcd\n\n x 12ab"), std::string("h\xC3\xA9llo, w\xC3\xB6rld!"), bytes})
        CHECK(t.decode(t.encode(text)) == text);
    const temporary_folder folder;
    t.save(folder / "pairs");
    CHECK(tn::byte_pair_tokenizer::load(folder / "pairs").encode("abcdabcd dcba") == t.encode("abcdabcd dcba"));
    CHECK(tn::byte_pair_tokenizer::train(std::vector<std::string>{"low lower lowest", "low"}, 1000)
              .encode(" low")
              .size() == 1);
}

TEST_CASE("a file of byte pairs that does not agree with itself says in which line") {
    const auto said = [](const std::string& text) {
        return message_of<tn::data_loss_error>([&] { tn::byte_pair_tokenizer::parse(text, "p"); });
    };
    const std::string title = "tenon byte pairs 1\n";
    CHECK(tn::byte_pair_tokenizer::parse(title + "97 98\n256 99\n").text(257) == "abc");
    CHECK(said("") == "byte_pair_tokenizer: 'p' is empty");
    CHECK(said("pairs\n") == "byte_pair_tokenizer: 'p', line 1: it is not \"tenon byte pairs 1\"");
    CHECK(said(title + "97 98\n97\n") == "byte_pair_tokenizer: 'p', line 3: it is no pair of numbers");
    CHECK(said(title + "97 256\n") ==
          "byte_pair_tokenizer: 'p', line 2: the pair 97 256 is of tokens that do not come before it");
    CHECK(said(title + "97 98\n97 98\n") == "byte_pair_tokenizer: 'p', line 3: the pair 97 98 comes twice");
    std::string doubled = title + "0 0\n";
    for (int i = 256; i < 300; ++i) doubled += std::to_string(i) + " " + std::to_string(i) + "\n";
    CHECK(contains(said(doubled), "more than 2^28 bytes"));
}
