#include <net/wire/values.hpp>

#include <cstring>
#include <limits>
#include <new>

#include <tenon/concurrency/failure.hpp>
#include <tenon/core/sizes/size_name.hpp>
#include <tenon/op/attribute.hpp>
#include <tenon/tape/shared_tape.hpp>

namespace tenon::net {

namespace {

// By number on the wire.
constexpr std::size_t element_count = static_cast<std::size_t>(element_type::string) + 1;
static_assert(element_count == 15 && static_cast<int>(element_type::float32) == 1 &&
                  static_cast<int>(element_type::boolean) == 13,
              "element types have the numbers that docs/protocol.md gives them");
constexpr std::size_t error_codes = static_cast<std::size_t>(error_code::data_loss) + 1;

enum class array_form : std::uint8_t { nothing, here, beside, strings_here, strings_beside, count };

// In the order of the alternatives of `attribute`.
enum class attribute_kind : std::uint8_t { integer, real, text, integers, element, sizes, types, array, tape, count };
static_assert(std::variant_size_v<attribute::std_variant> == static_cast<std::size_t>(attribute_kind::count));

void put_name(value_writer& to, const std::string& name, std::size_t most, const char* what) {
    if (name.size() > most)
        throw invalid_argument_error(std::string(what) + " of " + std::to_string(name.size()) + " bytes, \"" +
                                     name.substr(0, 40) + "...\", is too long to be sent: at most " +
                                     std::to_string(most) + " bytes are allowed");
    to.text(name);
}

void require_bools(const any_array& a, const value_reader& from) {
    if (a.element() != element_type::boolean) return;
    const auto* p = static_cast<const unsigned char*>(a.data());
    for (std::size_t i = 0; i < a.bytes(); ++i)
        if (p[i] > 1) from.fail("byte " + std::to_string(i) + " of an array of bool is neither 0 nor 1");
}

// A type whose sizes are numbers: its elements are counted before memory is taken.
tensor_type take_array_type(value_reader& from) {
    tensor_type type = take_type(from);
    if (type.element == element_type::none || !type.extents.is_static())
        from.fail("an array is said to be " + to_string(type));
    (void)checked_elements(type.element, type.extents);
    return type;
}

tensor_type take_string_type(value_reader& from) {
    tensor_type type = take_array_type(from);
    if (type.element != element_type::string) from.fail("numbers stand there as if they were strings");
    return type;
}

bytes texts_of(const any_array& a) {
    byte_writer all;
    const auto* s = static_cast<const std::string*>(a.data());
    for (std::int64_t i = 0; i < a.elements(); ++i) {
        if (s[i].size() > std::numeric_limits<std::uint32_t>::max())
            throw invalid_argument_error("a string of " + std::to_string(s[i].size()) +
                                         " bytes is too long to be sent: it must be shorter than 4 GiB");
        all.text(s[i]);
    }
    return all.take();
}

any_array unpacked_strings(const tensor_type& type, byte_reader& from) {
    const auto elements = static_cast<std::size_t>(type.extents.elements());
    if (elements > from.left() / sizeof(std::uint32_t))
        from.fail("an array of " + std::to_string(elements) + " strings is cut short");
    any_array a(type.element, type.extents);
    auto* s = static_cast<std::string*>(a.data());
    for (std::size_t i = 0; i < elements; ++i) s[i] = from.text();
    return a;
}

opcode opcode_called(const std::string& name) {
    for (int op = 0; op < opcode_count; ++op)
        if (name == info_of(static_cast<opcode>(op)).name) return static_cast<opcode>(op);
    throw invalid_argument_error("\"" + name.substr(0, 40) + "\" is no instruction of a tape that this program knows");
}

int operands_of(const instruction& i) { return info_of(i.op).group == opcode_group::source ? 1 : register_operands(i); }

void put(value_writer& to, const attribute& a) {
    to.number(static_cast<std::uint8_t>(a.index()));
    if (const auto* i = std::get_if<std::int64_t>(&a)) to.number(*i);
    else if (const auto* d = std::get_if<double>(&a)) to.number(*d);
    else if (const auto* s = std::get_if<std::string>(&a)) to.text(*s);
    else if (const auto* l = std::get_if<std::vector<std::int64_t>>(&a)) {
        to.number(static_cast<std::uint32_t>(l->size()));
        to.raw(l->data(), l->size() * sizeof(std::int64_t));
    } else if (const auto* e = std::get_if<element_type>(&a)) to.number(*e);
    else if (const auto* sizes = std::get_if<extents>(&a)) put(to, *sizes);
    else if (const auto* types = std::get_if<std::vector<tensor_type>>(&a)) put(to, *types);
    else if (const auto* x = std::get_if<std::shared_ptr<const any_array>>(&a)) put(to, **x);
    else put(to, *std::get<std::shared_ptr<const tape>>(a));
}

attribute take_attribute(value_reader& from) {
    switch (from.one_of<attribute_kind>(static_cast<std::size_t>(attribute_kind::count))) {
    case attribute_kind::integer: return from.number<std::int64_t>();
    case attribute_kind::real: return from.number<double>();
    case attribute_kind::text: return from.text();
    case attribute_kind::integers: {
        std::vector<std::int64_t> numbers(from.count(sizeof(std::int64_t)));
        const auto raw = from.raw(numbers.size() * sizeof(std::int64_t));
        if (!raw.empty()) std::memcpy(numbers.data(), raw.data(), raw.size());
        return numbers;
    }
    case attribute_kind::element: return from.one_of<element_type>(element_count);
    case attribute_kind::sizes: return take_extents(from);
    case attribute_kind::types: return take_types(from);
    case attribute_kind::array: {
        auto a = std::make_shared<const any_array>(take_array(from));
        if (!*a) from.fail("an array of an attribute holds nothing");
        return a;
    }
    case attribute_kind::tape: return take_tape(from);
    case attribute_kind::count: break;
    }
    from.fail("an attribute has no kind");
}

} // namespace

any_array value_reader::next_array() {
    if (arrays_.empty()) fail("an array that should stand beside it is missing");
    any_array a = std::move(arrays_.front());
    arrays_ = arrays_.subspan(1);
    if (!a) fail("an array beside it holds nothing");
    require_bools(a, *this);
    return a;
}

std::string value_reader::name() {
    std::string found = text();
    if (found.size() > most_name_bytes)
        fail("a name of " + std::to_string(found.size()) + " bytes is longer than the " +
             std::to_string(most_name_bytes) + " allowed");
    return found;
}

void value_reader::end() const {
    byte_reader::end();
    if (!arrays_.empty()) fail(std::to_string(arrays_.size()) + " arrays beside it belong to nothing");
}

extent value_reader::named(const std::string& text) {
    std::shared_ptr<const char> name = share_size_name(text);
    const extent e = extent::named(name.get());
    if (names_.held.empty() || names_.held.back() != name) names_.held.push_back(std::move(name));
    return e;
}

void put(value_writer& to, const extents& sizes) {
    to.number(static_cast<std::uint8_t>(sizes.rank()));
    for (const extent& e : sizes) {
        to.number(e.is_number() ? e.size : e.is_named() ? std::int64_t{-2} : std::int64_t{-1});
        if (e.is_named()) put_name(to, e.name, most_size_name_bytes, "a size's name");
    }
}

extents take_extents(value_reader& from) {
    const auto rank = from.number<std::uint8_t>();
    if (rank > max_rank)
        from.fail("a shape has " + std::to_string(rank) + " sizes, at most " + std::to_string(max_rank) + " can be");
    extents sizes;
    for (int i = 0; i < rank; ++i) {
        const auto size = from.number<std::int64_t>();
        if (size >= 0) sizes.push_back(extent(size));
        else if (size == -1) sizes.push_back(dynamic_extent);
        else if (size == -2) {
            const std::string name = from.text();
            if (name.empty() || name.size() > most_size_name_bytes || name.find('\0') != std::string::npos)
                from.fail("a size's name is empty, longer than " + std::to_string(most_size_name_bytes) +
                          " bytes, or has a zero byte");
            sizes.push_back(from.named(name));
        } else from.fail("a size is " + std::to_string(size));
    }
    if (!is_countable({element_type::uint8, sizes}))
        from.fail("the sizes " + to_string(sizes) + " overflow: no tensor is that large");
    return sizes;
}

void put(value_writer& to, const tensor_type& type) {
    to.number(type.element);
    put(to, type.extents);
}

tensor_type take_type(value_reader& from) {
    const auto element = from.one_of<element_type>(element_count);
    return {element, take_extents(from)};
}

void put(value_writer& to, const std::vector<tensor_type>& types) {
    to.number(static_cast<std::uint32_t>(types.size()));
    for (const tensor_type& t : types) put(to, t);
}

std::vector<tensor_type> take_types(value_reader& from) {
    constexpr std::size_t most = 1 << 16;
    const std::size_t n = from.count(2);
    if (n > most) from.fail("a list of " + std::to_string(n) + " types is longer than any op has");
    std::vector<tensor_type> types;
    for (std::size_t i = 0; i < n; ++i) types.push_back(take_type(from));
    return types;
}

void put(value_writer& to, const any_array& a) {
    if (!a) return to.number(array_form::nothing);
    if (a.element() == element_type::string) {
        const bytes all = texts_of(a);
        const bool here = all.size() <= inline_bytes;
        to.number(here ? array_form::strings_here : array_form::strings_beside);
        put(to, a.type());
        if (here) return to.raw(all.data(), all.size());
        any_array beside(element_type::uint8, {static_cast<std::int64_t>(all.size())});
        std::memcpy(beside.data(), all.data(), all.size());
        to.arrays.push_back(std::move(beside));
    } else if (a.bytes() <= inline_bytes) {
        to.number(array_form::here);
        put(to, a.type());
        to.raw(a.data(), a.bytes());
    } else {
        to.number(array_form::beside);
        to.arrays.push_back(a.share());
    }
}

any_array take_array(value_reader& from) {
    switch (from.one_of<array_form>(static_cast<std::size_t>(array_form::count))) {
    case array_form::here: {
        const tensor_type type = take_array_type(from);
        if (type.element == element_type::string) from.fail("strings stand there as if they were numbers");
        const auto raw = from.raw(static_cast<std::size_t>(bytes_of(type)));
        any_array a(type.element, type.extents);
        if (!raw.empty()) std::memcpy(a.data(), raw.data(), raw.size());
        require_bools(a, from);
        return a;
    }
    case array_form::beside: {
        any_array a = from.next_array();
        if (a.element() == element_type::string) from.fail("an array of strings stands beside it as it lies in memory");
        return a;
    }
    case array_form::strings_here: return unpacked_strings(take_string_type(from), from);
    case array_form::strings_beside: {
        const tensor_type type = take_string_type(from);
        const any_array all = from.next_array();
        if (all.element() != element_type::uint8) from.fail("strings stand beside it as " + to_string(all.type()));
        byte_reader beside({static_cast<const std::byte*>(all.data()), all.bytes()}, "strings");
        any_array a = unpacked_strings(type, beside);
        beside.end();
        return a;
    }
    case array_form::nothing:
    case array_form::count: break;
    }
    return {};
}

void put(value_writer& to, const device_name& name) { to.text(name.empty() ? std::string() : to_string(name)); }

int pass_array(value_reader& from) {
    switch (from.one_of<array_form>(static_cast<std::size_t>(array_form::count))) {
    case array_form::here: (void)from.raw(static_cast<std::size_t>(bytes_of(take_array_type(from)))); return 0;
    case array_form::strings_here:
        for (std::int64_t left = take_string_type(from).extents.elements(); left > 0; --left)
            (void)from.raw(from.number<std::uint32_t>());
        return 0;
    case array_form::strings_beside: (void)take_string_type(from); return 2;
    case array_form::beside: return 1;
    case array_form::nothing:
    case array_form::count: break;
    }
    return 0;
}

device_name take_device(value_reader& from) {
    const std::string text = from.name();
    return text.empty() ? device_name() : device_name(text);
}

void put(value_writer& to, const tape& t) {
    to.number(static_cast<std::uint8_t>(t.input_count));
    to.raw(t.inputs, static_cast<std::size_t>(t.input_count));
    to.number(static_cast<std::uint8_t>(t.constant_count));
    to.raw(t.constants, static_cast<std::size_t>(t.constant_count));
    to.number(static_cast<std::uint8_t>(t.length));
    for (int r = 0; r < t.length; ++r) {
        const instruction& i = t.code[r];
        const std::string name = info_of(i.op).name;
        to.number(static_cast<std::uint8_t>(name.size()));
        to.raw(name.data(), name.size());
        to.number(i.type);
        if (i.op == opcode::literal) to.number(i.bits);
        else
            for (int k = 0; k < operands_of(i); ++k) to.number(operand_of(i, k));
    }
    to.number(static_cast<std::uint8_t>(t.output_count));
    for (int o = 0; o < t.output_count; ++o) {
        to.number(t.outputs[o].type);
        to.number(t.outputs[o].reg);
        to.number(t.outputs[o].like);
    }
}

std::shared_ptr<const tape> take_tape(value_reader& from) {
    tape t;
    const auto count = [&](int most, const char* of) {
        const int n = from.number<std::uint8_t>();
        if (n > most)
            from.fail("a tape has " + std::to_string(n) + " " + of + ", at most " + std::to_string(most) + " can be");
        return n;
    };
    t.input_count = count(max_tape_inputs, "inputs");
    for (int i = 0; i < t.input_count; ++i) t.inputs[i] = from.one_of<element_type>(element_count);
    t.constant_count = count(max_tape_inputs, "constants");
    for (int i = 0; i < t.constant_count; ++i) t.constants[i] = from.one_of<element_type>(element_count);
    t.length = count(max_tape_length, "instructions");
    for (int r = 0; r < t.length; ++r) {
        instruction& i = t.code[r];
        const auto name = from.raw(from.number<std::uint8_t>());
        i.op = opcode_called({reinterpret_cast<const char*>(name.data()), name.size()});
        i.type = from.one_of<element_type>(element_count);
        if (i.op == opcode::literal) {
            i.bits = from.number<std::uint64_t>();
            const bool has_bits = is_numeric(i.type) || i.type == element_type::boolean;
            if (!has_bits || i.literal().bits_in(i.type) != i.bits)
                from.fail("a literal of a tape is no " + std::string(name_of(i.type)));
            continue;
        }
        std::int16_t* const operands[] = {&i.a, &i.b, &i.c};
        for (int k = 0; k < operands_of(i); ++k) *operands[k] = from.number<std::int16_t>();
    }
    t.output_count = count(max_tape_outputs, "outputs");
    for (int o = 0; o < t.output_count; ++o) {
        t.outputs[o].type = from.one_of<element_type>(element_count);
        t.outputs[o].reg = from.number<std::int16_t>();
        t.outputs[o].like = from.number<std::int16_t>();
    }
    if (const char* defect = tape_defect(t))
        throw invalid_argument_error(std::string("the tape is not sound: ") + defect);
    return share_tape(t);
}

void put(value_writer& to, const attributes& all) {
    to.number(static_cast<std::uint16_t>(all.end() - all.begin()));
    for (const auto& [name, value] : all) {
        put_name(to, name, most_name_bytes, "an attribute's name");
        put(to, value);
    }
}

attributes take_attributes(value_reader& from) {
    attributes all;
    const auto n = from.number<std::uint16_t>();
    for (int i = 0; i < n; ++i) {
        const std::string name = from.name();
        if (name.empty() || name.find('\0') != std::string::npos) from.fail("an attribute has no name");
        if (all.find(name.c_str())) from.fail("attribute \"" + name + "\" is there twice");
        try {
            all.set(name.c_str(), take_attribute(from));
        } catch (const invalid_argument_error& e) {
            throw invalid_argument_error("attribute \"" + name + "\": " + e.what());
        }
    }
    return all;
}

failure failure::of(const std::exception_ptr& e) {
    try {
        std::rethrow_exception(e);
    } catch (const error& known) {
        return {known.code(), known.what(), known.reason()};
    } catch (const std::bad_alloc&) {
        return {error_code::resource_exhausted, "there is no memory left", {}};
    } catch (const std::exception& other) {
        return {error_code::internal, other.what(), {}};
    } catch (...) {
        return {error_code::internal, "something was thrown that is no std::exception", {}};
    }
}

std::exception_ptr failure::exception() const {
    return thrown_by([&] { raise(); });
}

void put(value_writer& to, const failure& f) {
    to.number(static_cast<std::uint8_t>(f.code));
    to.number(static_cast<std::uint8_t>(f.reason));
    to.text(std::string_view(f.message).substr(0, most_error_bytes));
}

failure take_failure(value_reader& from) {
    static_assert(error_codes == 15);
    const auto code = from.number<std::uint8_t>();
    if (code >= error_codes) from.fail("there is no error of code " + std::to_string(code));
    const auto reason = from.number<std::uint8_t>();
    if (reason >= error_reasons) from.fail("there is no reason " + std::to_string(reason) + " of an error");
    return {static_cast<error_code>(code), from.text(), static_cast<error_reason>(reason)};
}

} // namespace tenon::net
