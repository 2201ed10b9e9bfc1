#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>
#include <utility>

#include <tenon/io/files/compressed.hpp>
#include <tenon/io/json/json_parse.hpp>
#include <tenon/io/json/json_reader.hpp>
#include <tenon/io/text/json_tokenizer.hpp>
#include <tenon/io/text/pair_merges.hpp>
#include <tenon/io/text/piece_pattern.hpp>
#include <tenon/io/text/utf8.hpp>

namespace tenon {

#if TENON_WITH_RE2

namespace detail {

// Bytes as the characters by which such files write them: what can be printed is itself, the rest follows from 256 on.
struct byte_letters {
    std::array<std::string, 256> letter;
    std::array<int, 512> byte{}; // of each character; -1: it is none

    byte_letters() {
        byte.fill(-1);
        int next = 256;
        for (int b = 0; b < 256; ++b) {
            const bool printed = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
            const int c = printed ? b : next++;
            byte[static_cast<std::size_t>(c)] = b;
            char character[4];
            letter[static_cast<std::size_t>(b)].assign(character, put_utf8(static_cast<std::uint32_t>(c), character));
        }
    }
    static const byte_letters& all() {
        static const auto& letters = *new byte_letters;
        return letters;
    }
    // The bytes that a text of such characters means; false where it has others.
    bool bytes_of(std::string_view text, std::string& to) const {
        for (std::size_t i = 0; i < text.size(); ++i) {
            auto c = static_cast<unsigned>(static_cast<unsigned char>(text[i]));
            if (c >= 0xC4 && c != 0xC4 && c != 0xC5) return false; // beyond 511
            if (c >= 0x80) {
                if (++i == text.size()) return false;
                c = (c & 0x1F) << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
            }
            if (c >= byte.size() || byte[c] < 0) return false;
            to += static_cast<char>(byte[c]);
        }
        return true;
    }
};

// One step by which texts are taken apart before pairs are put together.
struct piece_splitter {
    enum class keeps { isolated, removed, with_previous, with_next, contiguous };
    std::optional<piece_pattern> pattern; // none: the piece stays whole
    keeps how = keeps::isolated;
    bool inverted = false; // what does not match is the match
    bool prefixed = false; // a blank is put before a piece that begins with none

    template <class F> void split(std::string_view piece, const F& f) const {
        std::string with_blank;
        if (prefixed && piece.front() != ' ') piece = with_blank = ' ' + std::string(piece);
        if (!pattern) return f(piece);
        struct part {
            std::size_t begin, end;
            bool match;
        };
        std::vector<part> parts;
        const auto add = [&](std::size_t begin, std::size_t end, bool match) {
            if (begin == end || (match && how == keeps::removed)) return;
            const bool joins = !parts.empty() && ((how == keeps::contiguous && match == parts.back().match) ||
                                                  (how == keeps::with_previous && match && !parts.back().match) ||
                                                  (how == keeps::with_next && !match && parts.back().match));
            if (joins) parts.back() = {parts.back().begin, end, match};
            else parts.push_back({begin, end, match});
        };
        for (std::size_t at = 0; at < piece.size();) {
            const piece_pattern::match m = pattern->next(piece, at);
            const std::size_t begin = m.found() ? m.begin : piece.size(), end = m.found() ? m.end : piece.size();
            add(at, begin, inverted);
            add(begin, end, !inverted);
            at = end;
        }
        for (const part& p : parts) f(piece.substr(p.begin, p.end - p.begin));
    }
};

struct added_token {
    std::string content;
    std::int32_t id = 0;
    bool left = false, right = false, normalized = false; // left: takes the blanks before it
};

} // namespace detail

struct json_tokenizer::contents {
    struct pair_hash {
        std::size_t operator()(const std::pair<std::int32_t, std::int32_t>& p) const noexcept {
            return std::hash<std::uint64_t>()(static_cast<std::uint64_t>(static_cast<std::uint32_t>(p.first)) << 32 |
                                              static_cast<std::uint32_t>(p.second));
        }
    };
    std::unordered_map<std::string, std::int32_t> ids; // of what stands in the file
    std::vector<std::optional<std::string>> texts;     // bytes, by number
    std::vector<bool> special;
    std::array<std::int32_t, 256> bytes{}; // -1: it is left out
    std::unordered_map<std::pair<std::int32_t, std::int32_t>, detail::pair_merge, pair_hash> merges;
    std::unordered_map<std::string, std::int32_t> whole; // pieces that are a token whatever the merges
    std::vector<detail::piece_splitter> splitters;
    using added_tokens = std::array<std::vector<detail::added_token>, 256>; // by their first byte, the longest first
    std::array<added_tokens, 2> added;        // those that are looked for first, then the others
    std::vector<std::int32_t> before, behind; // what the file puts around a text

    void encode_piece(std::string_view piece, std::vector<std::int32_t>& to) const {
        if (const auto w = whole.empty() ? whole.end() : whole.find(std::string(piece)); w != whole.end())
            return to.push_back(w->second);
        std::vector<std::int32_t> tokens;
        for (const char c : piece)
            if (const std::int32_t t = bytes[static_cast<unsigned char>(c)]; t >= 0) tokens.push_back(t);
        detail::merge_pairs(tokens, [&](std::int32_t left, std::int32_t right) {
            const auto m = merges.find({left, right});
            return m == merges.end() ? detail::pair_merge() : m->second;
        });
        to.insert(to.end(), tokens.begin(), tokens.end());
    }
    void split(std::string_view piece, std::size_t splitter, std::vector<std::int32_t>& to) const {
        if (piece.empty()) return;
        if (splitter == splitters.size()) return encode_piece(piece, to);
        splitters[splitter].split(piece, [&](std::string_view p) { split(p, splitter + 1, to); });
    }
    // The added tokens that are looked for in this round, and what stands between them.
    void encode(std::string_view text, std::size_t round, std::vector<std::int32_t>& to) const {
        if (round == added.size()) return split(text, 0, to);
        std::size_t done = 0;
        for (std::size_t at = 0; at < text.size();) {
            const auto& like = added[round][static_cast<unsigned char>(text[at])];
            const auto found = std::find_if(like.begin(), like.end(), [&](const detail::added_token& a) {
                return text.substr(at, a.content.size()) == a.content;
            });
            if (found == like.end()) {
                ++at;
                continue;
            }
            std::size_t begin = at, end = at + found->content.size();
            at = end;
            if (found->left)
                for (std::size_t b = begin; b-- > done;) {
                    const std::size_t n = detail::blank_at(text, b);
                    if (n > 0 && b + n == begin) begin = b;
                    else if ((text[b] & 0xC0) != 0x80) break; // where a character begins, another one
                }
            if (found->right) end = detail::behind_blanks(text, end);
            if (begin > done) encode(text.substr(done, begin - done), round + 1, to);
            to.push_back(found->id);
            done = end;
        }
        encode(text.substr(done), round + 1, to);
    }
};

// Reads a file's parts, and keeps the names of what is not read.
class json_tokenizer::file {
public:
    file(const detail::json_value& v, const std::string& who, contents& to) : who_(who), to_(to) {
        detail::json_reader r(v, who, "the file");
        const value &model = r.member("model"), *added = r.optional("added_tokens");
        r.optional("version");
        for (const char* name : {"normalizer", "truncation", "padding"})
            if (const value* part = r.optional(name)) unread_.push_back(name + named(*part));
        const auto* const list = added ? &r.list("added_tokens") : nullptr;
        if (read_model(model, list ? list->size() : 0) && list)
            for (const value& a : *list) read_added(a);
        if (const value* p = r.optional("pre_tokenizer")) read_splitter(*p);
        if (splitters_of_bytes_ != 1 || !bytes_are_last_)
            unread_.push_back("a pre_tokenizer that does not end with ByteLevel");
        if (const value* p = r.optional("post_processor")) read_processor(*p);
        const value* const decoder = r.optional("decoder");
        if (!decoder || named(*decoder) != " ByteLevel")
            unread_.push_back("decoder" + (decoder ? named(*decoder) : " null"));
        for (const std::string& name : r.rest()) unread_.push_back(name);
        if (!unread_.empty()) {
            std::string all;
            for (const std::string& u : unread_) all += (all.empty() ? "" : "; ") + u;
            throw unimplemented_error(who + ": byte-pair tokenisers of bytes are read, without: " + all);
        }
        for (const auto* around : {&to.before, &to.behind})
            for (const std::int32_t t : *around)
                if (static_cast<std::size_t>(t) >= to.texts.size() || !to.texts[static_cast<std::size_t>(t)])
                    r.wrong("post_processor: there is no token " + std::to_string(t));
    }

private:
    using value = detail::json_value;
    using reader = detail::json_reader;

    static std::string named(const value& v) {
        const value* const type = v.find("type");
        const auto* const text = type ? type->get<std::string>() : nullptr;
        return text ? " " + *text : "";
    }
    void finish(const reader& r, const std::string& part) {
        for (const std::string& name : r.rest()) unread_.push_back(part + '.' + name);
    }
    std::int32_t id_of(const reader& r, const value& v, const char* name) const {
        return static_cast<std::int32_t>(r.number(v, name, 0, most_));
    }
    // The number of a text that is in the vocabulary.
    std::int32_t known(const reader& r, const std::string& content) const {
        const auto found = to_.ids.find(content);
        if (found == to_.ids.end()) r.wrong("there is no token \"" + content + '"');
        return found->second;
    }
    void name_token(const reader& r, const std::string& content, std::int32_t id) {
        const auto at = static_cast<std::size_t>(id);
        if (at >= to_.texts.size()) to_.texts.resize(at + 1);
        const auto [place, is_new] = to_.ids.emplace(content, id);
        if (!is_new && place->second == id) return;
        if (!is_new || to_.texts[at])
            r.wrong("the token \"" + content + "\" is number " + std::to_string(id) +
                    ", which is another's, or its second");
        std::string bytes;
        to_.texts[at] = detail::byte_letters::all().bytes_of(content, bytes) ? bytes : content;
    }

    // Whether it is one of pairs.
    bool read_model(const value& v, std::size_t added) {
        reader r(v, who_, "model");
        if (const std::string type = named(v); !type.empty() && type != " BPE") {
            unread_.push_back("model" + type);
            return false;
        }
        r.optional("type");
        for (const char* name : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
            if (const value* m = r.optional(name)) {
                const auto* const text = m->get<std::string>();
                if (!text || !text->empty()) unread_.push_back(std::string("model.") + name);
            }
        const value* const unknown = r.optional("unk_token");
        if (r.truth("fuse_unk", false) && unknown) unread_.push_back("model.fuse_unk");
        if (r.truth("byte_fallback", false)) unread_.push_back("model.byte_fallback");
        const bool whole = r.truth("ignore_merges", false);
        const value& vocab = r.member("vocab");
        const auto* const members = vocab.get<value::object>();
        if (!members) r.wrong("\"vocab\" must be an object, not " + vocab.described());
        // Few numbers are left out: a large one would take all memory.
        most_ = static_cast<std::int64_t>(2 * (members->size() + added)) + (1 << 16);
        for (const detail::json_member& m : *members) name_token(r, m.name, id_of(r, m.value, m.name.c_str()));
        to_.bytes.fill(unknown ? known(r, r.text("unk_token")) : -1);
        const auto& letters = detail::byte_letters::all();
        for (std::size_t b = 0; b < 256; ++b)
            if (const auto t = to_.ids.find(letters.letter[b]); t != to_.ids.end()) to_.bytes[b] = t->second;
        std::string bytes;
        if (whole)
            for (const detail::json_member& m : *members)
                if (bytes.clear(); letters.bytes_of(m.name, bytes)) to_.whole.emplace(bytes, to_.ids.at(m.name));
        std::int32_t rank = 0;
        for (const value& m : r.list("merges")) {
            std::string left, right;
            if (const auto* text = m.get<std::string>()) {
                const std::size_t blank = text->find(' ');
                left = text->substr(0, blank);
                if (blank != std::string::npos) right = text->substr(blank + 1);
            } else if (const auto* pair = m.get<value::list>(); pair && pair->size() == 2) {
                for (std::size_t i = 0; i < 2; ++i)
                    if (const auto* part = (*pair)[i].get<std::string>()) (i == 0 ? left : right) = *part;
            }
            if (left.empty() || right.empty())
                r.wrong("merge " + std::to_string(rank) + " must be two tokens, not " + m.described());
            const std::pair both(known(r, left), known(r, right));
            to_.merges.insert_or_assign(both, detail::pair_merge{rank++, known(r, left + right)});
        }
        finish(r, "model");
        return true;
    }

    void read_added(const value& v) {
        reader r(v, who_, "an added token");
        detail::added_token a{r.text("content"), 0, r.truth("lstrip", false), r.truth("rstrip", false),
                              r.truth("normalized", true)};
        a.id = id_of(r, r.member("id"), "id");
        name_token(r, a.content, a.id);
        const auto at = static_cast<std::size_t>(a.id);
        to_.special.resize(std::max(to_.special.size(), at + 1));
        to_.special[at] = r.truth("special", false);
        if (r.truth("single_word", false)) unread_.push_back("the added token \"" + a.content + "\": single_word");
        finish(r, "an added token");
        auto& like = to_.added[a.normalized ? 1 : 0][static_cast<unsigned char>(a.content[0])];
        const auto shorter =
            std::find_if(like.begin(), like.end(), [&](const auto& b) { return b.content.size() < a.content.size(); });
        like.insert(shorter, std::move(a));
    }

    // A pattern, or none where it is not read.
    std::optional<detail::piece_pattern> pattern(const std::string& text, bool literal = false) {
        try {
            if (literal) return detail::piece_pattern::literal(who_, text);
            return std::optional<detail::piece_pattern>(std::in_place, who_, text);
        } catch (const unimplemented_error& e) {
            unread_.push_back(std::string(e.what()).substr(who_.size() + 2));
            return std::nullopt;
        }
    }
    void read_splitter(const value& v) {
        reader r(v, who_, "pre_tokenizer" + named(v));
        const std::string type = r.text("type");
        detail::piece_splitter s;
        if (type == "Sequence") {
            for (const value& each : r.list("pretokenizers")) read_splitter(each);
            return finish(r, "pre_tokenizer Sequence");
        }
        bytes_are_last_ = type == "ByteLevel";
        if (type == "ByteLevel") {
            ++splitters_of_bytes_;
            s.prefixed = r.truth("add_prefix_space", true);
            r.optional("trim_offsets");
            if (r.truth("use_regex", true))
                s.pattern = pattern(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)");
        } else if (type == "Digits") {
            s.pattern = pattern(R"(\p{N})");
            if (!r.truth("individual_digits", false)) s.how = detail::piece_splitter::keeps::contiguous;
        } else if (type == "Split") {
            reader p(r.member("pattern"), who_, "the pattern of pre_tokenizer Split");
            const bool literal = p.optional("String") != nullptr;
            s.pattern = pattern(p.text(literal ? "String" : "Regex"), literal);
            finish(p, "the pattern of pre_tokenizer Split");
            static constexpr const char* ways[] = {"Isolated", "Removed", "MergedWithPrevious", "MergedWithNext",
                                                   "Contiguous"};
            const std::string how = r.text("behavior");
            const auto way = std::find(std::begin(ways), std::end(ways), how);
            if (way == std::end(ways)) unread_.push_back("pre_tokenizer Split: behavior " + how);
            else s.how = static_cast<detail::piece_splitter::keeps>(way - std::begin(ways));
            s.inverted = r.truth("invert", false);
        } else return unread_.push_back("pre_tokenizer " + type);
        finish(r, "pre_tokenizer " + type);
        if (to_.splitters.size() == 8) r.wrong("more than 8 steps"); // whose patterns take memory
        to_.splitters.push_back(std::move(s));
    }

    void put_around(std::vector<std::int32_t> before, const std::vector<std::int32_t>& behind) {
        before.insert(before.end(), to_.before.begin(), to_.before.end());
        to_.before = std::move(before);
        to_.behind.insert(to_.behind.end(), behind.begin(), behind.end());
    }
    void read_processor(const value& v) {
        reader r(v, who_, "post_processor" + named(v));
        const std::string type = r.text("type");
        if (type == "Sequence")
            for (const value& each : r.list("processors")) read_processor(each);
        else if (type == "RobertaProcessing" || type == "BertProcessing") {
            const auto token = [&](const char* name) {
                const value::list& pair = r.list(name);
                if (pair.size() != 2) r.wrong(std::string("\"") + name + "\" must be a text and a number");
                return id_of(r, pair[1], name);
            };
            const std::int32_t first = token("cls"), last = token("sep");
            put_around({first}, {last});
        } else if (type == "TemplateProcessing") {
            std::vector<std::int32_t> around[2];
            int texts = 0;
            for (const value& each : r.list("single")) {
                reader e(each, who_, "the template of post_processor TemplateProcessing");
                if (e.optional("Sequence")) ++texts;
                else {
                    const std::string name = reader(e.member("SpecialToken"), who_, "its SpecialToken").text("id");
                    reader tokens(r.member("special_tokens"), who_, "special_tokens");
                    reader token(tokens.member(name.c_str()), who_, "special_tokens." + name);
                    for (const value& id : token.list("ids")) around[texts > 0].push_back(id_of(token, id, "ids"));
                }
            }
            if (texts != 1) unread_.push_back("post_processor TemplateProcessing of other than one text");
            put_around(std::move(around[0]), around[1]);
        } else if (type != "ByteLevel") unread_.push_back("post_processor " + type);
    }

    const std::string& who_;
    contents& to_;
    std::int64_t most_ = std::numeric_limits<std::int32_t>::max(); // the largest number of a token
    int splitters_of_bytes_ = 0;
    bool bytes_are_last_ = false;
    std::vector<std::string> unread_;
};

TENON_INLINE json_tokenizer json_tokenizer::parse(std::string_view text, const std::string& name) {
    const std::string who = "json_tokenizer: '" + name + "'";
    const auto made = std::make_shared<contents>();
    file(detail::parse_json(std::string(text), who), who, *made);
    return json_tokenizer(made);
}
TENON_INLINE std::int32_t json_tokenizer::size() const noexcept {
    return static_cast<std::int32_t>(contents_->texts.size());
}
TENON_INLINE std::optional<std::int32_t> json_tokenizer::token(std::string_view content) const {
    const auto found = contents_->ids.find(std::string(content));
    return found == contents_->ids.end() ? std::nullopt : std::optional(found->second);
}
TENON_INLINE const std::string& json_tokenizer::text(std::int32_t token) const {
    const auto at = static_cast<std::size_t>(token);
    if (token < 0 || token >= size() || !contents_->texts[at])
        throw out_of_range_error("json_tokenizer: there is no token " + std::to_string(token) + "; all are less than " +
                                 std::to_string(size()));
    return *contents_->texts[at];
}
TENON_INLINE std::vector<std::int32_t> json_tokenizer::encode(std::string_view text, token_options o) const {
    std::vector<std::int32_t> tokens;
    if (o.special) tokens = contents_->before;
    contents_->encode(text, 0, tokens);
    if (o.special) tokens.insert(tokens.end(), contents_->behind.begin(), contents_->behind.end());
    return tokens;
}
TENON_INLINE std::string json_tokenizer::decode(std::span<const std::int32_t> tokens, token_options o) const {
    std::string all;
    for (const std::int32_t t : tokens) {
        const std::string& bytes = text(t);
        if (const auto at = static_cast<std::size_t>(t);
            !o.special || at >= contents_->special.size() || !contents_->special[at])
            all += bytes;
    }
    return all;
}

#else

struct json_tokenizer::contents {};
TENON_INLINE json_tokenizer json_tokenizer::parse(std::string_view, const std::string& name) {
    detail::needs_re2("json_tokenizer: '" + name + "'");
}
TENON_INLINE std::int32_t json_tokenizer::size() const noexcept { return 0; }
TENON_INLINE std::optional<std::int32_t> json_tokenizer::token(std::string_view) const { return {}; }
TENON_INLINE const std::string& json_tokenizer::text(std::int32_t) const { throw out_of_range_error("json_tokenizer"); }
TENON_INLINE std::vector<std::int32_t> json_tokenizer::encode(std::string_view, token_options) const { return {}; }
TENON_INLINE std::string json_tokenizer::decode(std::span<const std::int32_t>, token_options) const { return {}; }

#endif

TENON_INLINE json_tokenizer json_tokenizer::load(const std::string& path) {
    return parse(detail::unpacked_text("json_tokenizer::load", path), path);
}

} // namespace tenon
