#pragma once

#include <type_traits>

#include <tenon/core/config.hpp>

namespace tenon {

template <class Signature> class function_ref;

/// A callable passed by reference: two pointers, no allocation, one indirect call. It must not outlive
/// the callable it was made from, so it is for parameters only.
template <class Result, class... Arguments> class function_ref<Result(Arguments...)> {
public:
    template <class Callable>
        requires(!std::is_same_v<std::remove_cvref_t<Callable>, function_ref> &&
                 std::is_invocable_r_v<Result, Callable&, Arguments...>)
    function_ref(Callable&& callable)
    noexcept // NOLINT: implicit, so that a lambda can be passed as it is
        :
        object_(const_cast<void*>(static_cast<const void*>(__builtin_addressof(callable)))),
        call_([](void* object, Arguments... arguments) -> Result {
            return (*static_cast<std::add_pointer_t<std::remove_reference_t<Callable>>>(object))(
                static_cast<Arguments>(arguments)...);
        }) {}

    Result operator()(Arguments... arguments) const { return call_(object_, static_cast<Arguments>(arguments)...); }

private:
    void* object_;
    Result (*call_)(void*, Arguments...);
};

} // namespace tenon
