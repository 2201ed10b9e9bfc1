#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/config.hpp>

/// The byte-pair tokenisers of Hugging Face's files tokenizer.json: of GPT-2, RoBERTa, Llama 3 and their like.
///
///     const auto t = tn::json_tokenizer::load("tokenizer.json");
///     const std::vector<std::int32_t> tokens = t.encode("Hello world");
///     const std::string text = t.decode(tokens);

namespace tenon {

struct token_options {
    bool special =
        true; ///< encode: with the tokens that the file puts around a text; decode: special tokens are left out
};

/// What such a file says, as the `tokenizers` package has it. Read are models "BPE" of bytes (with ignore_merges, unk_token), added
/// tokens (lstrip, rstrip, normalized, special), pre-tokenisers ByteLevel, Split and Digits, the decoder ByteLevel, and the post-processors
/// ByteLevel, TemplateProcessing, RobertaProcessing and BertProcessing, of which what concerns a single text. Patterns are found by RE2: which
/// characters are letters its version of Unicode says. Immutable and thread-safe; copies share what was read.
class json_tokenizer {
public:
    /// data_loss_error for what is no JSON, invalid_argument_error where a part is not as it has to be, both naming it; unimplemented_error,
    /// which names all that is there and not read (normalisers, other models, ..), and where this build has no RE2. `name` stands in messages.
    static json_tokenizer parse(std::string_view text, const std::string& name = "tokenizer.json");
    /// Also what opening a file throws.
    static json_tokenizer load(const std::string& path);

    /// More than any token.
    std::int32_t size() const noexcept;
    /// That of a text as the file has it, "<|endoftext|>" or "Ġthe"; none where no token is called so.
    std::optional<std::int32_t> token(std::string_view content) const;
    /// The bytes of a token; out_of_range_error for a number that no token has.
    const std::string& text(std::int32_t token) const;
    /// Of UTF-8; bytes that are a part of no character are tokens, too.
    std::vector<std::int32_t> encode(std::string_view text, token_options o = {}) const;
    /// The tokens' bytes, one behind the other. out_of_range_error.
    std::string decode(std::span<const std::int32_t> tokens, token_options o = {}) const;

private:
    struct contents;
    class file;
    explicit json_tokenizer(std::shared_ptr<const contents> c) : contents_(std::move(c)) {}
    std::shared_ptr<const contents> contents_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/text/json_tokenizer.ipp>
#endif
