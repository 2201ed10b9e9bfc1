#pragma once

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <tenon/data/data_set.hpp>
#include <tenon/ops/input/iterator.hpp>

/// Data sets in a graph (SEMANTICS 38): a step that uses the tensors of get_next() takes an element.
///
///     const auto it = tn::make_one_shot_iterator(train);        // from the beginning to the end, once
///     const auto [x, y] = it.get_next();                        // tensors; the same ones whenever it is asked
///
///     const tn::iterator<...> it = tn::make_initializable_iterator(train);
///     sess.run(it.initializer());                               // from the beginning, each time that it is run: for other orders repeat()
///
///     const tn::iterator<...> it;                               // of any data sets with these components
///     const auto to_train = it.make_initializer(train), to_test = it.make_initializer(test);
///
///     const auto handle = tn::placeholder<std::string>("handle"); // each step says of which iterator
///     const auto [x, y] = tn::feedable_iterator<...>(handle).get_next();
///     sess.run(tn::feed(handle, sess.run(it.string_handle())), ...);
///
/// At the end a step is an end_of_data_error. Elements are taken first come, first served; one that a stopped step would have had
/// goes to the next. tn::saver saves where the iterators of a graph are (SEMANTICS 46), which is exact between steps.

namespace tenon {

namespace detail {
template <class Operands> struct next_tensors;
template <class... Operand> struct next_tensors<operand_list<Operand...>> {
    static auto of(const std::vector<any_tensor>& parts) {
        return typed_tuple<tensor<typename Operand::element, typename Operand::shape>...>(parts);
    }
};
} // namespace detail

/// A member of an element of struct R, whose tensors get_next() gives as a tuple: tensor_of<&sample::label>(element).
template <auto Member, class Tuple> constexpr const auto& tensor_of(const Tuple& element) {
    return std::get<detail::field_index<Member>()>(element);
}

/// A place in a data set of elements with components C... (data_set).
template <class... C> class iterator {
    using operands = typename detail::schema<C...>::operands;

public:
    /// One that has to be initialised by make_initializer().
    explicit iterator(const iterator_options& o = {}) : iterator_(detail::types_of(operands{}), nullptr, o) {}
    explicit iterator(const data_set<C...>&) = delete; // make_one_shot_iterator(d), or its make_initializer(d)
    /// One of a graph that was read. invalid_argument_error, naming both, where its components are others.
    explicit iterator(const untyped::iterator& it) : iterator_(it) {
        detail::check_components(it.components(), detail::types_of(operands{}));
    }

    /// The next element: a tensor for each component, of one that, of several a tuple. The same tensors each time, so that what
    /// a step computes of them is computed of one element.
    auto get_next(called_from here = caller()) const {
        const making made(here);
        return detail::next_tensors<operands>::of(iterator_.get_next());
    }
    /// An operation after which it goes through `s`, whose components are the same, from its beginning.
    template <class... D> operation make_initializer(const data_set<D...>& s) const {
        static_assert(std::is_same_v<typename detail::schema<D...>::operands, operands>,
                      "tenon::iterator::make_initializer: the data set has other components than the iterator");
        return iterator_.make_initializer(s.untyped().source());
    }
    /// A text by which feedable_iterator finds it.
    tensor<std::string, shape<>> string_handle() const {
        return tensor<std::string, shape<>>::unchecked(iterator_.string_handle());
    }
    /// Where it is, as bytes for restore().
    tensor<std::string, shape<>> save() const { return tensor<std::string, shape<>>::unchecked(iterator_.save()); }
    /// An operation after which it goes on from there; of one that was not initialised yet, once it is. data_loss_error where it was of
    /// another data set; of another shard its reason is error_reason::other_shard, and one that is initialised later begins then.
    template <Operand X> operation restore(const X& state) const {
        static_assert(std::is_same_v<detail::operand_of_t<X>, detail::operand_type<std::string, shape<>>>,
                      "tenon::iterator::restore: a state is a text: what save() gave");
        return iterator_.restore(detail::as_tensor(state));
    }
    /// What each step of the data set takes, and which holds the training back, as text (data_report).
    tensor<std::string, shape<>> report() const { return tensor<std::string, shape<>>::unchecked(iterator_.report()); }

    const std::string& name() const { return iterator_.name(); }
    const untyped::iterator& untyped() const noexcept { return iterator_; }

private:
    untyped::iterator iterator_;
};

/// With the data set that it is initialised with.
template <class... C> class initializable_iterator : public iterator<C...> {
public:
    initializable_iterator(const data_set<C...>& s, const iterator_options& o) :
        iterator<C...>(o), initializer_(this->make_initializer(s)) {}
    /// Operation after which it begins anew.
    const operation& initializer() const noexcept { return initializer_; }

private:
    operation initializer_;
};

/// From the beginning of the data set to its end.
template <class... C>
iterator<C...> make_one_shot_iterator(const data_set<C...>& s, const iterator_options& o = {},
                                      called_from here = caller()) {
    const making made(here);
    return iterator<C...>(untyped::iterator(s.types(), s.untyped().source(), o));
}
template <class... C>
initializable_iterator<C...> make_initializable_iterator(const data_set<C...>& s, const iterator_options& o = {},
                                                         called_from here = caller()) {
    const making made(here);
    return initializable_iterator<C...>(s, o);
}

/// The iterator, of the same components, whose string_handle() a step feeds or computes; it must be on the task and device where
/// this is placed.
template <class... C> class feedable_iterator {
    using operands = typename detail::schema<C...>::operands;

public:
    template <Operand X>
    explicit feedable_iterator(const X& handle) :
        parts_(untyped::next_of_handle(detail::as_tensor(handle), detail::types_of(operands{}))) {
        static_assert(std::is_same_v<detail::operand_of_t<X>, detail::operand_type<std::string, shape<>>>,
                      "tenon::feedable_iterator: a handle is a text: what string_handle() gives");
    }
    /// As iterator's.
    auto get_next() const { return detail::next_tensors<operands>::of(parts_); }

private:
    std::vector<any_tensor> parts_;
};

} // namespace tenon
