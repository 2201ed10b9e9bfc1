#pragma once

#include <algorithm>
#include <charconv>
#include <memory>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/io/files/compressed.hpp>
#include <tenon/io/text/pair_merges.hpp>
#include <tenon/io/text/tokenizer.hpp>

namespace tenon {

namespace detail {

inline bool is_blank_byte(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }

// Calls f with each run of bytes that are not blank.
template <class F> void for_each_word(std::string_view text, F&& f) {
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && !is_blank_byte(text[end])) ++end;
        if (end > at) f(text.substr(at, end - at));
        at = end + 1;
    }
}

inline int kind_of_byte(char c) {
    if (is_blank_byte(c)) return 0;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) > 127) return 1;
    return c >= '0' && c <= '9' ? 2 : 3;
}
// Calls f with each piece of a text within which pairs are made; all pieces together are the text.
template <class F> void for_each_piece(std::string_view text, F&& f) {
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        if (text[at] == ' ' && at + 1 < text.size() && kind_of_byte(text[at + 1]) != 0)
            ++end; // a blank is of the word behind it
        const int kind = kind_of_byte(text[end]);
        while (end < text.size() && kind_of_byte(text[end]) == kind) {
            // Of several blanks the last is the next word's.
            if (kind == 0 && end > at && text[end] == ' ' && end + 1 < text.size() && kind_of_byte(text[end + 1]) != 0)
                break;
            ++end;
        }
        f(text.substr(at, end - at));
        at = end;
    }
}

inline void write_whole_file(const char* what, const std::string& path, const std::string& text) {
    said_by(what, [&] {
        const std::unique_ptr<writable_file> file = packed(file_system_of(path).create(path), path);
        file->write(text.data(), text.size());
        file->commit();
    });
}

using byte_pair = std::pair<std::int32_t, std::int32_t>;

// Puts `made` in the place of each `pair` in tokens.
inline void merge_pair(std::vector<std::int32_t>& tokens, const byte_pair& pair, std::int32_t made) {
    std::size_t to = 0;
    for (std::size_t i = 0; i < tokens.size(); ++to) {
        const bool here = i + 1 < tokens.size() && tokens[i] == pair.first && tokens[i + 1] == pair.second;
        tokens[to] = here ? made : tokens[i];
        i += here ? 2 : 1;
    }
    tokens.resize(to);
}

inline constexpr std::string_view byte_pairs_title = "tenon byte pairs 1";

} // namespace detail

TENON_INLINE vocabulary::vocabulary(std::vector<std::string> words) : words_(std::move(words)) {
    if (words_.empty())
        throw invalid_argument_error("vocabulary: there are no words; the first stands for what is not among them");
    if (words_.size() > static_cast<std::size_t>(1 << 30))
        throw invalid_argument_error("vocabulary: there are more than 2^30 words");
    for (std::size_t i = 0; i < words_.size(); ++i)
        if (!ids_.emplace(words_[i], static_cast<std::int32_t>(i)).second)
            throw invalid_argument_error("vocabulary: the word \"" + words_[i] + "\" is given twice");
}

TENON_INLINE vocabulary vocabulary::of(std::span<const std::string> texts, const vocabulary_options& o) {
    if (o.special.empty())
        throw invalid_argument_error(
            "vocabulary: the first special word stands for what is not among the words; give one");
    if (o.most < static_cast<std::int64_t>(o.special.size()))
        throw invalid_argument_error("vocabulary: " + std::to_string(o.special.size()) +
                                     " special words are more than the " + std::to_string(o.most) +
                                     " that are allowed");
    std::map<std::string, std::int64_t, std::less<>> counts;
    for (const std::string& t : texts)
        detail::for_each_word(t, [&](std::string_view w) {
            const auto found = counts.find(w);
            if (found != counts.end()) ++found->second;
            else counts.emplace(w, 1);
        });
    for (const std::string& s : o.special) counts.erase(s);
    std::vector<std::pair<std::string, std::int64_t>> sorted(counts.begin(), counts.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::vector<std::string> words = o.special;
    for (auto& [word, count] : sorted) {
        if (count < o.least_count || static_cast<std::int64_t>(words.size()) >= o.most) break;
        words.push_back(word);
    }
    return vocabulary(std::move(words));
}

TENON_INLINE vocabulary vocabulary::load(const std::string& path) {
    const std::string text = detail::unpacked_text("vocabulary::load", path);
    std::vector<std::string> words;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        words.push_back(text.substr(at, end - at));
        if (words.back().ends_with('\r')) words.back().pop_back();
        at = end + 1;
    }
    try {
        return vocabulary(std::move(words));
    } catch (const invalid_argument_error& e) {
        throw data_loss_error("'" + path + "': " + e.what());
    }
}
TENON_INLINE void vocabulary::save(const std::string& path) const {
    std::string text;
    for (const std::string& w : words_) {
        if (w.find('\n') != std::string::npos || w.ends_with('\r'))
            throw invalid_argument_error("vocabulary::save: '" + path + "': a word has an end of line in it");
        text += w + '\n';
    }
    detail::write_whole_file("vocabulary::save", path, text);
}
TENON_INLINE std::int32_t vocabulary::id(std::string_view word) const {
    const auto found = ids_.find(std::string(word));
    return found == ids_.end() ? 0 : found->second;
}
TENON_INLINE const std::string& vocabulary::word(std::int32_t id) const {
    if (id < 0 || id >= size())
        throw out_of_range_error("vocabulary: there is no word " + std::to_string(id) + "; there are " +
                                 std::to_string(size()));
    return words_[static_cast<std::size_t>(id)];
}
TENON_INLINE std::vector<std::int32_t> vocabulary::encode(std::string_view text) const {
    std::vector<std::int32_t> ids;
    detail::for_each_word(text, [&](std::string_view w) { ids.push_back(id(w)); });
    return ids;
}
TENON_INLINE std::string vocabulary::decode(std::span<const std::int32_t> ids) const {
    std::string text;
    for (std::size_t i = 0; i < ids.size(); ++i) text += (i == 0 ? "" : " ") + word(ids[i]);
    return text;
}

TENON_INLINE byte_pair_tokenizer::byte_pair_tokenizer() {
    for (int b = 0; b < 256; ++b) texts_.emplace_back(1, static_cast<char>(b));
}
TENON_INLINE void byte_pair_tokenizer::add(std::int32_t left, std::int32_t right) {
    merged_.emplace(std::pair(left, right), size());
    pairs_.emplace_back(left, right);
    texts_.push_back(texts_[static_cast<std::size_t>(left)] + texts_[static_cast<std::size_t>(right)]);
}

TENON_INLINE byte_pair_tokenizer byte_pair_tokenizer::train(std::span<const std::string> texts, std::int32_t tokens) {
    using detail::byte_pair;
    if (tokens < 256)
        throw invalid_argument_error("byte_pair_tokenizer: " + std::to_string(tokens) + " tokens; bytes alone are 256");
    struct word {
        std::vector<std::int32_t> tokens;
        std::int64_t count;
    };
    std::map<std::string, std::int64_t, std::less<>> pieces;
    for (const std::string& t : texts)
        detail::for_each_piece(t, [&](std::string_view p) {
            const auto found = pieces.find(p);
            if (found != pieces.end()) ++found->second;
            else pieces.emplace(p, 1);
        });
    std::vector<word> words;
    for (const auto& [piece, count] : pieces) {
        word w{{}, count};
        for (const char c : piece) w.tokens.push_back(static_cast<unsigned char>(c));
        words.push_back(std::move(w));
    }
    // How often each pair occurs, and in which words; a merge changes the counts of its words alone.
    std::map<byte_pair, std::int64_t> counts;
    std::map<byte_pair, std::set<std::size_t>> where;
    const auto count = [&](std::size_t w, std::int64_t sign) {
        const word& in = words[w];
        for (std::size_t i = 0; i + 1 < in.tokens.size(); ++i) {
            const byte_pair p(in.tokens[i], in.tokens[i + 1]);
            if ((counts[p] += sign * in.count) == 0) counts.erase(p);
            if (sign > 0) where[p].insert(w);
        }
    };
    // The most frequent first; of equal ones the smaller numbers.
    std::set<std::pair<std::int64_t, byte_pair>> order;
    for (std::size_t w = 0; w < words.size(); ++w) count(w, 1);
    for (const auto& [p, n] : counts) order.emplace(-n, p);
    byte_pair_tokenizer made;
    while (made.size() < tokens && !order.empty() && order.begin()->first <= -2) {
        const byte_pair best = order.begin()->second;
        const std::int32_t token = made.size();
        made.add(best.first, best.second);
        std::set<byte_pair> touched;
        const std::set<std::size_t> in = std::exchange(where[best], {});
        const auto touch = [&](std::size_t w) {
            const std::vector<std::int32_t>& t = words[w].tokens;
            for (std::size_t i = 0; i + 1 < t.size(); ++i)
                if (const byte_pair p(t[i], t[i + 1]); touched.insert(p).second)
                    if (const auto n = counts.find(p); n != counts.end()) order.erase({-n->second, p});
        };
        for (const std::size_t w : in) {
            touch(w);
            count(w, -1);
            detail::merge_pair(words[w].tokens, best, token);
            touch(w);
            count(w, 1);
        }
        for (const byte_pair& p : touched)
            if (const auto n = counts.find(p); n != counts.end()) order.emplace(-n->second, p);
    }
    return made;
}

TENON_INLINE byte_pair_tokenizer byte_pair_tokenizer::parse(std::string_view text, const std::string& name) {
    byte_pair_tokenizer made;
    std::int64_t line = 0, bytes = 256;
    const auto damaged = [&](const std::string& how) {
        throw data_loss_error("byte_pair_tokenizer: '" + name + "', line " + std::to_string(line) + ": " + how);
    };
    while (!text.empty()) {
        ++line;
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view l = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line == 1) {
            if (l != detail::byte_pairs_title) damaged("it is not \"" + std::string(detail::byte_pairs_title) + '"');
            continue;
        }
        std::int32_t left = -1, right = -1;
        const char* const last = l.data() + l.size();
        const auto first = std::from_chars(l.data(), last, left);
        if (first.ec != std::errc() || first.ptr == last || *first.ptr != ' ') damaged("it is no pair of numbers");
        const auto second = std::from_chars(first.ptr + 1, last, right);
        if (second.ec != std::errc() || second.ptr != last) damaged("it is no pair of numbers");
        if (left < 0 || right < 0 || left >= made.size() || right >= made.size())
            damaged("the pair " + std::string(l) + " is of tokens that do not come before it");
        if (made.merged_.contains({left, right})) damaged("the pair " + std::string(l) + " comes twice");
        // Pairs of pairs double: a few lines would take all memory.
        bytes += static_cast<std::int64_t>(made.text(left).size() + made.text(right).size());
        if (bytes > (std::int64_t{1} << 28)) damaged("its tokens have more than 2^28 bytes");
        made.add(left, right);
    }
    if (line == 0) throw data_loss_error("byte_pair_tokenizer: '" + name + "' is empty");
    return made;
}
TENON_INLINE byte_pair_tokenizer byte_pair_tokenizer::load(const std::string& path) {
    return parse(detail::unpacked_text("byte_pair_tokenizer::load", path), path);
}
TENON_INLINE void byte_pair_tokenizer::save(const std::string& path) const {
    std::string text(detail::byte_pairs_title);
    text += '\n';
    for (const auto& [left, right] : pairs_) text += std::to_string(left) + ' ' + std::to_string(right) + '\n';
    detail::write_whole_file("byte_pair_tokenizer::save", path, text);
}

TENON_INLINE const std::string& byte_pair_tokenizer::text(std::int32_t token) const {
    if (token < 0 || token >= size())
        throw out_of_range_error("byte_pair_tokenizer: there is no token " + std::to_string(token) + "; there are " +
                                 std::to_string(size()));
    return texts_[static_cast<std::size_t>(token)];
}
TENON_INLINE std::vector<std::int32_t> byte_pair_tokenizer::encode(std::string_view text) const {
    std::vector<std::int32_t> all, piece;
    detail::for_each_piece(text, [&](std::string_view p) {
        piece.clear();
        for (const char c : p) piece.push_back(static_cast<unsigned char>(c));
        // The pair that was made first is put together first, as in training.
        detail::merge_pairs(piece, [&](std::int32_t left, std::int32_t right) {
            const auto m = merged_.find({left, right});
            return m == merged_.end() ? detail::pair_merge() : detail::pair_merge{m->second, m->second};
        });
        all.insert(all.end(), piece.begin(), piece.end());
    });
    return all;
}
TENON_INLINE std::string byte_pair_tokenizer::decode(std::span<const std::int32_t> tokens) const {
    std::string all;
    for (const std::int32_t t : tokens) all += text(t);
    return all;
}

} // namespace tenon
