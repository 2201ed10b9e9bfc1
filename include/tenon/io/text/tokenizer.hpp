#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/core/config.hpp>

/// Texts as numbers: words of a vocabulary, and pairs of bytes.
///
///     const auto words = tn::vocabulary::of(lines, {.most = 30'000, .least_count = 2});
///     const std::vector<std::int32_t> ids = words.encode("the cat sat");
///
///     const auto pairs = tn::byte_pair_tokenizer::train(lines, 8'000);
///     pairs.save("pairs.txt");
///     pairs.decode(pairs.encode(text)) == text;   // whatever the text

namespace tenon {

struct vocabulary_options {
    std::int64_t most = 1 << 30;  ///< words at most, special ones among them
    std::int64_t least_count = 1; ///< words that are rarer are left out
    /// The first words, 0, 1, ..; the first of them stands for what is not in the vocabulary.
    std::vector<std::string> special{"<unknown>"};
};

/// Words and their numbers. Immutable once it is made.
class vocabulary {
public:
    /// The words of texts, which blanks part, by how often they occur; of equal counts by their bytes. invalid_argument_error where no special word
    /// is given, one is given twice, or more of them than words are allowed.
    static vocabulary of(std::span<const std::string> texts, const vocabulary_options& o = {});
    /// These words, of which the first stands for what is not among them.
    explicit vocabulary(std::vector<std::string> words);
    /// A file of a word a line, as save() writes it. What opening a file throws; data_loss_error for an empty file or a word given twice.
    static vocabulary load(const std::string& path);
    void save(const std::string& path) const;

    std::int32_t size() const noexcept { return static_cast<std::int32_t>(words_.size()); }
    /// 0 for what is not in it.
    std::int32_t id(std::string_view word) const;
    /// out_of_range_error for a number that no word has.
    const std::string& word(std::int32_t id) const;
    std::vector<std::int32_t> encode(std::string_view text) const;
    /// Words with a blank between them.
    std::string decode(std::span<const std::int32_t> ids) const;

private:
    std::vector<std::string> words_;
    std::unordered_map<std::string, std::int32_t> ids_;
};

/// Byte-pair encoding (Sennrich, Haddow, Birch: Neural Machine Translation of Rare Words with Subword Units, 2016) of bytes: tokens 0 to
/// 255 are bytes, each further one a pair of earlier tokens that occurred next to each other most often. Pairs do not reach over a word's
/// beginning: a word is a run of letters and bytes above 127, of digits, or of other characters, with a blank before it. Every text is tokens, and
/// they are the text again. Immutable once it is made.
class byte_pair_tokenizer {
public:
    /// Bytes alone.
    byte_pair_tokenizer();
    /// `tokens`: how many there are at most, 256 or more; fewer where no pair occurs twice. Of pairs that occur equally often the one whose
    /// numbers are smaller comes first, so equal texts give equal tokens.
    static byte_pair_tokenizer train(std::span<const std::string> texts, std::int32_t tokens);
    /// Of a text that save() writes: a line of its name, then a pair of numbers a line. data_loss_error, naming the line.
    static byte_pair_tokenizer parse(std::string_view text, const std::string& name = "byte pairs");
    static byte_pair_tokenizer load(const std::string& path);
    void save(const std::string& path) const;

    std::int32_t size() const noexcept { return static_cast<std::int32_t>(texts_.size()); }
    /// The bytes of a token; out_of_range_error.
    const std::string& text(std::int32_t token) const;
    std::vector<std::int32_t> encode(std::string_view text) const;
    std::string decode(std::span<const std::int32_t> tokens) const;

private:
    void add(std::int32_t left, std::int32_t right);

    std::vector<std::string> texts_;                           // of each token
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs_; // of token 256 + i
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> merged_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/text/tokenizer.ipp>
#endif
