#pragma once
// Errors are for people: one sentence that names the operation, the values and the rule.

#include <sstream>
#include <stdexcept>
#include <string>

namespace reel {

/// Everything that Reel refuses, but for numbers of threads (kernels/parallel.h). what() is one line that can be shown
/// to a user as it is.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The parts, streamed one after another: text("a is ", shape, "; need ", 3).
template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

/// Throws an Error of the parts, or one of another kind. Numbers have so many digits that one that was refused does not
/// look like another.
template <class Kind = Error, class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  std::ostringstream out;
  out.precision(15);
  (out << ... << parts);
  throw Kind(std::move(out).str());
}

}  // namespace reel
