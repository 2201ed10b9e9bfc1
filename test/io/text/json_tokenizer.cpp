#include <filesystem>
#include <fstream>
#include <sstream>

#include <tenon/io/text/json_tokenizer.hpp>

#include "tests.hpp"

using namespace tenon;

#if TENON_WITH_RE2

namespace {

using ids = std::vector<std::int32_t>;

// A file whose parts are these.
struct tokenizer_text {
    std::string added =
        R"([{"id":9,"content":"<e>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
        {"id":10,"content":"<mask>","single_word":false,"lstrip":true,"rstrip":false,"normalized":true,"special":false}])";
    std::string normalizer = "null";
    std::string pre = R"({"type":"Sequence","pretokenizers":[
        {"type":"Split","pattern":{"Regex":"\\p{L}+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},
        {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]})";
    std::string post = R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<e>","type_id":0}},
        {"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{"<e>":{"id":"<e>","ids":[9],"tokens":["<e>"]}}})";
    std::string decoder = R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true})";
    std::string vocab = R"({"a":0,"b":1,"Ġ":2,"ab":3,"aba":4,"ĠĠ":5,"Ã":7,"¤":8,"Ã¤":6})";
    std::string merges = R"(["Ã ¤","a b","ab a","Ġ Ġ"])", more, type = "BPE";

    std::string text() const {
        return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":)" + added + R"(,"normalizer":)" +
               normalizer + R"(,"pre_tokenizer":)" + pre + R"(,"post_processor":)" + post + R"(,"decoder":)" + decoder +
               R"(,"model":{"type":")" + type + "\"," + more + R"("vocab":)" + vocab + R"(,"merges":)" + merges + "}}";
    }
    json_tokenizer read() const { return json_tokenizer::parse(text(), "t"); }
    template <class E> std::string complaint() const {
        return message_of<E>([&] { read(); });
    }
};

} // namespace

TEST_CASE("a file's tokens are those of the tokenizers package, 0.23") {
    const json_tokenizer t = tokenizer_text().read();
    CHECK(t.encode("abaab") == ids{9, 4, 3});
    CHECK(t.encode("a  ab") == ids{9, 0, 2, 2, 3}); // of two blanks the last is a piece of its own
    CHECK(t.encode("ä<e>ab  <mask> a") == ids{9, 6, 9, 3, 10, 2, 0});
    CHECK(t.encode("zab") == ids{9, 3}); // no token has z's byte
    CHECK(t.encode("zab", {.special = false}) == ids{3});
    CHECK(t.encode("") == ids{9});
    CHECK(t.decode(ids{9, 6, 9, 3, 10, 2, 0}) == "äab<mask> a");
    CHECK(t.decode(ids{9, 6, 9, 3, 10, 2, 0}, {.special = false}) == "<e>ä<e>ab<mask> a");
    CHECK(t.decode(ids{7}) == "\xC3"); // a part of a character is its bytes
    CHECK(t.size() == 11);
    CHECK(t.token("Ġ") == 2);
    CHECK(t.token("zebra") == std::nullopt);
    CHECK(t.text(2) == " ");
    CHECK_ERROR(out_of_range_error, "json_tokenizer: there is no token 11; all are less than 11", (void)t.text(11));
    const temporary_folder folder;
    write_bytes(folder / "tokenizer.json", tokenizer_text().text());
    CHECK(json_tokenizer::load(folder / "tokenizer.json").encode("abaab") == ids{9, 4, 3});
}

TEST_CASE("a long piece is tokens in about linear time, and what is no UTF-8 is bytes") {
    const json_tokenizer t = tokenizer_text().read();
    const ids tokens = t.encode(std::string(1'000'000, 'a') + "b", {.special = false});
    CHECK(tokens.size() == 1'000'000);
    CHECK(tokens.back() == 3);
    CHECK(t.decode(t.encode("a\xC3z\xA4")) == "a\xC3\xA4");
}

TEST_CASE("all that a file has and is not read is named in one error") {
    tokenizer_text f;
    f.normalizer = R"({"type":"NFC"})";
    f.pre = R"json({"type":"Sequence","pretokenizers":[{"type":"Metaspace","replacement":"_"},
        {"type":"Split","behavior":"Isolated","pattern":{"Regex":"a(?=b)"}}]})json";
    f.post = R"({"type":"OddProcessing"})";
    f.decoder = "null";
    f.more = R"("dropout":0.1,"byte_fallback":true,"bpe":1,)";
    f.added = R"([{"id":9,"content":"w","single_word":true}])";
    CHECK(f.complaint<unimplemented_error>() ==
          "json_tokenizer: 't': byte-pair tokenisers of bytes are read, without: normalizer NFC; model.dropout; "
          "model.byte_fallback; model.bpe; the added token \"w\": single_word; pre_tokenizer Metaspace; the pattern "
          "\"a(?=b)\" has the group (?=b, which is not read; a pre_tokenizer that does not end with ByteLevel; "
          "post_processor OddProcessing; decoder null");
    tokenizer_text other;
    other.type = "WordPiece";
    CHECK(contains(other.complaint<unimplemented_error>(), "without: model WordPiece"));
}

TEST_CASE("a file that does not agree with itself says where") {
    const auto said = [](auto&& change) {
        tokenizer_text f;
        change(f);
        return f.complaint<invalid_argument_error>();
    };
    CHECK(said([](auto& f) { f.merges = R"(["a q"])"; }) == "json_tokenizer: 't': model: there is no token \"q\"");
    CHECK(contains(said([](auto& f) { f.merges = "[7]"; }), "merge 0 must be two tokens, not "));
    CHECK(contains(said([](auto& f) { f.merges = R"(["b b"])"; }), "there is no token \"bb\""));
    CHECK(contains(said([](auto& f) { f.vocab = R"({"a":0,"b":0})"; }),
                   "the token \"b\" is number 0, which is another's"));
    CHECK(contains(said([](auto& f) { f.vocab = R"({"a":2000000000})"; }), "\"a\": a whole number from 0 to "));
    CHECK(contains(said([](auto& f) { f.vocab = "[]"; }), "\"vocab\" must be an object"));
    CHECK(contains(said([](auto& f) { f.added = "[]"; }), "post_processor: there is no token 9"));
    CHECK(contains(said([](auto& f) { f.added = R"([{"id":9,"content":""}])"; }),
                   "an added token: \"content\" must be a text, not "));
    CHECK(contains(
        said([](auto& f) { f.pre = R"json({"type":"Split","pattern":{"Regex":"a)"},"behavior":"Isolated"})json"; }),
        "the pattern \"a)\" is no regular expression"));
    CHECK_ERROR(data_loss_error, "json_tokenizer: 't': it is no JSON at byte 1", json_tokenizer::parse("x", "t"));
}

namespace {

std::string of_hexadecimal(const std::string& digits) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
        bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
    return bytes;
}
ids numbers(const std::string& list) {
    std::istringstream in(list);
    return ids(std::istream_iterator<std::int32_t>(in), {});
}

} // namespace

// What json_tokenizer.py writes.
TEST_CASE("tokens are those of Hugging Face's package" * doctest::skip(std::getenv("TENON_TOKENIZERS") == nullptr)) {
    int files = 0;
    for (const auto& place : std::filesystem::directory_iterator(std::getenv("TENON_TOKENIZERS"))) {
        const json_tokenizer t = json_tokenizer::load((place.path() / "tokenizer.json").string());
        std::ifstream cases(place.path() / "cases");
        int count = 0;
        for (std::string line; std::getline(cases, line); ++count) {
            std::istringstream parts(line);
            std::string text, tokens, plain, again, all;
            for (std::string* s : {&text, &tokens, &plain, &again, &all}) std::getline(parts, *s, '|');
            CAPTURE(place.path().filename().string());
            CAPTURE(line);
            CHECK(t.encode(of_hexadecimal(text)) == numbers(tokens));
            CHECK(t.encode(of_hexadecimal(text), {.special = false}) == numbers(plain));
            if (of_hexadecimal(all).find("\uFFFD") != std::string::npos) continue; // which stands for bytes there
            CHECK(t.decode(numbers(plain)) == of_hexadecimal(again));
            CHECK(t.decode(numbers(tokens), {.special = false}) == of_hexadecimal(all));
        }
        CHECK(count == 400);
        ++files;
    }
    CHECK(files == 12);
}

#endif
